"""Looking words up in the shared space: nearest neighbours, and CSLS against hubs.

The source words are mapped into the target's space and both sides have unit length there, so an inner product is
a cosine. *Crowding* is the mean cosine of a word with its ten nearest words of the other language; CSLS
(Conneau et al. 2018) takes it off on both sides:

    csls(s, t) = 2 cos(Ωs, t) - crowding(s) - crowding(t)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bilex.errors import BilexError
from bilex.numerics.rows import unit
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Engine, Neighbours

__all__ = ["CROWD", "RETRIEVALS", "SharedSpace", "Surroundings"]

CROWD = 10
RETRIEVALS = ("nn", "csls")


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The nearest words of the other language, nearest first: a row for each source word, and for each target word."""

    forth: Indices
    back: Indices


@dataclass(frozen=True, eq=False)
class SharedSpace:
    """Both languages in one space: unit vectors, how crowded it is around each word, and its nearest neighbour."""

    source: Vectors
    target: Vectors
    source_crowding: Floats
    target_crowding: Floats
    source_nearest: Indices
    target_nearest: Indices

    @classmethod
    def around(cls, mapped: Vectors, target: Vectors, engine: Engine) -> SharedSpace:
        """Look around each word of both languages in their space: two exact searches over all pairs of words."""
        return cls.with_surroundings(mapped, target, engine)[0]

    @classmethod
    def with_surroundings(cls, mapped: Vectors, target: Vectors, engine: Engine) -> tuple[SharedSpace, Surroundings]:
        """Do as `around`, and give what was seen there too."""
        mapped, target = unit(mapped), unit(target)
        forth = engine.top_k(mapped, target, min(CROWD, len(target)))
        back = engine.top_k(target, mapped, min(CROWD, len(mapped)))
        crowding = (forth.scores.mean(axis=1), back.scores.mean(axis=1))
        space = cls(mapped, target, *crowding, forth.indices[:, 0].copy(), back.indices[:, 0].copy())
        return space, Surroundings(forth.indices, back.indices)

    def mirrored(self) -> SharedSpace:
        """Give the same space with the languages exchanged."""
        return SharedSpace(
            self.target,
            self.source,
            self.target_crowding,
            self.source_crowding,
            self.target_nearest,
            self.source_nearest,
        )

    def search(self, rows: Indices, k: int, retrieval: str, engine: Engine) -> Neighbours:
        """Find the k best targets for the given source words, with their cosines or CSLS scores."""
        return self._search(self.source[rows], self.source_crowding[rows], k, retrieval, engine)

    def search_vectors(self, vectors: Vectors, k: int, retrieval: str, engine: Engine) -> Neighbours:
        """Do the same for unit vectors of the space that are no source words of it."""
        crowding = np.zeros(len(vectors))
        if retrieval == "csls":
            crowding = engine.top_k(vectors, self.target, min(CROWD, len(self.target))).scores.mean(axis=1)
        return self._search(vectors, crowding, k, retrieval, engine)

    def _search(self, vectors: Vectors, crowding: Floats, k: int, retrieval: str, engine: Engine) -> Neighbours:
        queries, targets = self._sides(vectors, retrieval)
        found = engine.top_k(queries, targets, min(k, len(targets)))
        if retrieval == "nn":
            return found
        return Neighbours(found.indices, 2 * found.scores - crowding[:, None])

    def rank(self, rows: Indices, chosen: Indices, retrieval: str, engine: Engine) -> Indices:
        """Give the place of each chosen target, from 1, among all targets for its source word."""
        queries, targets = self._sides(self.source[rows], retrieval)
        return engine.rank(queries, targets, chosen)

    def scores(self, rows: Indices, columns: Indices, retrieval: str) -> Floats:
        """Give the cosine or the CSLS score of each pair."""
        from bilex.search.topk_kernel import edge_scores

        queries, targets = self._sides(self.source[rows], retrieval)
        found = edge_scores(queries, targets, np.arange(len(rows)), columns)
        return np.asarray(found if retrieval == "nn" else 2 * found - self.source_crowding[rows])

    def _sides(self, vectors: Vectors, retrieval: str) -> tuple[Vectors, Vectors]:
        """Give queries and targets whose inner products order the targets as `retrieval` does."""
        if retrieval == "nn":
            return vectors, self.target
        if retrieval == "csls":  # half of it, less what is the same for all targets: cos - crowding(t) / 2
            queries = np.column_stack([vectors, np.ones(len(vectors), np.float32)])
            penalty = (-self.target_crowding / 2).astype(np.float32)
            return queries, np.column_stack([self.target, penalty])
        raise BilexError(f"no retrieval is called {retrieval!r}; choose one of {', '.join(RETRIEVALS)}")
