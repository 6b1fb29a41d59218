"""The benchmarks run, and agree with their peers on the optimum, at a tiny size; nothing is timed here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

NAMES = ("matching", "topk", "onepass", "reuse", "loading", "memory", "dense", "endtoend", "scaling")
ROOT = Path(__file__).parents[1]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_benchmark_runs_and_the_objectives_agree(tmp_path: Path) -> None:
    for peer in ("lap", "scipy", "ortools", "faiss", "gensim", "ot"):
        pytest.importorskip(peer)
    file = tmp_path / "results.json"
    done = run("--quick", "--json", str(file))
    assert done.returncode == 0, done.stderr
    written = json.loads(file.read_text())
    assert written["machine"]["cores"] >= 1
    results = written["results"]
    assert {result["name"] for result in results} == set(NAMES)
    assert all(figure > 0 for result in results for figure in result["ours"] + result["peer"])
    for result in results:
        if result["name"] == "matching" and "objective" in result["details"]:
            assert not result["exceeded"]
            details = result["details"]
            assert abs(details["objective_difference"]) <= 1e-6 * details["objective"]
            assert details["pairs"] > 0
        assert result["case"] in done.stdout


def test_an_unknown_name_is_wrong_usage() -> None:
    done = run("nonsense")
    assert done.returncode == 2
    assert "choose from matching, topk" in done.stderr
