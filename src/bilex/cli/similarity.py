"""``bilex similarity``: correlate a run's cosines with human similarity scores."""

from __future__ import annotations

from typing import Any

import click

from bilex.cli.options import json_option, print_json, quiet_option, reverse_option, run_argument

__all__ = ["similarity"]


@click.command()
@run_argument
@click.argument("pairs", type=click.Path(path_type=str))
@click.option(
    "--missing",
    type=click.Choice(["skip", "zero"]),
    default="skip",
    show_default=True,
    help="Pairs with a term that has no vector: leave them out, or score them 0.",
)
@click.option("--fold-case", is_flag=True, help="Look up terms that are not found again, ignoring case.")
@reverse_option
@json_option
@quiet_option
def similarity(run: str, pairs: str, missing: str, fold_case: bool, reverse: bool, as_json: bool, quiet: bool) -> None:
    """Correlate RUN's cosines with the scores in PAIRS.

    Each line of PAIRS holds a source term, a target term and a score, separated by tabs. A term of several words
    that has no vector of its own gets the mean of its words' unit vectors, if all have one. spearman and pearson follow
    --missing; both ways are always reported.
    """
    from bilex.runs.run import Run

    score = Run.load(run).similarity(pairs, fold_case=fold_case, reverse=reverse)
    figures = score.figures(missing)
    if as_json:
        print_json(figures)
    else:
        for name, value in flat_figures(figures).items():
            click.echo(f"{name:15}{value:.4f}" if isinstance(value, float) else f"{name:15}{value}")
    if score.foldable and not quiet:
        click.echo(f"bilex: note: {pairs}: --fold-case would cover {score.foldable} more pairs", err=True)


def flat_figures(figures: dict[str, Any]) -> dict[str, Any]:
    """Return the figures on one level, those of both conventions named after them."""
    lines = {name: value for name, value in figures.items() if not isinstance(value, dict)}
    for convention in ("skip", "zero"):
        for name in ("spearman", "pearson"):
            value = figures[convention][name]
            lines[f"{name}_{convention}"] = "undefined" if value is None else value
    return lines
