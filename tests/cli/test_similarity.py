"""``bilex similarity`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.helpers import Bilex, assert_error_line
from tests.languages import Languages


@pytest.fixture
def pairs(work: Path, languages: Languages) -> Path:
    """Translations with high scores, other pairs with low ones, and some words that are not there."""
    words = [(s, t) for s, t in languages.gold if s.startswith("s")][:40]
    lines = [f"{source}\t{target}\t{3.5 + 0.01 * place}" for place, (source, target) in enumerate(words[:20])]
    lines += [f"{words[place][0]}\t{words[place - 1][1]}\t{0.01 * place}" for place in range(20, 40)]
    lines += [f"{words[0][0].upper()}\t{words[0][1]}\t4", f"{words[0][0]} {words[1][0]}\t{words[0][1]}\t3", "no\tno\t0"]
    path = work / "pairs.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_json_has_the_keys_of_the_contract_and_both_conventions(bilex: Bilex, pairs: Path) -> None:
    done = bilex("similarity", "run", pairs, "--json", "--quiet")
    assert (done.code, done.err) == (0, "")
    figures = json.loads(done.out)
    assert (figures["pairs"], figures["covered"], figures["composed"], figures["missing"]) == (43, 41, 1, "skip")
    assert figures["spearman"] == figures["skip"]["spearman"] > 0.7
    assert figures["pearson"] == figures["skip"]["pearson"] > 0.7
    assert figures["zero"]["pairs"] == 43
    zero = json.loads(bilex("similarity", "run", pairs, "--json", "--missing", "zero").out)
    assert zero["spearman"] == figures["zero"]["spearman"] != figures["spearman"]
    assert {**zero, **{name: figures[name] for name in ("spearman", "pearson", "missing")}} == figures


def test_folding_is_offered_and_done_only_on_request(bilex: Bilex, pairs: Path) -> None:
    done = bilex("similarity", "run", pairs)
    assert done.err == f"bilex: note: {pairs}: --fold-case would cover 1 more pairs\n"
    assert "covered        41\n" in done.out
    assert bilex("similarity", "run", pairs, "--quiet").err == ""
    folded = bilex("similarity", "run", pairs, "--fold-case")
    assert (folded.code, folded.err) == (0, "")
    assert "covered        42\n" in folded.out
    assert "folded         1\n" in folded.out


def test_reverse(bilex: Bilex, pairs: Path) -> None:
    forth = json.loads(bilex("similarity", "run", pairs, "--json").out)
    swapped = [line.split("\t") for line in pairs.read_text().splitlines()]
    pairs.write_text("".join(f"{target}\t{source}\t{score}\n" for source, target, score in swapped))
    back = json.loads(bilex("similarity", "run", pairs, "--json", "--reverse").out)
    assert back["spearman"] == pytest.approx(forth["spearman"])
    assert_error_line(bilex("similarity", "run", pairs), str(pairs), "0 of 43 pairs covered", "--reverse")


def test_bad_input_is_one_line(bilex: Bilex, work: Path) -> None:
    for content, mention in (
        ("s1\tt1\t1\ns2\tt2\n", "bad.txt:2: "),
        ("s1\tt1\t1\n", "1 of 1 pairs covered"),
        ("s1\tt1\t1\ns2\tt2\t1\n", "all 2 pairs have the score 1"),
    ):
        (work / "bad.txt").write_text(content)
        assert_error_line(bilex("similarity", "run", "bad.txt"), mention)


def test_a_missing_file_and_a_repaired_one(bilex: Bilex, work: Path, pairs: Path) -> None:
    assert_error_line(bilex("similarity", "run", "none.txt"), "none.txt: no such file")
    assert_error_line(bilex("similarity", "none", pairs), "none: this is not a run directory")
    (work / "windows.txt").write_text("\ufeff" + pairs.read_text(), newline="\r\n")
    done = bilex("similarity", "run", "windows.txt", "--fold-case")
    assert done.code == 0
    assert done.err.splitlines() == [
        "bilex: warning: windows.txt: byte order mark at the start left out",
        "bilex: warning: windows.txt: 43 Windows line ends (CRLF) read as line ends",
    ]
