"""The shared space: both languages' words side by side, looked up by nearest neighbours or by CSLS.

The source words are mapped into the target's space and both sides have unit length there, so an inner product is
a cosine. *Crowding* is the mean cosine of a word with its ten nearest words of the other language; CSLS
(Conneau et al. 2018) subtracts it on both sides, so that hubs do not win:

    csls(s, t) = 2 cos(Ωs, t) - crowding(s) - crowding(t)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bilex.errors import BilexError
from bilex.numerics.rows import unit
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Engine, Neighbours
from bilex.search.index import Index
from bilex.search.lists import NeighbourLists

CROWDING_NEIGHBOURS = 10
FEW_QUERIES = 16  # are searched by the index of a space, without an engine
RETRIEVALS = ("nn", "csls")


@dataclass(frozen=True, eq=False)
class SharedSpace:
    """Both languages as unit vectors of one space, with the crowding and the nearest neighbour of each word.

    A space that was just built has its words' `neighbours` as well; one that was loaded does not.
    """

    source: Vectors
    target: Vectors
    source_crowding: Floats
    target_crowding: Floats
    source_nearest: Indices
    target_nearest: Indices
    neighbours: NeighbourLists | None = field(default=None, kw_only=True)

    @classmethod
    def from_vectors(cls, mapped: Vectors, target: Vectors, engine: Engine) -> SharedSpace:
        """Build the space from mapped source vectors and target vectors, by one pass over all pairs of words."""
        return cls.with_neighbours(mapped, target, engine)[0]

    @classmethod
    def with_neighbours(cls, mapped: Vectors, target: Vectors, engine: Engine) -> tuple[SharedSpace, NeighbourLists]:
        """Build the space, and return the neighbours that were found on the way as well."""
        mapped, target = unit(mapped), unit(target)
        lists = NeighbourLists.find(mapped, target, CROWDING_NEIGHBOURS, engine)
        space = cls(
            mapped,
            target,
            lists.source_cosines.mean(axis=1),
            lists.target_cosines.mean(axis=1),
            lists.of_source[:, 0].copy(),
            lists.of_target[:, 0].copy(),
            neighbours=lists,
        )
        return space, lists

    def mirrored(self) -> SharedSpace:
        """Return the same space with source and target exchanged."""
        return SharedSpace(
            self.target,
            self.source,
            self.target_crowding,
            self.source_crowding,
            self.target_nearest,
            self.source_nearest,
            neighbours=None if self.neighbours is None else self.neighbours.mirrored(),
        )

    def search(self, rows: Indices, k: int, retrieval: str, engine: Engine) -> Neighbours:
        """Find the k best targets of the given source words, with their cosines or CSLS scores."""
        return self._search(self.source[rows], self.source_crowding[rows], k, retrieval, engine)

    def search_vectors(self, vectors: Vectors, k: int, retrieval: str, engine: Engine) -> Neighbours:
        """Find the k best targets of unit vectors that are not source words, with their cosines or CSLS scores."""
        crowding = np.zeros(len(vectors))
        if retrieval == "csls":
            crowding = self._search(vectors, crowding, CROWDING_NEIGHBOURS, "nn", engine).scores.mean(axis=1)
        return self._search(vectors, crowding, k, retrieval, engine)

    @cached_property
    def index(self) -> Index:
        """The targets, prepared for searches of a few words."""
        return Index(self.target)

    @cached_property
    def penalties(self) -> Vectors:
        """What CSLS adds to the cosine with each target: minus half of its crowding."""
        return np.asarray(-self.target_crowding / 2, np.float32)

    def _search(self, vectors: Vectors, crowding: Floats, k: int, retrieval: str, engine: Engine) -> Neighbours:
        k = min(k, len(self.target))
        check_retrieval(retrieval)
        if len(vectors) <= FEW_QUERIES:
            found = self.index.top_k(vectors, k, None if retrieval == "nn" else self.penalties)
        else:
            found = engine.top_k(*self._sides(vectors, retrieval), k)
        if retrieval == "nn":
            return found
        return Neighbours(found.indices, 2 * found.scores - crowding[:, None])

    def rank(self, rows: Indices, chosen: Indices, retrieval: str, engine: Engine) -> Indices:
        """Compute the rank, from 1, of each chosen target among all targets of its source word.

        The lists of neighbours prove most of them; the engine counts for the others.
        """
        queries, targets = self._sides(self.source[rows], retrieval)
        if self.neighbours is None:
            return engine.rank(queries, targets, chosen)
        terms = np.zeros(len(targets)) if retrieval == "nn" else targets[:, -1].astype(np.float64)
        return self.neighbours.rank(queries, targets, rows, chosen, self.neighbours.limits(1.0, terms), engine)

    def scores(self, rows: Indices, columns: Indices, retrieval: str) -> Floats:
        """Compute the cosine or the CSLS score of each pair."""
        from bilex.search.topk_kernel import edge_scores

        queries, targets = self._sides(self.source[rows], retrieval)
        found = edge_scores(queries, targets, np.arange(len(rows)), columns)
        return np.asarray(found if retrieval == "nn" else 2 * found - self.source_crowding[rows])

    def _sides(self, vectors: Vectors, retrieval: str) -> tuple[Vectors, Vectors]:
        """Return queries and targets whose inner products order the targets as `retrieval` does."""
        check_retrieval(retrieval)
        if retrieval == "nn":
            return vectors, self.target
        # half the score, without the query's own crowding: cos - crowding(t) / 2
        queries = np.column_stack([vectors, np.ones(len(vectors), np.float32)])
        return queries, np.column_stack([self.target, self.penalties])


def check_retrieval(retrieval: str) -> None:
    """Raise if no retrieval has that name."""
    if retrieval not in RETRIEVALS:
        raise BilexError(f"no retrieval is called {retrieval!r}; choose one of {', '.join(RETRIEVALS)}")
