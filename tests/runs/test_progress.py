"""One bar and one clock for a whole command; off a terminal a line now and then; in a notebook a bar."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from rich.console import Console
from rich.progress import Progress

from bilex.em.context import Iteration
from bilex.methods import DEFAULT_METHOD, find_method
from bilex.runs import progress
from bilex.runs.costs import stage_seconds
from bilex.runs.progress import TIME_LEFT, LineReporter, ProgressReporter, TerminalReporter

MILLION = stage_seconds((1_000_000, 1_000_000), 100, find_method(DEFAULT_METHOD))


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which stands still until it is set."""
    clock = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    monkeypatch.setattr("bilex.numerics.compilation.compiled", [])
    return clock


def test_no_time_left_is_told_while_kernels_are_compiled(now: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    reporter = ProgressReporter()
    reporter.expect({"reading": 10.0, "learning": 10.0})
    reporter.stage("reading")
    now[0] = 5.0
    assert reporter.left
    monkeypatch.setattr("bilex.numerics.compilation.compiled", ["a kernel"])
    assert reporter.left == ""


def test_the_bar_never_goes_back_and_the_clock_never_restarts(now: list[float]) -> None:
    seen = []
    display = Progress(console=Console(quiet=True), get_time=lambda: now[0], auto_refresh=False)
    terminal = TerminalReporter(display, runs=2)
    terminal.expect(stage_seconds((10_000, 10_000), 300, find_method(DEFAULT_METHOD), tries=True))
    for stage in (
        "reading a",
        "reading b",
        *("trying x", "learning", "weighing", "measuring", "comparing candidates", "scoring", "ranking") * 2,
        "writing",
    ):
        now[0] += 10
        terminal.stage(stage)
        for done in (10, 100, 1, 50):  # two searches
            terminal.rows(done, 100)
            seen.append(display.tasks[0].completed)
        if stage == "learning":
            for _ in range(12):  # more than usual
                terminal.iteration(Iteration(3, 0.5, 0.0, None, {}))
                seen.append(display.tasks[0].completed)
    assert seen == sorted(seen)
    assert seen[0] == 0
    assert 0.9 < seen[-1] < 1
    assert display.tasks[0].elapsed == now[0] == 170


@pytest.mark.parametrize("pace", [1.0, 3.0])
def test_time_left_of_a_million_words(now: list[float], pace: float) -> None:
    """Nearly all of it is one search; a machine that is slower than foretold is noticed."""
    position = ProgressReporter()
    position.expect(MILLION)
    total = pace * sum(MILLION.values())
    for stage, seconds in MILLION.items():
        position.stage(stage)
        if stage == "weighing":
            assert position.done < 0.05
        for part in range(10):
            if stage == "measuring":
                position.rows(part, 10)
                if part > 4:
                    assert float(position.left.split()[0]) == pytest.approx((total - now[0]) / 60, rel=0.15, abs=1)
            now[0] += pace * seconds / 10
    shown = TIME_LEFT.format(task=SimpleNamespace(fields={"reporter": position}))
    assert shown == position.left


def test_a_stage_that_is_left_out_is_no_longer_expected(now: list[float]) -> None:
    position = ProgressReporter()
    position.expect({"reading": 1, "trying": 100, "learning": 1, "measuring": 8})
    position.stage("reading a")
    now[0] = 1
    position.stage("learning")
    assert position.done == 0.1
    position.stage("measuring")
    position.rows(1, 2)
    assert position.done == 0.6
    assert position.left == "2 s left"  # faster than expected so far
    now[0] += 1
    assert position.left == "1 s left"


def test_a_run_that_starts_anew_is_not_done(now: list[float]) -> None:
    position = ProgressReporter()
    position.expect({"learning": 4, "weighing": 2, "measuring": 4})
    for stage in ("learning", "weighing", "starting from 2,000 words", "learning", "weighing"):
        now[0] += 1
        position.stage(stage)
        assert position.done <= 0.6
        assert position.left
    position.stage("measuring")
    assert position.done == 0.6


def test_a_stage_that_takes_long_slows_the_rest_down(now: list[float]) -> None:
    position = ProgressReporter()
    position.expect({"looking": 50, "learning": 50})
    position.stage("looking")
    seen = []
    for now[0] in (0, 50, 100, 200):
        seen.append(float(position.left.split()[0]) * (60 if "min" in position.left else 1))
    assert seen[0] > seen[1] == 50 < seen[2] < seen[3]
    assert position.done == 0


def test_a_search_at_its_end_foretells_nothing(now: list[float]) -> None:
    position, now[0] = ProgressReporter(), 10.0
    position.stage("aligning")
    shown = []
    for done in (1, 5, 10):
        position.rows(done, 10)
        shown.append(position.left)
    assert shown == ["2 min left", "10 s left", ""]  # another search may follow


def test_quiet_is_silent_also_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for quiet in (True, False):
        with progress.show_progress(quiet) as reporter:
            reporter.stage("reading a")
            reporter.rows(1, 2)
        assert (capsys.readouterr().err == "") == quiet


def test_lines_become_rarer(now: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    reporter = LineReporter()
    reporter.rows(1000, 1000)  # a sample
    reporter.stage("searching")
    for second in range(1000):
        now[0] = float(second)
        reporter.rows(second, 1000)
    lines = capsys.readouterr().err.splitlines()
    assert 8 < len(lines) < 20
    assert "3% done" in lines[0]
    assert " left: " in lines[-1]


def test_a_notebook_has_a_bar_that_is_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    place = SimpleNamespace(update=shown.append)
    display = SimpleNamespace(HTML=str, display=lambda html, display_id: place)
    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()), display=display)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with progress.notebook_progress() as reporter:
        reporter.stage("reading <a>")
    assert "&lt;a&gt;" in shown[0]
    assert "<progress" in shown[0]
    assert shown[-1] == ""
