"""How long it may still take: said when there is something to go by, and roughly right."""

from __future__ import annotations

import pytest

from bilex.cli.progress import time_left


@pytest.mark.parametrize(
    ("done", "total", "elapsed", "said"),
    [
        (25, 100, 10, "about 30 s left"),
        (99, 100, 99, "about 1 s left"),
        (0, 100, 5, ""),
        (100, 100, 5, ""),
        (50, None, 5, ""),
        (50, 100, 0.5, ""),  # too early to tell
    ],
)
def test_the_rest_takes_as_long_as_what_is_done(done: float, total: float | None, elapsed: float, said: str) -> None:
    assert time_left(done, total, elapsed) == said


def test_every_search_has_its_own_clock() -> None:
    """A stage holds several searches: the time of the one before says nothing about the next."""
    from rich.console import Console
    from rich.progress import Progress

    from bilex.cli.progress import Terminal

    now = [0.0]
    display = Progress(console=Console(quiet=True), get_time=lambda: now[0], auto_refresh=False)
    terminal = Terminal(display, 1e-6, 100)
    terminal.stage("measuring")
    terminal.rows(10, 100)
    now[0] = 50
    terminal.rows(100, 100)
    terminal.rows(1, 100)
    now[0] = 60
    terminal.rows(50, 100)
    task = display.tasks[0]
    assert time_left(task.completed, task.total, task.elapsed or 0) == "about 10 s left"
