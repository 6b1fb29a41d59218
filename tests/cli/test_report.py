"""`bilex report`, and the verdict that `bilex induce` prints."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.cli.helpers import Bilex, assert_error_line, contents
from tests.languages import Languages, vec_text


def test_induce_writes_the_report_and_report_writes_the_same(bilex: Bilex, work: Path) -> None:
    page = (work / "run" / "report.html").read_bytes()
    outcome = bilex("report", "run", "-o", "page.html")
    assert (outcome.code, outcome.err) == (0, "")
    assert "sound" in outcome.out and "page.html" in outcome.out
    assert outcome.out.startswith("about ")  # the expected share comes first, as everywhere
    elsewhere = (work / "page.html").read_bytes()
    assert page.count(b'href="lexicon.tsv"') == 2
    assert b"lexicon.tsv" in elsewhere
    assert b'href="lexicon.tsv"' not in elsewhere  # it is not beside the page
    (work / "run" / "report.html").unlink()
    assert bilex("report", "run", "-q") == (0, "", "")
    assert (work / "run" / "report.html").read_bytes() == page


def test_no_report_writes_none(bilex: Bilex, work: Path) -> None:
    outcome = bilex("induce", "src.vec", "trg.vec", "-o", "new", "--no-report")
    assert outcome.code == 0
    assert "report" not in outcome.out
    assert set(contents(work / "new")) == {"lexicon.tsv", "model.safetensors", "candidates.safetensors", "run.json"}


def test_json_has_the_verdict_and_its_figures(bilex: Bilex, work: Path) -> None:
    printed = json.loads(bilex("report", "run", "--json").out)
    assert set(printed) == {"report", "verdict", "figures"}
    manifest = json.loads((work / "run" / "run.json").read_text("utf-8"))
    assert printed["verdict"] == manifest["verdict"]
    assert set(printed["verdict"]) == {"level", "reasons", "advice"}
    assert printed["figures"]["pairs"] == manifest["pairs"]
    agreement = manifest["configuration"]["seed"]["agreement"]
    assert 0 < agreement["matched"] <= agreement["words"] <= manifest["configuration"]["seed"]["used"]


def test_a_failed_run_has_the_verdict_failed_and_advice(bilex: Bilex, work: Path, languages: Languages) -> None:
    target = languages.target
    mixed = np.random.default_rng(0).permutation(target.vectors)
    Path("mixed.vec").write_text(vec_text(target.words, mixed), "utf-8")
    arguments = ("induce", "src.vec", "mixed.vec", "--log-odds", "0.2", "-o", "new")
    outcome = bilex(*arguments)
    assert (outcome.code, outcome.err) == (3, "")
    verdict, advice = (line for line in outcome.out.splitlines() if line.startswith(("verdict: ", "next: ")))
    assert "failed" in verdict and "seed" in advice
    printed = bilex(*arguments, "--json", "--force")
    assert printed.code == 3
    assert printed.err.startswith("bilex: warning: new: ") and printed.err.count("\n") == 1
    assert json.loads(printed.out)["verdict"]["level"] == "failed"
    page = bilex("report", "new", "-o", "page.html")
    assert (page.code, page.err) == (0, "") and "next: " in page.out


def test_the_command_is_kept_and_makes_the_same_lexicon(bilex: Bilex, work: Path) -> None:
    Path("seed file.txt").write_text("".join(f"{s} {t}\n" for s, t in (line.split() for line in gold(work)[:50])))
    given = ["induce", "src.vec", "trg.vec", "--seed", "seed file.txt", "--exact", "--complete", "-o", "new", "-q"]
    assert bilex(*given).code == 0
    kept = json.loads((work / "new" / "run.json").read_text("utf-8"))["command"]
    first = (work / "new" / "lexicon.tsv").read_bytes()
    assert kept[:4] == ["bilex", "induce", "src.vec", "trg.vec"]
    assert {"--exact", "--complete", "seed file.txt"} <= set(kept)
    assert "'seed file.txt'" in (work / "new" / "report.html").read_text("utf-8").replace("&#39;", "'")
    assert bilex(*kept[1:], "--force").code == 0
    assert (work / "new" / "lexicon.tsv").read_bytes() == first


def gold(work: Path) -> list[str]:
    """Return the lines of the gold dictionary whose words have no space."""
    return (work / "gold.txt").read_text().splitlines()


def test_a_broken_run_is_one_line(bilex: Bilex, work: Path) -> None:
    assert_error_line(bilex("report", "nowhere"), "nowhere: ", "bilex induce")
    (work / "run" / "run.json").write_text('{"format": 1')
    assert_error_line(bilex("report", "run"), "run.json: ")


def test_a_damaged_model_is_one_line_and_the_old_report_stays(bilex: Bilex, work: Path) -> None:
    page = (work / "run" / "report.html").read_bytes()
    (work / "run" / "model.safetensors").write_bytes(b"x")
    assert_error_line(bilex("report", "run"), "model.safetensors: ")
    assert (work / "run" / "report.html").read_bytes() == page


def test_a_place_that_cannot_be_written_is_one_line(bilex: Bilex, work: Path) -> None:
    assert_error_line(bilex("report", "run", "-o", "nowhere/page.html"), "nowhere/page.html: ")


def test_a_manifest_with_things_missing_is_one_line(bilex: Bilex, work: Path) -> None:
    path = work / "run" / "run.json"
    manifest = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({"format": 1, "files": manifest["files"]}) + "\n")
    assert_error_line(bilex("report", "run"), "run.json", "run `bilex induce` again")
