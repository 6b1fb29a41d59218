"""``bilex compare``: where two runs differ, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from bilex.cli.options import json_option, print_json, quiet_option, retrieval_option, reverse_option

if TYPE_CHECKING:
    from bilex.evaluation.compare import ComparedWord

__all__ = ["compare"]

TABLE_HEADER = ("query", "gold", "A", "B", "right")
MAX_COLUMN_WIDTH = 36


@click.command()
@click.argument("run_a", type=click.Path(path_type=str))
@click.argument("run_b", type=click.Path(path_type=str))
@click.argument("gold", type=click.Path(path_type=str))
@retrieval_option("nn")
@reverse_option
@click.option("--all", "wrong", is_flag=True, help="Also list the words where both are wrong, but differ.")
@click.option("--limit", type=click.IntRange(0), metavar="N", help="List at most N words.")
@click.option("--tsv", "as_tsv", is_flag=True, help="The list as tab-separated values; the summary goes to stderr.")
@json_option
@quiet_option
def compare(
    run_a: str,
    run_b: str,
    gold: str,
    retrieval: str,
    reverse: bool,
    wrong: bool,
    limit: int | None,
    as_tsv: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show where RUN_A and RUN_B differ on the dictionary GOLD, whose first words are the queries.

    Lists the words whose first answers differ and where at least one is right, in RUN_A's order of frequency. Only
    queries that both runs cover count. The p-value is that of the exact two-sided McNemar test.
    """
    from bilex.cli.progress import show_progress
    from bilex.runs.run import Run
    from bilex.search.engines import find_engine

    if as_tsv and as_json:
        raise click.UsageError("--tsv and --json exclude each other", click.get_current_context())
    with show_progress(quiet or as_json) as reporter:
        reporter.stage("reading")
        first, second = Run.load(run_a), Run.load(run_b)
        reporter.stage("searching")
        engine = find_engine("local", progress=reporter.rows)
        compared = first.compare(second, gold, retrieval=retrieval, reverse=reverse, engine=engine)
    figures, differing = compared.figures(), compared.differing(wrong=wrong)
    words = differing[:limit]
    if as_json:
        print_json({**figures, "words": [word.row() for word in words]})
        return
    if not quiet:
        for line in summary_of(figures, run_a, run_b):
            click.echo(line, err=as_tsv)
        click.echo(list_note(len(words), len(differing), figures["differ"]), err=as_tsv)
    if as_tsv:
        print_tsv(words)
    elif words:
        if not quiet:
            click.echo()
        print_table(words)


def summary_of(figures: dict[str, Any], run_a: str, run_b: str) -> list[str]:
    """Return the lines that sum the comparison up."""
    return [
        f"A  P@1 {figures['p@1_a']:.4f}  {run_a}",
        f"B  P@1 {figures['p@1_b']:.4f}  {run_b}",
        f"both right {figures['both_right']}, only A {figures['only_a']}, only B {figures['only_b']}, "
        f"both wrong {figures['both_wrong']}; exact McNemar p = {figures['p_value']:.3g}",
        f"{figures['compared']} of {figures['queries']} queries compared by {figures['retrieval']}; "
        f"{figures['left_out']} left out, not covered by both (A covers {figures['covered_a']}, "
        f"B {figures['covered_b']})",
    ]


def list_note(shown: int, selected: int, differ: int) -> str:
    """Return a line on how much of the difference the list shows, and how to see the rest."""
    line = f"the answers differ on {differ} queries"
    if selected < differ:
        line += f", on {differ - selected} of them both are wrong (--all lists these too)"
    return line + (f"; the first {shown} of {selected} follow" if 0 < shown < selected else "")


def columns_of(word: ComparedWord) -> tuple[str, ...]:
    """Return a word's columns in the order of the header."""
    return (word.query, ", ".join(word.gold), word.a, word.b, word.right)


def print_tsv(words: Sequence[ComparedWord]) -> None:
    """Print a header and a line for each word, separated by tabs."""
    from bilex.lexicon.text import tsv_cell

    click.echo("\t".join(TABLE_HEADER))
    for word in words:
        click.echo("\t".join(map(tsv_cell, columns_of(word))))


def print_table(words: Sequence[ComparedWord]) -> None:
    """Print the words in aligned columns; long cells are cut."""
    from rich.cells import cell_len, set_cell_size

    rows = [TABLE_HEADER, *map(columns_of, words)]
    widths = [min(MAX_COLUMN_WIDTH, max(map(cell_len, column))) for column in zip(*rows, strict=True)]
    for row in rows:
        fitted = (
            set_cell_size(cell, width - 1) + "…" if cell_len(cell) > width else set_cell_size(cell, width)
            for cell, width in zip(row, widths, strict=True)
        )
        click.echo("  ".join(fitted).rstrip())
