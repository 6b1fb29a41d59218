"""Several languages on the shared vectors: English as the hub of French, Finnish and German.

The German vectors come from small corpora of another kind than the English ones, so en-de is close to failing: it is
here to show that a weak language does no harm to the others.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from bilex import cli
from tests.test_shared_data import DATA

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not (DATA / "en.vec.gz").is_file(), reason=f"no shared data in {DATA}; set BILEX_SHARED_DATA"),
]
FILES = {"en": "en.vec.gz", "fr": "fr.vec.gz", "fi": "fi.vec.gz", "de": "de-books-law.vec.gz"}


@pytest.fixture(scope="module")
def europe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result from identical strings (fr) and 1,000 pairs of the train dictionaries (fi, de)."""
    folder = tmp_path_factory.mktemp("europe")
    seeds = []
    for name in ("fi", "de"):
        lines = (DATA / "dictionaries" / f"en-{name}.0-5000.txt").read_text("utf-8").splitlines()
        (folder / f"{name}.txt").write_text("\n".join(random.Random(0).sample(lines, 1000)) + "\n", "utf-8")
        seeds += ["--seed", f"{name}={folder / name}.txt"]
    files = [f"{name}={DATA / file}" for name, file in FILES.items()]
    options = ["--method", "ruder2018", "--max-rank", "1500", "--limit", "4000", "--max-iterations", "5"]
    options += ["--no-report", "--quiet"]
    assert cli.run(["induce-many", *files, "-o", str(folder / "out"), *seeds, *options]) in (0, 3)  # German is weak
    return folder / "out"


def right(pairs: Iterable[tuple[str, str]], name: str) -> np.ndarray:
    """Return whether each entry from English is in the dictionaries; NaN where they do not know its source word."""
    gold: dict[str, set[str]] = {}
    for part in ("0-5000", "5000-6500"):
        for line in (DATA / "dictionaries" / f"en-{name}.{part}.txt").read_text("utf-8").splitlines():
            source, target = line.split()
            gold.setdefault(source, set()).add(target)
    return np.array([float(t in gold[s]) if s in gold else np.nan for s, t in pairs])


@pytest.mark.parametrize("name", ["fr", "fi"])
def test_entries_that_other_languages_agree_with_are_better(europe: Path, name: str) -> None:
    lines = (europe / f"en-{name}" / "cycles.tsv").read_text("utf-8").split("\n")[1:-1]
    rows = [line.split("\t") for line in lines]
    correct = right(((source, target) for source, target, *_ in rows), name)
    agreement = np.array([float(row[4] or "nan") for row in rows])
    agreed, opposed = (float(np.nanmean(correct[chosen])) for chosen in (agreement == 1, agreement == 0))
    assert agreed > opposed + 0.1


def test_the_strong_triple_agrees_more_than_the_weak_ones(europe: Path) -> None:
    summary = json.loads((europe / "many.json").read_text("utf-8"))
    assert len(summary["pairs"]) == 6 and summary["left_out"] == []
    shares = {"".join(sorted(triple["languages"])): triple["agreement"] for triple in summary["triples"]}
    assert shares["enfifr"] > max(shares["deenfi"], shares["deenfr"])
