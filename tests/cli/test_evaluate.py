"""`bilex evaluate`, and damaged runs as every command that reads one meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.helpers import Bilex, assert_error_line, contents
from tests.languages import Languages

KEYS = {"p@1", "p@5", "p@10", "mrr", "coverage", "queries", "p@1_all"}


def test_json_has_the_keys_of_the_contract(bilex: Bilex, made: Path, languages: Languages) -> None:
    outcome = bilex("evaluate", made / "run", made / "gold.txt", "--retrieval", "csls", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    figures = json.loads(outcome.out)
    assert set(figures) >= KEYS
    assert 0.95 < figures["p@1"] <= figures["p@5"] <= figures["p@10"] <= 1
    assert figures["queries"] == len({source for source, _ in languages.gold})
    assert figures["coverage"] == 1
    assert figures["p@1_all"] == figures["p@1"]
    assert figures["retrieval"] == "csls"


def test_figures_of_a_list_made_by_hand(bilex: Bilex, work: Path) -> None:
    """The first, third and eleventh answers of `translate`, and a query that is not covered."""
    gold = []
    for word, place in (("s0", 1), ("s1", 3), ("s2", 11)):
        lines = bilex("translate", "run", word, "-k", 11).out.splitlines()
        gold.append(f"{word}\t{lines[place - 1].split(chr(9))[1]}\n")
    Path("small.txt").write_text("".join(gold) + "absent\tt1\n")
    figures = json.loads(bilex("evaluate", "run", "small.txt", "--json").out)
    assert figures["p@1"] == figures["p@1_all"] * 4 / 3 == pytest.approx(1 / 3)
    assert figures["p@5"] == figures["p@10"] == pytest.approx(2 / 3)
    assert figures["mrr"] == pytest.approx((1 + 1 / 3 + 1 / 11) / 3)
    assert (figures["queries"], figures["coverage"]) == (4, 0.75)


def test_reverse_scores_the_other_direction(bilex: Bilex, work: Path, languages: Languages) -> None:
    Path("back.txt").write_text("".join(f"{t} {s}\n" for s, t in languages.gold))
    figures = json.loads(bilex("evaluate", "run", "back.txt", "--reverse", "--json").out)
    assert figures["p@1"] > 0.9
    assert figures["queries"] == len(languages.target)


def test_people_get_the_same_figures_as_lines(bilex: Bilex, made: Path) -> None:
    figures = json.loads(bilex("evaluate", made / "run", made / "gold.txt", "--json").out)
    outcome = bilex("evaluate", made / "run", made / "gold.txt", "--quiet")
    assert (outcome.code, outcome.err) == (0, "")
    printed = dict(line.split() for line in outcome.out.splitlines())
    assert {name: float(printed[name]) for name in KEYS} == pytest.approx(
        {name: figures[name] for name in KEYS}, abs=5e-5
    )


def test_a_gold_list_without_a_known_word_is_explained(bilex: Bilex, work: Path) -> None:
    Path("back.txt").write_text("t3 s3\n")
    assert_error_line(bilex("evaluate", "run", "back.txt"), "back.txt: ", "--reverse")


def test_a_bad_gold_dictionary_is_one_line(bilex: Bilex, work: Path) -> None:
    assert_error_line(bilex("evaluate", "run", "list.txt"), "list.txt: no such file")
    Path("list.txt").write_bytes(b"s1 t1\ns2\n")
    assert_error_line(bilex("evaluate", "run", "list.txt"), "list.txt:2: ")


# Damaged runs


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("lexicon.tsv", "truncated"),
        ("model.safetensors", "changed"),
        ("model.safetensors", "missing"),
        ("run.json", "changed"),
        ("run.json", "missing"),
    ],
)
def test_a_damaged_run_is_one_line(bilex: Bilex, work: Path, name: str, damage: str) -> None:
    path = work / "run" / name
    data = path.read_bytes()
    path.unlink()
    if damage != "missing":
        middle = len(data) // 2
        path.write_bytes(data[:middle] if damage == "truncated" else data[:middle] + b"\x07" + data[middle + 1 :])
    before = contents(work)
    whole_folder = (name, damage) == ("run.json", "missing")
    assert_error_line(
        bilex("evaluate", "run", "gold.txt"),
        "run: this is not" if whole_folder else f"run/{name}: ",
        "; ",
        "`bilex induce",
    )
    assert contents(work) == before


def test_a_run_of_a_newer_version_is_one_line(bilex: Bilex, work: Path) -> None:
    manifest = json.loads(Path("run/run.json").read_text())
    Path("run/run.json").write_text(json.dumps({**manifest, "format": 99, "version": "7.0"}) + "\n")
    assert_error_line(bilex("translate", "run", "s0"), "run/run.json: ", "newer bilex (7.0)")


def test_what_is_not_a_run_is_one_line(bilex: Bilex, work: Path) -> None:
    for place in ("nonesuch", "src.vec", "."):
        assert_error_line(bilex("evaluate", place, "gold.txt"), f"{place}: this is not a run directory")
