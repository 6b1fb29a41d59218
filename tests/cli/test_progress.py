"""The time that is left is shown when it can be estimated, and is roughly right."""

from __future__ import annotations

import pytest
from rich.console import Console
from rich.progress import Progress

from bilex.cli.progress import TerminalReporter, TimeLeftColumn, seconds_left
from bilex.em.context import Iteration


def test_each_search_has_its_own_clock() -> None:
    """A stage has several searches, and the time of one does not predict that of the next."""
    now = [0.0]
    display = Progress(console=Console(quiet=True), get_time=lambda: now[0], auto_refresh=False)
    terminal, column = TerminalReporter(display, 1e-6, 100), TimeLeftColumn()
    terminal.stage("measuring")
    terminal.rows(10, 100)
    assert column.render(display.tasks[0]).plain == ""  # too early to tell
    now[0] = 50
    terminal.rows(100, 100)
    terminal.rows(1, 100)
    now[0] = 60
    terminal.rows(50, 100)
    assert column.render(display.tasks[0]).plain == "about 11 s left"


@pytest.mark.parametrize(
    ("cosines", "tolerance", "left"),
    [
        ((0.5, 0.7), 1e-3, None),  # too early to tell
        ((0.5, 0.7, 0.75), 1e-3, 6),  # each change is a quarter of the last: three more iterations of 2 s
        ((0.5, 0.7, 0.7), 1e-3, 0),
        ((0.5, 0.6, 0.8), 1e-3, 14),  # until the last of ten iterations
        ((0.5, 0.7, 0.75), 0.0, 14),
    ],
)
def test_the_end_of_em_is_estimated(cosines: tuple[float, ...], tolerance: float, left: float | None) -> None:
    iterations = [Iteration(3, cosine, 0.0, None, {"e_step": 1.5, "m_step": 0.5}) for cosine in cosines]
    assert seconds_left(iterations, tolerance, 10) == left
