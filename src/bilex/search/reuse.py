"""Exact reuse between searches: an engine around another one that remembers its last answers.

EM searches for the nearest targets of slowly moving queries again and again. For each query, `ReusingEngine` keeps the
M > k nearest targets of its last search, the query q as it was then, and b, the score of the M-th: no other target had
a score above b. For the moved query q', by the Cauchy-Schwarz inequality, no other target t has a score above

    q'·t  =  q·t + (q' - q)·t  <=  b + ‖q' - q‖ max ‖t‖

If the k-th best of the M targets, scored again with q', is above that, the k best of all targets are among the M and
the query need not be searched. The answers equal those of the wrapped engine to the bit: the bound leaves room for
rounding, and ties with it count as not above.

Reuse starts at the second search, and only while the targets are the same array and the queries are as many as before.
"""

from dataclasses import dataclass, field

import numpy as np

from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Engine, Neighbours

ROUNDING_OF_DIFFERENCES = 2.0**-20  # in float32: each number is off by at most 2 to the -24 of itself
ROUNDING_MARGIN = 1e-9  # for float64, relative to the size of the scores


@dataclass(eq=False)
class LastSearch:
    """The queries as they were, their kept targets, and the score of the last kept target."""

    queries: Vectors
    kept: Indices
    bound: Floats
    longest_target: float


@dataclass(eq=False)
class ReusingEngine:
    """An engine that searches only where its last answers may no longer hold."""

    engine: Engine
    keep: int = 16  # targets kept for each query (M): more memory, fewer searches
    searched: int = field(default=0, init=False)  # queries that had to be searched the last time
    _targets: Vectors | None = field(default=None, init=False, repr=False)
    _last: LastSearch | None = field(default=None, init=False, repr=False)

    def top_k(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        """Find the k targets of largest inner product for each query."""
        if not 1 <= k < min(self.keep, len(targets)):
            return self.engine.top_k(queries, targets, k)
        self.searched = len(queries)
        if targets is not self._targets:  # keeping more than k costs time: only for targets that come again
            self._targets, self._last = targets, None
            return self.engine.top_k(queries, targets, k)
        if self._last is None or self._last.queries.shape != queries.shape:
            return self._search_all(queries, targets, k)
        return self._search_doubtful(self._last, queries, targets, k)

    def top_k_both(self, queries: Vectors, targets: Vectors, k: int) -> tuple[Neighbours, Neighbours]:
        """Find the k best of each query and of each target, by the wrapped engine."""
        return self.engine.top_k_both(queries, targets, k)

    def rank(self, queries: Vectors, targets: Vectors, chosen: Indices) -> Indices:
        """Compute the rank of each chosen target, by the wrapped engine."""
        return self.engine.rank(queries, targets, chosen)

    def _search_all(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        from bilex.numerics.products_kernel import row_norms

        found = self.engine.top_k(queries, targets, min(self.keep, len(targets)))
        longest = float(row_norms(targets).max(initial=0.0))
        self._last = LastSearch(queries.copy(), found.indices, found.scores[:, -1].copy(), longest)
        return Neighbours(found.indices[:, :k], found.scores[:, :k])

    def _search_doubtful(self, last: LastSearch, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        """Score the kept targets again, and search for the queries whose bound does not hold."""
        from bilex.numerics.products_kernel import row_norms
        from bilex.search.topk_kernel import best_listed

        starts = np.arange(len(queries) + 1) * last.kept.shape[1]
        indices, scores = best_listed(queries, targets, starts, last.kept.ravel(), k)
        moved = row_norms(queries - last.queries) * (1 + ROUNDING_OF_DIFFERENCES)
        limit = last.bound + moved * last.longest_target
        doubtful = np.flatnonzero(~(scores[:, -1] > limit + ROUNDING_MARGIN * (1 + np.abs(limit))))
        if last.kept.shape[1] == len(targets):  # all targets are kept
            doubtful = doubtful[:0]
        self.searched = len(doubtful)
        if len(doubtful):
            found = self.engine.top_k(queries[doubtful], targets, last.kept.shape[1])
            indices[doubtful], scores[doubtful] = found.indices[:, :k], found.scores[:, :k]
            last.queries[doubtful] = queries[doubtful]
            last.kept[doubtful], last.bound[doubtful] = found.indices, found.scores[:, -1]
        return Neighbours(indices, scores)
