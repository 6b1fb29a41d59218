"""``bilex evaluate``: score a run against a gold dictionary."""

from __future__ import annotations

import click

from bilex.cli.options import json_option, print_json, quiet_option, retrieval_option, reverse_option, run_argument

__all__ = ["evaluate"]


@click.command()
@run_argument
@click.argument("gold", type=click.Path(path_type=str))
@retrieval_option("nn")
@reverse_option
@click.option(
    "--convention",
    type=click.Choice(["covered", "all", "pairs"]),
    default="covered",
    show_default=True,
    help="What p@k and mrr are over: covered queries, all queries, or covered pairs, each a case of its own.",
)
@json_option
@quiet_option
def evaluate(run: str, gold: str, retrieval: str, reverse: bool, convention: str, as_json: bool, quiet: bool) -> None:
    """Score RUN against the dictionary GOLD, whose first words are the queries.

    A query is covered if it and at least one of its translations have vectors. p@k and mrr follow --convention; p@1 is
    always reported by all three conventions.
    """
    from bilex.cli.progress import show_progress
    from bilex.runs.run import Run
    from bilex.search.engines import find_engine

    with show_progress(quiet or as_json) as reporter:
        reporter.stage("reading")
        loaded = Run.load(run)
        reporter.stage("searching")
        engine = find_engine("local", progress=reporter.rows)
        found = loaded.evaluate(gold, retrieval=retrieval, reverse=reverse, convention=convention, engine=engine)
    figures = found.figures()
    if as_json:
        print_json(figures)
        return
    for name, value in figures.items():
        click.echo(f"{name:15}{value:.4f}" if isinstance(value, float) else f"{name:15}{value}")
