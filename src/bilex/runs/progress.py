"""Show progress: a bar and a clock for the whole command, on a terminal and in notebooks; else a line now and then."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from bilex.em.context import Iteration, Reporter

INDUCTION: Mapping[
    str, float
] = {  # the stages of a run by their first words, and roughly the share of each in its time
    "reading": 10,
    "looking": 25,
    "starting": 20,
    "trying": 40,
    "learning": 30,
    "weighing": 20,
    "measuring": 10,
    "scoring": 20,
    "ranking": 10,
    "writing": 10,
}
OPTIONAL_STAGES = {"looking", "starting", "trying", "weighing"}  # known to be left out when a later one begins
STEP_SHARE = 0.5  # of what is left of a stage, for each step of an unknown number
FIRST_LINE, LINE_SHARE = 30.0, 0.25  # seconds, and how long between lines as a share of the time so far
REDRAW_INTERVAL = 0.2  # seconds
MIN_FORETOLD = 0.15  # too early to tell how long it will take


@contextmanager
def show_progress(
    quiet: bool,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
    *,
    stages: Mapping[str, float] | None = None,
    runs: int = 1,
) -> Iterator[Reporter]:
    """Return a reporter that draws on stderr; `stages` are the shares of the time, for each of so many runs."""
    if quiet:
        yield Reporter()
        return
    position = Position(stages or {}, tolerance, max_iterations, runs)
    if not sys.stderr.isatty():
        yield LineReporter(position)
        return
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
        BarColumn(bar_width=14 if console.width >= 80 else 6),
        TimeElapsedColumn(),
        TimeLeftColumn(),
    )
    with Progress(*columns, console=console, transient=True, expand=True) as display:
        yield TerminalReporter(position, display)


class Position:
    """How far a command is: the shares of the finished stages, and a part of the current one. It never goes back."""

    def __init__(self, stages: Mapping[str, float], tolerance: float, max_iterations: int, runs: int = 1) -> None:
        self.stages, self.tolerance, self.max_iterations, self.runs = dict(stages), tolerance, max_iterations, runs
        self.done: float | None = None if stages else 0.0
        self.iterations: list[Iteration] = []
        self._run, self._stage, self._steps, self._rows = 0, "", 0, (0, 1)

    @property
    def refining(self) -> bool:
        """Whether EM is in its round on all evidence."""
        return self._stage == "weighing"

    def stage(self, name: str) -> None:
        """Begin a stage; an earlier one than the last means that the next run begins."""
        first, names = name.split(maxsplit=1)[0], list(self.stages)
        if first == self._stage:
            self._steps += 1
        elif first in names:
            last = names.index(self._stage) if self._stage else -1
            self._run += names.index(first) < last
            for skipped in OPTIONAL_STAGES.intersection(names[last + 1 : names.index(first)]):
                del self.stages[skipped]
            self._stage, self._steps = first, 0
        self._rows, self.iterations = (0, 1), []
        self._move()

    def rows(self, done: int, total: int) -> None:
        """Advance the current search; a new search starts with fewer rows than the last one had."""
        if done < self._rows[0] and self._stage != "learning":
            self._steps += 1
        self._rows = (done, total)
        self._move()

    def iteration(self, iteration: Iteration) -> None:
        """End an iteration of EM."""
        self.iterations.append(iteration)
        self._move()

    def _move(self) -> None:
        part = self._rows[0] / max(self._rows[1], 1)
        if not self.stages:  # only one search, or a list of cells
            self.done = part
            return
        left = iterations_left(self.iterations, self.tolerance, self.max_iterations)
        if left is not None:
            inside = len(self.iterations) / (len(self.iterations) + left + 1)
        else:
            inside = 1 - STEP_SHARE ** (self._steps + part + len(self.iterations) / 4)
        before = sum(share for name, share in self.stages.items() if self._before(name))
        reached = (before + self.stages.get(self._stage, 0) * inside) / sum(self.stages.values())
        self.done = max(self.done or 0.0, min(1.0, (self._run + reached) / self.runs))

    def _before(self, name: str) -> bool:
        names = list(self.stages)
        return self._stage in names and names.index(name) < names.index(self._stage)


def iterations_left(iterations: list[Iteration], tolerance: float, max_iterations: int) -> int | None:
    """Estimate how many more iterations EM takes, from how fast the changes of the mean cosine shrink."""
    if len(iterations) < 3:
        return None
    first, second, third = (iteration.mean_cosine for iteration in iterations[-3:])
    before, now = abs(second - first), abs(third - second)
    rest = max_iterations - len(iterations)
    if now <= tolerance:
        return 0
    if tolerance and now < before:
        rest = min(rest, math.ceil(math.log(now / tolerance) / math.log(before / now)))
    return rest


class TimeLeftColumn(ProgressColumn):
    """How long the rest of the command will take, by how long it took to come here; of one width, also when empty."""

    def get_table_column(self) -> Column:
        """Return a column that holds the longest text."""
        return Column(width=len("999 min left"), no_wrap=True)

    def render(self, task: Task) -> Text:
        """Return the text, which is empty while it is too early to tell."""
        done, elapsed = task.percentage / 100, task.elapsed or 0.0
        if task.total is None or not MIN_FORETOLD <= done < 1 or elapsed < 2:
            return Text("")
        left = elapsed * (1 - done) / done
        return Text(f"{left:.0f} s left" if left < 90 else f"{left / 60:.0f} min left")


class ProgressReporter(Reporter):
    """Keeps the position of a command, and shows it."""

    def __init__(self, position: Position) -> None:
        self.position = position

    def stage(self, name: str) -> None:
        """Begin a stage."""
        self.position.stage(name)
        self.show(name)

    def rows(self, done: int, total: int) -> None:
        """Advance the current search."""
        self.position.rows(done, total)
        self.show()

    def iteration(self, iteration: Iteration) -> None:
        """End an iteration of EM."""
        self.position.iteration(iteration)
        last = "last iteration" if self.position.refining else f"iteration {len(self.position.iterations)}"
        self.show(f"{last}: {iteration.pairs:,} pairs")

    def show(self, what: str | None = None) -> None:
        """Show the position, and what is being done if that is new."""
        raise NotImplementedError


class TerminalReporter(ProgressReporter):
    """Draws a line that changes."""

    def __init__(self, position: Position, display: Progress) -> None:
        super().__init__(position)
        self.display = display
        self.task = display.add_task("starting", total=None)

    def note(self, text: str) -> None:
        """Print a line that stays."""
        self.display.console.print(text, highlight=False)

    def show(self, what: str | None = None) -> None:
        """Draw the line again."""
        done = self.position.done
        self.display.update(self.task, description=what, total=1.0 if done else None, completed=done or 0.0)


class LineReporter(ProgressReporter):
    """Prints a line now and then, the rarer the longer it takes; a command of seconds prints none."""

    def __init__(self, position: Position) -> None:
        super().__init__(position)
        self.what, self.started, self.next_line = "starting", time.perf_counter(), FIRST_LINE

    def show(self, what: str | None = None) -> None:
        """Print what is being done, if it is time."""
        self.what = what or self.what
        elapsed = time.perf_counter() - self.started
        if elapsed < self.next_line:
            return
        self.next_line = elapsed + max(FIRST_LINE, LINE_SHARE * elapsed)
        done = f", {self.position.done:.0%} done" if self.position.done else ""
        print(f"bilex: {elapsed:.0f} s{done}: {self.what}", file=sys.stderr, flush=True)


class NotebookReporter(ProgressReporter):
    """Draws a bar below the cell of a notebook, which is gone when the work is done."""

    def __init__(self, position: Position) -> None:
        from IPython.display import HTML, display

        super().__init__(position)
        self.html, self.what, self.started, self.shown = HTML, "starting", time.perf_counter(), 0.0
        self.place = display(HTML(""), display_id=True)

    def show(self, what: str | None = None) -> None:
        """Draw the bar again, a few times a second at most."""
        self.what, now = what or self.what, time.perf_counter()
        if now - self.shown >= REDRAW_INTERVAL:
            bar = f'<progress max="1" value="{self.position.done or 0:.3f}"></progress>'
            self.place.update(self.html(f"{bar} {now - self.started:.0f} s: {escape(self.what)}"))
            self.shown = now

    def clear(self) -> None:
        """Remove the bar."""
        self.place.update(self.html(""))


@contextmanager
def notebook_progress(tolerance: float, max_iterations: int, runs: int = 1) -> Iterator[Reporter]:
    """Return a reporter that draws in a notebook if this is one, and otherwise does nothing."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not hasattr(shell, "kernel"):
        yield Reporter()
        return
    reporter = NotebookReporter(Position(INDUCTION, tolerance, max_iterations, runs))
    try:
        yield reporter
    finally:
        reporter.clear()
