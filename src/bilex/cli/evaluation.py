"""The commands that measure runs: ``bilex evaluate``, ``similarity``, ``hubness`` and ``compare``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import click

from bilex.cli import options
from bilex.cli.terminal import echo
from bilex.methods import SET_THRESHOLD

if TYPE_CHECKING:
    from bilex.runs.run import Run
    from bilex.search.engine import Engine

TABLE_HEADER = ("query", "gold", "A", "B", "right")
MAX_COLUMN_WIDTH = 36
gold_argument = click.argument("gold", type=click.Path(path_type=str))


@click.command()
@options.run_argument
@gold_argument
@options.retrieval_option("model")
@options.reverse_option
@click.option(
    "--convention",
    type=click.Choice(["covered", "all", "pairs"]),
    default="covered",
    help="What p@k and mrr are over: covered queries, all queries, or covered pairs, each a case of its own.",
)
@options.min_probability_option("How probable the translations in a set are at least.", default=SET_THRESHOLD)
@click.option("--lemmas", metavar="LANG", help="The language of the answers, if the run was made without its lemmas.")
@options.output_options
def evaluate(run: str, gold: str, as_json: bool, quiet: bool, **choices: Any) -> None:
    """Score RUN against the dictionary GOLD, whose first words are the queries.

    A query is covered if it and at least one of its translations have vectors. p@k and mrr follow --convention; p@1 is
    always reported by all three conventions. The set of a query holds all its translations of at least
    --min-probability; set_precision, set_recall and set_f1 count the pairs of all covered queries together. With
    lemmas, p@1_lexeme counts a covered query as right if its first answer is any form of a right word.
    """
    with load_runs(quiet or as_json, run) as (engine, [loaded]):
        figures = loaded.evaluate(gold, engine=engine, **choices).figures()
    options.print_json(figures) if as_json else print_figures(figures)


@click.command()
@options.run_argument
@click.argument("pairs", type=click.Path(path_type=str))
@click.option(
    "--missing",
    type=click.Choice(["skip", "zero"]),
    default="skip",
    help="Pairs with a term that has no vector: leave them out, or score them 0.",
)
@click.option("--fold-case", is_flag=True, help="Look up terms that are not found again, ignoring case.")
@options.reverse_option
@options.output_options
def similarity(run: str, pairs: str, missing: str, as_json: bool, quiet: bool, **choices: Any) -> None:
    """Correlate RUN's cosines with the scores in PAIRS.

    Each line of PAIRS holds a source term, a target term and a score, separated by tabs. A term of several words
    that has no vector of its own gets the mean of its words' unit vectors, if all have one. spearman and pearson follow
    --missing; both ways are always reported.
    """
    from bilex.runs.run import Run

    score = Run.load(run).similarity(pairs, **choices)
    figures = score.figures(missing)
    if as_json:
        options.print_json(figures)
    else:
        ways = {way: figures.pop(way) for way in ("skip", "zero")}
        figures |= {f"{name}_{way}": found[name] for way, found in ways.items() for name in ("spearman", "pearson")}
        print_figures({name: "undefined" if value is None else value for name, value in figures.items()})
    if score.foldable and not quiet:
        click.echo(f"bilex: note: {pairs}: --fold-case would cover {score.foldable} more pairs", err=True)


@click.command()
@options.run_argument
@click.argument("gold", type=click.Path(path_type=str), required=False)
@click.option("-k", default=20, type=click.IntRange(1), metavar="N", help="Neighbours of each query.")
@click.option("--top", default=10, type=click.IntRange(0), metavar="N", help="Hubs to list.")
@options.retrieval_option("nn")
@options.reverse_option
@options.output_options
def hubness(run: str, gold: str | None, top: int, as_json: bool, quiet: bool, **choices: Any) -> None:
    """Count how often each target word of RUN is among the k nearest neighbours of a query.

    The queries are the first words of the dictionary GOLD, or without it all source words. skewness is that of the
    counts over all target words: the larger, the more hubs; never counts the words that are no query's neighbour.
    """
    with load_runs(quiet or as_json, run) as (engine, [loaded]):
        figures = loaded.hubness(gold, engine=engine, **choices).figures(top)
    if as_json:
        options.print_json(figures)
        return
    hubs = figures.pop("hubs")
    print_figures(figures, width=10)
    if hubs:
        click.echo("\nhubs")
    for hub in hubs:
        echo(f"{hub['count']:8}  {hub['word']}", wrap=False)


@click.command()
@click.argument("run_a", type=click.Path(path_type=str))
@click.argument("run_b", type=click.Path(path_type=str))
@gold_argument
@options.retrieval_option("nn")
@options.reverse_option
@click.option("--all", "wrong", is_flag=True, help="Also list the words where both are wrong, but differ.")
@click.option("--limit", type=click.IntRange(0), metavar="N", help="List at most N words.")
@options.output_options
def compare(
    run_a: str,
    run_b: str,
    gold: str,
    wrong: bool,
    limit: int | None,
    as_json: bool,
    quiet: bool,
    **choices: Any,
) -> None:
    """Show where RUN_A and RUN_B differ on the dictionary GOLD, whose first words are the queries.

    Lists the words whose first answers differ and where at least one is right, in RUN_A's order of frequency. Only
    queries that both runs cover count. The p-value is that of the exact two-sided McNemar test.
    """
    with load_runs(quiet or as_json, run_a, run_b) as (engine, [first, second]):
        compared = first.compare(second, gold, engine=engine, **choices)
    figures, differing = compared.figures(), compared.differing(wrong=wrong)
    words = differing[:limit]
    if as_json:
        options.print_json({**figures, "words": [{**asdict(word), "right": word.right} for word in words]})
        return
    if not quiet:
        click.echo(comparison_summary(figures, run_a, run_b, len(words), len(differing)))
    if words:
        if not quiet:
            click.echo()
        rows = ((word.query, ", ".join(word.gold), word.a, word.b, word.right) for word in words)
        print_table([TABLE_HEADER, *rows])


@contextlib.contextmanager
def load_runs(quiet: bool, *runs: str) -> Iterator[tuple[Engine, list[Run]]]:
    """Load runs and an engine to search them, with progress on the terminal."""
    from bilex.runs.progress import show_progress
    from bilex.runs.run import Run
    from bilex.search.engines import find_engine

    with show_progress(quiet) as reporter:
        reporter.stage("reading")
        loaded = [Run.load(run) for run in runs]
        reporter.stage("searching")
        yield find_engine("local", progress=reporter.rows), loaded


def print_figures(figures: Mapping[str, Any], width: int = 15) -> None:
    """Print a line for each figure."""
    for name, value in figures.items():
        click.echo(f"{name:{width}}{value:.4f}" if isinstance(value, float) else f"{name:{width}}{value}")


def comparison_summary(figures: dict[str, Any], run_a: str, run_b: str, shown: int, selected: int) -> str:
    """Return the lines that sum a comparison up: the last tells how many words are listed, and how to see the rest."""
    differ = figures["differ"]
    wrong = f", on {differ - selected} of them both are wrong (--all lists these too)" if selected < differ else ""
    part = f"; the first {shown} of {selected} follow" if 0 < shown < selected else ""
    return (
        f"A  P@1 {figures['p@1_a']:.4f}  {run_a}\n"
        f"B  P@1 {figures['p@1_b']:.4f}  {run_b}\n"
        f"both right {figures['both_right']}, only A {figures['only_a']}, only B {figures['only_b']}, "
        f"both wrong {figures['both_wrong']}; exact McNemar p = {figures['p_value']:.3g}\n"
        f"{figures['compared']} of {figures['queries']} queries compared by {figures['retrieval']}; "
        f"{figures['left_out']} left out, not covered by both (A covers {figures['covered_a']}, "
        f"B {figures['covered_b']})\n"
        f"the answers differ on {differ} queries{wrong}{part}"
    )


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows in aligned columns; long cells are cut."""
    from rich.cells import cell_len, set_cell_size

    from bilex.experiments.reporting import align_columns

    width = MAX_COLUMN_WIDTH
    cut = [[set_cell_size(cell, width - 1) + "…" if cell_len(cell) > width else cell for cell in row] for row in rows]
    echo(dedent(align_columns(cut, left=len(TABLE_HEADER))), wrap=False)
