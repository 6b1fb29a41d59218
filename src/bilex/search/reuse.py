"""Exact reuse between searches: an engine around another one that remembers its last answers.

EM asks for the nearest targets of slowly moving queries again and again. For each query, `ReusingEngine` keeps the
M > k nearest targets it last searched for, the query q as it was then, and b, the score of the M-th: no target
outside the M had a score above b. When the query has moved to q', by Cauchy and Schwarz no target t outside them
has a score above

    q'·t  =  q·t + (q' - q)·t  <=  b + ‖q' - q‖ max ‖t‖

If the k-th best of the M targets, scored afresh with q', is above that, the k best of all targets are among the M,
and nothing has to be searched. Only the other queries are searched again. The answers are those of the engine
inside, to the bit: the bound is checked with room for rounding, and ties across it count as not above.

The trick applies from the second search on, while the targets are the very same array and the queries are as many
as before; otherwise everything is searched. To switch it off, use the engine inside.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Engine, Neighbours

__all__ = ["ReusingEngine"]

ROOM = 1e-9  # for rounding in float64, relative to the scores' size


@dataclass(eq=False)
class ReusingEngine:
    """An engine that searches only where its last answers may no longer hold.

    Parameters
    ----------
    inside
        The engine that searches.
    keep
        How many targets are kept for each query (M). More memory, fewer searches.
    searched
        How many queries had to be searched the last time; for benchmarks and tests.
    """

    inside: Engine
    keep: int = 16
    searched: int = field(default=0, init=False)
    _targets: Vectors | None = field(default=None, init=False, repr=False)
    _queries: Vectors | None = field(default=None, init=False, repr=False)
    _kept: Indices | None = field(default=None, init=False, repr=False)
    _bound: Floats | None = field(default=None, init=False, repr=False)
    _longest: float = field(default=0.0, init=False, repr=False)

    def top_k(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        """Find the k targets of largest inner product for each query."""
        if not 1 <= k < min(self.keep, len(targets)):
            return self.inside.top_k(queries, targets, k)
        if targets is not self._targets:  # only targets that come again are worth remembering more than was asked for
            self._targets, self._queries, self.searched = targets, None, len(queries)
            return self.inside.top_k(queries, targets, k)
        if self._queries is None or self._queries.shape != queries.shape:
            return self._start(queries, targets, k)
        return self._again(queries, targets, k)

    def rank(self, queries: Vectors, targets: Vectors, chosen: Indices) -> Indices:
        """Give the place of each chosen target; the engine inside does it."""
        return self.inside.rank(queries, targets, chosen)

    def _start(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        """Search for everything and remember it."""
        from bilex.search.topk_kernel import row_norms

        found = self.inside.top_k(queries, targets, min(self.keep, len(targets)))
        self.searched = len(queries)
        self._queries = queries.copy()
        self._kept, self._bound = found.indices, found.scores[:, -1].copy()
        self._longest = float(row_norms(targets).max(initial=0.0))
        return Neighbours(found.indices[:, :k], found.scores[:, :k])

    def _again(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        """Score the kept targets afresh, and search for the queries whose bound does not hold."""
        from bilex.search.topk_kernel import rescore

        assert self._queries is not None and self._kept is not None and self._bound is not None
        indices, scores, moved = rescore(queries, self._queries, targets, self._kept, k)
        limit = self._bound + moved * self._longest
        doubtful = np.flatnonzero(~(scores[:, -1] > limit + ROOM * (1 + np.abs(limit))))
        if len(self._kept[0]) == len(targets):  # all targets are kept: there is none outside
            doubtful = doubtful[:0]
        self.searched = len(doubtful)
        if len(doubtful):
            found = self.inside.top_k(queries[doubtful], targets, self._kept.shape[1])
            indices[doubtful], scores[doubtful] = found.indices[:, :k], found.scores[:, :k]
            self._queries[doubtful] = queries[doubtful]
            self._kept[doubtful], self._bound[doubtful] = found.indices, found.scores[:, -1]
        return Neighbours(indices, scores)
