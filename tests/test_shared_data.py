"""The paper's method on the shared vectors: English to French from identical strings.

The published level on all words is measured by `make results`; here the frequent words are enough to see a loss. The
default method is tried on real vectors by the demo (`tests/cli/test_demo.py`).
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bilex import cli

DATA = Path(os.environ.get("BILEX_SHARED_DATA") or Path(__file__).parents[2] / "shared" / "data")
PAPER = ["--method", "ruder2018", "--limit", "4000", "--max-rank", "2000", "--max-iterations", "4"]
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not (DATA / "en.vec.gz").is_file(), reason=f"no shared data in {DATA}; set BILEX_SHARED_DATA"),
]


def test_english_french_from_identical_strings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, run = [str(DATA / name) for name in ("en.vec.gz", "fr.vec.gz")], str(tmp_path / "run")
    assert cli.run(["induce", *files, "-o", run, *PAPER, "--no-report", "--quiet"]) == 0
    capsys.readouterr()
    gold = str(DATA / "dictionaries" / "en-fr.0-5000.txt")
    assert cli.run(["evaluate", run, gold, "--retrieval", "csls", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["covered"] > 2400
    assert figures["p@1"] >= 0.82
