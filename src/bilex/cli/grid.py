"""What the commands that run a grid share: lists in options, progress and interruptions, and the output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bilex.cli.interrupts import exit_message
from bilex.cli.options import print_json

if TYPE_CHECKING:
    from bilex.em.context import Reporter
    from bilex.experiments import Outcome

__all__ = ["print_outcome", "run_with_progress", "split_names", "split_sizes"]


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


def run_with_progress(command: str, log: Path, quiet: bool, run: Callable[[Reporter], Outcome]) -> Outcome:
    """Run a grid with progress on the terminal; an interruption tells how to continue."""
    from bilex.cli.progress import show_progress

    how_to_resume = f"finished cells are kept in {log}, run `{command}` again to go on"
    exit_message.set_checkpoint(log, how_to_resume, written=False)
    with show_progress(quiet) as reporter:
        return run(reporter)


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
