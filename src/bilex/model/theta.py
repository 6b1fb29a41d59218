"""The model: θ = (Ω, μ), its densities, the weight of an edge, the log-likelihood (paper, section 3).

A target word is drawn around its source word, ``t ~ N(Ω s, I)``, or, if nothing generated it, around a common
mean, ``t ~ N(μ, I)``. The weight of an edge is what its likelihood gains over leaving the target unmatched:

    w = log p(t | s) - log p(t) = t·(Ωs - μ) - ‖Ωs‖²/2 + ‖μ‖²/2

which for unit vectors and μ = 0 is cos(t, Ωs) - 1/2 (Proposition 2). Words are rows here, so Ωs is ``s @ omega.T``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bilex.matching.solver import Matching
from bilex.model.maps import Steps, fit_maps
from bilex.model.prior import Prior
from bilex.numerics.rows import apply, squared_norms, unit, weighted_mean
from bilex.numerics.types import Floats, Indices, Vectors

__all__ = ["Expectation", "Theta", "free_capacity", "log_likelihood", "m_step", "maximise", "null_log_density"]


@dataclass(frozen=True, eq=False)
class Theta:
    """The parameters: `omega`, an orthogonal (d, d) matrix, and `mu`, the mean of the unmatched targets.

    The paper's model maps only the source. A method that maps both sides (canonical correlations) has a
    `target_map` as well; then both sides are scaled to unit length in the space where they meet, and the model's
    t is the mapped target.
    """

    omega: Floats
    mu: Floats
    target_map: Floats | None = None

    @classmethod
    def from_pairs(
        cls, source: Vectors, target: Vectors, maps: str = "orthogonal", steps: Steps | None = None
    ) -> Theta:
        """Start from a seed: Ω by Procrustes (or another map) on its pairs of rows, μ = 0."""
        omega, target_map = fit_maps(maps, source, target, steps)
        return cls(omega, np.zeros(len(omega)), target_map)

    def mirrored(self) -> Theta:
        """Give the same parameters with source and target exchanged; an orthogonal map's inverse is its transpose."""
        if self.target_map is not None:
            return Theta(self.target_map, self.mu, self.omega)
        return Theta(self.omega.T, self.omega.T @ self.mu)

    def map_source(self, source: Vectors) -> Vectors:
        """Give Ωs for each source word."""
        mapped = apply(self.omega, source)
        return mapped if self.target_map is None else unit(mapped)

    def map_target(self, target: Vectors) -> Vectors:
        """Give the target words in the space where the source words are mapped to."""
        return target if self.target_map is None else unit(apply(self.target_map, target))

    def queries(self, source: Vectors) -> Vectors:
        """Give Ωs - μ for each source word: the only part of an edge's weight that meets the target."""
        if self.target_map is None:
            return apply(self.omega, source, shift=-self.mu)
        return (self.map_source(source) - self.mu).astype(np.float32)

    def offsets(self, source: Vectors) -> Floats:
        """Give (‖μ‖² - ‖Ωs‖²)/2 for each source word: the rest of the weight of its edges."""
        mapped_norms = (
            squared_norms(source, self.omega) if self.target_map is None else squared_norms(self.map_source(source))
        )
        return np.asarray((self.mu @ self.mu - mapped_norms) / 2)


def null_log_density(theta: Theta, target: Vectors) -> Floats:
    """Give log p(t) for each target word, the density N(μ, I) of a word that nothing generated."""
    distances = squared_norms(theta.map_target(target), shift=-theta.mu)
    return np.asarray(-distances / 2 - len(theta.mu) / 2 * np.log(2 * np.pi))


def log_likelihood(theta: Theta, source: Vectors, target: Vectors, matching: Matching, prior: Prior) -> float:
    """Compute log p(T, m | S), up to the constant of p(m): what both steps of EM make larger.

    A target with capacity b > 1 stands for b copies of itself, as in the paper, each drawn from a source word or
    from the null distribution; so it counts b times here, and so it does in `m_step`.
    """
    rows, columns = matching.source, matching.target
    residuals = theta.map_target(target[columns]).astype(np.float64) - theta.map_source(source[rows])
    constant = len(theta.mu) / 2 * np.log(2 * np.pi)
    matched = -(residuals**2).sum() / 2 - len(rows) * constant
    unmatched = free_capacity(matching, prior, len(target)) @ null_log_density(theta, target)
    return float(matched + unmatched + prior.log_odds * len(rows))


def m_step(theta: Theta, source: Vectors, target: Vectors, matching: Matching, prior: Prior) -> Theta:
    """Fit θ to a matching: Ω by Procrustes, μ as the centroid of the unmatched targets."""
    free = free_capacity(matching, prior, len(target))
    return maximise(theta, target, Expectation(source[matching.source], target[matching.target], free))


@dataclass(frozen=True, eq=False)
class Expectation:
    """What the M-step needs to know of an E-step.

    `source` and `target` hold the rows that Ω has to lay on each other: the vectors of the matched pairs, or, where
    the E-step is soft, each target and the source vector it is expected to come from (its posterior mean, times
    the probability that it comes from any). `free` says how much of each target nothing generated.
    """

    source: Vectors
    target: Vectors
    free: Floats | Indices


def maximise(
    theta: Theta,
    target: Vectors,
    expected: Expectation,
    maps: str = "orthogonal",
    steps: Steps | None = None,
) -> Theta:
    """Fit θ to an expectation: the M-step.

    With no pair at all, Ω is free and stays as it was; with no unmatched target, so is and does μ.
    """
    omega, target_map, mu = theta.omega, theta.target_map, theta.mu
    if expected.source.any():
        omega, target_map = fit_maps(maps, expected.source, expected.target, steps)
    if expected.free.any():
        mu = weighted_mean(Theta(omega, mu, target_map).map_target(target), expected.free)
    return Theta(omega, mu, target_map)


def free_capacity(matching: Matching, prior: Prior, n_targets: int) -> Indices:
    """Count for each target its copies that nothing generated; without a null option there are none."""
    used = np.bincount(matching.target, minlength=n_targets)
    if not prior.null:
        return np.zeros(n_targets, np.int64)
    assert prior.target_capacity is not None, "the model is read with the choosing side as the target"
    return np.maximum(prior.target_capacity - used, 0)  # kept pairs may be more than the prior allows
