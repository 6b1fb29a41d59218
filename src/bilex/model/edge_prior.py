"""A learnt prior p(m): what speaks for a pair of words besides their vectors (paper, section 3, "could be learned").

The log-prior is a sum over edges, so it adds to their weights and the same exact solver applies:

    log p(m) = Σ over e in m of [log_odds + β·(f(e) - f̄) / α] + constant,    m within the limits of the prior

with the features f of an edge

- spelling: ``1 - edits / length`` of the two words after `bilex.vectors.spelling.fold`,
- frequency: the difference of the logarithms of their ranks, as an absolute value, and
- mutual: whether it is the heaviest of its source's candidates and of its target's.

That an edge is the heaviest of its source alone is no feature: right edges mostly are, so its worth would be large, and
nothing else could ever move another candidate to the first place. With margins for weights (`bilex.model.weights`), w
is the CSLS margin.

α and β come from a logistic regression of "this candidate is right" on (w, f), in which α is the coefficient of the
edge's own weight w, so that β/α is in units of the weight. f̄ is the mean over right edges: of those the typical one
gains nothing and loses nothing, and how many pairs are matched is left to `log_odds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bilex.matching.solver import Graph
from bilex.numerics.types import Floats, Indices
from bilex.vectors.spelling import fold

__all__ = ["FEATURES", "EdgePrior", "Examples", "Features", "Spellings", "heaviest", "learn"]

FEATURES = ("spelling", "frequency", "mutual")
PENALTY = 1.0  # on squared coefficients, as of one example
ROUNDS = 50


@dataclass(frozen=True, eq=False)
class Spellings:
    """Folded words as characters in one array: word w is ``codes[starts[w] : starts[w + 1]]``."""

    codes: Indices
    starts: Indices

    @classmethod
    def of(cls, words: Sequence[str]) -> Spellings:
        """Fold the words."""
        folded = [fold(word) for word in words]
        codes = np.frombuffer("".join(folded).encode("utf-32-le"), np.int32).astype(np.int64)
        return cls(codes, np.concatenate([[0], np.cumsum([len(word) for word in folded])]).astype(np.int64))


@dataclass(frozen=True, eq=False)
class Features:
    """The features of edges between two vocabularies in order of frequency."""

    source: Spellings
    target: Spellings

    @classmethod
    def between(cls, source: Sequence[str], target: Sequence[str]) -> Features:
        """Prepare the words of both languages."""
        return cls(Spellings.of(source), Spellings.of(target))

    def likeness(self, rows: Indices, columns: Indices) -> Floats:
        """Say how alike the words of each pair are spelt, from 0 to 1."""
        from bilex.vectors.spelling_kernel import similarities

        sides = (self.source.codes, self.source.starts, self.target.codes, self.target.starts)
        return np.asarray(similarities(*sides, rows, columns))

    def of(self, graph: Graph) -> Floats:
        """Give a row of features for every edge."""
        rows, columns = graph.rows, graph.indices
        return np.column_stack(
            [
                self.likeness(rows, columns),
                np.abs(np.log1p(rows) - np.log1p(columns)),
                heaviest(graph.weights, rows) & heaviest(graph.weights, columns),
            ]
        ).astype(np.float64)


def heaviest(weights: Floats, words: Indices) -> np.ndarray:
    """Say of each edge whether it is the heaviest of its word; ties go to the first."""
    order = np.lexsort((np.arange(len(weights)), -weights, words))
    _, places = np.unique(words[order], return_index=True)
    best = np.zeros(len(weights), np.bool_)
    best[order[places]] = True
    return best


@dataclass(frozen=True, eq=False)
class Examples:
    """Candidate edges of words whose translations are known: weight, features, whether right, and whose they are."""

    weights: Floats
    features: Floats
    right: np.ndarray
    words: Indices

    @classmethod
    def of(cls, graph: Graph, features: Features, known: tuple[Indices, Indices]) -> Examples:
        """Take the candidates of the known words out of a graph."""
        width = np.int64(graph.n_targets)
        chosen = np.isin(graph.rows, known[0])
        keys = (graph.rows * width + graph.indices)[chosen]
        right = np.isin(keys, known[0] * width + known[1])
        return cls(graph.weights[chosen], features.of(graph)[chosen], right, graph.rows[chosen])

    def together(self, other: Examples) -> Examples:
        """Put two sets of examples together; words of the other are other words."""
        shifted = other.words + self.words.max(initial=-1) + 1
        return Examples(
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.features, other.features]),
            np.concatenate([self.right, other.right]),
            np.concatenate([self.words, shifted]),
        )

    def precision(self, weights: Floats) -> float:
        """Give the share of the words whose heaviest candidate, by the given weights, is right."""
        best = heaviest(weights, self.words)
        return float(self.right[best].mean()) if best.any() else 0.0


@dataclass(frozen=True, eq=False)
class EdgePrior:
    """A learnt prior: what each feature is worth in units of the weight (β/α), and the typical right edge (f̄)."""

    features: Features
    worth: Floats
    typical: Floats

    def log_prior(self, features: Floats) -> Floats:
        """Give what the prior adds to the weight of edges with these features."""
        return np.asarray((features - self.typical) @ self.worth)

    def reweigh(self, graph: Graph) -> Graph:
        """Add the prior to the weights of a graph."""
        return replace(graph, weights=graph.weights + self.log_prior(self.features.of(graph)))


def learn(examples: Examples, features: Features) -> EdgePrior | None:
    """Learn the prior; None where the examples do not show that a heavier edge is more often right."""
    if not examples.right.any() or examples.right.all():
        return None
    inputs = np.column_stack([examples.weights, examples.features])
    centre, spread = inputs.mean(axis=0), inputs.std(axis=0)
    spread[spread == 0] = 1
    coefficients = logistic((inputs - centre) / spread, examples.right)[1:] / spread
    if coefficients[0] <= 0:
        return None
    return EdgePrior(features, coefficients[1:] / coefficients[0], examples.features[examples.right].mean(axis=0))


def logistic(inputs: Floats, right: np.ndarray) -> Floats:
    """Fit a logistic regression by Newton's method: the intercept, then a coefficient for each column."""
    design = np.column_stack([np.ones(len(inputs)), inputs])
    penalty = np.full(design.shape[1], PENALTY)
    penalty[0] = 1e-6
    coefficients = np.zeros(design.shape[1])
    for _ in range(ROUNDS):
        probability = 1 / (1 + np.exp(-np.clip(design @ coefficients, -30, 30)))
        slope = design.T @ (right - probability) - penalty * coefficients
        curvature = (design * (probability * (1 - probability))[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(curvature, slope)
        coefficients = coefficients + step
        if np.abs(step).max() < 1e-9:
            break
    return coefficients
