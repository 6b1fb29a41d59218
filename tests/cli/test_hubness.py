"""``bilex hubness`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.helpers import Bilex, assert_error_line
from tests.languages import Languages


def test_json_has_the_keys_of_the_contract(bilex: Bilex, work: Path, languages: Languages) -> None:
    done = bilex("hubness", "run", "gold.txt", "--json")
    assert (done.code, done.err) == (0, "")
    figures = json.loads(done.out)
    queries = len({source for source, _ in languages.gold})
    assert (figures["k"], figures["queries"], figures["missing"], figures["retrieval"]) == (20, queries, 0, "nn")
    assert figures["mean"] == pytest.approx(20 * queries / len(languages.target))
    assert len(figures["hubs"]) == 10
    assert figures["hubs"][0]["count"] == figures["max"]
    assert figures["skewness"] > 0


def test_options(bilex: Bilex, work: Path, languages: Languages) -> None:
    everything = json.loads(bilex("hubness", "run", "-k", 3, "--top", 2, "--json").out)
    assert (everything["queries"], everything["k"], len(everything["hubs"])) == (len(languages.source), 3, 2)
    corrected = json.loads(bilex("hubness", "run", "-k", 3, "--retrieval", "csls", "--json").out)
    assert corrected["skewness"] < everything["skewness"]  # what CSLS is for
    back = json.loads(bilex("hubness", "run", "--reverse", "--json").out)
    assert (back["queries"], back["targets"]) == (len(languages.target), len(languages.source))


def test_lines_for_people(bilex: Bilex, work: Path) -> None:
    figures = json.loads(bilex("hubness", "run", "--json").out)
    lines = bilex("hubness", "run", "--top", 1).out.splitlines()
    assert f"max       {figures['max']}" in lines
    assert lines[-2:] == ["hubs", f"{figures['max']:8}  {figures['hubs'][0]['word']}"]
    assert "hubs" not in bilex("hubness", "run", "--top", 0).out


def test_bad_input_is_one_line(bilex: Bilex, work: Path) -> None:
    assert_error_line(bilex("hubness", "run", "none.txt"), "none.txt: no such file")
    assert_error_line(bilex("hubness", "none"), "none: this is not a run directory")
    assert_error_line(bilex("hubness", "run", "-k", 1000), "k is 1000, but there are", "give a -k from 1 to")
    assert_error_line(bilex("hubness", "run", "-k", 0), "-k", code=2)
    (work / "other.txt").write_text("x y\n")
    assert_error_line(bilex("hubness", "run", "other.txt"), "other.txt: none of its 1 words has a vector", "--reverse")
