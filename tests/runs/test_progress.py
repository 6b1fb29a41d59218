"""One bar and one clock for a whole command; off a terminal a line now and then; in a notebook a bar."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from rich.console import Console
from rich.progress import Progress

from bilex.em.context import Iteration
from bilex.runs import progress
from bilex.runs.progress import INDUCTION, LineReporter, Position, TerminalReporter, TimeLeftColumn


def iteration(cosine: float) -> Iteration:
    return Iteration(3, cosine, 0.0, None, {})


def test_the_bar_never_goes_back_and_the_clock_never_restarts() -> None:
    now, seen = [0.0], []
    display = Progress(console=Console(quiet=True), get_time=lambda: now[0], auto_refresh=False)
    terminal, column = TerminalReporter(Position(INDUCTION, 1e-6, 100, runs=2), display), TimeLeftColumn()
    for stage in (
        "reading a",
        "reading b",
        *("trying x", "learning", "weighing", "measuring", "scoring", "ranking") * 2,
        "writing",
    ):
        now[0] += 10
        terminal.stage(stage)
        for done in (10, 100, 1, 50):  # two searches
            terminal.rows(done, 100)
            seen.append(display.tasks[0].completed)
        if stage == "learning":
            for cosine in (0.5, 0.7, 0.75, 0.76):
                terminal.iteration(iteration(cosine))
                seen.append(display.tasks[0].completed)
    assert seen == sorted(seen)
    assert 0 < seen[0] < 0.1
    assert 0.9 < seen[-1] < 1
    assert display.tasks[0].elapsed == now[0] == 150
    assert column.render(display.tasks[0]).plain == f"{150 / seen[-1] - 150:.0f} s left"


def test_quiet_is_silent_also_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for quiet in (True, False):
        with progress.show_progress(quiet, stages=INDUCTION) as reporter:
            reporter.stage("reading a")
            reporter.rows(1, 2)
        assert (capsys.readouterr().err == "") == quiet


@pytest.mark.parametrize(
    ("cosines", "tolerance", "left"),
    [
        ((0.5, 0.7), 1e-3, None),  # too early to tell
        ((0.5, 0.7, 0.75), 1e-3, 3),  # each change is a quarter of the last
        ((0.5, 0.7, 0.7), 1e-3, 0),
        ((0.5, 0.6, 0.8), 1e-3, 7),  # until the last of ten iterations
        ((0.5, 0.7, 0.75), 0.0, 7),
    ],
)
def test_the_end_of_em_is_estimated(cosines: tuple[float, ...], tolerance: float, left: int | None) -> None:
    assert progress.iterations_left([iteration(cosine) for cosine in cosines], tolerance, 10) == left


def test_lines_become_rarer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    reporter = LineReporter(Position({}, 1e-6, 100))
    for second in range(1000):
        now[0] = float(second)
        reporter.rows(second, 1000)
    lines = capsys.readouterr().err.splitlines()
    assert 8 < len(lines) < 20
    assert "3% done" in lines[0]


def test_a_notebook_has_a_bar_that_is_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    place = SimpleNamespace(update=shown.append)
    display = SimpleNamespace(HTML=str, display=lambda html, display_id: place)
    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()), display=display)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with progress.notebook_progress(1e-6, 100) as reporter:
        reporter.stage("reading <a>")
    assert "&lt;a&gt;" in shown[0]
    assert "<progress" in shown[0]
    assert shown[-1] == ""
