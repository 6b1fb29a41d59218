"""`bilex demo`, once, from end to end."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest

from bilex.cli.demo import choose_examples, program
from bilex.lexicon.lexicon import Lexicon
from bilex.methods import DEFAULT_METHOD
from bilex.vectors.embeddings import load
from tests.cli.helpers import Bilex
from tools.demo_page import demo_block


def skeleton(output: str) -> list[str]:
    """Leave out what may differ between machines: numbers, and which entries."""
    lines = [re.sub(r"-?[\d,.]*\d(e-\d+)?", "#", " ".join(line.split())) for line in output.splitlines()]
    return list(dict.fromkeys(line for line in lines if not re.fullmatch(r"\S+ \S+ (over )?#%", line)))


def test_the_demo_shows_the_default_at_work_and_the_next_commands(
    bilex: Bilex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On half of the words, which is enough to look at; the whole demo is run on the package that is built."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bilex.vectors.embeddings.load", partial(load, limit=2000))
    outcome = bilex("demo")
    assert outcome.code == 0
    assert all(line.startswith("bilex: ") for line in outcome.err.splitlines())  # progress, if it is slow
    manifest = json.loads(Path("bilex-demo/run.json").read_text("utf-8"))
    assert manifest["configuration"]["method"]["name"] == DEFAULT_METHOD
    measured = re.search(r"([\d,]+) words, not used for learning: P@1 (0\.\d+)", outcome.out)
    assert measured and int(measured[1].replace(",", "")) >= 500 and float(measured[2]) > 0.85
    entries = re.findall(r"^  (\S+) +(\S+) +(?:over )?\d+%$", outcome.out, re.MULTILINE)
    sure, unsure = choose_examples(Lexicon.load("bilex-demo/lexicon.tsv"))
    assert [(e.source, e.target) for e in (*sure, *unsure)] == entries
    assert len(sure) == 12 and all(source != target for source, target in entries)
    assert skeleton(outcome.out.replace(program(), "bilex")) == skeleton(demo_block())  # the page shows real output
    (line,) = re.findall(rf"^  {re.escape(program())} (translate .*)$", outcome.out, re.MULTILINE)
    translated = bilex(*line.split(), "-k", 1)
    assert translated.out.startswith("house\tmaison\t")
