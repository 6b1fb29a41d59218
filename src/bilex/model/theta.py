"""The model: θ = (Ω, μ), its densities, the log-likelihood and the M-step (paper, sections 3 and 4.2).

A target word is drawn around its source word, ``t ~ N(Ω s, I)``, or, if it is unmatched, around a common mean,
``t ~ N(μ, I)``. The weight of an edge is what the likelihood gains over leaving the target unmatched:

    w = log p(t | s) - log p(t) = t·(Ωs - μ) - ‖Ωs‖²/2 + ‖μ‖²/2

which for unit vectors and μ = 0 is cos(t, Ωs) - 1/2 (Proposition 2). Words are rows here, so Ωs is ``s @ omega.T``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bilex.matching.graph import Capacities, Matching
from bilex.methods import MapConfig
from bilex.model.maps import Moments, fit_maps, maps_of_moments
from bilex.model.prior import Prior
from bilex.numerics.rows import (
    ROWS_IN_CACHE,
    apply,
    apply_with_norms,
    blocks,
    make_unit,
    squared_norms,
    unit,
    weighted_mean,
)
from bilex.numerics.types import Floats, Indices, Vectors


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
    def from_pairs(cls, source: Vectors, target: Vectors, config: MapConfig | None = None) -> Theta:
        """Fit the maps to the pairs of rows of a seed, with μ = 0."""
        omega, target_map = fit_maps(config or MapConfig(), source, target)
        return cls(omega, np.zeros(len(omega)), target_map)

    @classmethod
    def from_moments(cls, moments: Moments, config: MapConfig) -> Theta:
        """Fit maps of both sides to pairs of which only the moments are left, with μ = 0."""
        omega, target_map = maps_of_moments(config, moments)
        return cls(omega, np.zeros(len(omega)), target_map)

    def mirrored(self) -> Theta:
        """Exchange source and target; the inverse of an orthogonal map is its transpose."""
        if self.target_map is not None:
            return Theta(self.target_map, self.mu, self.omega)
        return Theta(self.omega.T, self.omega.T @ self.mu)

    def map_source(self, source: Vectors) -> Vectors:
        """Compute Ωs for each source word."""
        mapped = apply(self.omega, source)
        return mapped if self.target_map is None else make_unit(mapped)

    def map_target(self, target: Vectors) -> Vectors:
        """Return the target words in the space that the source words are mapped to."""
        return target if self.target_map is None else make_unit(apply(self.target_map, target))

    def shared_units(self, source: Vectors, target: Vectors) -> tuple[Vectors, Vectors]:
        """Map both languages into the shared space, as new unit vectors."""
        mapped = self.map_target(target)
        return make_unit(self.map_source(source)), unit(target) if mapped is target else make_unit(mapped)


@dataclass(frozen=True, eq=False)
class MappedWords:
    """The words of both languages under one θ: each word is mapped once, when it is first needed."""

    theta: Theta
    source: Vectors
    target: Vectors

    @cached_property
    def targets(self) -> Vectors:
        """The target words in the space that the source words are mapped to."""
        return self.theta.map_target(self.target)

    @cached_property
    def sources(self) -> Vectors:
        """Ωs for each source word."""
        return self.theta.map_source(self.source)

    @property
    def queries(self) -> Vectors:
        """Ωs - μ for each source word: the only part of an edge's weight that meets the target."""
        return self._queries_and_offsets[0]

    @property
    def offsets(self) -> Floats:
        """(‖μ‖² - ‖Ωs‖²)/2 for each source word: the rest of the weight of its edges."""
        return self._queries_and_offsets[1]

    @cached_property
    def _queries_and_offsets(self) -> tuple[Vectors, Floats]:
        theta = self.theta
        if theta.target_map is None:
            queries, norms = apply_with_norms(theta.omega, self.source, shift=-theta.mu)
        else:
            queries, norms = (self.sources - theta.mu).astype(np.float32), squared_norms(self.sources)
        return queries, np.asarray((theta.mu @ theta.mu - norms) / 2)

    @property
    def units(self) -> tuple[Vectors, Vectors]:
        """Both languages as unit vectors, which two maps leave already."""
        sides = self.sources, self.targets
        return (unit(sides[0]), unit(sides[1])) if self.theta.target_map is None else sides

    def weigh(self, rows: Indices, columns: Indices) -> Floats:
        """Compute the weight of each edge in float64."""
        from bilex.numerics.products_kernel import edge_scores

        return np.asarray(edge_scores(self.queries, self.targets, rows, columns) + self.offsets[rows])

    def with_mean(self, mu: Floats) -> MappedWords:
        """Change μ, which does not move the targets."""
        moved = replace(self, theta=replace(self.theta, mu=mu))
        vars(moved)["targets"] = self.targets
        return moved

    def pair_rows(self, matching: Matching) -> Iterator[tuple[Floats, Floats]]:
        """Yield the mapped source and target rows of the pairs of a matching, in blocks."""
        for rows in blocks(len(matching), ROWS_IN_CACHE):
            mapped = self.queries[matching.source[rows]].astype(np.float64) + self.theta.mu
            yield mapped, self.targets[matching.target[rows]].astype(np.float64)

    def null_log_density(self) -> Floats:
        """Compute log p(t) for each target word: the density N(μ, I) of an unmatched word."""
        distances = squared_norms(self.targets, shift=-self.theta.mu)
        return np.asarray(-distances / 2 - len(self.theta.mu) / 2 * np.log(2 * np.pi))


