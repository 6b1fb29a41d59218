"""``bilex reproduce``, a table or figure of the paper, ``bilex sweep``, a grid of your own, and ``bilex benchmark``."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bilex.cli.interrupts import exit_message
from bilex.cli.options import limit_option, output_options, print_json, wrong_usage

if TYPE_CHECKING:
    from bilex.em.context import Reporter
    from bilex.experiments.experiment import Outcome

PAPER_EXPERIMENTS = ("table1", "table2", "table3", "table4", "table5", "fig2", "fig3")


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


@click.command()
@click.argument("name", type=click.Choice(PAPER_EXPERIMENTS), metavar="{" + ",".join(PAPER_EXPERIMENTS) + "}")
@click.option("--data", required=True, metavar="DIR", type=click.Path(), help="The directory of the data.")
@click.option(
    "--layout",
    metavar="NAME|FILE",
    help="The layout of DIR: paper, muse, shared, xling, panlex or a TOML file."
    "  [default: DIR/bilex.toml, or the one that fits]",
)
@click.option("-o", "--output", default="reproduced", metavar="OUT", help="The directory to write.")
@click.option("--pairs", callback=split_names, metavar="en-it,...", help="Language pairs.  [default: the layout's]")
@click.option("--methods", callback=split_names, metavar="A,B", help="Methods.  [default: the paper's]")
@click.option(
    "--seeds", callback=split_names, metavar="5000,25,numerals,identical", help="Seeds.  [default: the paper's]"
)
@click.option("--sizes", callback=split_sizes, metavar="N,M", help="Vocabulary sizes of the figures.")
@limit_option
@click.option("--max-rank", type=click.IntRange(1), metavar="N", help="The frequency constraint of ruder2018-freq.")
@click.option("--draws", type=click.IntRange(1), metavar="N", default=1, help="Draws of the 25 pairs.")
@output_options
def reproduce(
    name: str, data: str, layout: str | None, output: str, limit: int, as_json: bool, quiet: bool, **choices: Any
) -> None:
    """Run a table or figure of the paper on the data in DIR.

    Every cell is kept in OUT/NAME.jsonl as soon as it is finished, and an interrupted run goes on from there. Writes
    OUT/NAME.tsv and .txt and, for figures, .svg and .png. A file DIR/bilex.toml can describe data of your own.
    """
    from bilex.experiments import reproduce as run
    from bilex.experiments.experiment import Options

    with wrong_usage():
        options = Options(**choices)
    with grid_progress(output, name, quiet or as_json) as reporter:
        outcome = run(name, data, output, layout=layout, options=options, limit=limit, reporter=reporter)
    print_outcome(outcome, {"experiment": name, "data": data}, as_json, quiet)


@click.command()
@click.argument("config", type=click.Path())
@click.option("-o", "--output", default="swept", metavar="OUT", help="The directory to write.")
@output_options
def sweep(config: str, output: str, as_json: bool, quiet: bool) -> None:
    """Compare methods, seeds, priors and vocabulary sizes, as the TOML file CONFIG says.

    Its keys: data (a directory, with layout and pairs) or source, target, train and test (files); methods, priors,
    seeds, sizes, draws, limit, max_rank, held_out, retrieval. Paths are relative to CONFIG. Finished cells are kept in
    OUT, and an interrupted run goes on from there.

    \b
        data = "data"
        pairs = ["en-fr"]
        sizes = [2000, 5000, 10000]
        priors = ["1:1", "2:2"]
        seeds = [5000, "identical"]
    """  # noqa: D301 (click needs the character, not two of them)
    from bilex.experiments.experiment import run_experiment
    from bilex.experiments.sweep import read_sweep

    grid = read_sweep(config)
    with grid_progress(output, grid.name, quiet or as_json) as reporter:
        outcome = run_experiment(grid.name, grid.cells(), grid.report, output, reporter=reporter)
    print_outcome(outcome, {"config": config}, as_json, quiet)


@contextlib.contextmanager
def grid_progress(output: str, name: str, quiet: bool) -> Iterator[Reporter]:
    """Show the progress of a grid on the terminal; an interruption tells how to continue."""
    from bilex.runs.progress import show_progress

    log = Path(output) / f"{name}.jsonl"
    command = shlex.join(click.get_current_context().obj)
    how_to_resume = f"finished cells are kept in {log}, run `{command}` again to go on"
    exit_message.set_checkpoint(log, how_to_resume, written=False)
    with show_progress(quiet) as reporter:
        yield reporter


def print_outcome(outcome: Outcome, about: dict[str, object], as_json: bool, quiet: bool) -> None:
    """Print the report, as text or as one JSON object."""
    report, names = outcome.report, [str(path) for path in outcome.files]
    if as_json:
        print_json({**about, "title": report.title, "rows": report.rows, "notes": report.notes, "files": names})
        return
    click.echo(report.text, nl=False)
    if not quiet:
        click.echo(f"\nwritten: {' '.join(names)}")


def split_peers(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Split each NAME=PATH."""
    del context, parameter
    if bad := next((value for value in values if not all(value.partition("="))), None):
        raise click.BadParameter(f"{bad!r} is not like vecmap=PATH")
    return tuple((name, path) for name, _, path in (value.partition("=") for value in values))


@click.command()
@click.argument("suite", metavar="{xling,panlex,muse,FILE.toml}")
@click.option("--data", required=True, metavar="DIR", type=click.Path(), help="The directory of the data.")
@click.option("-o", "--output", default="benchmark", metavar="OUT", help="The directory to write.")
@click.option("--pairs", callback=split_names, metavar="en-it,...", help="Language pairs.  [default: the suite's]")
@click.option("--methods", callback=split_names, default="bilex", metavar="A,B", help="Our methods.")
@click.option("--seeds", callback=split_names, metavar="5k,1k,identical", help="Seeds.  [default: the suite's]")
@limit_option
@click.option(
    "--peer",
    "peers",
    multiple=True,
    callback=split_peers,
    metavar="vecmap=PATH|rcsls=PATH",
    help="Also run a checkout that you have, as a program of its own. Several times for several.",
)
@output_options
def benchmark(suite: str, data: str, output: str, limit: int, as_json: bool, quiet: bool, **choices: Any) -> None:
    """Run a published benchmark on data that you have.

    XLING, PanLex-BLI or MUSE, or a suite that a TOML file describes. Finished cells are kept in OUT, and an interrupted
    run goes on from there. No data are shipped: get them from their authors, under their licences.
    """
    from bilex.experiments.benchmark import run_benchmark

    with grid_progress(output, Path(suite).stem, quiet or as_json) as reporter:
        outcome = run_benchmark(suite, data, output, limit=limit, reporter=reporter, **choices)
    print_outcome(outcome, {"suite": suite, "data": data}, as_json, quiet)
