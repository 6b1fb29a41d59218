"""Show progress on a terminal: the current stage, how far it is, how long it may take."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bilex.em.context import Iteration, Reporter

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["TerminalReporter", "seconds_left", "show_progress", "time_left"]


@contextmanager
def show_progress(quiet: bool, tolerance: float = 1e-6, max_iterations: int = 100) -> Iterator[Reporter]:
    """Return a reporter that draws on stderr if that is a terminal, and otherwise does nothing."""
    if quiet or not sys.stderr.isatty():
        yield Reporter()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class TimeLeftColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            known = "left" in task.description  # EM has its own estimate, over all its iterations
            return Text("" if known else time_left(task.completed, task.total, task.elapsed or 0.0))

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=20), TimeElapsedColumn())
    with Progress(*columns, TimeLeftColumn(), console=Console(stderr=True), transient=True) as display:
        yield TerminalReporter(display, tolerance, max_iterations)


def time_left(done: float, total: float | None, elapsed: float) -> str:
    """Return how long the current bar will take, or an empty text while it is too early to tell."""
    if not total or not 0 < done < total or elapsed < 1:
        return ""
    return f"about {elapsed * (total - done) / done:.0f} s left"


class TerminalReporter(Reporter):
    """Draws the progress of a run with rich: one line that changes, and one line for each finished iteration."""

    def __init__(self, display: Progress, tolerance: float, max_iterations: int) -> None:
        self.display, self.tolerance, self.max_iterations = display, tolerance, max_iterations
        self.task = display.add_task("starting", total=None)
        self.iterations: list[Iteration] = []
        self.done, self.total = 0, 0

    def note(self, text: str) -> None:
        """Print a line that stays."""
        self.display.console.print(text, highlight=False)

    def stage(self, name: str) -> None:
        """Start a stage; the iterations are those of the current stage."""
        self.iterations = []
        self.display.reset(self.task, description=name, total=None)

    def rows(self, done: int, total: int) -> None:
        """Advance the bar of the current search; a new search starts with fewer rows than the last one had."""
        if done < self.done or total != self.total:
            self.display.reset(self.task, total=total)
        self.done, self.total = done, total
        self.display.update(self.task, completed=done, total=total)

    def iteration(self, iteration: Iteration) -> None:
        """Print a line for the iteration and estimate how long the rest will take."""
        self.iterations.append(iteration)
        self.note(
            f"iteration {len(self.iterations):3}  {iteration.pairs:7,} pairs  "
            f"mean cosine {iteration.mean_cosine:.6f}  log-likelihood {iteration.log_likelihood:,.2f}"
        )
        elapsed = sum(sum(one.seconds.values()) for one in self.iterations)
        left = seconds_left(self.iterations, elapsed, self.tolerance, self.max_iterations)
        estimate = "" if left is None else f", about {left:.0f} s left"
        self.display.update(self.task, description=f"learning, iteration {len(self.iterations) + 1}{estimate}")


def seconds_left(iterations: list[Iteration], elapsed: float, tolerance: float, max_iterations: int) -> float | None:
    """Estimate when EM will stop, from how fast the changes of the mean cosine shrink."""
    if len(iterations) < 3:
        return None
    first, second, third = (iteration.mean_cosine for iteration in iterations[-3:])
    before, now = abs(second - first), abs(third - second)
    rest = max_iterations - len(iterations)
    if tolerance < now < before:
        rest = min(rest, math.ceil(math.log(now / tolerance) / math.log(before / now)))
    elif now <= tolerance:
        rest = 0
    return rest * elapsed / len(iterations)
