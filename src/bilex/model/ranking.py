"""Ranking by the weight of a pair: the best candidates by CSLS, ordered by all the evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bilex.model.evidence import Evidence, FrequencyEvidence, PairWeights, SpellingEvidence
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Engine, Neighbours
from bilex.search.space import SharedSpace
from bilex.vectors.spelling import SpellingComparison

MODEL_RETRIEVAL = "model"
RERANKED = 30  # candidates that are ordered by weight; what CSLS ranks lower stays below them


@dataclass(frozen=True, eq=False)
class WeightedSpace(SharedSpace):
    """A shared space that also knows the retrieval ``model``: the weight of a pair, in nats."""

    weights: PairWeights
    spelling: SpellingComparison

    @classmethod
    def of(cls, space: SharedSpace, weights: PairWeights, spelling: SpellingComparison) -> WeightedSpace:
        """Add the weights to a space."""
        return cls(**vars(space), weights=weights, spelling=spelling)

    @property
    def kinds(self) -> tuple[Evidence, ...]:
        """The kinds of evidence besides the vectors."""
        return SpellingEvidence(self.spelling), FrequencyEvidence()

    def mirrored(self) -> WeightedSpace:
        """Exchange source and target."""
        spelling = SpellingComparison(self.spelling.target_words, self.spelling.source_words)
        return WeightedSpace.of(super().mirrored(), self.weights, spelling)

    def search(self, rows: Indices, k: int, retrieval: str, engine: Engine) -> Neighbours:
        """Find the k best targets for the given source words."""
        if retrieval != MODEL_RETRIEVAL:
            return super().search(rows, k, retrieval, engine)
        found = super().search(rows, max(k, RERANKED), "csls", engine)
        width = found.indices.shape[1]
        weights = self.weigh(np.repeat(rows, width), found.indices.ravel(), found.scores.ravel()).reshape(-1, width)
        order = np.argsort(-weights[:, :RERANKED], axis=1, kind="stable")
        order = np.hstack([order, np.tile(np.arange(order.shape[1], width), (len(rows), 1))])[:, :k]
        place = np.arange(len(rows))[:, None]
        return Neighbours(found.indices[place, order], weights[place, order])

    def search_vectors(self, vectors: Vectors, k: int, retrieval: str, engine: Engine) -> Neighbours:
        """Find the k best targets for unit vectors that are no source words; only the vectors speak for these."""
        if retrieval != MODEL_RETRIEVAL:
            return super().search_vectors(vectors, k, retrieval, engine)
        found = super().search_vectors(vectors, k, "csls", engine)
        return Neighbours(found.indices, self.weights.scale * found.scores)

    def scores(self, rows: Indices, columns: Indices, retrieval: str) -> Floats:
        """Compute the score of each pair."""
        if retrieval != MODEL_RETRIEVAL:
            return super().scores(rows, columns, retrieval)
        return self.weigh(rows, columns, super().scores(rows, columns, "csls"))

    def rank(self, rows: Indices, chosen: Indices, retrieval: str, engine: Engine) -> Indices:
        """Find the place of each chosen target, from 1, among all targets for its source word."""
        if retrieval != MODEL_RETRIEVAL:
            return super().rank(rows, chosen, retrieval, engine)
        words, places = np.unique(rows, return_inverse=True)
        listed = self.search(words, RERANKED, MODEL_RETRIEVAL, engine).indices[places] == chosen[:, None]
        ranks = super().rank(rows, chosen, "csls", engine)
        return np.where(listed.any(axis=1), listed.argmax(axis=1) + 1, ranks)

    def weigh(self, rows: Indices, columns: Indices, csls: Floats) -> Floats:
        """Compute the weight of pairs from their CSLS scores."""
        return self.weights.weigh(csls, self.kinds, rows, columns)
