"""``bilex hubness``: find target words that are near too many source words."""

from __future__ import annotations

import click

from bilex.cli.options import json_option, print_json, quiet_option, retrieval_option, reverse_option, run_argument

__all__ = ["hubness"]


@click.command()
@run_argument
@click.argument("gold", type=click.Path(path_type=str), required=False)
@click.option("-k", default=20, show_default=True, type=click.IntRange(1), help="Neighbours of each query.")
@click.option("--top", default=10, show_default=True, type=click.IntRange(0), help="Hubs to list.")
@retrieval_option("nn")
@reverse_option
@json_option
@quiet_option
def hubness(
    run: str, gold: str | None, k: int, top: int, retrieval: str, reverse: bool, as_json: bool, quiet: bool
) -> None:
    """Count how often each target word of RUN is among the k nearest neighbours of a query.

    The queries are the first words of the dictionary GOLD, or without it all source words. skewness is that of the
    counts over all target words: the larger, the more hubs; never counts the words that are no query's neighbour.
    """
    from bilex.cli.progress import show_progress
    from bilex.runs.run import Run
    from bilex.search.engines import find_engine

    with show_progress(quiet or as_json) as reporter:
        reporter.stage("reading")
        loaded = Run.load(run)
        reporter.stage("searching")
        engine = find_engine("local", progress=reporter.rows)
        found = loaded.hubness(gold, k, retrieval=retrieval, reverse=reverse, engine=engine)
    figures = found.figures(top)
    if as_json:
        print_json(figures)
        return
    hubs = figures.pop("hubs")
    for name, value in figures.items():
        click.echo(f"{name:10}{value:.4f}" if isinstance(value, float) else f"{name:10}{value}")
    if hubs:
        click.echo("\nhubs")
    for hub in hubs:
        click.echo(f"{hub['count']:8}  {hub['word']}")
