"""Families first, forms second: the confidence without a dictionary, by its definition."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.confidence.families import (
    EVIDENCE_SHARE,
    Families,
    confidence_of_forms,
    log_odds_of,
    probability_of,
    shift_to_mean,
)


def test_forms_share_their_family_s_probability_and_families_do_not_compete() -> None:
    of_edges = np.array([0, 0, 1, 2, 3])
    posterior = np.array([0.45, 0.3, 0.2, 0.6, 0.0])
    chosen = np.array([True, False, False, True, False])
    found = confidence_of_forms(posterior, Families(of_edges, chosen, 0.8))
    together = np.array([0.75, 0.75, 0.2, 0.6, 0.0])
    expected = (0.8 + (0.75 + 0.6) / 2) / 2
    shift = shift_to_mean(EVIDENCE_SHARE * log_odds_of(together[chosen]), expected)
    right = [float(probability_of(EVIDENCE_SHARE * log_odds_of(np.array(p)) + shift)) for p in (0.75, 0.2, 0.6)]
    np.testing.assert_allclose(found, [right[0] * 0.6, right[0] * 0.4, right[1], right[2], 0.0])
    assert (right[0] + right[2]) / 2 == pytest.approx(expected)


def test_without_chosen_pairs_the_posterior_stays() -> None:
    posterior = np.array([0.4, 0.0])
    none = Families(np.zeros(2, np.int64), np.zeros(2, bool), 0.5)
    assert confidence_of_forms(posterior, none).tolist() == [0.4, 0.0]


@pytest.mark.parametrize("mean", [0.03, 0.5, 0.97])
def test_log_odds_are_shifted_to_a_mean_probability(mean: float) -> None:
    log_odds = np.random.default_rng(0).normal(scale=4, size=500)
    assert probability_of(log_odds + shift_to_mean(log_odds, mean)).mean() == pytest.approx(mean)
    assert np.isfinite(shift_to_mean(np.full(3, 10.4), 0.01))


def test_certain_posteriors_stay_between_0_and_1() -> None:
    posterior = np.array([1.0, 1.0, 0.0])
    found = confidence_of_forms(posterior, Families(np.arange(3), np.array([1, 1, 0], bool), 0.9))
    assert ((found >= 0) & (found <= 1)).all() and found[2] == 0
