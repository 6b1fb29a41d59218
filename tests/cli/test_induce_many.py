"""`bilex induce-many`: what it writes, what it refuses, and that it leaves nothing half done."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import bilex as package
from bilex import cli
from bilex.lexicon.lexicon import Lexicon
from tests.cli.helpers import Bilex, assert_error_line, contents
from tests.languages import write_vec
from tests.multilingual.languages import make_many, right

FAST = ("--method", "ruder2018", "--no-report")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a.vec, b.vec, c.vec and what was learnt from them. Do not change it."""
    folder = tmp_path_factory.mktemp("many")
    for name, side in make_many("abc").items():
        write_vec(folder / f"{name}.vec", side)
    (folder / "a-b.txt").write_text("".join(f"a-{i}\tb-{i}\n" for i in range(1, 60) if i % 10))
    files = [str(folder / f"{name}.vec") for name in "abc"]
    assert cli.run(["induce-many", *files, "-o", str(folder / "out"), "--quiet", "--method", "ruder2018"]) == 0
    return folder


@pytest.fixture
def folder(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh copy as the current folder."""
    shutil.copytree(source, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def test_a_run_for_each_pair_and_a_summary_of_them(folder: Path) -> None:
    out = folder / "out"
    assert sorted(path.name for path in out.iterdir()) == ["a-b", "a-c", "b-c", "many.json", "triples.tsv"]
    summary = json.loads((out / "many.json").read_text("utf-8"))
    assert (summary["hub"], summary["languages"]) == ("a", ["a", "b", "c"])
    assert summary["command"][:2] == ["bilex", "induce-many"]
    assert [(pair["source"], pair["target"]) for pair in summary["pairs"]] == [("a", "b"), ("a", "c"), ("b", "c")]
    rows = [line.split("\t") for line in (out / "triples.tsv").read_text("utf-8").splitlines()]
    assert rows[0] == ["first", "second", "third", "returned", "agreed", "agreement"]
    assert rows[1][:3] == ["a", "b", "c"] and len(rows) == 2
    (triple,) = summary["triples"]
    assert [int(rows[1][3]), int(rows[1][4])] == [triple["returned"], triple["agreed"]]
    assert float(rows[1][5]) == triple["agreement"] == pytest.approx(triple["agreed"] / triple["returned"], abs=1e-6)


def test_the_runs_are_like_any_other_and_have_cycles_line_by_line(folder: Path, bilex: Bilex) -> None:
    for pair in ("a-b", "a-c", "b-c"):
        assert {path.name for path in (folder / "out" / pair).iterdir()} == {
            "lexicon.tsv",
            "model.safetensors",
            "candidates.safetensors",
            "run.json",
            "report.html",
            "cycles.tsv",
        }
        lexicon = Lexicon.load(folder / "out" / pair / "lexicon.tsv")
        cycles = (folder / "out" / pair / "cycles.tsv").read_text("utf-8").splitlines()[1:]
        sources, targets, _, _, agreement = zip(*(line.split("\t") for line in cycles), strict=True)
        assert (sources, targets) == (lexicon.source, lexicon.target)
        assert sum(map(right, lexicon.source, lexicon.target)) > 0.97 * len(lexicon)
        assert np.mean([float(share) for share in agreement if share]) > 0.95
        run = package.Run.load(folder / "out" / pair)
        assert run.info["confidence"]["expected_precision"] == round(run.lexicon.expected_precision, 4)
    outcome = bilex("translate", "out/b-c", "b-7", "-k", 1)
    assert (outcome.code, outcome.out.split("\t")[1]) == (0, "c-7")
    assert bilex("induce", "b.vec", "c.vec", "-o", "out/b-c", *FAST, "-q", "--force").code == 0
    assert not (folder / "out" / "b-c" / "cycles.tsv").exists()  # it was about the other lexicon


def test_the_terminal_and_json_hold_the_same_figures(folder: Path, bilex: Bilex) -> None:
    printed_lines = bilex("induce-many", "a.vec", "b.vec", "c.vec", "-o", "new", *FAST)
    assert (printed_lines.code, printed_lines.err) == (0, "")
    lines = printed_lines.out.splitlines()
    assert len(lines) == 5 and lines[-1] == f"summary: {Path('new') / 'many.json'}"
    printed = bilex("induce-many", "a.vec", "b.vec", "c.vec", "-o", "new", *FAST, "--json", "--force")
    assert printed.err == ""
    figures = json.loads(printed.out)
    assert figures["directory"] == "new"
    pair, triple = figures["pairs"][0], figures["triples"][0]
    shares = [f"{one['agreement']:.0%}" for one in (pair, triple)]
    assert lines[0].startswith(f"a-b: {pair['entries']} pairs, {pair['verdict']}, {shares[0]} agreement on ")
    assert lines[3].startswith(f"cycle a-b-c-a: {triple['returned']} words return, {shares[1]} of them")


def test_names_seeds_and_the_default_place(folder: Path, bilex: Bilex) -> None:
    outcome = bilex("induce-many", "x=a.vec", "b.vec", "z=c.vec", "--seed", "b=a-b.txt", "--max-rank", 200, *FAST, "-q")
    assert outcome == (0, "", "")
    summary = json.loads((folder / "x-b-z" / "many.json").read_text("utf-8"))
    seeds = {pair["target"]: pair["seed"]["name"] for pair in summary["pairs"] if pair["source"] == "x"}
    assert seeds == {"b": "a-b.txt", "z": "identical"}
    files = ["x=a.vec", "b.vec", "z=c.vec", "--seed", "b=a-b.txt"]
    assert summary["command"][:7] == ["bilex", "induce-many", *files] and "--no-report" in summary["command"]
    info = json.loads((folder / "x-b-z" / "x-b" / "run.json").read_text("utf-8"))
    assert info["configuration"]["method"]["e_step"]["max_rank"] == 200


def test_vectors_of_all_languages_in_one_space(folder: Path, bilex: Bilex) -> None:
    assert bilex("induce-many", "a.vec", "b.vec", "c.vec", "-o", "new", *FAST, "-q", "--vectors", "bin").code == 0
    sides = {name: package.load(folder / "new" / f"{name}.bin") for name in "abc"}
    for one, other in (("a", "b"), ("a", "c"), ("b", "c")):
        cosines = [float(sides[one][f"{one}-{i}"] @ sides[other][f"{other}-{i}"]) for i in (4, 5, 6, 7, 8, 9)]
        assert np.mean(cosines) > 0.85
    again = bilex("induce-many", "a.vec", "b.vec", "c.vec", "-o", "new", *FAST, "-q", "--force")
    assert again.code == 0 and not (folder / "new" / "a.bin").exists()


WRONG_USAGE = (
    (("a.vec", "b.vec"), "two languages make no cycle"),
    (("a.vec", "b.vec", "a.vec"), "two languages are called 'a'"),
    (("a.vec", "b.vec", "../=c.vec"), "'../' cannot be the name of a language"),
    (("a=a.vec", "b-c=b.vec", "a-b=c.vec", "c=c.vec"), "would share a directory"),
    (("a.vec", "b.vec", "c.vec", "--seed", "a-b.txt"), "as in b=a-b.txt"),
    (("a.vec", "b.vec", "c.vec", "--seed", "z=a-b.txt"), "is called 'z'"),
    (("a.vec", "b.vec", "c.vec", "--method", "none"), "'none'"),
)
FAILURES = (
    (("a.vec", "b.vec", "none.vec"), "none.vec: no such file"),
    (("a.vec", "b.vec", "c.vec", "--seed", "b=none.txt"), "none.txt: no such file"),
    (("a.vec", "b.vec", "c.vec", "--seed", "numerals"), "a-b: "),
)


def test_wrong_usage_and_failures_leave_everything_as_it_was(folder: Path, bilex: Bilex) -> None:
    before = contents(folder)
    for arguments, mention in WRONG_USAGE:
        assert_error_line(bilex("induce-many", *arguments), mention, "(see `bilex induce-many --help`)", code=2)
    for arguments, mention in FAILURES:
        assert_error_line(bilex("induce-many", *arguments, "-o", "out", *FAST, "--force"), mention)
    assert contents(folder) == before


def test_only_what_bilex_wrote_is_replaced(folder: Path, bilex: Bilex) -> None:
    assert_error_line(bilex("induce-many", "a.vec", "b.vec", "c.vec", "-o", "out", *FAST), "out: ", "--force")
    again = ("induce-many", "a.vec", "b.vec", "c.vec", "-o", "out", *FAST, "-q", "--force")
    (folder / "out" / "a-b" / "review.sqlite").write_bytes(b"work")
    assert_error_line(bilex(*again), "holds review.sqlite, a person's review, which would be lost")
    (folder / "out" / "a-b" / "review.sqlite").unlink()
    (folder / "out" / "mine.txt").write_text("mine")
    assert_error_line(
        bilex(*again), "holds 'mine.txt', which bilex did not write; move it, or choose another place with -o"
    )
    (folder / "out" / "mine.txt").unlink()
    shutil.copytree(folder / "out" / "a-b", folder / "out" / "another")  # a run that this command did not make
    assert_error_line(bilex(*again), "another")
    shutil.rmtree(folder / "out" / "another")
    triples = (folder / "out" / "triples.tsv").read_bytes()
    (folder / "out" / "triples.tsv").write_bytes(triples + b"a note of mine")
    assert_error_line(bilex(*again), "triples.tsv")
    (folder / "out" / "triples.tsv").write_bytes(triples)
    assert bilex(*again) == (0, "", "")
    for place in ("a.vec", "out/a-b"):
        outcome = bilex("induce-many", "a.vec", "b.vec", "c.vec", "-o", place, *FAST)
        assert_error_line(outcome, "choose another place with -o")
    for content in ("", "[]", '{"files": 3}', "\udcff"):
        (folder / "out" / "many.json").write_text(content, "utf-8", "surrogateescape")
        assert_error_line(bilex(*again), "was not written by `bilex induce-many`")
    (folder / "empty").mkdir()
    assert bilex("induce-many", "a.vec", "b.vec", "c.vec", "-o", "empty", *FAST, "-q").code == 0
