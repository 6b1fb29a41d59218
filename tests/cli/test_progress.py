"""The time that is left is shown when it can be estimated, and is roughly right."""

from __future__ import annotations

import pytest

from bilex.cli.progress import time_left


@pytest.mark.parametrize(
    ("done", "total", "elapsed", "shown"),
    [
        (25, 100, 10, "about 30 s left"),
        (99, 100, 99, "about 1 s left"),
        (0, 100, 5, ""),
        (100, 100, 5, ""),
        (50, None, 5, ""),
        (50, 100, 0.5, ""),  # too early to tell
    ],
)
def test_time_left(done: float, total: float | None, elapsed: float, shown: str) -> None:
    assert time_left(done, total, elapsed) == shown


def test_each_search_has_its_own_clock() -> None:
    """A stage has several searches, and the time of one does not predict that of the next."""
    from rich.console import Console
    from rich.progress import Progress

    from bilex.cli.progress import TerminalReporter

    now = [0.0]
    display = Progress(console=Console(quiet=True), get_time=lambda: now[0], auto_refresh=False)
    terminal = TerminalReporter(display, 1e-6, 100)
    terminal.stage("measuring")
    terminal.rows(10, 100)
    now[0] = 50
    terminal.rows(100, 100)
    terminal.rows(1, 100)
    now[0] = 60
    terminal.rows(50, 100)
    task = display.tasks[0]
    assert time_left(task.completed, task.total, task.elapsed or 0) == "about 10 s left"
