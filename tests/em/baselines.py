"""The systems once more, slowly: each from its textbook definition, dense, in float64, in plain loops.

Nothing here calls bilex. `Trace` is what an EM loop leaves behind, to be laid beside bilex's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from tests import oracles

__all__ = [
    "Cca",
    "Pairs",
    "Trace",
    "artetxe2017",
    "canonical_correlations",
    "em",
    "ibm1_posterior",
    "marginal_log_likelihood",
    "mutual_neighbours",
    "nearest_by_cosine",
    "normalised",
    "one_to_one",
    "procrustes",
    "regression",
    "targets_choose",
    "transport",
]

Array = NDArray[np.float64]
Pairs = list[tuple[int, int]]
TOLERANCE = 1e-6
MOST = 100


@dataclass
class Trace:
    """The parameters after every iteration, the mean cosine there, and the last pairs."""

    omegas: list[Array] = field(default_factory=list)
    means: list[Array] = field(default_factory=list)
    cosines: list[float] = field(default_factory=list)
    pairs: Pairs = field(default_factory=list)

    def goes_on(self) -> bool:
        """Apply the stopping rule: the mean cosine no longer changes, or it took too long."""
        return not self.converged() and len(self.cosines) < MOST

    def converged(self) -> bool:
        return len(self.cosines) > 1 and abs(self.cosines[-1] - self.cosines[-2]) < TOLERANCE


# Preparing and mapping


def normalised(vectors: NDArray[Any], *steps: str) -> Array:
    """Normalise to length 1 and centre dimension by dimension, as asked."""
    result = vectors.astype(np.float64)
    for step in steps:
        if step == "unit":
            result = np.array([row / np.sqrt(sum(x * x for x in row)) for row in result])
        elif step == "center":
            result = np.array([column - column.mean() for column in result.T]).T
    return result


def procrustes(source: Array, target: Array) -> Array:
    """Return the orthogonal matrix nearest to the cross-product of the pairs (Schönemann 1966)."""
    left, _, right = np.linalg.svd(sum((np.outer(t, s) for s, t in zip(source, target, strict=True)), start=0.0))
    return np.asarray(left @ right)


def regression(source: Array, target: Array) -> Array:
    """Unconstrained least squares by the normal equations."""
    return np.asarray(np.linalg.solve(source.T @ source, source.T @ target).T)


def cosine(x: Array, y: Array) -> float:
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))


def mean_cosine(omega: Array, source: Array, target: Array, pairs: Pairs) -> float:
    return float(np.mean([cosine(omega @ source[j], target[i]) for j, i in pairs]))


def nearest_by_cosine(mapped: Array, target: Array) -> list[int]:
    return [int(np.argmax([cosine(x, t) for t in target])) for x in mapped]


# Hard E-steps: from all weights w[j, i] = log p(t_i | s_j) - log p(t_i) to pairs


def targets_choose(weights: Array) -> Pairs:
    """IBM Model 1 by Viterbi: every target takes its best source, or none."""
    best = [(int(column.argmax()), i) for i, column in enumerate(weights.T)]
    return sorted((j, i) for j, i in best if weights[j, i] > 0)


def one_to_one(weights: Array) -> Pairs:
    """Find the best partial matching by SciPy, with the dummies of the paper's appendix."""
    edges = {(j, i): float(w) for (j, i), w in np.ndenumerate(weights)}
    return sorted(pair for pair in oracles.assignment_with_dummies(edges, *weights.shape)[1] if edges[pair] > 0)


def mutual_neighbours(weights: Array) -> Pairs:
    """Return the pairs that are each other's best."""
    return [(j, int(row.argmax())) for j, row in enumerate(weights) if weights[:, row.argmax()].argmax() == j]


def em(source: Array, target: Array, seed: Pairs, choose: Callable[[Array], Pairs], *, cosine: bool = False) -> Trace:
    """Viterbi EM: choose pairs by the densities, Ω by Procrustes, μ the centroid of the targets left over.

    With `cosine` they are chosen as if μ were 0, where for unit vectors the weight is the cosine less 1/2.
    """
    omega, mu, trace = procrustes(*rows_of(source, target, seed)), np.zeros(target.shape[1]), Trace()
    while trace.goes_on():
        trace.pairs = choose(oracles.weight_matrix(omega, 0 * mu if cosine else mu, source, target))
        omega = procrustes(*rows_of(source, target, trace.pairs))
        left = [i for i in range(len(target)) if i not in {i for _, i in trace.pairs}]
        mu = target[left].mean(axis=0) if left else mu
        trace.omegas.append(omega)
        trace.means.append(mu)
        trace.cosines.append(mean_cosine(omega, source, target, trace.pairs))
    return trace


