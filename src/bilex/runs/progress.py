"""Show progress: a bar and a clock for the whole command, on a terminal and in notebooks; else a line now and then."""

import math
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from bilex.em.context import Iteration, Reporter
from bilex.runs.costs import ITERATIONS

USUAL_STEPS = {"reading": 2, "starting": 2, "trying": 5, "learning": ITERATIONS}  # usual numbers; other stages have one
PRIOR_SHARE = 0.1  # of the expected time: how long it takes until the pace of this command counts as much
FIRST_LINE, LINE_SHARE = 30.0, 0.25  # seconds, and how long between lines as a share of the time so far
REDRAW_INTERVAL = 0.2  # seconds
TIME_LEFT = "{task.fields[reporter].left}"  # of the `ProgressReporter`
MIN_DONE = 0.05  # before that it is too early to estimate the time left, if none was expected


def has_compiled() -> bool:
    """Check whether this process had to compile kernels, as the first one does; without loading numba to ask."""
    return bool(getattr(sys.modules.get("bilex.numerics.compilation"), "compiled", ()))


@contextmanager
def show_progress(quiet: bool, *, runs: int = 1) -> Iterator[Reporter]:
    """Yield a reporter that draws on stderr; `expect` receives the time of each of the `runs`."""
    if quiet:
        yield Reporter()
        return
    if not sys.stderr.isatty():
        yield LineReporter(runs)
        return
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
        BarColumn(bar_width=14 if console.width >= 80 else 6),
        TimeElapsedColumn(),
        TextColumn(TIME_LEFT, table_column=Column(no_wrap=True, width=len("999 min left"))),
    )
    with Progress(*columns, console=console, transient=True, expand=True) as display:
        yield TerminalReporter(display, runs)


class ProgressReporter(Reporter):
    """Follows how far a command is: the expected seconds of the finished stages, and a part of the current one's.

    It never goes back. Without expectations there is only one search, or a list of cells. Subclasses show it.
    """

    def __init__(self, runs: int = 1) -> None:
        self.seconds: dict[str, float] = {}  # what a run is expected to take, by the first words of its stages
        self.runs, self.done, self.iterations = runs, 0.0, 0
        self._run, self._stage, self._steps, self._part = 0, "", 0, 0.0
        self._started, self._moved, self._stage_end = time.perf_counter(), 0.0, 0.0

    def show(self, what: str | None = None) -> None:
        """Show the position, and what is being done if that is new."""

    @property
    def elapsed(self) -> float:
        """Seconds since the command began."""
        return time.perf_counter() - self._started

    @property
    def left(self) -> str:
        """How long the rest will take, in words; empty while it is too early to tell."""
        elapsed, expected = self.elapsed, self._expected
        done = self.done
        if has_compiled():  # the pace so far is the compiler's, not that of the run
            return ""
        if expected:  # time counts as progress, up to the end of the stage
            done = min(
                max(done, self._stage_end), done + (elapsed - self._moved) / expected / self._pace(done, self._moved)
            )
        elif not MIN_DONE <= done < 1:  # at its end, another search may follow
            return ""
        left = (1 - done) * (expected * self._pace(done, elapsed) if expected else elapsed / done)
        return f"{math.ceil(left)} s left" if left < 90 else f"{left / 60:.0f} min left"

    @property
    def _expected(self) -> float:
        """The expected seconds in all."""
        return sum(self.seconds.values()) * self.runs

    def _pace(self, done: float, elapsed: float) -> float:
        """How much longer it takes than expected, from what is done; at first as long."""
        prior = PRIOR_SHARE * self._expected
        return (elapsed + prior) / (done * self._expected + prior)

    def expect(self, seconds: Mapping[str, float]) -> None:
        """Set the expected seconds of each stage, unless they are known."""
        self.seconds = self.seconds or dict(seconds)
        self._move()

    def stage(self, name: str) -> None:
        """Begin a stage; an earlier one than the last means that the next run begins, or the last one again."""
        first, names = name.split(maxsplit=1)[0], list(self.seconds)
        if first == self._stage:
            self._steps += 1
        elif first in names or not names:
            last = names.index(self._stage) if self._stage in names else -1
            place = names.index(first) if names else 0
            self._run = min(self._run + (place < last), self.runs - 1)
            for skipped in names[last + 1 : place]:
                del self.seconds[skipped]
            self._stage, self._steps = first, 0
        self._part, self.iterations = 0.0, 0
        self._move()
        self.show(name)

    def rows(self, done: int, total: int) -> None:
        """Advance the current search; before the first stage there are only samples."""
        if self._stage:
            self._part = done / max(total, 1)
            self._move()
        self.show()

    def iteration(self, iteration: Iteration) -> None:
        """End an iteration of EM."""
        self.iterations += 1
        self._move()
        which = "last iteration" if self._stage == "weighing" else f"iteration {self.iterations}"
        self.show(f"{which}: {iteration.pairs:,} pairs")

    def _move(self) -> None:
        expected, names, self._moved = self._expected, list(self.seconds), self.elapsed
        if not expected:
            self.done = self._part
        elif self._stage in names:
            steps = self._steps + self.iterations + (self._part if self._stage == "measuring" else 0.0)
            before = sum(self.seconds[name] for name in names[: names.index(self._stage)])
            before += self._run * expected / self.runs
            stage = self.seconds[self._stage]
            self._stage_end = min(1.0, (before + stage) / expected)
            reached = before + stage * min(1.0, steps / USUAL_STEPS.get(self._stage, 1))
            self.done = max(self.done, min(1.0, reached / expected))


