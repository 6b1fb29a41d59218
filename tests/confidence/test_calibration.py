"""Calibration: logistic regression against a generic optimiser, shrinkage to the start, and the error by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from bilex.confidence.calibration import (
    EXAMPLE_PRECISION,
    Calibration,
    calibration_error,
    fit_calibration,
    reliability_bins,
)
from bilex.numerics.types import Floats

START = Calibration(0.5, np.array([1.0, -0.5]), np.array([0.2, -0.1]), np.array([2.0, 0.5]))


def examples(n: int, seed: int = 0) -> tuple[Floats, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 2))
    return features, rng.random(n) < 1 / (1 + np.exp(-(0.3 + 2 * features[:, 0] - features[:, 1])))


def test_the_fit_is_the_maximum_a_posteriori() -> None:
    (features, right), weights = examples(400), np.random.default_rng(1).random(400)
    design = np.column_stack([np.ones(400), (features - START.centre) / START.spread])
    first = np.array([START.intercept, *START.coefficients])

    def loss(found: Floats) -> float:
        scores = np.where(right, 1, -1) * (design @ found)
        return float(
            (weights * np.logaddexp(0, -scores)).sum() + 50 * EXAMPLE_PRECISION / 2 * ((found - first) ** 2).sum()
        )

    expected = minimize(loss, first, method="BFGS", options={"gtol": 1e-8}).x
    found = fit_calibration(features, right, weights, START, prior_examples=50)
    np.testing.assert_allclose([found.intercept, *found.coefficients], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("intercept", "most", "constant"), [(0.5, True, False), (0.5, False, True), (-15, False, True)]
)
def test_the_optimum_is_reached(intercept: float, most: bool, constant: bool) -> None:
    """Where most examples are right, where a feature tells nothing, and from far away."""
    (features, right), start = examples(2000), replace(START, intercept=intercept)
    right = np.arange(2000) % 100 > 0 if most else right
    features[:, 1] = START.centre[1] if constant else features[:, 1]
    found = fit_calibration(features, right, np.ones(2000), start, prior_examples=1)
    design = np.column_stack([np.ones(2000), (features - start.centre) / start.spread])
    change = np.array([found.intercept, *found.coefficients]) - [start.intercept, *start.coefficients]
    slope = design.T @ (right - found.probability(features)) - EXAMPLE_PRECISION * change
    np.testing.assert_allclose(slope, 0, atol=1e-6)


def test_no_examples_keep_the_start_and_many_override_it() -> None:
    nothing = fit_calibration(np.empty((0, 2)), np.empty(0, bool), np.empty(0), START, 100)
    assert (nothing.intercept, *nothing.coefficients) == (START.intercept, *START.coefficients)
    features, right = examples(50_000)
    found = fit_calibration(features, right, np.ones(50_000), START, 100)
    np.testing.assert_allclose(found.coefficients / START.spread, [2, -1], atol=0.1)
    assert calibration_error(found.probability(features), right) < 0.02


def test_examples_that_are_all_right_give_finite_coefficients() -> None:
    features, _ = examples(200)
    found = fit_calibration(features, np.ones(200, bool), np.ones(200), START, 100)
    assert np.isfinite(found.coefficients).all()
    assert (found.probability(features) > 0.8).all()


def test_the_error_is_the_mean_distance_of_confidence_and_precision() -> None:
    confidence = np.array([0.05, 0.15, 0.15, 0.95, 1.0])
    right = np.array([False, True, False, True, True])
    bins = reliability_bins(confidence, right)
    assert [each.entries for each in bins] == [1, 2, 2]
    assert [each.precision for each in bins] == [0, 0.5, 1]
    last = reliability_bins(np.array([0.85, 0.95, 1.0]), np.array([True, True, False]))
    assert [each.entries for each in last] == [1, 2]
    assert calibration_error(confidence, right) == pytest.approx((0.05 + 2 * 0.35 + 2 * 0.025) / 5)
    assert calibration_error(np.array([0.25]), np.array([True])) == 0.75
    assert calibration_error(np.empty(0), np.empty(0, bool)) == 0
