"""``bilex compare`` as a user runs it: two runs of one pair of languages, one of them learnt worse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import scipy

from bilex import cli
from tests.cli.helpers import Bilex, assert_error_line


@pytest.fixture(scope="module")
def weak(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that stops early, with fewer words."""
    folder = tmp_path_factory.mktemp("weak") / "weak"
    options = [
        "--method",
        "ruder2018",
        "--seed",
        "numerals",
        "--max-iterations",
        "1",
        "--limit",
        "250",
        "--quiet",
        "-o",
        str(folder),
    ]
    assert cli.run(["induce", str(made / "src.vec"), str(made / "trg.vec"), *options]) == 0
    return folder


def test_json(bilex: Bilex, work: Path, weak: Path) -> None:
    done = bilex("compare", "run", weak, "gold.txt", "--json")
    assert (done.code, done.err) == (0, "")
    figures = json.loads(done.out)
    assert figures["p@1_a"] > figures["p@1_b"] > 0
    assert figures["covered_a"] == figures["queries"] > figures["covered_b"] == figures["compared"]
    assert figures["left_out"] == figures["queries"] - figures["compared"]
    only = figures["only_a"], figures["only_b"]
    assert figures["p_value"] == pytest.approx(scipy.stats.binomtest(only[0], sum(only)).pvalue)
    words = figures["words"]
    assert tuple(sum(word["right"] == side for word in words) for side in "AB") == only
    assert all(word["a"] != word["b"] and word["right"] in ("A", "B", "both") for word in words)
    limited = json.loads(bilex("compare", "run", weak, "gold.txt", "--json", "--limit", 3).out)
    assert limited == {**figures, "words": words[:3]}


def test_all_adds_the_words_where_both_are_wrong(bilex: Bilex, work: Path, weak: Path) -> None:
    before = json.loads(bilex("compare", "run", weak, "gold.txt", "--json").out)["words"]
    lines = (work / "gold.txt").read_text().splitlines()
    query, other = before[1]["query"], before[0]["gold"][0]
    kept = [line for line in lines if line.split("\t")[0] != query]
    (work / "gold.txt").write_text("\n".join([*kept, f"{query}\t{other}"]) + "\n")  # now neither answer is right
    assert json.loads(bilex("compare", "run", weak, "gold.txt", "--json").out)["words"] == before[:1] + before[2:]
    everything = json.loads(bilex("compare", "run", weak, "gold.txt", "--json", "--all").out)
    expected = {**before[1], "gold": [other], "right": "neither"}
    assert expected in everything["words"]
    assert len(everything["words"]) == everything["differ"]
    assert "both are wrong (--all lists these too)" in bilex("compare", "run", weak, "gold.txt").out


def test_answers_are_those_of_translate(bilex: Bilex, work: Path, weak: Path) -> None:
    for options in ((), ("--retrieval", "csls")):
        word = json.loads(bilex("compare", "run", weak, "gold.txt", "--json", *options).out)["words"][0]
        for run, side in (("run", "a"), (weak, "b")):
            said = bilex("translate", run, word["query"], "-k", 1, "--retrieval", *(options[1:] or ["nn"])).out
            assert said.split("\t")[1] == word[side]


def test_the_table_is_aligned_and_says_what_is_left_out(bilex: Bilex, work: Path, weak: Path) -> None:
    figures = json.loads(bilex("compare", "run", weak, "gold.txt", "--json").out)
    out = bilex("compare", "run", weak, "gold.txt", "--limit", 4).out
    summary, table = out.split("\n\n")
    assert summary.startswith(f"A  P@1 {figures['p@1_a']:.4f}  run\nB  P@1 {figures['p@1_b']:.4f}  {weak}\n")
    assert f"{figures['left_out']} left out" in summary
    assert f"the first 4 of {len(figures['words'])} follow" in summary
    header, *rows = table.splitlines()
    assert header.split() == ["query", "gold", "A", "B", "right"]
    for row, word in zip(rows, figures["words"][:4], strict=True):
        for title, cell in (("gold", word["gold"][0]), (" A ", " " + word["a"]), (" B ", " " + word["b"])):
            assert row[header.index(title) :].startswith(cell)
    assert bilex("compare", "run", weak, "gold.txt", "--limit", 4, "--quiet").out == table


def test_a_run_does_not_differ_from_itself(bilex: Bilex, work: Path) -> None:
    out = bilex("compare", "run", "run", "gold.txt").out
    assert "only A 0, only B 0" in out
    assert out.endswith("the answers differ on 0 queries\n")


def test_reverse(bilex: Bilex, work: Path, weak: Path) -> None:
    lines = (line.split("\t") for line in (work / "gold.txt").read_text().splitlines())
    (work / "back.txt").write_text("".join(f"{target}\t{source}\n" for source, target in lines))
    figures = json.loads(bilex("compare", "run", weak, "back.txt", "--reverse", "--json").out)
    alone = json.loads(bilex("evaluate", weak, "back.txt", "--retrieval", "nn", "--reverse", "--json").out)
    assert figures["p@1_b"] == alone["p@1"]  # B covers less, so what both cover is what B covers
    assert figures["compared"] == alone["covered"]


def test_bad_input_is_one_line(bilex: Bilex, work: Path) -> None:
    assert_error_line(bilex("compare", "run", "none", "gold.txt"), "none: this is not a run directory")
    assert_error_line(bilex("compare", "run", "run", "none.txt"), "none.txt: no such file")
    (work / "other.txt").write_text("x y\n")
    assert_error_line(
        bilex("compare", "run", "run", "other.txt"), "other.txt: none of its 1 words is covered by both runs"
    )
