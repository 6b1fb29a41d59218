"""The shared space: both languages' words side by side, looked up by nearest neighbours, CSLS or inverted softmax.

The source words are mapped into the target's space and both sides have unit length there, so an inner product is
a cosine. *Crowding* is the mean cosine of a word with its ten nearest words of the other language; CSLS
(Conneau et al. 2018) subtracts it on both sides, so that hubs do not win:

    csls(s, t) = 2 cos(Ωs, t) - crowding(s) - crowding(t)

The inverted softmax (Smith et al. 2017) asks instead how probable the source word is, given the target:

    isf(s, t) = β cos(Ωs, t) - log Σ over all source words r of exp(β cos(Ωr, t))
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bilex.errors import BilexError
from bilex.numerics.rows import unit
from bilex.numerics.threads import for_each
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Engine, Neighbours
from bilex.search.index import Index
from bilex.search.lists import NeighbourLists

CROWDING_NEIGHBOURS = 10
FEW_QUERIES = 16  # are searched by the index of a space, without an engine
RETRIEVALS = ("nn", "csls", "isf")
USUAL_SHARPNESS = 30.0  # β, where no run has measured what a cosine is worth
RANKED_AT_ONCE = 1 << 15  # words whose queries are held at once
SOURCES_AT_ONCE, TARGETS_AT_ONCE = 2048, 512  # words of each language whose cosines are held at once
COSINE_BITS = 26  # inner products of unit vectors of such whole numbers are exact in float64, in any order


@dataclass(frozen=True, eq=False)
class SharedSpace:
    """Both languages as unit vectors of one space, with the crowding and the nearest neighbour of each word.

    A space that was just built has its words' `neighbours` as well; one that was loaded does not. `sharpness` is β of
    the inverted softmax.
    """

    source: Vectors
    target: Vectors
    source_crowding: Floats
    target_crowding: Floats
    source_nearest: Indices
    target_nearest: Indices
    neighbours: NeighbourLists | None = field(default=None, kw_only=True)
    sharpness: float = field(default=USUAL_SHARPNESS, kw_only=True)

    @classmethod
    def from_vectors(cls, mapped: Vectors, target: Vectors, engine: Engine) -> SharedSpace:
        """Build the space from mapped source vectors and target vectors, by one pass over all pairs of words."""
        return cls.of_units(unit(mapped), unit(target), engine)[0]

    @classmethod
    def of_units(cls, mapped: Vectors, target: Vectors, engine: Engine) -> tuple[SharedSpace, NeighbourLists]:
        """Build it from unit vectors, which are not copied, and return the neighbours that were found as well."""
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
            sharpness=self.sharpness,
        )

    def search(self, rows: Indices, k: int, retrieval: str, engine: Engine) -> Neighbours:
        """Find the k best targets of the given source words, with their scores."""
        return self._search(self.source[rows], self.source_crowding[rows], k, retrieval, engine)

    def search_vectors(self, vectors: Vectors, k: int, retrieval: str, engine: Engine) -> Neighbours:
        """Find the k best targets of unit vectors that are not source words, with their scores."""
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
        if len(vectors) <= FEW_QUERIES:
            found = self.index.top_k(vectors, k, self._terms(retrieval))
        else:
            found = engine.top_k(*self._sides(vectors, retrieval), k)
        return Neighbours(found.indices, self._scaled(found.scores, crowding[:, None], retrieval))

    def _terms(self, retrieval: str) -> Vectors | None:
        """Return what `retrieval` adds to the cosine with each target, if anything."""
        if retrieval not in RETRIEVALS:
            raise BilexError(f"no retrieval is called {retrieval!r}; choose one of model, {', '.join(RETRIEVALS)}")
        if retrieval == "isf":
            return np.asarray(-self._summed / self.sharpness, np.float32)
        return None if retrieval == "nn" else self.penalties

    def rank(self, rows: Indices, chosen: Indices, retrieval: str, engine: Engine) -> Indices:
        """Compute the rank, from 1, of each chosen target among all targets of its source word.

        The lists of neighbours prove most of them; the engine counts for the others.
        """
        if self.neighbours is None:
            return engine.rank(*self._sides(self.source[rows], retrieval), chosen)
        ranks, targets = np.empty(len(rows), np.int64), self._sides(self.source[:0], retrieval)[1]
        terms = np.zeros(len(targets)) if retrieval == "nn" else targets[:, -1].astype(np.float64)
        limits = self.neighbours.limits(terms)
        for start in range(0, len(rows), RANKED_AT_ONCE):
            some = slice(start, start + RANKED_AT_ONCE)
            queries = self._queries(self.source[rows[some]], retrieval)
            ranks[some] = self.neighbours.rank(queries, targets, rows[some], chosen[some], limits, engine)
        return ranks

    def scores(self, rows: Indices, columns: Indices, retrieval: str) -> Floats:
        """Compute the score of each pair."""
        from bilex.numerics.products_kernel import edge_scores

        if retrieval == "nn":
            return np.asarray(edge_scores(self.source, self.target, rows, columns))
        queries, targets = self._sides(self.source[rows], retrieval)
        found = edge_scores(queries, targets, np.arange(len(rows)), columns)
        return self._scaled(found, self.source_crowding[rows], retrieval)

    def _scaled(self, products: Floats, crowding: Floats, retrieval: str) -> Floats:
        """Turn inner products of `_sides` into scores."""
        if retrieval == "csls":
            return np.asarray(2 * products - crowding)
        return np.asarray(self.sharpness * products if retrieval == "isf" else products)

    def _sides(self, vectors: Vectors, retrieval: str) -> tuple[Vectors, Vectors]:
        """Return queries and targets whose inner products order the targets as `retrieval` does."""
        terms = self._terms(retrieval)
        targets = self.target if terms is None else np.column_stack([self.target, terms])
        return self._queries(vectors, retrieval), targets

    @staticmethod
    def _queries(vectors: Vectors, retrieval: str) -> Vectors:
        # half the CSLS score, without the query's own crowding: cos - crowding(t) / 2; a β-th of the inverted softmax
        return vectors if retrieval == "nn" else np.column_stack([vectors, np.ones(len(vectors), np.float32)])

    @cached_property
    def _summed(self) -> Floats:
        """For each target log Σ over all source words of exp(β cos), block by block.

        The words are rounded to whole numbers whose products float64 holds exactly, so it is the same everywhere.
        """
        sources, found = whole_numbers(self.source), np.empty(len(self.target))

        def add_up(start: int) -> None:
            targets, total = whole_numbers(self.target[start : start + TARGETS_AT_ONCE]), np.float64(0)
            for first in range(0, len(sources), SOURCES_AT_ONCE):
                cosines = targets @ sources[first : first + SOURCES_AT_ONCE].T / 4.0**COSINE_BITS
                total = total + np.exp(self.sharpness * (cosines - 1)).sum(axis=1)
            found[start : start + TARGETS_AT_ONCE] = self.sharpness + np.log(total)

        for_each(add_up, range(0, len(self.target), TARGETS_AT_ONCE))
        return found


def whole_numbers(vectors: Vectors) -> Floats:
    """Round unit vectors to multiples of 2 to the minus `COSINE_BITS`, and return these multiples."""
    return np.asarray(np.rint(vectors.astype(np.float64) * 2.0**COSINE_BITS))
