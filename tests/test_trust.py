"""The page about trust: written from its figures, and complete."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import trust
from bilex import __version__
from trust import __main__ as command
from trust import branches
from trust.page import page

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture
def result() -> dict[str, Any]:
    return {
        "title": "Fires",
        "about": "The house was set on fire.",
        "when": "2001-02-03",
        "version": "0.1",
        "commit": "abc1234",
        "machine": "2 cores",
        "seconds": 1234,
        "ok": True,
        "figures": {"fires": 1000, "put out": 0.25},
        "tables": [{"title": "By room", "shown": 1, "columns": ["room", "fires"], "rows": [["hall", 1000]]}],
    }


def test_the_page_is_written_from_the_figures() -> None:
    results = json.loads((DOCS / "trust.json").read_text("utf-8"))
    assert list(results) == [name for name in trust.PARTS if name in results]
    assert (DOCS / "trust.md").read_text("utf-8") == page(results, __version__)


def test_the_page_fits_on_two_screens() -> None:
    lines = (DOCS / "trust.md").read_text("utf-8").splitlines()
    assert len(lines) <= 80
    assert max(map(len, lines)) <= 125


def test_a_page_holds_all_figures_and_what_is_older(result: dict[str, Any]) -> None:
    text = page({"fires": result}, "0.1")
    for words in ("Passed on bilex 0.1, commit abc1234 (", "fires: 1,000; put out: 0.25.", "By room: hall 1,000."):
        assert words in text.replace("\n", " ")
    assert "Not run on" not in text
    assert "Not run on 0.2" in page({"fires": result}, "0.2")
    assert "**Failed**" in page({"fires": {**result, "ok": False}}, "0.1")


def test_parts_are_run_and_kept_and_a_failure_is_shown(
    result: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "PARTS", ("fires", "floods"))
    ran: list[tuple[str, bool]] = []

    def try_part(name: str, *, short: bool, **_: object) -> dict[str, Any]:
        ran.append((name, short))
        return {**result, "ok": name == "fires"}

    monkeypatch.setattr(command, "try_part", try_part)
    assert command.main(["floods", "--short", "--output", str(tmp_path)]) == 1
    assert not list(tmp_path.iterdir())
    assert command.main(["fires", "--output", str(tmp_path)]) == 0
    assert command.main(["floods", "--output", str(tmp_path)]) == 1
    assert ran == [("floods", True), ("fires", False), ("floods", False)]
    assert list(command.read(tmp_path)) == ["fires", "floods"]
    assert "**Failed**" in (tmp_path / "trust.md").read_text("utf-8")
    assert "floods: FAILED" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        command.main(["plagues"])


@pytest.mark.parametrize("name", trust.PARTS)
def test_every_part_describes_itself(name: str) -> None:
    module = __import__(f"trust.{name}", fromlist=["run"])
    assert module.TITLE and callable(module.run)
    assert re.search(r"\.$", str(module.__doc__).strip())


def test_lines_and_branches_are_added_up_by_package() -> None:
    counts = {"num_statements": 90, "covered_lines": 88, "num_branches": 10, "covered_branches": 7}
    result = branches.summary({"src/bilex/em.py": counts, "src/bilex/web/server.py": counts})
    assert result["ok"]  # exactly 95%
    assert result["figures"] == {
        "lines reached": "176 of 180",
        "branches reached": "14 of 20",
        "share of both": "95.0%",
    }
    assert [row[0] for row in result["tables"][0]["rows"]] == ["bilex", "web"]
    assert not branches.summary({"src/bilex/em.py": {**counts, "covered_branches": 6}})["ok"]


def test_the_tests_that_are_run_as_python_are_there() -> None:
    for name in branches.AS_PYTHON:
        path, _, test = name.removeprefix("--deselect=").partition("::")
        assert f"def {test}" in (DOCS.parent / path).read_text("utf-8")
