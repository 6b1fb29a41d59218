"""``bilex doctor``: what it prints when bilex works here, and when something is broken."""

from __future__ import annotations

import json
import sys
import tempfile
from importlib import import_module
from typing import Any

import pytest

from tests.cli.helpers import Bilex

doctor = import_module("bilex.cli.doctor")  # the package's attribute of that name is the command


def test_the_screen(bilex: Bilex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "RUN_WORDS", 300)
    done = bilex("doctor")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert len(lines) <= 24  # one screen
    for name in ("installed", "threads", "BLAS", "CPU", "memory", "cache", "small run", "all is well"):
        assert any(line.startswith(name) for line in lines), name


def test_json(bilex: Bilex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "RUN_WORDS", 300)
    monkeypatch.setenv("BILEX_THREADS", "3")
    monkeypatch.setenv("BILEX_INT8", "0")
    done = bilex("doctor", "--json")
    assert (done.code, done.err) == (0, "")
    facts = json.loads(done.out)
    assert facts["ok"] is True and facts["problems"] == []
    assert facts["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert set(facts["versions"]) == {"bilex", "python", *doctor.REQUIRED, *doctor.OPTIONAL}
    assert facts["threads"]["used"] == 3 and facts["threads"]["BILEX_THREADS"] == "3"
    assert facts["cpu"]["filter"] == "float32"
    assert facts["blas"]["libraries"]
    assert facts["cache"]["writable"] is True
    assert facts["run"]["right"] > 0.95 and facts["run"]["certificate_gap"] < 1e-6


def test_the_filter_is_the_one_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from bilex.search import int8_kernel as int8

    monkeypatch.delenv("BILEX_INT8", raising=False)
    for has in (True, False):
        monkeypatch.setattr(int8, "available", lambda has=has: has)
        assert doctor.cpu()[0]["filter"] == ("int8" if has else "float32")


def assert_broken(bilex: Bilex, *mentions: str) -> dict[str, Any]:
    """Check that the exit code is 1, and that each mention is in the message, on the screen and in the JSON."""
    done = bilex("doctor")
    assert done.code == 1
    assert done.err.startswith("bilex: error: ") and done.err.count("\n") == 1
    answer = bilex("doctor", "--json")
    assert answer.code == 1
    facts: dict[str, Any] = json.loads(answer.out)
    assert facts["ok"] is False and facts["run"] == {}
    for mention in mentions:
        assert mention in done.err and mention in done.out and mention in facts["problems"][0]
    return facts


def test_wrong_number_of_threads(bilex: Bilex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BILEX_THREADS", "many")
    assert assert_broken(bilex, "BILEX_THREADS")["threads"] == {}
    assert bilex("doctor", "--quiet").out == ""


def test_packages_that_cannot_be_imported(bilex: Bilex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    facts = assert_broken(bilex, "pip install --force-reinstall threadpoolctl")
    assert len(facts["problems"]) == 2  # BLAS cannot be examined either
    assert facts["blas"] == {}


def test_cache_folder_that_cannot_be_written(bilex: Bilex, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert_broken(bilex, "NUMBA_CACHE_DIR", "Permission denied")


@pytest.mark.parametrize(("right", "gap"), [(0.5, 0.0), (1.0, 1e-3)])
def test_wrong_result_of_the_small_run(bilex: Bilex, monkeypatch: pytest.MonkeyPatch, right: float, gap: float) -> None:
    monkeypatch.setattr(doctor, "induce_made_up", lambda *_: (right, gap))
    assert_broken(bilex, "bilex doctor --json")
