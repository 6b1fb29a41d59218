"""Hostile run directories: links, devices, newer versions, forged tensors and manifests."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from bilex import cli
from bilex.errors import BilexError
from bilex.lexicon.reviews import SCHEMA
from bilex.runs.run import Run
from tests.attacks.forgeries import HUGE, forge_manifest, forge_model, heavy, resign, safetensors
from tests.attacks.guard import Guard
from tests.attacks.test_vectors import assert_refused

Forgery = Callable[[dict[str, np.ndarray[Any, Any]]], dict[str, np.ndarray[Any, Any]]]
FILES = ("run.json", "lexicon.tsv", "model.safetensors", "candidates.safetensors")


def test_the_run_is_good_before_it_is_touched(guard: Guard, run: Path) -> None:
    assert guard.open("run", run)[:2] == ("", "")
    forge_model(run, {})
    assert guard.open("run", run)[:2] == ("", "")


@pytest.mark.parametrize("name", FILES)
def test_a_link_out_of_the_run_directory(guard: Guard, run: Path, name: str) -> None:
    """The file it leads to is valid, so only the link can be the reason."""
    (run / name).rename(run.parent / name)
    (run / name).symlink_to(run.parent / name)
    assert_refused(guard.open("run", run), f"{name}: the link leads out of the run directory")
    (run / name).unlink()
    (run / name).symlink_to(f"../{name}")
    assert_refused(guard.open("run", run), f"{name}: the link leads out of the run directory")


@pytest.mark.parametrize("name", FILES[:2])
def test_a_link_to_a_device(guard: Guard, run: Path, name: str) -> None:
    (run / name).unlink()
    (run / name).symlink_to("/dev/zero")
    assert_refused(guard.open("run", run), f"{name}: this is a device")


@pytest.mark.parametrize("name", FILES[1:])
def test_a_pipe_without_a_writer(guard: Guard, run: Path, name: str) -> None:
    (run / name).unlink()
    os.mkfifo(run / name)
    assert_refused(guard.open("run", run), f"{name}: this is a pipe")


@pytest.mark.parametrize("name", FILES[1:2])
def test_links_in_a_circle_and_folders(guard: Guard, run: Path, name: str) -> None:
    (run / name).unlink()
    (run / name).symlink_to(name)
    assert_refused(guard.open("run", run), f"{name}: the file is missing")
    (run / name).unlink()
    (run / name).mkdir()
    assert_refused(guard.open("run", run), f"{name}: this is not a file")


def test_a_review_elsewhere_is_not_written_to(guard: Guard, run: Path) -> None:
    with sqlite3.connect(run.parent / "theirs.sqlite") as other:
        other.executescript(SCHEMA)
    (run / "review.sqlite").symlink_to("../theirs.sqlite")
    assert_refused(guard.open("review", run), r"review\.sqlite: the link leads out")


@pytest.mark.parametrize("version", ["9.1", "\x1b[2J\x1b]0;owned\x07", HUGE])
def test_a_run_of_a_newer_version(guard: Guard, run: Path, version: object) -> None:
    forge_manifest(run, lambda info: info.update(format=2, version=version))
    verdict = guard.open("run", run)
    assert_refused(verdict, "newer bilex|its entry version")
    assert verdict.message.isprintable()


@pytest.mark.parametrize("number", [float("nan"), -1, 1.5, True, None, HUGE**9])
def test_a_format_that_is_not_a_number(guard: Guard, run: Path, number: object) -> None:
    forge_manifest(run, lambda info: info.update(format=number))
    assert_refused(guard.open("run", run), r"run\.json: its entry format|not a whole run")


def longer(info: dict[str, Any]) -> None:
    info["versions"] = ["x" * 100] * 200_000


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "iterations": (lambda info: info.update(iterations=[{}]), r"its entry iterations\[0\]"),
    "no-number": (
        lambda info: info["iterations"][0].update(mean_cosine="x"),
        r"entry iterations\[0\]\.mean_cosine",
    ),
    "nan": (lambda info: info["iterations"][0].update(log_likelihood=float("nan")), "not a whole run.json"),
    "method": (lambda info: info["configuration"].update(method=3), "its entry configuration.method"),
    "seed": (
        lambda info: info["configuration"]["seed"].update(agreement=[1]),
        "entry configuration.seed.agreement",
    ),
    "weights": (lambda info: info.update(weights=5), "its entry weights"),
    "no-slope": (lambda info: info["weights"].update(slopes={}), "its entry weights.slopes"),
    "examples": (lambda info: info["confidence"].update(examples="x"), "its entry confidence.examples"),
    "files": (lambda info: info.update(files=3), "its entry files"),
    "no-files": (lambda info: info.pop("files"), "missing required field `files`"),
    "no-checksum": (lambda info: info.update(files={}), r"before 0\.2"),
    "checksum": (lambda info: info["files"].update({"lexicon.tsv": ["x"]}), "its entry files"),
    "command": (lambda info: info.update(command=[1]), r"its entry command\[0\]"),
    "escape": (lambda info: info.update(stopped="\x1b[2J"), "its entry stopped"),
    "long": (longer, "not a whole run.json"),
}


@pytest.mark.parametrize(("change", "mention"), CHANGES.values(), ids=CHANGES)
def test_a_forged_manifest(guard: Guard, run: Path, change: Callable[[dict[str, Any]], object], mention: str) -> None:
    forge_manifest(run, change)
    assert_refused(guard.open("run", run), mention)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null\n",
        b"[" * 100_000 + b"}\n",
        b'{"format": 1}\n',
        b"\xff}\n",
        b'{"a": 1' + b"0" * 10**6,
    ],
)
def test_a_manifest_that_is_not_one(guard: Guard, run: Path, content: bytes) -> None:
    (run / "run.json").write_bytes(content)
    assert_refused(guard.open("run", run), r"run\.json: ")


MODELS: dict[str, dict[str, Any]] = {
    "a-space-larger-than-the-languages": {"omega": np.zeros((100_000, 8)), "mu": np.zeros(100_000)},
    "a-long-word": {"source_words": np.full(20_000, ord("x"), np.uint8)},
    "nan": {"mu": np.full(8, np.nan)},
    "neighbours-that-are-not-there": {"source_nearest": np.full(60, HUGE)},
    "neighbours-before-the-first": {"source_nearest": np.full(60, -1)},
    "another-type": {"omega": np.zeros((8, 8), np.float32)},
}


@pytest.mark.parametrize("changes", MODELS.values(), ids=MODELS)
def test_forged_tensors(guard: Guard, run: Path, changes: dict[str, Any]) -> None:
    forge_model(run, changes)
    assert_refused(guard.open("run", run), "the tensor .* does not fit the others")


BIG = np.iinfo(np.int64)
CANDIDATES: dict[str, Forgery] = {
    "no-candidates": lambda _: {},
    "one-is-missing": lambda kept: {name: tensor for name, tensor in kept.items() if name != "weights"},
    "another": lambda kept: {**kept, "more": kept["targets"]},
    "another-type": lambda kept: {**kept, "targets": kept["targets"].astype(np.int64)},
    "two-dimensions": lambda kept: {**kept, "indptr": kept["indptr"][None]},
    "fewer-words": lambda kept: {**kept, "indptr": kept["indptr"][:-1]},
    "no-words": lambda kept: {**kept, "indptr": kept["indptr"][:0]},
    "pointers-that-fall": lambda kept: {**kept, "indptr": changed(kept["indptr"], {1: 10**6})},
    "pointers-that-overflow": lambda kept: {**kept, "indptr": changed(kept["indptr"], {1: BIG.max, 2: BIG.min, 3: -1})},
    "beyond-the-last-word": lambda kept: {**kept, "targets": changed(kept["targets"], {0: 10**6})},
    "before-the-first-word": lambda kept: {**kept, "targets": changed(kept["targets"], {0: -1})},
    "twice-the-same": lambda kept: {**kept, "targets": np.full_like(kept["targets"], 3)},
    "nan": lambda kept: {**kept, "weights": changed(kept["weights"], {0: np.nan})},
    "infinity": lambda kept: {**kept, "weights": changed(kept["weights"], {0: -np.inf})},
    "nan-probability": lambda kept: {**kept, "probability": changed(kept["probability"], {0: np.nan})},
    "probability": lambda kept: {**kept, "probability": changed(kept["probability"], {0: 1.5})},
    "means-in-one-dimension": lambda kept: {**kept, "target_means": np.zeros(8)},
    "means-without-number": lambda kept: {**kept, "target_means": np.full((1, 8), np.nan)},
}


def changed(tensor: np.ndarray[Any, Any], values: dict[int, Any]) -> np.ndarray[Any, Any]:
    """Return a copy with other values in some places."""
    copy = tensor.copy()
    copy[list(values)] = list(values.values())
    return copy


@pytest.mark.parametrize("forge", CANDIDATES.values(), ids=CANDIDATES)
def test_forged_candidates(guard: Guard, run: Path, forge: Forgery) -> None:
    save_file(forge(load_file(run / "candidates.safetensors")), run / "candidates.safetensors")
    resign(run)
    assert_refused(guard.open("run", run), r"candidates\.safetensors: these are not the candidates of this run")


@pytest.mark.parametrize("header", [b"{", b'{"a": [' + b"[]," * 1_000_000 + b"[]]}", {"a": {"dtype": "BF16"}}])
def test_candidates_that_are_no_tensors(guard: Guard, run: Path, header: object) -> None:
    safetensors(run / "candidates.safetensors", header)
    resign(run)
    assert_refused(guard.open("run", run), r"candidates\.safetensors: ")


def test_forged_candidates_in_every_command(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = load_file(run / "candidates.safetensors")
    save_file(CANDIDATES["pointers-that-overflow"](kept), run / "candidates.safetensors")
    resign(run)
    (tmp_path / "gold").write_text("s1 t1\n")
    for command in ("translate RUN s1", "explore RUN --no-browser", "export RUN", "evaluate RUN GOLD", "report RUN"):
        words = command.replace("RUN", str(run)).replace("GOLD", str(tmp_path / "gold")).split()
        assert cli.run(words) == 1
        shown = capsys.readouterr()
        assert (shown.out, shown.err.count("\n")) == ("", 1)
        assert str(run / "candidates.safetensors") in shown.err


def test_the_means_of_other_vectors(run: Path) -> None:
    kept = load_file(run / "candidates.safetensors")
    save_file({**kept, "source_means": np.zeros((1, 5))}, run / "candidates.safetensors")
    resign(run)
    with pytest.raises(BilexError, match="the mean of its vectors"):
        Run.load(run).transform(np.ones((1, 8), np.float32), "source")


def test_a_model_with_a_long_header(guard: Guard, run: Path) -> None:
    safetensors(run / "model.safetensors", b'{"a": [' + b"[]," * 1_000_000 + b"[]]}")
    resign(run)
    assert_refused(guard.open("run", run), "a header of 3,")


def test_a_lexicon_with_a_heavy_word(guard: Guard, run: Path) -> None:
    heavy(run / "lexicon.tsv", (run / "lexicon.tsv").read_bytes(), b"\tb\t1\t1\t1\tseed\n")
    resign(run)
    assert_refused(guard.open("run", run), r"lexicon\.tsv:\d+: the line is longer than")


@pytest.mark.parametrize("score", ["nan", "1e999", "1_0\t" + "9" * 30])
def test_a_lexicon_without_numbers(guard: Guard, run: Path, score: str) -> None:
    header = (run / "lexicon.tsv").read_text().split("\n")[0]
    (run / "lexicon.tsv").write_text(f"{header}\na\tb\t{score}\t1\t1\tseed\n")
    resign(run)
    assert_refused(guard.open("run", run), r"lexicon\.tsv:2: this line is not an entry")


def test_a_manifest_names_no_other_files(guard: Guard, run: Path) -> None:
    """Only the files of a run are ever opened, whatever the manifest lists."""
    secret = run.parent / "secret"
    secret.write_text("secret")
    secret.chmod(0)
    forge_manifest(run, lambda info: info["files"].update({"../secret": json.dumps(info["files"])}))
    assert guard.open("run", run)[:2] == ("", "")
