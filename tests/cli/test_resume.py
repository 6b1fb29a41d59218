"""``bilex induce --resume``: an interrupted run continues, with the options it had."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bilex import cli
from bilex.cli.induce import Job, checkpoint_writer
from bilex.cli.interrupts import exit_message
from bilex.files.ownership import CHECKPOINT
from bilex.methods import METHODS
from bilex.runs import checkpoints
from tests.cli.helpers import Bilex, assert_error_line, contents

OPTIONS = ("--max-rank", "200", "--complete", "--seed", "seed.txt", "--prior", "1:2", "--tolerance", "0")
COMMAND = ("induce", "src.vec", "trg.vec", *OPTIONS, "--max-iterations", "6")


@pytest.fixture(scope="module")
def halted_once(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run that was interrupted after its third iteration, and the whole run under another name."""
    work = Path(shutil.copytree(made, tmp_path_factory.mktemp("halted") / "work"))
    gold = (work / "gold.txt").read_text("utf-8").splitlines(keepends=True)
    (work / "seed.txt").write_text("".join(gold[:40]), "utf-8")
    write, count = checkpoints.write_checkpoint, 0

    def interrupt(*arguments: Any) -> None:
        nonlocal count
        write(*arguments)
        count += 1
        if count == 3:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(work)
        assert cli.run([*COMMAND, "-o", "whole"]) == 0
        patch.setattr(checkpoints, "write_checkpoint", interrupt)
        assert cli.run([*COMMAND, "-o", "new"]) == 130
    return work