def artetxe2017(source: Array, target: Array, seed: Pairs) -> Trace:
    """Self-learning: every source takes its nearest target, with no way to take none; Procrustes on these."""
    omega, trace = procrustes(*rows_of(source, target, seed)), Trace()
    while trace.goes_on():
        trace.pairs = [
            (j, int(np.argmin([np.linalg.norm(t - omega @ s) for t in target]))) for j, s in enumerate(source)
        ]
        omega = procrustes(*rows_of(source, target, trace.pairs))
        trace.omegas.append(omega)
        trace.cosines.append(mean_cosine(omega, source, target, trace.pairs))
    return trace


def rows_of(source: Array, target: Array, pairs: Pairs) -> tuple[Array, Array]:
    return source[[j for j, _ in pairs]], target[[i for _, i in pairs]]


# Soft E-steps: from all weights to probabilities


def ibm1_posterior(weights: Array, temperature: float = 1.0) -> tuple[Array, Array]:
    """p(a_i = j) for all j, i, and p(a_i = none)."""
    scores = np.vstack([weights, np.zeros(weights.shape[1])]) / temperature
    scores = np.exp(scores - scores.max(axis=0))
    scores /= scores.sum(axis=0)
    return scores[:-1], scores[-1]


def marginal_log_likelihood(omega: Array, mu: Array, source: Array, target: Array, temperature: float = 1.0) -> float:
    """log Π_i Σ_a p(t_i | s_a) p(a), with a uniform over all the sources and none.

    At another temperature: what EM with the tempered posterior maximises, ``T log Σ p^(1/T)``.
    """
    total = 0.0
    for t in target:
        densities = [oracles.log_normal(t, omega @ s) for s in source] + [oracles.log_normal(t, mu)]
        largest = max(densities)
        total += largest + temperature * np.log(sum(np.exp((d - largest) / temperature) for d in densities))
    return float(total - len(target) * np.log(len(source) + 1))


def transport(weights: Array, temperature: float, rounds: int = 20_000) -> tuple[Array, Array, Array]:
    """Sinkhorn's matrix scaling, with the null options as one more column and one more row."""
    kernel = np.exp(weights / temperature)
    a, b = np.ones(len(kernel)), np.ones(kernel.shape[1])
    for _ in range(rounds):
        before = a
        a = 1 / (kernel @ b + 1)
        b = 1 / (kernel.T @ a + 1)
        if np.abs(a / before - 1).max() < 1e-13:
            break
    return a[:, None] * kernel * b, a, b


# Canonical correlations


@dataclass
class Cca:
    """Directions and correlations, from a generalised eigenvalue problem."""

    correlations: Array
    source: Array
    target: Array

    def cosines(self, x: Array, y: Array) -> Array:
        """Compute the cosine of every x with every y, where each direction counts with the root of its correlation."""
        left = x @ self.source * np.sqrt(self.correlations)
        right = y @ self.target * np.sqrt(self.correlations)
        return np.array([[cosine(a, b) for b in right] for a in left])


def canonical_correlations(x: Array, y: Array, ridge: float) -> Cca:
    """Solve Cxy Cyy⁻¹ Cyx a = ρ² Cxx a, with Cxx and Cyy regularised; b = Cyy⁻¹ Cyx a / ρ."""
    n, (dx, dy) = len(x), (x.shape[1], y.shape[1])
    cxx, cyy, cxy = x.T @ x / n, y.T @ y / n, x.T @ y / n
    cxx = cxx + ridge * np.trace(cxx) / dx * np.eye(dx)
    cyy = cyy + ridge * np.trace(cyy) / dy * np.eye(dy)
    back = np.linalg.solve(cyy, cxy.T)
    squares, a = scipy.linalg.eigh(cxy @ back, cxx)
    order = np.argsort(-squares)
    correlations = np.sqrt(np.maximum(squares[order], 0))
    a = a[:, order]
    return Cca(correlations, a, back @ a / correlations)
