"""The kinds of evidence, and the curves that turn their values into nats."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bilex.model.evidence import FrequencyEvidence, Measured, kinds_between


def test_spelling_is_folded_and_frequency_is_a_difference_of_log_ranks() -> None:
    spelling, frequency = kinds_between(("Été", "chat", "x"), ("ete", "kissa", "chats"))
    rows, columns = np.array([0, 1, 1]), np.array([0, 2, 1])
    np.testing.assert_allclose(spelling.measure(rows, columns), [1.0, 0.8, 0.0], atol=1e-6)
    np.testing.assert_allclose(frequency.measure(rows, columns), np.abs(np.log(rows + 1) - np.log(columns + 1)))
    assert (spelling.direction, frequency.direction) == (1, -1)


@given(st.lists(st.floats(-1, 8), min_size=1, max_size=20), st.integers(0, 2**32))
@settings(max_examples=30)
def test_counts_curves_and_stretches_agree(values: list[float], seed: int) -> None:
    kind, rng = FrequencyEvidence(), np.random.default_rng(seed)
    measured = Measured(kind.name, kind.knots, kind.direction, np.array(values))
    marked = rng.random(len(values)) < 0.5
    knots, expected = list(kind.knots), np.zeros(len(kind.knots))
    for value in np.clip(np.array(values)[marked], knots[0], knots[-1]).tolist():  # one count, for the knots around it
        right = next(place for place in range(1, len(knots)) if value <= knots[place])
        part = (value - knots[right - 1]) / (knots[right] - knots[right - 1])
        expected[right - 1] += 1 - part
        expected[right] += part
    np.testing.assert_allclose(measured.counts(marked), expected, atol=1e-12)
    curve = rng.normal(size=len(knots))
    np.testing.assert_allclose(measured.stretches() @ np.diff(curve) + curve[0], measured.nats(curve), atol=1e-9)
    np.testing.assert_array_equal(measured.where(marked).nats(curve), measured.nats(curve)[marked])
