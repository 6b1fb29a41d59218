"""``bilex align`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bilex.vectors.embeddings import Embeddings, load
from tests.cli.helpers import Bilex, assert_error_line, contents

NAMES = ("house", "<b>tree</b>", *(f"w{row}" for row in range(98)))


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(100, 12))
    Embeddings(NAMES, vectors.astype(np.float32)).save(tmp_path / "old.vec")
    vectors[[1, 40]] = vectors[[40, 1]]
    turned = vectors @ np.linalg.qr(rng.normal(size=(12, 12)))[0]
    Embeddings(NAMES, turned.astype(np.float32)).save(tmp_path / "new.vec")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_everything_is_written_and_listed(bilex: Bilex, models: Path) -> None:
    outcome = bilex("align", "old.vec", "new.vec", "--words", 3)
    assert (outcome.code, outcome.err) == (0, "")
    out = models / "old-new-aligned"
    listed = [line.split("\t")[0] for line in (out / "moved.tsv").read_text("utf-8").splitlines()[1:]]
    assert len(listed) == 3 and set(listed[:2]) == {NAMES[1], NAMES[40]}
    old, new = load(out / "old.vec"), load(out / "new.vec")
    cosines = np.einsum("ij,ij->i", old.vectors, new.vectors)
    assert cosines[[1, 40]].max() < 0.9 < np.delete(cosines, [1, 40]).min()
    page = (out / "report.html").read_text("utf-8")
    assert "&lt;b&gt;tree" in page and "<b>tree" not in page and "sha256" in (out / "align.json").read_text("utf-8")


def test_again_gives_the_same_bytes_and_replaces_only_alignments(bilex: Bilex, models: Path) -> None:
    arguments = ("align", "old.vec", "new.vec", "-o", "out", "--quiet", "--force")
    assert bilex(*arguments) == (0, "", "")
    before = contents(models / "out")
    assert bilex(*arguments) == (0, "", "")
    assert contents(models / "out") == before
    (models / "out" / "notes.txt").write_text("mine")
    assert_error_line(bilex(*arguments), "notes.txt")
    (models / "other").mkdir()
    (models / "other" / "a.vec").write_text("mine")
    assert_error_line(bilex("align", "old.vec", "new.vec", "-o", "other"), "not written by `bilex align`")


def test_json_and_models_that_do_not_fit(bilex: Bilex, models: Path) -> None:
    rng = np.random.default_rng(1)
    Embeddings(NAMES, rng.normal(size=(100, 12)).astype(np.float32)).save(models / "noise.vec")
    outcome = bilex("align", "old.vec", "noise.vec", "--json", "--format", "safetensors")
    found = json.loads(outcome.out)
    assert not found["fits"] and found["shared"] == 100 and len(found["moved"][0]["new_neighbours"]) == 5
    assert outcome.code == 0 and outcome.err.count("\n") == 1
    assert (models / "old-noise-aligned" / "noise.safetensors").is_file()
    assert_error_line(bilex("align", "old.vec", "none.vec"), "none.vec")
