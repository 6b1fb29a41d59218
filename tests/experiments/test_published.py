"""The published figures: complete, and those of the paper."""

from __future__ import annotations

import itertools

from bilex.experiments import EXPERIMENTS, SYSTEMS
from bilex.experiments.cells import PAPER_SEEDS
from bilex.experiments.reporting import ERROR_ANALYSIS, published_figure, published_rows
from bilex.methods import METHODS


def test_table1_is_complete() -> None:
    keys = {(row["pair"], row["seed"], row["method"]) for row in published_rows("table1")}
    assert keys == set(itertools.product(("en-it", "en-de", "en-fi"), PAPER_SEEDS, SYSTEMS))


def test_table1_is_the_papers() -> None:
    for pair, seed, method, figure in (
        ("en-it", "5000", "mikolov2013", 34.93),
        ("en-de", "identical", "mikolov2013", 19.20),
        ("en-it", "identical", "xing2015", 27.13),
        ("en-de", "numerals", "zhang2016", 0.87),
        ("en-fi", "5000", "artetxe2016", 30.62),
        ("en-fi", "25", "artetxe2017", 28.16),
        ("en-it", "25", "ruder2018", 39.63),
        ("en-fi", "numerals", "ruder2018", 3.02),
        ("en-it", "5000", "ruder2018-freq", 42.47),
        ("en-fi", "identical", "ruder2018-freq", 27.81),
    ):
        assert published_figure("table1", "p@1", pair=pair, seed=seed, method=method) == figure


def test_table2() -> None:
    assert len(published_rows("table2")) == 3 * (4 + 3 * 3)
    for pair, name, seed, method, figure in (
        ("en-it", "WS", "5000", "mikolov2013", 0.627),
        ("en-de", "RG", "25", "artetxe2017", 0.749),
        ("en-de", "WS", "5000", "ruder2018", 0.618),
        ("en-de", "RG", "numerals", "ruder2018-freq", 0.755),
    ):
        assert published_figure("table2", "spearman", pair=pair, set=name, seed=seed, method=method) == figure
    assert published_figure("table2", "spearman", pair="en-fi", set="WS") is None


def test_table3() -> None:
    found = [tuple(row.values()) for row in published_rows("table3")]
    assert len(found) == 10
    assert ("artetxe2017", "1", "luis", "", "20") in found
    assert ("artetxe2017", "5", "gewiß", "certainly", "17") in found
    assert ("ruder2018", "1", "gleichgültigkeit", "indifference", "14") in found


def test_table4() -> None:
    assert len(published_rows("table4")) == 12
    for pair, method, figure in (
        ("en-tr", "artetxe2017", 28.93),
        ("en-hi", "ruder2018", 10.47),
        ("et-fi", "ruder2018-freq", 34.78),
    ):
        assert published_figure("table4", "p@1", pair=pair, method=method) == figure


def test_table5() -> None:
    found = published_rows("table5")
    assert len(found) == 19
    first = {"query": "unregierbar", "gold": "ungovernable", "artetxe2017": "untenable"}
    assert found[0] == {**first, "ruder2018-freq": "uninhabitable"}
    assert found[-1]["query"] == "scharfblick"
    assert ERROR_ANALYSIS == {"artetxe2017": 36.38, "ruder2018-freq": 39.18}


def test_every_system_and_experiment_is_known() -> None:
    assert set(SYSTEMS) <= set(METHODS)
    assert {row["name"] for row in published_rows("findings") if row["finding"]} == set(EXPERIMENTS)
