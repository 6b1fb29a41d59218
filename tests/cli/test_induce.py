"""`bilex induce`: what it writes and prints, what it refuses, and that a run is there whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import bilex as package
from bilex.cli.induce import exit_code
from bilex.search.space import CROWDING_NEIGHBOURS
from tests import oracles
from tests.cli.helpers import Bilex, assert_error_line, contents
from tests.languages import Languages, vec_text

ITERATION = {"pairs", "mean_cosine", "log_likelihood", "certificate_gap", "seconds"}


def table(path: Path) -> list[list[str]]:
    """Return the fields of a lexicon, with its header."""
    return [line.split("\t") for line in path.read_text("utf-8").removesuffix("\n").split("\n")]


def test_the_run_directory_is_that_of_the_contract(bilex: Bilex, work: Path) -> None:
    outcome = bilex("induce", "src.vec", "trg.vec", "-o", "new")
    assert outcome.code == 0
    assert outcome.err == ""
    assert "lexicon: new/lexicon.tsv" in outcome.out
    assert set(contents(work / "new")) == {
        "lexicon.tsv",
        "model.safetensors",
        "candidates.safetensors",
        "report.html",
        "run.json",
    }
    assert (work / "new").stat().st_mode & 0o777 == 0o755
    manifest = json.loads((work / "new" / "run.json").read_text("utf-8"))
    assert manifest["version"] == package.__version__
    assert manifest["configuration"]["method"]["name"] == "bilex"
    assert manifest["configuration"]["seed"]["name"] == "identical"
    for side, name in (("source", "src.vec"), ("target", "trg.vec")):
        digest = hashlib.sha256((work / name).read_bytes()).hexdigest()
        assert manifest["inputs"][side]["files"] == [{"path": name, "sha256": digest}]
    assert manifest["threads"] >= 1
    assert manifest["estimate"]["memory_mb"] > 100
    assert manifest["estimate"]["seconds"] > 0
    assert manifest["stopped"].startswith("converged")
    assert all(set(iteration) >= ITERATION for iteration in manifest["iterations"])
    assert manifest["pairs"] == len(table(work / "new" / "lexicon.tsv")) - 1


def test_a_run_that_cannot_fit_is_refused_before_anything_is_read(bilex: Bilex, work: Path) -> None:
    (work / "large.vec").write_text("90000000 300\n")
    os.truncate(work / "large.vec", 10**11)  # without a byte on the disk
    assert_error_line(bilex("induce", "src.vec", "large.vec", "-o", "new", "--limit", 10**10), "--limit")
    assert not (work / "new").exists()


def test_the_run_is_named_after_its_files_by_default(bilex: Bilex, work: Path) -> None:
    assert bilex("induce", "src.vec", "trg.vec", "-q").code == 0
    assert (work / "src-trg" / "run.json").is_file()


def test_the_lexicon_agrees_with_brute_force(work: Path, languages: Languages) -> None:
    """Header, order, cosine, CSLS rank, mutual and origin, from the vectors and the learnt Ω alone."""
    rows = table(work / "run" / "lexicon.tsv")
    assert rows[0] == ["source", "target", "score", "rank", "mutual", "origin", "confidence"]
    run = package.Run.load(work / "run")
    mapped = run.source.vectors.astype(np.float64) @ run.theta.omega.T
    mapped /= np.linalg.norm(mapped, axis=1, keepdims=True)
    cosines = oracles.score_matrix(mapped, run.target.vectors)
    csls = oracles.csls(mapped, run.target.vectors, CROWDING_NEIGHBOURS)
    source, target = languages.source.words, languages.target.words
    places, origins = [], []
    for word, other, score, rank, mutual, origin, _ in rows[1:]:
        row, column = source.index(word), target.index(other)
        assert float(score) == pytest.approx(cosines[row, column], abs=2e-6)
        assert int(rank) == 1 + np.sum(csls[row] > csls[row, column])
        assert mutual == str(int(cosines[row].argmax() == column and cosines[:, column].argmax() == row))
        assert (origin == "seed") == (word == other and origin != "retrieval")
        places.append(row)
        origins.append(origin)
    induced = len(origins) - origins.count("retrieval")
    assert set(origins[:induced]) == {"seed", "matching"}
    assert places[:induced] == sorted(places[:induced])
    assert max(places[:induced]) < 200  # --max-rank
    assert places[induced:] == sorted(set(range(300)) - set(places[:induced]))  # --complete


def test_json_is_one_object_and_nothing_else(bilex: Bilex, work: Path) -> None:
    outcome = bilex("induce", "src.vec", "trg.vec", "-o", "new", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    printed = json.loads(outcome.out)
    assert printed.pop("run") == "new"
    manifest = json.loads((work / "new" / "run.json").read_text("utf-8"))
    assert printed == {name: manifest[name] for name in printed}
    assert {"version", "configuration", "inputs", "threads", "stopped", "iterations"} <= set(printed)


def test_in_a_pipe_there_is_no_progress(bilex: Bilex, work: Path) -> None:
    outcome = bilex("induce", "src.vec", "trg.vec", "-o", "new")
    slow = re.compile(r"bilex: \d+ s.*")  # a line now and then, if it takes long
    assert [line for line in outcome.err.splitlines() if not slow.fullmatch(line)] == []
    assert (outcome.code, len(outcome.out.splitlines())) == (0, 6)


def test_the_lexicon_does_not_depend_on_the_number_of_threads(
    bilex: Bilex, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lexicons = set()
    for threads in ("1", "4"):
        monkeypatch.setenv("BILEX_THREADS", threads)
        assert bilex("induce", "src.vec", "trg.vec", "-o", threads, "-q", "--complete").code == 0
        assert json.loads((work / threads / "run.json").read_text())["threads"] == int(threads)
        lexicons.add((work / threads / "lexicon.tsv").read_bytes())
    monkeypatch.delenv("BILEX_THREADS")
    assert bilex("induce", "src.vec", "trg.vec", "-o", "option", "-q", "--complete", "--threads", 3).code == 0
    lexicons.add((work / "option" / "lexicon.tsv").read_bytes())
    assert len(lexicons) == 1


def test_limit_reads_only_the_top_of_each_file(bilex: Bilex, work: Path) -> None:
    printed = json.loads(bilex("induce", "src.vec", "trg.vec", "-o", "new", "--limit", 100, "--json").out)
    assert (printed["inputs"]["source"]["words"], printed["inputs"]["target"]["words"]) == (100, 100)


def test_vectors_from_a_pipe_are_read_but_have_no_checksum(work: Path) -> None:
    read, write = os.pipe()
    if os.fork() == 0:  # pragma: no cover
        os.close(read)
        with os.fdopen(write, "wb") as pipe:
            pipe.write((work / "src.vec").read_bytes())
        os._exit(0)
    os.close(write)
    try:
        run = package.induce(package.load(f"/dev/fd/{read}"), package.load("trg.vec"))
    finally:
        os.close(read)
    assert run.info["inputs"]["source"]["files"][0]["sha256"] is None
    os.wait()


def test_odd_words_survive_the_way_through_all_files(bilex: Bilex, work: Path, languages: Languages) -> None:
    odd = ['"quoted"', "l'été", "no\u00a0break", "👩‍👧", "שלום", "مرحبا", "e\u0301", "\u2028", "-k", "\\n", "#"]
    renamed = dict(zip((s for s, t in languages.gold[:60] if s != t), odd, strict=False))
    words = [renamed.get(word, word) for word in languages.source.words]
    Path("odd.vec").write_text(vec_text(words, languages.source.vectors), "utf-8")
    method = ("--method", "ruder2018", "-q")  # to which the spelling is nothing
    assert bilex("induce", "odd.vec", "trg.vec", "-o", "new", *method) == (0, "", "")
    assert bilex("induce", "src.vec", "trg.vec", "-o", "plain", *method) == (0, "", "")
    plain, new = table(Path("plain/lexicon.tsv")), table(Path("new/lexicon.tsv"))
    assert [row[:6] for row in new] == [[renamed.get(row[0], row[0]), *row[1:6]] for row in plain]
    assert len({row[0] for row in new} & set(odd)) > 8
    for old, word in renamed.items():
        answers = bilex("translate", "new", "--retrieval", "csls", "--", word).out.split("\n")
        expected = bilex("translate", "plain", old, "--retrieval", "csls").out.split("\n")
        without_probability = [line.rpartition("\t")[0] for line in expected]  # which spelling has a part in
        assert [line.rpartition("\t")[0] for line in answers] == [
            line.replace(f"{old}\t", f"{word}\t") for line in without_probability
        ]


# What it refuses


@pytest.mark.parametrize(
    ("options", "mentions"),
    [
        (["--candidates", "0"], "candidates is 0"),
        (["--candidates", "three"], "'three' is not a valid integer"),
        (["--max-rank", "-5"], "max_rank is -5"),
        (["--max-iterations", "0"], "max_iterations is 0"),
        (["--tolerance", "nan"], "tolerance is nan; give a number from 0 up"),
        (["--tolerance", "-1"], "tolerance is -1.0; give a number from 0 up"),
        (["--log-odds", "nan"], "log_odds is nan"),
        (["--log-odds", "inf"], "log_odds is inf"),
        (["--log-odds", "much"], "'much' is not a valid float"),
        (["--normalise", "unit,length"], "'length'; use unit, centre, iterative, none"),
        (["--normalise", ""], "it is empty; give a value, or leave it out"),
        (["--method", "rudder2018"], "no method is called 'rudder2018'; did you mean 'ruder2018'?"),
        (["--prior", "3:3"], "'3:3' is not one of '1:1', '1:2', '2:1', '2:2', 'one-to-many'"),
        (["--engine", "quantum"], "no engine is called 'quantum'; choose one of local"),
        (["--threads", "0"], "0 is not in the range x>=1"),
        (["--unknown"], "No such option"),
        (["extra.vec"], "unexpected extra argument"),
    ],
    ids=str,
)
def test_wrong_options_are_wrong_usage(bilex: Bilex, work: Path, options: list[str], mentions: str) -> None:
    before = contents(work)
    # The files do not exist either: the options are looked at first, before minutes of reading.
    outcome = bilex("induce", "no-src.vec", "no-trg.vec", "-o", "new", *options)
    assert_error_line(outcome, mentions, "(see `bilex induce --help`)", code=2)
    assert contents(work) == before


def test_a_limit_of_nothing_is_refused(bilex: Bilex, work: Path) -> None:
    assert_error_line(bilex("induce", "src.vec", "trg.vec", "-o", "new", "--limit", 0), "limit", code=2)
    assert not (work / "new").exists()


def test_threads_in_the_environment_are_checked(bilex: Bilex, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BILEX_THREADS", "many")
    assert_error_line(bilex("induce", "src.vec", "trg.vec", "-o", "new"), "BILEX_THREADS is 'many'; set it to", code=2)
    assert not (work / "new").exists()


@pytest.mark.parametrize(
    ("place", "mentions"),
    [
        ("src.vec", "src.vec: exists and is not a run of bilex; choose another place with -o"),
        ("src.vec/run", "src.vec/run: cannot be written (Not a directory); choose another place with -o"),
        ("nowhere/run", "nowhere/run: cannot be written (No such file or directory); choose another place"),
        ("project", "project: exists and is not a run of bilex; choose another place with -o"),
        ("mixed", "mixed: holds 'notes.txt'"),
        (".", ".: the current folder cannot be replaced; choose another place with -o"),
        ("x" * 300, "cannot be written (File name too long)"),
    ],
)
def test_an_output_place_that_is_not_ours_is_left_alone(bilex: Bilex, work: Path, place: str, mentions: str) -> None:
    (work / "project").mkdir()
    (work / "project" / "thesis.tex").write_text("years of work")
    (work / "mixed").mkdir()
    (work / "mixed" / "run.json").write_text("{}")
    (work / "mixed" / "notes.txt").write_text("mine")
    before = contents(work)
    assert_error_line(bilex("induce", "src.vec", "trg.vec", "-o", place), mentions)
    assert contents(work) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_output_place_without_permission(bilex: Bilex, work: Path) -> None:
    (work / "locked").mkdir(mode=0o555)
    assert_error_line(
        bilex("induce", "src.vec", "trg.vec", "-o", "locked/run"), "cannot be written (Permission denied)"
    )


def test_an_existing_run_is_replaced_whole_and_only_with_force(bilex: Bilex, work: Path) -> None:
    old, again = contents(work / "run"), ("induce", "src.vec", "trg.vec", "-o", "run", "-q", "--prior", "2:2")
    assert_error_line(bilex(*again), "run: ", "--force")
    assert contents(work / "run") == old
    assert bilex(*again, "--force").code == 0
    new = contents(work / "run")
    assert set(new) == set(old)
    assert all(new[name] != old[name] for name in new)
    assert sorted(path.name for path in work.iterdir()) == ["gold.txt", "run", "src.vec", "trg.vec"]


def test_a_least_confidence_leaves_the_other_entries_out(bilex: Bilex, work: Path) -> None:
    whole = package.Run.load(work / "run").lexicon
    limit = float(np.median(whole.confidence))
    made = ("--method", "ruder2018", "--max-rank", 200, "--complete", "-o", "new")
    outcome = bilex("induce", "src.vec", "trg.vec", *made, "--min-confidence", limit)
    assert outcome.code == 0
    new = package.Run.load(work / "new")
    assert list(new.lexicon) == list(whole.confident(limit))
    assert 0 < len(new.lexicon) < len(whole)
    assert outcome.out.splitlines()[0] == new.headline
    assert f"{new.expected_precision:.0%} of {len(new.lexicon)} entries" in new.headline
    assert new.info["confidence"]["expected_precision"] == round(new.expected_precision, 4)
    assert bilex("report", "new", "--json").code == 0
    assert new.info["verdict"] == new.verdict.summary()
    assert_error_line(bilex("induce", "src.vec", "trg.vec", "--min-confidence", -1), "-1", code=2)


@pytest.mark.parametrize(("level", "code", "strict_code"), [("sound", 0, 0), ("doubtful", 0, 3), ("failed", 3, 3)])
def test_a_pipeline_can_tell_what_became_of_a_run(level: str, code: int, strict_code: int) -> None:
    assert exit_code(["sound", level], strict=False) == code
    assert exit_code([level], strict=True) == strict_code
