"""The inputs and results of EM are immutable values that can be compared."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from typing import Any

import numpy as np
import pytest

from bilex.em.context import Iteration, State
from bilex.em.em import Fit
from bilex.matching.graph import Capacities, Graph, Matching
from bilex.methods import METHODS, EStepConfig
from bilex.model.prior import Prior
from bilex.model.theta import PairStatistics, Theta


def theta() -> Theta:
    return Theta(np.eye(2), np.zeros(2))


def matching() -> Matching:
    return Matching(np.arange(2), np.arange(2), 1.0, 0.0, np.zeros(2), np.zeros(2))


def of_arrays() -> list[Any]:
    rows = np.eye(2, dtype=np.float32)
    return [
        theta(),
        matching(),
        PairStatistics(rows, rows, np.zeros(2)),
        Graph(np.arange(3), np.arange(2), np.ones(2), 2),
        Fit(theta(), matching(), (), ""),
        State(theta(), None, ()),
        Prior(),
    ]


def of_numbers() -> list[Any]:
    return [Capacities(), METHODS["bilex"], EStepConfig(), Iteration(1, 0.5, 0.0, None, {})]


@pytest.mark.parametrize("value", of_arrays() + of_numbers(), ids=lambda value: type(value).__name__)
def test_a_value_is_immutable(value: Any) -> None:
    for name in (field.name for field in fields(value)):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, None)


def test_values_with_arrays_are_compared_by_identity_and_others_by_content() -> None:
    for one, other in zip(of_arrays(), of_arrays(), strict=True):
        assert one != other  # and not "the truth value of an array is ambiguous"
        assert len({one, other}) == 2
    for one, other in zip(of_numbers(), of_numbers(), strict=True):
        assert one == other
