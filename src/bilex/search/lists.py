"""The neighbours of both languages, and what they prove about scores that add a term of the target's own.

CSLS, for instance, orders the targets of a source word by ``cos(s, t) - crowding(t) / 2``. A pair that is in neither
word's list has a cosine of at most b_s, the last of the source's list, and of at most c_t, the last of the target's. So
its score is at most

    min(b_s, c_t) + term(t)  <=  F(b_s) = the largest of these over all targets

Whatever scores above F(b_s) is among the listed pairs. So one pass over all pairs answers for the other scores as well,
and only the words for which that proves too little are searched again. The answers are those of a full search.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bilex.numerics.rows import distinct
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Engine
from bilex.search.reuse import ROUNDING_MARGIN


@dataclass(frozen=True, eq=False)
class NeighbourLists:
    """The nearest words of the other language and their cosines, nearest first, for each source and target word."""

    of_source: Indices
    of_target: Indices
    source_cosines: Floats
    target_cosines: Floats

    @classmethod
    def find(cls, source: Vectors, target: Vectors, k: int, engine: Engine) -> NeighbourLists:
        """Find the k nearest of each word, in one pass over all pairs."""
        of_source, of_target = engine.top_k_both(source, target, k)
        return cls(of_source.indices, of_target.indices, of_source.scores, of_target.scores)

    def mirrored(self) -> NeighbourLists:
        """Exchange source and target."""
        return NeighbourLists(self.of_target, self.of_source, self.target_cosines, self.source_cosines)

    @cached_property
    def pairs(self) -> tuple[Indices, Indices]:
        """The targets listed with each source, by either: where they begin, and their numbers in order."""
        n, m = len(self.of_source), len(self.of_target)
        ours = np.repeat(np.arange(n) * m, self.of_source.shape[1]) + self.of_source.ravel()
        theirs = self.of_target.ravel() * m + np.repeat(np.arange(m), self.of_target.shape[1])
        keys = distinct(np.concatenate([ours, theirs]))
        return np.searchsorted(keys, np.arange(n + 1) * m), keys % m

    def limits(self, terms: Floats) -> Floats:
        """Bound from above, for each source, the score of all pairs that are not listed."""
        n, m = len(self.of_source), len(self.of_target)
        if self.of_source.shape[1] == m or self.of_target.shape[1] == n:
            return np.full(n, -np.inf)
        last_of_source, last_of_target = self.source_cosines[:, -1], self.target_cosines[:, -1]
        order = np.argsort(last_of_target)
        below = np.maximum.accumulate((last_of_target + terms)[order])
        above = np.maximum.accumulate(terms[order][::-1])[::-1]
        place = np.searchsorted(last_of_target[order], last_of_source)
        bounds = np.maximum(np.append(-np.inf, below)[place], last_of_source + np.append(above, -np.inf)[place])
        return np.asarray(bounds + ROUNDING_MARGIN * (1 + np.abs(bounds)))

    def rank(
        self, queries: Vectors, targets: Vectors, rows: Indices, chosen: Indices, limits: Floats, engine: Engine
    ) -> Indices:
        """Compute the rank, from 1, of each chosen target for the source ``rows[i]``, whose query is ``queries[i]``."""
        from bilex.search.topk_kernel import rank_listed

        ranks, scores = rank_listed(queries, targets, *self.pairs, rows, chosen)
        rest = np.flatnonzero(~(scores > limits[rows]))
        if len(rest):
            ranks[rest] = engine.rank(queries[rest], targets, chosen[rest])
        return np.asarray(ranks)
