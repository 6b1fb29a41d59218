"""What the commands that run a grid share: progress on a terminal, and what an interruption leaves behind."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from bilex.cli.options import print_json

if TYPE_CHECKING:
    from bilex.experiments import Outcome
    from bilex.experiments.grid import Watch

__all__ = ["duration", "keeping", "show", "split_names", "split_sizes", "watch_cells"]

INTERRUPTED = 130


def split_names(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Take a list of names apart that commas separate."""
    del context, parameter
    names = [name.strip() for name in value.split(",")] if value is not None else []
    if not all(names):
        raise click.BadParameter(f"{value!r} has an empty name; separate names by one comma")
    return tuple(dict.fromkeys(names))


def split_sizes(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Take a list of whole numbers apart that commas separate."""
    names = split_names(context, parameter, value)
    if not all(name.isascii() and name.isdigit() and int(name) for name in names):
        raise click.BadParameter(f"{value!r} is not a list of numbers from 1 up, such as 1000,2000,5000")
    return tuple(map(int, names))


@contextmanager
def watch_cells(quiet: bool) -> Iterator[Watch]:
    """Give a watch that draws on stderr if that is a terminal, else one that says nothing."""
    from bilex.experiments.grid import Watch

    if quiet or not sys.stderr.isatty():
        yield Watch()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=20), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task("reading", total=None)

        class Terminal(Watch):
            def begin(self, number: int, total: int, label: str, seconds_left: float | None) -> None:
                left = "" if seconds_left is None else f", about {duration(seconds_left)} left"
                text = f"cell {number} of {total}: {label}{left}"
                display.update(task, description=text, completed=number - 1, total=total)

        yield Terminal()


def duration(seconds: float) -> str:
    """Write a time in its natural unit."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


@contextmanager
def keeping(command: str, log: Callable[[], str]) -> Iterator[None]:
    """Say after an interruption that what was finished is kept."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"bilex: interrupted; finished cells are kept in {log()}, run `{command}` again to go on", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


def show(outcome: Outcome, about: dict[str, object], as_json: bool, quiet: bool) -> None:
    """Print the report, as text or as one JSON object."""
    files = [str(path) for path in outcome.files]
    report = outcome.report
    if as_json:
        print_json({**about, "title": report.title, "rows": report.records(), "notes": report.notes, "files": files})
        return
    click.echo(report.text, nl=False)
    if not quiet:
        click.echo(f"\nwritten: {' '.join(files)}")
