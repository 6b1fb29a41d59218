"""Methods: names, defaults as the paper has them, changes, and values that make no sense."""

from __future__ import annotations

import math
from typing import Any

import pytest

from bilex.errors import BilexError
from bilex.methods import DEFAULT_METHOD, METHODS, Method, find_method
from bilex.model.prior import PRIOR_NAMES, Prior


def test_the_default_decides_by_itself_and_ruder2018_is_the_paper() -> None:
    assert find_method(DEFAULT_METHOD).supervision == "choose"
    method = find_method("ruder2018")
    assert method == Method("ruder2018")  # so all other parts have the paper's values by default
    assert (method.maps, method.weights, method.slack, method.e_step) == ("orthogonal", "likelihood", 0, "viterbi")
    assert (method.supervision, method.edge_prior, method.match_all) == ("start", "uniform", False)
    assert (method.normalise, method.prior, method.log_odds) == ("unit,center,unit", "1:1", 0)
    assert (method.candidates, method.max_rank, method.tolerance) == (3, None, 1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_found_by_its_name_and_gives_settings(name: str) -> None:
    method = find_method(name)
    assert method.name == name
    assert method.settings().prior == Prior.named(method.prior)
    assert method.settings().max_rank == method.max_rank


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ruder", "did you mean 'ruder2018'"),
        ("ruder2018-22", "did you mean 'ruder2018-2:2'"),
        ("ruder2018-frequent", "did you mean 'ruder2018-freq'"),
        ("vecmap", f"choose one of {', '.join(METHODS)}"),
        ("", "choose one of"),
    ],
)
def test_an_unknown_method_suggests_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(BilexError, match=hint):
        find_method(name)


def test_changes_replace_only_what_is_given() -> None:
    method = find_method("ruder2018-freq").with_changes({"prior": "2:2", "max_rank": None, "log_odds": 0.5})
    assert method == Method("ruder2018-freq", prior="2:2", max_rank=40_000, log_odds=0.5)
    assert method.settings().prior == Prior.named("2:2", 0.5)


def test_an_unknown_change_lists_the_known_ones() -> None:
    with pytest.raises(BilexError, match="no 'maxrank'; it has name, normalise, prior"):
        find_method(DEFAULT_METHOD).with_changes({"maxrank": 5})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"candidates": 0}, "candidates is 0; give at least 1"),
        ({"max_rank": -1}, "max-rank is -1; give at least 1"),
        ({"max_iterations": 0}, "max-iterations is 0; give at least 1"),
        ({"tolerance": -1e-9}, "tolerance is -1e-09; give a number from 0 up"),
        ({"tolerance": math.nan}, "tolerance is nan"),
        ({"tolerance": math.inf}, "tolerance is inf"),
        ({"log_odds": math.nan}, "log_odds"),
        ({"log_odds": -math.inf}, "log_odds"),
        ({"prior": "3:1"}, f"no prior is called '3:1'; choose one of {', '.join(PRIOR_NAMES)}"),
        ({"normalise": "unit,length"}, "no normalisation step 'length'; use unit, centre, iterative or none"),
    ],
)
def test_values_that_make_no_sense_are_refused_at_once(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BilexError, match=message):
        find_method(DEFAULT_METHOD).with_changes(change)
