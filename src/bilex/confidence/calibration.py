"""From evidence to a probability: logistic regression on a few features, and how far probabilities are from the truth.

A `Calibration` says that a pair with features f is right with probability ``1 / (1 + exp(-(b + c·(f - f̄) / σ)))``. It
is fitted to examples by maximum a posteriori: the coefficients are drawn around those of a `start`, with a precision
worth so many examples, so that few examples move it little and many decide alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bilex.numerics.types import Floats

__all__ = ["Bin", "Calibration", "calibrate", "calibration_error", "reliability"]

INFORMATION = 0.1  # of one example about a coefficient: p(1 - p) for p about 0.9
ROUNDS = 50
FARTHEST = 30.0  # log-odds beyond which a float cannot tell a probability from 0 or 1


@dataclass(frozen=True, eq=False)
class Calibration:
    """A logistic regression: `intercept` and `coefficients` of features from which `centre` is taken, over `spread`."""

    intercept: float
    coefficients: Floats
    centre: Floats
    spread: Floats

    def probability(self, features: Floats) -> Floats:
        """Give the probability that pairs with these features, one row each, are right."""
        log_odds = self.intercept + ((features - self.centre) / self.spread) @ self.coefficients
        return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -FARTHEST, FARTHEST))))

    @classmethod
    def plain(cls, features: Floats) -> Calibration:
        """Give one that knows nothing, for features of the size of these."""
        spread = features.std(axis=0)
        width = features.shape[1]
        return cls(0.0, np.zeros(width), features.mean(axis=0), np.where(spread > 0, spread, 1.0))


def calibrate(features: Floats, right: NDArray[np.bool_], start: Calibration, worth: float) -> Calibration:
    """Fit a calibration to examples, near to a start that is worth so many of them, by Newton's method."""
    design = np.column_stack([np.ones(len(features)), (features - start.centre) / start.spread])
    first = np.concatenate([[start.intercept], start.coefficients])
    precision, found = worth * INFORMATION, first.copy()
    for _ in range(ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(design @ found, -FARTHEST, FARTHEST)))
        slope = design.T @ (right - chance) - precision * (found - first)
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design + precision * np.eye(len(found))
        step = np.linalg.solve(curvature, slope)
        found = found + step / max(1.0, float(np.abs(step).max()))  # never more than 1 at a time: it cannot overshoot
        if np.abs(step).max() < 1e-9:
            break
    return replace(start, intercept=float(found[0]), coefficients=found[1:])


@dataclass(frozen=True)
class Bin:
    """Entries of similar confidence: how many, how confident on average, and how many of them are right."""

    entries: int
    confidence: float
    precision: float


def reliability(confidence: Floats, right: NDArray[np.bool_], bins: int = 10) -> list[Bin]:
    """Group entries into bins of equal width by their confidence; empty bins are left out."""
    places = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    chosen = (places == place for place in np.unique(places))
    return [Bin(int(own.sum()), float(confidence[own].mean()), float(right[own].mean())) for own in chosen]


def calibration_error(confidence: Floats, right: NDArray[np.bool_], bins: int = 10) -> float:
    """Give the expected calibration error: the mean distance of confidence and precision over the bins' entries."""
    found = reliability(confidence, right, bins)
    return sum(each.entries * abs(each.confidence - each.precision) for each in found) / max(1, len(confidence))