@pytest.fixture
def halted(halted_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh copy of that folder as the current one."""
    work = Path(shutil.copytree(halted_once, tmp_path / "work"))
    monkeypatch.chdir(work)
    checkpoint = checkpoints.read_checkpoint(work / "new")
    here = {**checkpoint.command, "folder": str(work)}
    checkpoints.write_checkpoint(replace(checkpoint, command=here), work / "new", tmp_path)
    return work


def test_what_an_interrupt_leaves(halted: Path) -> None:
    assert set(contents(halted / "new")) == {CHECKPOINT}
    assert checkpoints.read_checkpoint(halted / "new").iterations == 3


def test_the_result_is_that_of_an_uninterrupted_run(halted: Path, bilex: Bilex) -> None:
    outcome = bilex("induce", "--resume", "new", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert set(contents(halted / "new")) == set(contents(halted / "whole"))
    for name in ("lexicon.tsv", "model.safetensors", "candidates.safetensors"):
        assert (halted / "new" / name).read_bytes() == (halted / "whole" / name).read_bytes()
    new, whole = (json.loads((halted / name / "run.json").read_text("utf-8")) for name in ("new", "whole"))
    assert new["resumed_after"] == json.loads(outcome.out)["resumed_after"] == 3
    assert new["configuration"] == whole["configuration"]
    assert new["inputs"] == whole["inputs"]
    assert new["command"] == ["new" if word == "whole" else word for word in whole["command"]]
    assert len(new["iterations"]) == len(whole["iterations"]) == 7  # six of EM, and the round on all evidence
    assert_error_line(bilex("induce", "--resume", "new"), "new: ")


def test_resume_from_another_folder(
    halted: Path, bilex: Bilex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert bilex("induce", "--resume", "work/new", "--quiet") == (0, "", "")
    assert (halted / "new/lexicon.tsv").read_bytes() == (halted / "whole/lexicon.tsv").read_bytes()


def test_files_that_moved_can_be_given_again(halted: Path, bilex: Bilex) -> None:
    (halted / "src.vec").rename(halted / "moved.vec")
    assert_error_line(bilex("induce", "--resume", "new"), "src.vec: ")
    assert_error_line(bilex("induce", "--resume", "new", "moved.vec"), "SRC and TRG", code=2)
    assert bilex("induce", "--resume", "new", "moved.vec", "trg.vec", "--quiet").code == 0
    assert (halted / "new/lexicon.tsv").read_bytes() == (halted / "whole/lexicon.tsv").read_bytes()


@pytest.mark.parametrize("name", ["src.vec", "seed.txt"])
def test_changed_input_is_refused_and_the_checkpoint_stays(halted: Path, bilex: Bilex, name: str) -> None:
    lines = (halted / name).read_text("utf-8").splitlines(keepends=True)
    if name == "seed.txt":
        lines.pop()
    else:
        lines[5] = re.sub(r"\d\n", lambda digit: f"{(int(digit[0][0]) + 5) % 10}\n", lines[5])
    (halted / name).write_text("".join(lines), "utf-8")
    before = contents(halted)
    part = {"src.vec": "source vectors", "seed.txt": "seed"}[name]
    assert_error_line(bilex("induce", "--resume", "new"), part)
    assert contents(halted) == before


@pytest.mark.parametrize(
    ("option", "value", "was"),
    [
        ("--prior", "2:2", "1:2"),
        ("--method", "mutual", "bilex"),
        ("--limit", "100", "200000"),
        ("-o", "elsewhere", "new"),
    ],
)
def test_options_that_would_change_it_are_refused(
    halted: Path, bilex: Bilex, option: str, value: str, was: str
) -> None:
    before = contents(halted)
    assert_error_line(bilex("induce", "--resume", "new", option, value), option, was, code=2)
    assert contents(halted) == before


def test_options_that_change_nothing_are_accepted(halted: Path, bilex: Bilex) -> None:
    same = ("--prior", "1:2", "--max-rank", "200", "--complete", "-o", "./new", "--seed", str(halted / "seed.txt"))
    assert bilex("induce", "--resume", "new", *same, "--threads", "1", "--no-report", "-q").code == 0
    assert (halted / "new/lexicon.tsv").read_bytes() == (halted / "whole/lexicon.tsv").read_bytes()
    assert not (halted / "new/report.html").exists()


def test_a_cluster_that_only_the_checkpoint_names_is_not_used(
    halted: Path, bilex: Bilex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may come from a stranger, and a scheduler can run code in its clients."""
    checkpoint = checkpoints.read_checkpoint(halted / "new")
    command = {**checkpoint.command, "engine": "dask=tcp://cluster.invalid:8786"}
    checkpoints.write_checkpoint(replace(checkpoint, command=command), halted / "new", halted)
    monkeypatch.setattr("bilex.search.dask.DaskEngine.__enter__", lambda _: pytest.fail("it was called"))
    before = contents(halted)
    assert_error_line(bilex("induce", "--resume", "new", "-q"), "--engine dask=tcp://cluster.invalid:8786", code=2)
    assert contents(halted) == before
    assert bilex("induce", "--resume", "new", "-q", "--engine", "local").code == 0
    assert (halted / "new/lexicon.tsv").read_bytes() == (halted / "whole/lexicon.tsv").read_bytes()


def test_the_way_to_resume_names_the_cluster(tmp_path: Path) -> None:
    exit_message.reset()
    (tmp_path / CHECKPOINT).touch()
    engine = "dask=tcp://cluster.invalid:8786"
    job = Job("a.vec", "b.vec", "identical", METHODS["bilex"], 10, False, engine, True, None, [], ".")
    checkpoint_writer(job, str(tmp_path), tmp_path, resumed=True)
    assert f"--engine {engine}`" in exit_message.for_interrupt()
    exit_message.reset()


def test_an_old_run_stays_until_the_new_one_is_whole(halted: Path, bilex: Bilex) -> None:
    shutil.copy(halted / "new" / CHECKPOINT, halted / "run" / CHECKPOINT)
    old = (halted / "run/lexicon.tsv").read_bytes()
    assert bilex("translate", "run", "s0").code == 0
    assert (halted / "run/lexicon.tsv").read_bytes() == old
    assert bilex("induce", "--resume", "run", "--quiet").code == 0
    assert (halted / "run/lexicon.tsv").read_bytes() == (halted / "whole/lexicon.tsv").read_bytes() != old
    assert not (halted / "run" / CHECKPOINT).exists()


def test_a_failure_at_the_end_names_the_way_to_resume(
    work: Path, bilex: Bilex, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("bilex.runs.run.write_model", full)
        outcome = bilex("induce", "src.vec", "trg.vec", "-o", "new")
    assert_error_line(outcome, "`bilex induce --resume new`")
    assert bilex("induce", "--resume", "new", "--quiet").code == 0


def test_commands_that_need_a_run_name_the_way_to_resume_it(halted: Path, bilex: Bilex) -> None:
    for command in (("translate", "new", "s0"), ("explore", "new", "--no-browser"), ("report", "new")):
        assert_error_line(bilex(*command), "new: ", "`bilex induce --resume new`")


def test_a_new_run_over_an_interrupted_one_needs_force(halted: Path, bilex: Bilex) -> None:
    again = ("induce", "src.vec", "trg.vec", "-o", "new", "--quiet")
    assert_error_line(bilex(*again), "new: ", "--resume new", "--force")
    assert bilex(*again, "--force") == (0, "", "")
    assert not (halted / "new" / CHECKPOINT).exists()


def test_nothing_to_resume(work: Path, bilex: Bilex) -> None:
    assert_error_line(bilex("induce", "--resume", "nowhere"), "nowhere: ")
    assert_error_line(bilex("induce", "--resume", "run"), "run: ")
    (work / "run" / CHECKPOINT).write_bytes(b"no checkpoint")
    assert_error_line(bilex("induce", "--resume", "run"), CHECKPOINT, "without --resume")
