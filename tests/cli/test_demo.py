"""`bilex demo`, once, from end to end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bilex.cli.demo import choose_examples
from bilex.lexicon.lexicon import Lexicon
from tests.cli.helpers import Bilex
from tools.readme import readme_block


def skeleton(output: str) -> list[str]:
    """Leave out what may differ between machines: numbers, how many iterations, which entries."""
    lines = [re.sub(r"-?[\d,.]*\d(e-\d+)?", "#", " ".join(line.split())) for line in output.splitlines()]
    return list(dict.fromkeys(line for line in lines if not re.fullmatch(r"\S+ \S+ #", line)))


def test_the_demo_prints_iterations_scores_entries_and_where_the_files_are(
    bilex: Bilex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = bilex("demo")
    assert (outcome.code, outcome.err) == (0, "")
    rows = re.findall(r"^ +(\d+) +([\d,]+) +(0\.\d+) +(-[\d,.]+) +(\S+)$", outcome.out, re.MULTILINE)
    manifest = json.loads(Path("bilex-demo/run.json").read_text("utf-8"))
    assert len(rows) == len(manifest["iterations"]) > 1
    assert [int(row[1].replace(",", "")) for row in rows] == [i["pairs"] for i in manifest["iterations"]]
    assert manifest["stopped"] in outcome.out
    scores = {name: float(score) for name, score in re.findall(r"(neighbour|CSLS) +P@1 (0\.\d+)", outcome.out)}
    assert scores["neighbour"] > 0.6
    assert scores["CSLS"] > scores["neighbour"]
    assert int(re.search(r"on (\d+) gold words", outcome.out)[1]) >= 900  # type: ignore[index]
    assert "bilex-demo/lexicon.tsv" in outcome.out
    entries = re.findall(r"^  (\S+) +(\S+) +(-?\d\.\d{3})$", outcome.out, re.MULTILINE)
    lexicon = Lexicon.load("bilex-demo/lexicon.tsv")
    assert len(entries) == 20
    assert [(e.source, e.target) for e in choose_examples(lexicon)] == [(s, t) for s, t, _ in entries]
    assert all(source != target for source, target, _ in entries)
    assert skeleton(outcome.out) == skeleton(readme_block())  # the README shows real output
    translated = bilex("translate", "bilex-demo", "house", "-k", 1)
    assert translated.out.startswith("house\tmaison\t")
