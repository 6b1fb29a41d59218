"""The priors: their names, their limits, and which ones make no sense."""

from __future__ import annotations

import math

import pytest

from bilex.errors import BilexError
from bilex.model.prior import PRIOR_NAMES, Prior


@pytest.mark.parametrize(
    ("name", "targets_per_source", "sources_per_target", "null"),
    [
        ("1:1", 1, 1, True),
        ("1:2", 2, 1, True),  # one source word, up to two target words
        ("2:1", 1, 2, True),
        ("2:2", 2, 2, True),
        ("one-to-many", None, 1, True),
        ("one-to-many-no-null", None, 1, False),
        ("many-to-one", 1, None, True),
        ("many-to-one-no-null", 1, None, False),
    ],
)
def test_names(name: str, targets_per_source: int | None, sources_per_target: int | None, null: bool) -> None:
    prior = Prior.named(name, log_odds=0.25)
    assert prior == Prior(targets_per_source, sources_per_target, null, 0.25)
    assert prior.name == name
    assert prior.targets_choose == name.startswith("one-to-many")
    assert prior.sources_choose == name.startswith("many-to-one")


def test_the_default_is_the_papers() -> None:
    assert Prior() == Prior.named("1:1") == Prior(1, 1, True, 0.0)


def test_a_prior_without_a_name_is_called_by_its_capacities_like_the_others() -> None:
    assert Prior(3, 2).name == "2:3"
    assert Prior(1, 4).name == "4:1"


@pytest.mark.parametrize("name", PRIOR_NAMES)
def test_mirrored(name: str) -> None:
    prior = Prior.named(name, log_odds=-0.5)
    mirrored = prior.mirrored()
    assert (mirrored.source_capacity, mirrored.target_capacity) == (prior.target_capacity, prior.source_capacity)
    assert (mirrored.null, mirrored.log_odds) == (prior.null, prior.log_odds)
    assert mirrored.sources_choose == prior.targets_choose
    assert mirrored.mirrored() == prior
    assert mirrored.name in PRIOR_NAMES


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(BilexError, match=r"3:3.*1:1, 1:2, 2:1, 2:2, one-to-many"):
        Prior.named("3:3")


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ((0, 1, True), "at least 1"),
        ((1, 0, True), "at least 1"),
        ((-1, None, True), "at least 1"),
        ((None, None, True), "capacity 1 on the other side"),
        ((None, 2, True), "capacity 1 on the other side"),
        ((2, None, False), "capacity 1 on the other side"),
        ((1, 1, False), "without the null option"),
        ((2, 2, False), "without the null option"),
    ],
)
def test_limits_that_make_no_sense(prior: tuple[int | None, int | None, bool], message: str) -> None:
    with pytest.raises(BilexError, match=message):
        Prior(*prior)


@pytest.mark.parametrize("log_odds", [math.nan, math.inf, -math.inf])
def test_log_odds_are_a_number(log_odds: float) -> None:
    with pytest.raises(BilexError, match="log_odds"):
        Prior(log_odds=log_odds)
