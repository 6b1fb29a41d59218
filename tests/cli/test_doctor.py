"""``bilex doctor``: what it says when all is well, and when it is not."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

import pytest

from bilex.errors import BilexError
from tests.cli.helpers import Bilex

doctor = import_module("bilex.cli.doctor")  # the package's attribute of that name is the command

SMALL = {"words": 2000, "dimension": 100, "right": 1.0, "certificate_gap": 0.0, "compile_seconds": 0.1, "seconds": 0.1}


@pytest.fixture
def no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small run takes a second; once is enough."""
    monkeypatch.setattr(doctor, "small_run", lambda: dict(SMALL))


def test_all_is_well_here(bilex: Bilex) -> None:
    done = bilex("doctor")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("all is well\n")
    lines = done.out.splitlines()
    assert len(lines) <= 24  # one screen
    for name in ("installed", "threads", "BLAS", "CPU", "memory", "cache", "small run"):
        assert any(line.startswith(name) for line in lines), name
    assert "2,000 x 2,000 words, 100 dimensions" in done.out
    assert "certificate gap" in done.out


def test_json(bilex: Bilex, no_run: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BILEX_THREADS", "3")
    monkeypatch.setenv("BILEX_INT8", "0")
    done = bilex("doctor", "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert found["ok"] is True and found["problems"] == []
    assert found["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert {"bilex", "numpy", "numba", "torch", "distributed", "pandas"} <= set(found["versions"])
    assert found["threads"]["used"] == 3 and found["threads"]["BILEX_THREADS"] == "3"
    assert found["cpu"]["filter"] == "float32"
    assert found["blas"]["libraries"]
    assert found["cache"]["writable"] is True
    assert found["run"] == SMALL
    assert bilex("doctor", "--quiet").out == ""


def test_the_filter_is_the_one_that_is_used(no_run: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from bilex.search import int8_kernel as int8

    monkeypatch.delenv("BILEX_INT8", raising=False)
    for has in (True, False):
        monkeypatch.setattr(int8, "available", lambda has=has: has)
        assert doctor.cpu()["filter"] == ("int8" if has else "float32")


def broken(bilex: Bilex, *mentions: str) -> dict[str, Any]:
    """Check that it ends with 1, says what to do in one line, and gives the same in JSON."""
    done = bilex("doctor")
    assert done.code == 1
    assert done.err.startswith("bilex: error: ") and done.err.count("\n") == 1
    assert "problem" in done.out and "all is well" not in done.out
    for mention in mentions:
        assert mention in done.err and mention in done.out
    answer = bilex("doctor", "--json")
    assert answer.code == 1
    found: dict[str, Any] = json.loads(answer.out)
    assert found["ok"] is False and found["problems"]
    return found


def test_a_wrong_number_of_threads(bilex: Bilex, no_run: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BILEX_THREADS", "many")
    found = broken(bilex, "BILEX_THREADS is 'many'", "set it to a whole number")
    assert found["run"] == {}


def test_a_package_that_cannot_be_imported(bilex: Bilex, no_run: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    broken(bilex, "safetensors cannot be imported", "pip install --force-reinstall safetensors")


def test_no_place_for_compiled_kernels(bilex: Bilex, no_run: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def cache() -> dict[str, Any]:
        raise RuntimeError("cannot cache function 'dot': no locator available")

    monkeypatch.setattr(doctor, "cache", cache)
    broken(bilex, "no locator available", "NUMBA_CACHE_DIR")


def test_a_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(BilexError, match=r"cannot be kept here \(Permission denied\).*NUMBA_CACHE_DIR"):
        doctor.cache()


def test_wrong_answers(bilex: Bilex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "learn_made_up", lambda words, dimension: (0.5, 0.0))
    broken(bilex, "a small run went wrong (50% right", "please report it")


def test_several_problems(bilex: Bilex, no_run: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BILEX_THREADS", "0")
    monkeypatch.setitem(sys.modules, "rich", None)
    done = bilex("doctor")
    assert "(and 1 more, see above)" in done.err
    assert done.out.count("\nproblem ") == 2
