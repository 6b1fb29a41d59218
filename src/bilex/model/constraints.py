"""Pairs that are settled before EM begins: some are kept in every matching, others are never in one.

They come from a person who has reviewed a lexicon. The model is the same; p(m) is zero for an edge set that lacks a
kept pair or holds a forbidden one. Words of kept pairs take no other partner on a side whose capacity is limited.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from bilex.matching.solver import Graph, Matching
from bilex.model.prior import Prior
from bilex.numerics.types import Floats, Indices
from bilex.vectors.embeddings import Embeddings

__all__ = ["Constraints", "Pairs", "rows_of"]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of rows, each once, in ascending order."""

    source: Indices = field(default_factory=lambda: np.zeros(0, np.int64))
    target: Indices = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.source)

    def within(self, limit: int | None) -> Pairs:
        """Leave out pairs with a word beyond the frequency constraint."""
        if limit is None:
            return self
        inside = (self.source < limit) & (self.target < limit)
        return Pairs(self.source[inside], self.target[inside])

    def union(self, other: Pairs) -> Pairs:
        """Put the pairs of both together, each once, in ascending order."""
        every = np.unique([[*self.source, *other.source], [*self.target, *other.target]], axis=1)
        return Pairs(every[0].astype(np.int64), every[1].astype(np.int64))

    def mirrored(self) -> Pairs:
        """Exchange source and target."""
        order = np.lexsort((self.source, self.target))
        return Pairs(self.target[order], self.source[order])


def rows_of(pairs: Iterable[tuple[str, str]], source: Embeddings, target: Embeddings) -> Pairs:
    """Look pairs of words up; those without a vector are left out."""
    known = sorted({(source.index[s], target.index[t]) for s, t in pairs if s in source and t in target})
    rows = np.array(known, np.int64).reshape(-1, 2)
    return Pairs(rows[:, 0], rows[:, 1])


@dataclass(frozen=True, eq=False)
class Constraints:
    """The `kept` and the `forbidden` pairs."""

    kept: Pairs = field(default_factory=Pairs)
    forbidden: Pairs = field(default_factory=Pairs)

    def __bool__(self) -> bool:
        return bool(len(self.kept) or len(self.forbidden))

    def within(self, limit: int | None) -> Constraints:
        """Leave out pairs with a word beyond the frequency constraint."""
        return Constraints(self.kept.within(limit), self.forbidden.within(limit))

    def keeping(self, pairs: Pairs) -> Constraints:
        """Keep more pairs, except those that are forbidden or have a word that is kept with another already."""
        taken = np.isin(pairs.source, self.kept.source) | np.isin(pairs.target, self.kept.target)
        rejected = set(zip(self.forbidden.source.tolist(), self.forbidden.target.tolist(), strict=True))
        known = set(zip(self.kept.source.tolist(), self.kept.target.tolist(), strict=True))
        for pair, out in zip(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True), taken, strict=True):
            if not out and pair not in rejected:
                known.add(pair)
        rows = np.array(sorted(known), np.int64).reshape(-1, 2)
        return Constraints(Pairs(rows[:, 0], rows[:, 1]), self.forbidden)

    def mirrored(self) -> Constraints:
        """Exchange source and target."""
        return Constraints(self.kept.mirrored(), self.forbidden.mirrored())

    def restrict(self, graph: Graph, prior: Prior) -> Graph:
        """Take out the forbidden edges, and those whose word already has its kept pair."""
        if not self:
            return graph
        width = np.int64(graph.n_targets)
        keys = graph.rows * width + graph.indices
        out = np.isin(keys, self.forbidden.source * width + self.forbidden.target)
        out |= np.isin(keys, self.kept.source * width + self.kept.target)
        if prior.source_capacity is not None:
            out |= np.isin(graph.rows, self.kept.source)
        if prior.target_capacity is not None:
            out |= np.isin(graph.indices, self.kept.target)
        return graph.where(~out)

    def complete(self, matching: Matching, weights: Floats) -> Matching:
        """Add the kept pairs, of the given weights, to a matching of the other words."""
        if not len(self.kept):
            return matching
        source = np.concatenate([matching.source, self.kept.source])
        target = np.concatenate([matching.target, self.kept.target])
        order = np.lexsort((target, source))
        objective = matching.objective + float(weights.sum())
        return replace(matching, source=source[order], target=target[order], objective=objective)
