"""``bilex benchmark`` on tiny data in the layouts of the suites, with programs that are only called like the peers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bilex.experiments.benchmark import SuiteCell, average_precision, run_benchmark
from bilex.experiments.layouts import read_layout
from tests.cli.conftest import bilex as run_bilex  # noqa: F401 (a fixture)
from tests.cli.helpers import Bilex, assert_error_line
from tests.languages import make_languages, write_vec

PROCRUSTES = """
import sys, numpy as np
def read(path):
    lines = open(path, encoding="utf-8").read().split("\\n")[1:-1]
    return [line.split(" ")[0] for line in lines], np.array([line.split(" ")[1:] for line in lines], float)
def write(path, words, rows):
    body = "".join(word + " " + " ".join(map(str, row)) + "\\n" for word, row in zip(words, rows))
    open(path, "w", encoding="utf-8").write(f"{len(words)} {rows.shape[1]}\\n" + body)
def turned(dictionary, source, target):
    (a, x), (b, y) = read(source), read(target)
    pairs = [line.split() for line in open(dictionary, encoding="utf-8")]
    u, _, v = np.linalg.svd(y[[b.index(t) for _, t in pairs]].T @ x[[a.index(s) for s, _ in pairs]])
    return a, x @ (u @ v).T, b, y
"""
VECMAP = """
kind, dictionary, source, target, source_out, target_out = sys.argv[1:]
assert kind == "--semi_supervised"
a, x, b, y = turned(dictionary, source, target)
write(source_out, a, x), write(target_out, b, y)
"""
RCSLS = """
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
a, x, b, y = turned(given["--dico_train"], given["--src_emb"], given["--tgt_emb"])
assert given["--dico_test"] and given["--lr"] and given["--niter"]
write(given["--output"], a, x)
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """XLING's layout with one pair and its largest seed; and two checkouts."""
    languages = make_languages(220, 16, 40, 0.2, random=1)
    folder = tmp_path / "bli_datasets" / "en-de"
    folder.mkdir(parents=True)
    write_vec(tmp_path / "wiki.en.vec", languages.source)
    write_vec(tmp_path / "wiki.de.vec", languages.target)
    for part, pairs in (("train.freq.5k", languages.gold[::2]), ("test.freq.2k", languages.gold[1::2])):
        (folder / f"yacle.{part}.en-de.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in pairs), "utf-8")
    for name, script in (("vecmap/map_embeddings.py", VECMAP), ("fastText/alignment/align.py", RCSLS)):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(PROCRUSTES + script, "utf-8")
    return tmp_path


def test_ours_and_peers_in_one_table(data: Path, run_bilex: Bilex, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    peers = ("--peer", f"vecmap={data / 'vecmap'}", "--peer", f"rcsls={data / 'fastText'}")
    chosen = ("--seeds", "5k,identical", "--methods", "bilex,ruder2018", "-o", data / "out")
    outcome = run_bilex("benchmark", "xling", "--data", data, *chosen, *peers, "--json")
    assert outcome.code == 0 and "1 of the suite's 28 pairs" in outcome.out
    rows = {(row["system"], row["seed"]): row for row in json.loads(outcome.out)["rows"]}
    assert set(rows) == {
        (name, seed) for name in ("bilex", "ruder2018", "vecmap", "rcsls") for seed in ("5k", "identical")
    }
    for row in rows.values():
        assert 0.5 < row["p@1"] <= row["map"] <= 1 and row["p@1"] <= row["mrr"] and row["covered"] <= row["queries"]
        assert row["seconds"] > 0
    assert rows["vecmap", "5k"]["map"] == rows["rcsls", "5k"]["map"]  # the stand-ins do the same
    monkeypatch.setattr(SuiteCell, "run", None)  # everything is done
    again = run_bilex("benchmark", "xling", "--data", data, *chosen, *peers)
    assert again.code == 0 and "| vecmap | 5k |" in again.out
    assert (data / "out" / "xling.md").read_text("utf-8").count("| bilex |") == 6  # three figures, two seeds


def test_what_is_missing_is_said(data: Path, run_bilex: Bilex) -> None:  # noqa: F811
    common = ("benchmark", "xling", "--data", data, "-o", data / "out")
    assert_error_line(run_bilex(*common, "--pairs", "en-de"), "yacle.train.freq.3k.en-de.tsv")
    assert_error_line(run_bilex(*common, "--pairs", "en-de", "--seeds", "2k"), "5k, 3k, 1k, 500, identical")
    assert_error_line(
        run_bilex(*common, "--pairs", "en-de", "--seeds", "5k", "--peer", f"vecmap={data}"), "map_embeddings.py"
    )
    assert_error_line(run_bilex(*common, "--peer", "vecmap"), code=2)
    (data / "vecmap" / "map_embeddings.py").write_text("raise SystemExit('out of luck')")
    assert_error_line(
        run_bilex(*common, "--pairs", "en-de", "--seeds", "5k", "--peer", f"vecmap={data / 'vecmap'}"), "out of luck"
    )


def test_several_test_lists_of_muse(tmp_path: Path) -> None:
    languages = make_languages(220, 16, 40, 0.2)
    folder = tmp_path / "crosslingual" / "dictionaries"
    folder.mkdir(parents=True)
    write_vec(tmp_path / "wiki.en.vec", languages.source)
    write_vec(tmp_path / "wiki.xx.vec", languages.target)
    for part, pairs in (("0-5000", languages.gold[::2]), ("5000-6500", languages.gold[1::2])):
        (folder / f"en-xx.{part}.txt").write_text("".join(f"{s} {t}\n" for s, t in pairs), "utf-8")
    (folder / "en-xx.5000-6500.noun.txt").write_text("".join(f"{s} {t}\n" for s, t in languages.gold[1:40:2]), "utf-8")
    report, _ = run_benchmark("muse", tmp_path, tmp_path / "out", methods=("ruder2018",))
    assert [(row["test"], row["queries"] > 20) for row in report.rows] == [("test", True), ("nouns", False)]


def test_mean_average_precision() -> None:
    queries, ranks = np.array([0, 0, 1]), np.array([4, 1, 2])
    assert average_precision(queries, ranks) == pytest.approx(((1 / 1 + 2 / 4) / 2 + 1 / 2) / 2)


def test_the_suites_are_described() -> None:
    xling = read_layout("xling").table
    assert len(set(xling.pairs or ())) == 28 and list(xling.seeds) == ["5k", "3k", "1k", "500"]
    assert xling.figures[0] == "map" and read_layout("panlex").table.figures[0] == "mrr"