def log_likelihood(words: MappedWords, matching: Matching, prior: Prior) -> float:
    """Compute log p(T, m | S), up to the constant of p(m).

    Both steps of EM increase it for orthogonal maps (`ruder2018`). A target with capacity b > 1 stands for b copies of
    itself, as in the paper, each drawn from a source word or from the null distribution; so it counts b times here,
    and so it does in the M-step.
    """
    constant = len(words.theta.mu) / 2 * np.log(2 * np.pi)
    distances = sum(((aligned - mapped) ** 2).sum() for mapped, aligned in words.pair_rows(matching))
    matched = -distances / 2 - len(matching) * constant
    unmatched = free_capacity(matching, prior.capacities, len(words.target)) @ words.null_log_density()
    return float(matched + unmatched + prior.log_probability(matching))


def mean_cosine(words: MappedWords, matching: Matching) -> float:
    """Average the cosine of Ωs and t over the induced pairs; 0 if there are none."""
    if not len(matching):
        return 0.0
    cosines = []
    for mapped, aligned in words.pair_rows(matching):
        norms = np.linalg.norm(mapped, axis=1) * np.linalg.norm(aligned, axis=1)
        cosines.append((mapped * aligned).sum(axis=1) / np.where(norms > 0, norms, 1))
    return float(np.mean(np.concatenate(cosines)))


@dataclass(frozen=True, eq=False)
class PairStatistics:
    """What the M-step needs to know of an E-step.

    `source` and `target` hold the rows that Ω has to align: the vectors of the matched pairs, or, where the E-step is
    soft, each target and the source vector it is expected to come from (its posterior mean, times the probability
    that it comes from any). `free` is how much of each target is unmatched.
    """

    source: Vectors
    target: Vectors
    free: Floats | Indices

    def weighted(self, probability: Floats) -> PairStatistics:
        """Let each pair count as much as it is probable: sums over pairs of products of rows are weighted sums then."""
        root = np.sqrt(probability)[:, None].astype(np.float32)
        return PairStatistics(self.source * root, self.target * root, self.free)

    def with_pairs(self, source: Vectors, target: Vectors) -> PairStatistics:
        """Put more pairs of rows before these."""
        return PairStatistics(np.concatenate([source, self.source]), np.concatenate([target, self.target]), self.free)


def m_step(
    theta: Theta, source: Vectors, target: Vectors, statistics: PairStatistics, config: MapConfig
) -> MappedWords:
    """Fit θ to the pairs of an E-step: the maps by Procrustes (or another), μ as the centroid of the unmatched targets.

    With no pair at all, Ω is undetermined and stays as it was; with no unmatched target, so does μ.
    """
    omega, target_map, mu = theta.omega, theta.target_map, theta.mu
    if statistics.source.any():
        omega, target_map = fit_maps(config, statistics.source, statistics.target)
    words = MappedWords(Theta(omega, mu, target_map), source, target)
    if statistics.free.any():
        words = words.with_mean(weighted_mean(words.targets, statistics.free))
    return words


def free_capacity(matching: Matching, capacities: Capacities, n_targets: int) -> Indices:
    """Count for each target its unmatched copies; without a null option there are none."""
    used = np.bincount(matching.target, minlength=n_targets)
    if not capacities.null:
        return np.zeros(n_targets, np.int64)
    assert capacities.target is not None, "the model is read with the choosing side as the target"
    return np.maximum(capacities.target - used, 0)  # kept pairs may be more than the prior allows
