"""The candidates of every word with their weights and probabilities: what lexicon, translations and exports speak from.

A run keeps them. `CandidateSpace` ranks by them (the retrieval ``model``): a word's candidates by their weight, the
rest after them by CSLS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilex.matching.graph import Graph, RowPairs
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Engine, Neighbours
from bilex.search.space import CROWDING_NEIGHBOURS, SharedSpace

MODEL_RETRIEVAL = "model"
Target = tuple[int, float, float]
"""A target's row, its score and its probability."""


@dataclass(frozen=True, eq=False)
class CandidatePairs:
    """Edges with their weights in nats and their probabilities, as precise as a run's file holds them."""

    graph: Graph
    probability: Floats

    @classmethod
    def of(cls, graph: Graph, probability: Floats) -> CandidatePairs:
        """Round both to what the file holds."""
        weights = graph.weights.astype(np.float32).astype(np.float64)
        return cls(replace(graph, weights=weights), probability.astype(np.float32).astype(np.float64))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return it as its file holds it."""
        graph = self.graph
        return {
            "indptr": graph.indptr,
            "targets": graph.indices,
            "weights": graph.weights,
            "probability": self.probability,
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray[Any]], n_targets: int) -> CandidatePairs:
        """Read what `tensors` returned."""
        targets, weights = tensors["targets"].astype(np.int64), tensors["weights"].astype(np.float64)
        return cls(Graph(tensors["indptr"], targets, weights, n_targets), tensors["probability"].astype(np.float64))

    def find(self, pairs: RowPairs) -> Indices:
        """Return the edge of each pair; -1 for a pair that is no candidate."""
        keys, wanted = self._keys, pairs.keys(self.graph.n_targets)
        if not len(keys):
            return np.full(len(wanted), -1)
        places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[places] == wanted, places, -1)

    @cached_property
    def _keys(self) -> Indices:
        return self.graph.keys

    def probabilities(self, pairs: RowPairs) -> Floats:
        """Return the probability of each pair; 0 for a pair that is no candidate."""
        edges = self.find(pairs)
        return np.where(edges >= 0, self.probability[edges], 0.0) if len(self.probability) else np.zeros(len(edges))

    def above(self, least: float) -> RowPairs:
        """Return the pairs that are at least that probable."""
        likely = self.probability >= least
        return RowPairs(self.graph.rows[likely], self.graph.indices[likely])

    @cached_property
    def ranks(self) -> Indices:
        """The place of each edge, from 1, among those of its source word, by weight."""
        graph = self.graph
        order = np.lexsort((graph.indices, -graph.weights, graph.rows))
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(1, len(order) + 1) - graph.indptr[graph.rows[order]]
        return ranks

    def edges_of(self, row: int) -> Indices:
        """Return the edges of a source word, the heaviest first."""
        start, end = self.graph.indptr[row : row + 2]
        return np.asarray(start + np.argsort(-self.graph.weights[start:end], kind="stable"))

    def listed(self, row: int) -> list[Target]:
        """Return the candidates of a source word, the heaviest first."""
        edges = self.edges_of(row)
        columns = self.graph.indices[edges], self.graph.weights[edges], self.probability[edges]
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def mirrored(self) -> CandidatePairs:
        """Exchange source and target."""
        return self._mirror

    @cached_property
    def _mirror(self) -> CandidatePairs:
        graph = self.graph
        order = stable_order(graph.indices)  # the rows ascend already
        indptr = np.searchsorted(graph.indices[order], np.arange(graph.n_targets + 1))
        turned = Graph(indptr.astype(np.int64), graph.rows[order], graph.weights[order], graph.n_sources)
        return CandidatePairs(turned, self.probability[order])


def stable_order(rows: Indices) -> Indices:
    """Sort rows, and keep the order of equal ones: half of the bits after the other, which NumPy sorts by counting."""
    order = np.argsort((rows & 0xFFFF).astype(np.uint16), kind="stable")
    return np.asarray(order[np.argsort((rows[order] >> 16).astype(np.uint16), kind="stable")])


@dataclass(frozen=True, eq=False)
class CandidateSpace(SharedSpace):
    """A shared space that also knows the retrieval ``model``: by the weights of the candidates."""

    candidates: CandidatePairs
    scale: float  # nats per unit of CSLS, for words that are no candidates
    log_odds: float

    @classmethod
    def over(cls, space: SharedSpace, candidates: CandidatePairs, scale: float, log_odds: float) -> CandidateSpace:
        """Add the candidates to a space."""
        around = {each.name: getattr(space, each.name) for each in fields(SharedSpace)}
        return cls(**around | {"sharpness": 2 * scale}, candidates=candidates, scale=scale, log_odds=log_odds)

    def mirrored(self) -> CandidateSpace:
        """Exchange source and target."""
        return CandidateSpace.over(super().mirrored(), self.candidates.mirrored(), self.scale, self.log_odds)

    def search(self, rows: Indices, k: int, retrieval: str, engine: Engine) -> Neighbours:
        """Find the k best targets of the given source words."""
        if retrieval != MODEL_RETRIEVAL:
            return super().search(rows, k, retrieval, engine)
        graph = self.candidates.graph
        k = min(k, len(self.target))
        listed = np.minimum(np.diff(graph.indptr)[rows], k)
        indices, weights = np.full((len(rows), k), -1), np.zeros((len(rows), k))
        for place, row in enumerate(rows.tolist()):
            best = self.candidates.edges_of(row)[:k]
            indices[place, : len(best)] = graph.indices[best]
            weights[place, : len(best)] = graph.weights[best]
        short = np.flatnonzero(listed < k)
        if len(short):
            found = super().search(rows[short], min(2 * k, len(self.target)), "csls", engine)
            for place, near, scores in zip(short.tolist(), found.indices, found.scores, strict=True):
                new = np.flatnonzero(~np.isin(near, indices[place]))[: k - listed[place]]
                rest = slice(listed[place], listed[place] + len(new))
                indices[place, rest] = near[new]
                weights[place, rest] = self._below(rows[place], self.scale * scores[new] + self.log_odds)
        return Neighbours(indices, weights)

    def _below(self, row: int, weights: Floats) -> Floats:
        """Return weights no larger than those of the word's candidates."""
        own = self.candidates.graph.weights[slice(*self.candidates.graph.indptr[row : row + 2])]
        return np.asarray(np.minimum(weights, own.min(initial=np.inf)))

    def search_vectors(self, vectors: Vectors, k: int, retrieval: str, engine: Engine) -> Neighbours:
        """Find the k best targets of unit vectors that are not source words; only the vectors speak for these."""
        if retrieval != MODEL_RETRIEVAL:
            return super().search_vectors(vectors, k, retrieval, engine)
        found = super().search_vectors(vectors, k, "csls", engine)
        return Neighbours(found.indices, self.scale * found.scores + self.log_odds)

    def vector_candidates(self, vectors: Vectors, engine: Engine) -> tuple[Neighbours, Floats]:
        """Find the candidates of unit vectors that are not source words, and the probability of each beside none."""
        found = self.search_vectors(vectors, CROWDING_NEIGHBOURS, MODEL_RETRIEVAL, engine)
        logits = np.column_stack([found.scores, np.zeros(len(vectors))])
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        return found, (odds / odds.sum(axis=1, keepdims=True))[:, :-1]

    def scores(self, rows: Indices, columns: Indices, retrieval: str) -> Floats:
        """Compute the score of each pair."""
        if retrieval != MODEL_RETRIEVAL:
            return super().scores(rows, columns, retrieval)
        edges, weights = self.candidates.find(RowPairs(rows, columns)), self.candidates.graph.weights
        found, known = np.empty(len(rows)), edges >= 0
        found[known] = weights[edges[known]]
        others = np.flatnonzero(~known)
        csls = self.scale * super().scores(rows[others], columns[others], "csls") + self.log_odds
        found[others] = [self._below(row, weight) for row, weight in zip(rows[others].tolist(), csls, strict=True)]
        return found

    def rank(self, rows: Indices, chosen: Indices, retrieval: str, engine: Engine) -> Indices:
        """Find the place of each chosen target, from 1, among all targets of its source word."""
        if retrieval != MODEL_RETRIEVAL:
            return super().rank(rows, chosen, retrieval, engine)
        edges, ranks = self.candidates.find(RowPairs(rows, chosen)), np.zeros(len(rows), np.int64)
        listed = edges >= 0
        ranks[listed] = self.candidates.ranks[edges[listed]]
        rest = np.flatnonzero(~listed)
        ranks[rest] = super().rank(rows[rest], chosen[rest], "csls", engine) + self._behind(rows[rest], chosen[rest])
        return ranks

    def _behind(self, rows: Indices, chosen: Indices) -> Indices:
        """Count the candidates of each source word that CSLS would rank behind its chosen target."""
        graph = self.candidates.graph
        sizes = np.diff(graph.indptr)[rows]
        pair = np.repeat(np.arange(len(rows)), sizes)
        edges = np.arange(len(pair)) + np.repeat(graph.indptr[rows] - np.cumsum(sizes) + sizes, sizes)
        columns, limits = graph.indices[edges], super().scores(rows, chosen, "csls")[pair]
        scores = super().scores(rows[pair], columns, "csls")
        behind = (scores < limits) | ((scores == limits) & (columns > chosen[pair]))
        return np.bincount(pair[behind], minlength=len(rows))
