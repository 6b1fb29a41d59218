"""The model: θ = (Ω, μ), its densities, the weight of an edge, the log-likelihood (paper, section 3).

A target word is drawn around its source word, ``t ~ N(Ω s, I)``, or, if nothing generated it, around a common
mean, ``t ~ N(μ, I)``. The weight of an edge is what its likelihood gains over leaving the target unmatched:

    w = log p(t | s) - log p(t) = t·(Ωs - μ) - ‖Ωs‖²/2 + ‖μ‖²/2

which for unit vectors and μ = 0 is cos(t, Ωs) - 1/2 (Proposition 2). Words are rows here, so Ωs is ``s @ omega.T``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bilex import mapping
from bilex.arrays import Floats, Indices, Vectors
from bilex.matching import Matching
from bilex.priors import Prior

__all__ = ["Theta", "log_likelihood", "m_step", "null_log_density"]


@dataclass(frozen=True, eq=False)
class Theta:
    """The parameters: `omega`, an orthogonal (d, d) matrix, and `mu`, the mean of the unmatched targets."""

    omega: Floats
    mu: Floats

    @classmethod
    def from_pairs(cls, source: Vectors, target: Vectors) -> Theta:
        """Start from a seed: Ω by Procrustes on its pairs of rows, μ = 0."""
        return cls(mapping.procrustes(source, target), np.zeros(target.shape[1]))

    def queries(self, source: Vectors) -> Vectors:
        """Give Ωs - μ for each source word: the only part of an edge's weight that meets the target."""
        return mapping.apply(self.omega, source, shift=-self.mu)

    def offsets(self, source: Vectors) -> Floats:
        """Give (‖μ‖² - ‖Ωs‖²)/2 for each source word: the rest of the weight of its edges."""
        return (self.mu @ self.mu - mapping.squared_norms(source, self.omega)) / 2


def null_log_density(theta: Theta, target: Vectors) -> Floats:
    """Give log p(t) for each target word, the density N(μ, I) of a word that nothing generated."""
    distances = mapping.squared_norms(target, shift=-theta.mu)
    return np.asarray(-distances / 2 - target.shape[1] / 2 * np.log(2 * np.pi))


def log_likelihood(theta: Theta, source: Vectors, target: Vectors, matching: Matching, prior: Prior) -> float:
    """Compute log p(T, m | S), up to the constant of p(m): what both steps of EM make larger.

    A target with capacity b > 1 stands for b copies of itself, as in the paper, each drawn from a source word or
    from the null distribution; so it counts b times here, and so it does in `m_step`.
    """
    rows, columns = matching.source, matching.target
    mapped = mapping.apply(theta.omega, source[rows])
    residuals = target[columns].astype(np.float64) - mapped
    constant = target.shape[1] / 2 * np.log(2 * np.pi)
    matched = -(residuals**2).sum() / 2 - len(rows) * constant
    unmatched = free_capacity(matching, prior, len(target)) @ null_log_density(theta, target)
    return float(matched + unmatched + prior.log_odds * len(rows))


def m_step(theta: Theta, source: Vectors, target: Vectors, matching: Matching, prior: Prior) -> Theta:
    """Fit θ to a matching: Ω by Procrustes, μ as the centroid of the unmatched targets.

    With no pair at all, Ω is free and stays as it was; with no unmatched target, so is and does μ.
    """
    omega, mu = theta.omega, theta.mu
    if len(matching.source):
        omega = mapping.procrustes(source[matching.source], target[matching.target])
    free = free_capacity(matching, prior, len(target))
    if free.any():
        mu = mapping.weighted_mean(target, free)
    return Theta(omega, mu)


def free_capacity(matching: Matching, prior: Prior, n_targets: int) -> Indices:
    """Count for each target its copies that nothing generated; without a null option there are none."""
    used = np.bincount(matching.target, minlength=n_targets)
    if not prior.null:
        return np.zeros(n_targets, np.int64)
    assert prior.target_capacity is not None, "the model is read with the choosing side as the target"
    return np.asarray(prior.target_capacity - used)
