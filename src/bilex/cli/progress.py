"""Show progress on a terminal: the current stage, how far it is, how long it may take."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from bilex.em.context import Iteration, Reporter


@contextmanager
def show_progress(quiet: bool, tolerance: float = 1e-6, max_iterations: int = 100) -> Iterator[Reporter]:
    """Return a reporter that draws on stderr if that is a terminal, and otherwise does nothing."""
    if quiet or not sys.stderr.isatty():
        yield Reporter()
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=20), TimeElapsedColumn())
    with Progress(*columns, TimeLeftColumn(), console=Console(stderr=True), transient=True) as display:
        yield TerminalReporter(display, tolerance, max_iterations)


class TimeLeftColumn(ProgressColumn):
    """How long the current search will take; EM has its own estimate, over all its iterations."""

    def render(self, task: Task) -> Text:
        """Return the text, which is empty while it is too early to tell."""
        left = None if "left" in task.description else task.time_remaining
        return Text("" if left is None else f"about {left:.0f} s left")


class TerminalReporter(Reporter):
    """Draws the progress of a run with rich: one line that changes, and one line for each finished iteration."""

    def __init__(self, display: Progress, tolerance: float, max_iterations: int) -> None:
        self.display, self.tolerance, self.max_iterations = display, tolerance, max_iterations
        self.task = display.add_task("starting", total=None)
        self.iterations: list[Iteration] = []

    def note(self, text: str) -> None:
        """Print a line that stays."""
        self.display.console.print(text, highlight=False)

    def stage(self, name: str) -> None:
        """Start a stage; the iterations are those of the current stage."""
        self.iterations = []
        self.display.reset(self.task, description=name, total=None)

    def rows(self, done: int, total: int) -> None:
        """Advance the bar of the current search; a new search starts with fewer rows than the last one had."""
        (bar,) = self.display.tasks
        if done < bar.completed or total != bar.total:
            self.display.reset(self.task, total=total)
        self.display.update(self.task, completed=done)

    def iteration(self, iteration: Iteration) -> None:
        """Print a line for the iteration and estimate how long the rest will take."""
        self.iterations.append(iteration)
        self.note(
            f"iteration {len(self.iterations):3}  {iteration.pairs:7,} pairs  "
            f"mean cosine {iteration.mean_cosine:.6f}  log-likelihood {iteration.log_likelihood:,.2f}"
        )
        left = seconds_left(self.iterations, self.tolerance, self.max_iterations)
        estimate = "" if left is None else f", about {left:.0f} s left"
        self.display.update(self.task, description=f"learning, iteration {len(self.iterations) + 1}{estimate}")


def seconds_left(iterations: list[Iteration], tolerance: float, max_iterations: int) -> float | None:
    """Estimate when EM will stop, from how fast the changes of the mean cosine shrink."""
    if len(iterations) < 3:
        return None
    first, second, third = (iteration.mean_cosine for iteration in iterations[-3:])
    before, now = abs(second - first), abs(third - second)
    rest = max_iterations - len(iterations)
    if now <= tolerance:
        rest = 0
    elif tolerance and now < before:
        rest = min(rest, math.ceil(math.log(now / tolerance) / math.log(before / now)))
    return rest * sum(sum(one.seconds.values()) for one in iterations) / len(iterations)