class TerminalReporter(ProgressReporter):
    """Draws a line that changes."""

    def __init__(self, display: Progress, runs: int = 1) -> None:
        super().__init__(runs)
        self.display = display
        self.task = display.add_task("starting", total=None, reporter=self)

    def note(self, text: str) -> None:
        """Print a line that stays."""
        self.display.console.print(text, highlight=False)

    def show(self, what: str | None = None) -> None:
        """Draw the line again."""
        self.display.update(self.task, description=what, total=1.0 if self.done else None, completed=self.done)


class LineReporter(ProgressReporter):
    """Prints a line now and then, the rarer the longer it takes; a command of seconds prints none."""

    def __init__(self, runs: int = 1) -> None:
        super().__init__(runs)
        self.what, self.next_line = "starting", FIRST_LINE

    def show(self, what: str | None = None) -> None:
        """Print what is being done, if it is time."""
        self.what = what or self.what
        elapsed = self.elapsed
        if elapsed < self.next_line:
            return
        self.next_line = elapsed + max(FIRST_LINE, LINE_SHARE * elapsed)
        done = f", {self.done:.0%} done" if 0 < self.done < 1 else ""
        left = f", {self.left}" if self.left else ""
        print(f"bilex: {elapsed:.0f} s{done}{left}: {self.what}", file=sys.stderr, flush=True)


class NotebookReporter(ProgressReporter):
    """Draws a bar below the cell of a notebook, which is gone when the work is done."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        super().__init__()
        self.html, self.what, self.shown = HTML, "starting", 0.0
        self.place = display(HTML(""), display_id=True)

    def show(self, what: str | None = None) -> None:
        """Draw the bar again, a few times a second at most."""
        self.what, now = what or self.what, time.perf_counter()
        if now - self.shown >= REDRAW_INTERVAL:
            bar = f'<progress max="1" value="{self.done:.3f}"></progress>'
            self.place.update(self.html(f"{bar} {self.elapsed:.0f} s: {escape(self.what)}"))
            self.shown = now

    def clear(self) -> None:
        """Remove the bar."""
        self.place.update(self.html(""))


@contextmanager
def notebook_progress() -> Iterator[Reporter]:
    """Yield a reporter that draws a bar in a notebook, and does nothing elsewhere."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not hasattr(shell, "kernel"):
        yield Reporter()
        return
    reporter = NotebookReporter()
    try:
        yield reporter
    finally:
        reporter.clear()
