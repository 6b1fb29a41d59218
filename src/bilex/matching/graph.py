"""The matching problem as data: capacities, pairs of rows, the weighted graph, and a matching."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from bilex.errors import BilexError
from bilex.numerics.types import Floats, Indices

PAIR_BITS = 32  # a row has fewer


@dataclass(frozen=True)
class Capacities:
    """How many edges a word may have: `source` targets for a source word, `target` sources for a target word.

    None means no limit. Without `null` every word of the limited side has to be matched, whatever the weight; only a
    graph with one side unlimited can require that.
    """

    source: int | None = 1
    target: int | None = 1
    null: bool = True

    def __post_init__(self) -> None:
        limits = (self.source, self.target)
        if any(limit is not None and limit < 1 for limit in limits):
            raise BilexError(f"a prior's capacities must be at least 1, not {limits}")
        if None in limits and 1 not in limits:
            raise BilexError("a prior with one side unlimited needs capacity 1 on the other side")
        if not self.null and None not in limits:
            raise BilexError("only one-to-many and many-to-one priors can do without the null option")

    @property
    def sources_choose(self) -> bool:
        """Whether each source takes its best target, with no limit on the targets."""
        return self.target is None

    @property
    def targets_choose(self) -> bool:
        """Whether each target takes its best source, with no limit on the sources."""
        return self.source is None

    def mirrored(self) -> Capacities:
        """Exchange source and target."""
        return replace(self, source=self.target, target=self.source)


@dataclass(frozen=True, eq=False)
class RowPairs:
    """Pairs of a source row and a target row, each once, in ascending order."""

    source: Indices = field(default_factory=lambda: np.zeros(0, np.int64))
    target: Indices = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.source)

    def keys(self, n_targets: int) -> Indices:
        """Return a number for each pair, the same for the same pair."""
        return np.asarray(self.source * np.int64(n_targets) + self.target)

    def isin(self, other: RowPairs) -> NDArray[np.bool_]:
        """Mark the pairs that the other pairs hold as well."""
        return np.isin(self.source << PAIR_BITS | self.target, other.source << PAIR_BITS | other.target)

    def where(self, keep: NDArray[np.bool_]) -> RowPairs:
        """Return only these pairs."""
        return RowPairs(self.source[keep], self.target[keep])

    def among_frequent(self, max_rank: int | None) -> RowPairs:
        """Return the pairs of two words among the `max_rank` most frequent."""
        if max_rank is None:
            return self
        return self.where((self.source < max_rank) & (self.target < max_rank))

    def union(self, other: RowPairs) -> RowPairs:
        """Return the pairs of both."""
        source, target = np.concatenate([self.source, other.source]), np.concatenate([self.target, other.target])
        return RowPairs(*np.ascontiguousarray(np.unique(np.stack([source, target]), axis=1)))

    def mirrored(self) -> RowPairs:
        """Exchange source and target."""
        order = np.lexsort((self.source, self.target))
        return RowPairs(self.target[order], self.source[order])


@dataclass(frozen=True, eq=False)
class Graph:
    """A sparse weighted bipartite graph, in CSR form by source word, targets in ascending order."""

    indptr: Indices
    indices: Indices
    weights: Floats
    n_targets: int

    @classmethod
    def from_edges(cls, source: Indices, target: Indices, weights: Floats, shape: tuple[int, int]) -> Graph:
        """Build a graph from edges in any order; the first of several entries for the same edge counts."""
        key = source * np.int64(shape[1]) + target
        key, first = np.unique(key, return_index=True)
        indptr = np.searchsorted(key, np.arange(shape[0] + 1) * np.int64(shape[1]))
        return cls(indptr.astype(np.int64), key % shape[1], weights[first], shape[1])

    @property
    def n_sources(self) -> int:
        """The number of source words, with or without an edge."""
        return len(self.indptr) - 1

    @property
    def rows(self) -> Indices:
        """The source word of every edge."""
        return np.repeat(np.arange(self.n_sources), np.diff(self.indptr))

    @property
    def keys(self) -> Indices:
        """A number for each edge, in ascending order, as in `RowPairs.keys`."""
        return np.asarray(self.rows * np.int64(self.n_targets) + self.indices)

    def where(self, keep: NDArray[np.bool_]) -> Graph:
        """Return the graph of only these edges."""
        indptr = np.concatenate([[0], np.cumsum(keep)])[self.indptr]
        return Graph(indptr, self.indices[keep], self.weights[keep], self.n_targets)


@dataclass(frozen=True, eq=False)
class Matching:
    """An optimal edge set: pairs (source[e], target[e]) in ascending order, and the proof of optimality.

    `gap` is the certificate: dual bound minus objective, at least -rounding. `source_duals` and `target_duals` are
    the u and v of the bound.
    """

    source: Indices
    target: Indices
    objective: float
    gap: float
    source_duals: Floats
    target_duals: Floats

    def __len__(self) -> int:
        return len(self.source)

    @property
    def pairs(self) -> RowPairs:
        """Its pairs alone."""
        return RowPairs(self.source, self.target)

    def mirrored(self) -> Matching:
        """Exchange source and target."""
        order = np.lexsort((self.source, self.target))
        return replace(
            self,
            source=self.target[order],
            target=self.source[order],
            source_duals=self.target_duals,
            target_duals=self.source_duals,
        )
