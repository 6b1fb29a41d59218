"""From evidence to a probability: logistic regression on a few features, and how well calibrated probabilities are.

A pair with features f is right with probability ``1 / (1 + exp(-(b + c·(f - f̄) / σ)))``. The coefficients have a
Gaussian prior around those of a `start`, as precise as a given number of examples, so that a few examples change
little and many decide alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bilex.numerics.types import Floats

EXAMPLE_PRECISION = 0.1  # of a coefficient, from one example: p(1 - p) for p about 0.9
MAX_NEWTON_STEPS = 50
EXTREME_LOG_ODDS = 30.0  # beyond it a float cannot tell a probability from 0 or 1


@dataclass(frozen=True, eq=False)
class Calibration:
    """A logistic regression on features that are first standardised by `centre` and `spread`."""

    intercept: float
    coefficients: Floats
    centre: Floats
    spread: Floats

    def probability(self, features: Floats) -> Floats:
        """Return the probability that pairs with these features, one row each, are right."""
        log_odds = self.intercept + ((features - self.centre) / self.spread) @ self.coefficients
        return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -EXTREME_LOG_ODDS, EXTREME_LOG_ODDS))))


def fit_calibration(
    features: Floats, right: NDArray[np.bool_], weights: Floats, start: Calibration, prior_examples: float
) -> Calibration:
    """Fit a calibration to labelled and weighted examples by Newton's method.

    `start` counts for `prior_examples` of weight 1.
    """
    design = np.column_stack([np.ones(len(features)), (features - start.centre) / start.spread])
    first = np.concatenate([[start.intercept], start.coefficients])
    precision, found = prior_examples * EXAMPLE_PRECISION, first.copy()
    for _ in range(MAX_NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(design @ found, -EXTREME_LOG_ODDS, EXTREME_LOG_ODDS)))
        slope = design.T @ (weights * (right - chance)) - precision * (found - first)
        curvature = (design * (weights * chance * (1 - chance))[:, None]).T @ design + precision * np.eye(len(found))
        step = np.linalg.solve(curvature, slope)
        found = found + step / max(1.0, float(np.abs(step).max()))  # at most 1 at a time, so that it cannot overshoot
        if np.abs(step).max() < 1e-9:
            break
    return replace(start, intercept=float(found[0]), coefficients=found[1:])


@dataclass(frozen=True)
class ReliabilityBin:
    """Entries of similar confidence: their number, mean confidence and precision."""

    entries: int
    confidence: float
    precision: float


def reliability_bins(confidence: Floats, right: NDArray[np.bool_], bins: int = 10) -> list[ReliabilityBin]:
    """Group entries by confidence into bins of equal width; empty bins are left out."""
    places = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    groups = (places == place for place in np.unique(places))
    return [ReliabilityBin(int(own.sum()), float(confidence[own].mean()), float(right[own].mean())) for own in groups]


def calibration_error(confidence: Floats, right: NDArray[np.bool_], bins: int = 10) -> float:
    """Return the expected calibration error: the mean distance of confidence and precision, weighted by entries."""
    found = reliability_bins(confidence, right, bins)
    return sum(each.entries * abs(each.confidence - each.precision) for each in found) / max(1, len(confidence))
