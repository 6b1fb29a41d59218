"""The figures of the issue on the shared vectors: English to French, E-step on the top 6,000 words."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from bilex import cli

DATA = Path(os.environ.get("BILEX_SHARED_DATA") or Path(__file__).parents[2] / "shared" / "data")
PAPER = ("--method", "ruder2018", "--max-rank", "6000")
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not (DATA / "en.vec.gz").is_file(), reason=f"no shared data in {DATA}; set BILEX_SHARED_DATA"),
]


def draw(count: int, path: Path) -> Path:
    """Write `count` pairs of the training dictionary, each of another frequent word, the same ones every time."""
    lines = (DATA / "dictionaries" / "en-fr.0-5000.txt").read_text("utf-8").splitlines()
    path.write_text("\n".join(random.Random(0).sample(lines, count)) + "\n", "utf-8")
    return path


@pytest.mark.parametrize("seed", ["identical", "25 pairs"])
def test_english_french_reaches_the_published_level(
    seed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = seed if seed == "identical" else str(draw(25, tmp_path / "seed.txt"))
    files = [str(DATA / name) for name in ("en.vec.gz", "fr.vec.gz")]
    run = str(tmp_path / "run")
    assert cli.run(["induce", *files, "-o", run, "--seed", given, *PAPER, "--quiet"]) == 0
    figures = {}
    for retrieval in ("nn", "csls"):
        gold = str(DATA / "dictionaries" / "en-fr.5000-6500.txt")
        capsys.readouterr()
        assert cli.run(["evaluate", run, gold, "--retrieval", retrieval, "--json"]) == 0
        figures[retrieval] = json.loads(capsys.readouterr().out)
    assert figures["nn"]["p@1"] >= 0.74
    assert figures["csls"]["p@1"] >= 0.79
    assert figures["nn"]["queries"] == 1500


def test_the_default_from_25_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(DATA / name) for name in ("en.vec.gz", "fr.vec.gz")]
    run = str(tmp_path / "run")
    assert cli.run(["induce", *files, "-o", run, "--seed", str(draw(25, tmp_path / "seed.txt")), "--quiet"]) == 0
    capsys.readouterr()
    gold = str(DATA / "dictionaries" / "en-fr.5000-6500.txt")
    assert cli.run(["evaluate", run, gold, "--retrieval", "csls", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["p@1"] >= 0.81
