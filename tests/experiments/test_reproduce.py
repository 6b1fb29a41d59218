"""Every experiment on a small data directory: figures, files, resuming, missing seeds."""

from __future__ import annotations

import csv
import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from bilex.em.context import Reporter
from bilex.errors import BilexWarning
from bilex.experiments import EXPERIMENTS, reproduce
from bilex.experiments.experiment import Options, Outcome


@pytest.fixture(scope="module")
def outcomes(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """All experiments, run once."""
    output = tmp_path_factory.mktemp("reproduced")
    return {name: reproduce(name, shared_data, output, options=Options(draws=2)) for name in EXPERIMENTS}


def test_files(outcomes: dict[str, Outcome]) -> None:
    for name, outcome in outcomes.items():
        endings = [path.suffix for path in outcome.files]
        assert endings == [".jsonl", ".tsv", ".txt"] + [".svg", ".png"] * name.startswith("fig")
        assert all(path.stat().st_size > 100 for path in outcome.files)
        assert outcome.files[2].read_text("utf-8") == outcome.report.text
        rows = list(csv.reader(outcome.files[1].open(encoding="utf-8"), delimiter="\t", quoting=csv.QUOTE_NONE))
        assert rows[0] == list(outcome.report.header)
        assert {len(row) for row in rows} == {len(rows[0])}
        assert len(rows) == len(outcome.report.rows) + 1
        assert "The paper:" in outcome.report.text


def figure(outcome: Outcome, column: str = "p@1", **wanted: object) -> list[Any]:
    records = outcome.report.rows
    return [row[column] for row in records if all(row[name] == value for name, value in wanted.items())]


def test_table1(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["table1"]
    assert len(outcome.report.rows) == 2 * 7 * (4 + 1)
    for method in ("artetxe2016", "artetxe2017", "ruder2018", "ruder2018-freq"):
        (found,) = figure(outcome, pair="en-it", method=method, seed="5000")
        assert found is not None and found > 60
    assert len(figure(outcome, pair="en-it", method="ruder2018", seed="25")) == 2
    assert figure(outcome, "published", pair="en-it", method="ruder2018", seed="5000") == [41.0]
    assert figure(outcome, "max_rank", pair="en-it", method="ruder2018-freq", seed="5000") == [150]
    assert figure(outcome, "max_rank", pair="en-it", method="ruder2018", seed="5000") == [None]
    line = next(line for line in outcome.report.text.splitlines() if line.startswith("  mikolov2013"))
    assert line.split()[1] == "34.93"


def test_a_seed_that_is_not_there_is_a_dash_with_its_reason(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["table1"]
    assert figure(outcome, pair="en-fi", method="ruder2018", seed="numerals") == [None]
    assert figure(outcome, "reason", pair="en-fi", method="ruder2018", seed="identical") == [
        "the two vocabularies share no words spelt the same"
    ]
    assert "3.02 / -" in outcome.report.text
    assert "- en-fi, seed numerals: the two vocabularies share no numerals." in outcome.report.text


def test_table2(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["table2"]
    assert len(outcome.report.rows) == 4 + 3 * 4
    (found,) = figure(outcome, "spearman", pair="en-it", method="ruder2018", seed="5000")
    assert found is not None and found > 0.5
    assert figure(outcome, "published", pair="en-it", method="ruder2018", seed="5000") == [0.621]
    assert "0.621 / 0." in outcome.report.text


def test_table3(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["table3"]
    counts = figure(outcome, "count", pair="en-it", method="ruder2018", retrieval="nn")
    assert counts == sorted(counts, key=lambda count: -(count or 0))
    assert "skewness" in outcome.report.text


def test_table4(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["table4"]
    assert {row["seed"] for row in outcome.report.rows} == {"identical"}
    assert len(outcome.report.rows) == 3


def test_table5(outcomes: dict[str, Outcome], shared_data: Path) -> None:
    outcome = outcomes["table5"]
    assert outcome.report.header[4:6] == ("artetxe2017", "ruder2018-freq")
    assert outcome.report.rows
    gold: dict[str, set[str]] = {}
    for line in (shared_data / "en-it.test.txt").read_text("utf-8").splitlines():
        source, target = line.split("\t")
        gold.setdefault(target, set()).add(source)
    for row in outcome.report.rows:
        assert row["artetxe2017"] != row["ruder2018-freq"]
        if row["pair"] == "en-it":
            assert set(row["gold"].split()) == gold[row["query"]]
    assert "it to en" in outcome.report.text


def test_figures(outcomes: dict[str, Outcome]) -> None:
    for name, lines in (("fig2", 6), ("fig3", 4)):
        outcome = outcomes[name]
        assert {row["size"] for row in outcome.report.rows} == {100, 200}
        assert all(row["source_words"] == row["size"] for row in outcome.report.rows)
        assert len(outcome.report.rows) == 2 * 2 * lines
        svg = ET.parse(outcome.files[3]).getroot()
        words = " ".join("".join(element.itertext()) for element in svg.iter("{http://www.w3.org/2000/svg}text"))
        assert "vocabulary size n" in words
        assert "P@1 (%), nearest neighbour" in words
        assert "en-it" in words
        assert outcome.files[4].read_bytes().startswith(b"\x89PNG")
    smaller, larger = (
        figure(outcomes["fig2"], "seed_pairs", pair="en-it", method="ruder2018", size=n) for n in (100, 200)
    )
    assert smaller[0] is not None and larger[0] is not None and smaller[0] < larger[0]


class Recording(Reporter):
    """Records the numbers of the cells, and interrupts at one of them."""

    def __init__(self, stop_at: int = 0) -> None:
        self.stop_at = stop_at
        self.numbers: list[int] = []

    def rows(self, done: int, total: int) -> None:
        self.numbers.append(done + 1)
        if done + 1 == self.stop_at:
            raise KeyboardInterrupt


def texts(outcome: Outcome) -> list[bytes]:
    return [path.read_bytes() for path in outcome.files[1:]]


@pytest.mark.usefixtures("empty_plots")
def test_an_interrupted_run_with_a_torn_log_ends_with_the_same_files(shared_data: Path, tmp_path: Path) -> None:
    options = Options(pairs=("en-it",), methods=("ruder2018",), sizes=(100,))
    whole = reproduce("fig3", shared_data, tmp_path / "whole", options=options)
    with pytest.raises(KeyboardInterrupt):
        reproduce("fig3", shared_data, tmp_path / "parts", options=options, reporter=Recording(stop_at=3))
    log = tmp_path / "parts" / "fig3.jsonl"
    assert len(log.read_text("utf-8").splitlines()) == 2
    assert [path.name for path in log.parent.iterdir()] == ["fig3.jsonl"]
    log.write_bytes(log.read_bytes()[:-20])
    rest = Recording()
    parts = reproduce("fig3", shared_data, tmp_path / "parts", options=options, reporter=rest)
    assert rest.numbers == [2, 3, 4]
    assert texts(parts) == texts(whole)


def test_without_matplotlib_the_table_is_written_and_the_plot_left_out(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    options = Options(pairs=("en-it",), methods=("xing2015",), sizes=(100,))
    with pytest.warns(BilexWarning, match=r"pip install 'bilex\[plots\]'"):
        outcome = reproduce("fig2", shared_data, tmp_path, options=options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fig2.jsonl", "fig2.tsv", "fig2.txt"]
    assert len(outcome.files) == 3


def test_other_input_or_configuration_is_another_cell(data: Path, tmp_path: Path) -> None:
    def lines(**changes: object) -> int:
        options = Options(pairs=("en-it",), methods=("ruder2018-freq",), seeds=("5000",), **changes)  # type: ignore[arg-type]
        outcome = reproduce("table1", data, tmp_path / "out", options=options)
        return len(outcome.files[0].read_text("utf-8").splitlines())

    assert lines() == 1
    assert lines() == 1
    assert lines(max_rank=100) == 2
    test = data / "en-it.test.txt"
    test.write_text("\n".join(test.read_text("utf-8").splitlines()[:-1]) + "\n", "utf-8")
    assert lines() == 3


def test_a_line_of_the_log_holds_the_configuration_and_the_result(outcomes: dict[str, Outcome]) -> None:
    record = json.loads(outcomes["table1"].files[0].read_text("utf-8").splitlines()[0])
    assert {"version", "pair", "method", "seed", "draw", "limit", "inputs"} <= set(record["cell"])
    assert {"p@1", "p@1_all", "covered"} <= set(record["result"]["csls"])
    assert record["seconds"] >= 0


@pytest.mark.usefixtures("empty_plots")
def test_a_vocabulary_without_test_words_is_a_reason(data: Path, tmp_path: Path) -> None:
    options = Options(pairs=("en-it",), methods=("ruder2018",), sizes=(1, 100))
    outcome = reproduce("fig2", data, tmp_path, options=options)
    assert [row["reason"] is None for row in outcome.report.rows] == [False, True]
    assert "at 1 words" in outcome.report.text


@pytest.mark.usefixtures("empty_plots")
def test_the_default_sizes_end_at_the_smaller_vocabulary(data: Path, tmp_path: Path) -> None:
    text = (data / "bilex.toml").read_text("utf-8").replace("sizes = [100, 200]", "")
    (data / "bilex.toml").write_text(text, "utf-8")
    options = Options(pairs=("en-it",), methods=("xing2015",))
    (row,) = reproduce("fig2", data, tmp_path, options=options).report.rows
    assert row["size"] == min(row["source_words"], row["target_words"])
