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
@json_option
@quiet_option
def evaluate(run: str, gold: str, retrieval: str, reverse: bool, as_json: bool, quiet: bool) -> None:
    """Score RUN against the dictionary GOLD, whose first words are the queries.

    p@k is over the covered queries: those with a vector, and a vector for one of their translations.
    """
    from bilex.runs import Run

    del quiet  # there is nothing to leave out
    figures = Run.load(run).evaluate(gold, retrieval=retrieval, reverse=reverse).figures()
    if as_json:
        print_json(figures)
        return
    for name, value in figures.items():
        click.echo(f"{name:10}{value:.4f}" if isinstance(value, float) else f"{name:10}{value}")
