"""What the commands that run a grid share: lists in options, progress on a terminal, interruptions, output."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bilex.cli.options import print_json

if TYPE_CHECKING:
    from bilex.experiments import Outcome
    from bilex.experiments.grid import GridReporter

__all__ = ["EXIT_INTERRUPTED", "print_outcome", "report_cells", "resumable", "split_names", "split_sizes"]

EXIT_INTERRUPTED = 130


def split_names(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Split a list of names at its commas."""
    del context, parameter
    names = [name.strip() for name in value.split(",")] if value is not None else []
    if not all(names):
        raise click.BadParameter(f"{value!r} has an empty name; separate names by one comma")
    return tuple(dict.fromkeys(names))


def split_sizes(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Split a list of whole numbers at its commas."""
    names = split_names(context, parameter, value)
    if not all(name.isascii() and name.isdigit() and int(name) for name in names):
        raise click.BadParameter(f"{value!r} is not a list of numbers from 1 up, such as 1000,2000,5000")
    return tuple(map(int, names))


@contextmanager
def report_cells(quiet: bool) -> Iterator[GridReporter]:
    """Yield a reporter that draws on stderr if that is a terminal, else one that does nothing."""
    from bilex.cli.estimate import time_in_words
    from bilex.experiments.grid import GridReporter

    if quiet or not sys.stderr.isatty():
        yield GridReporter()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=20), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task("reading", total=None)

        class Terminal(GridReporter):
            def begin(self, number: int, total: int, label: str, seconds_left: float | None) -> None:
                left = "" if seconds_left is None else f", {time_in_words(seconds_left)} left"
                text = f"cell {number} of {total}: {label}{left}"
                display.update(task, description=text, completed=number - 1, total=total)

        yield Terminal()


@contextmanager
def resumable(command: str, log: Path) -> Iterator[None]:
    """Turn an interruption into one line that says how to continue, and its exit code."""
    try:
        yield
    except KeyboardInterrupt:
        message = f"bilex: interrupted; finished cells are kept in {log}, run `{command}` again to go on"
        click.echo(message, err=True)
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from None


def print_outcome(outcome: Outcome, about: dict[str, object], as_json: bool, quiet: bool) -> None:
    """Print the report, as text or as one JSON object."""
    files = [str(path) for path in outcome.files]
    report = outcome.report
    if as_json:
        print_json({**about, "title": report.title, "rows": report.rows, "notes": report.notes, "files": files})
        return
    click.echo(report.text, nl=False)
    if not quiet:
        click.echo(f"\nwritten: {' '.join(files)}")
