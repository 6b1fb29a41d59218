"""``bilex sweep``: a grid of vocabulary sizes, priors, seeds and methods of your own."""

from __future__ import annotations

from pathlib import Path

import click

from bilex.cli.grid import print_outcome, run_with_progress
from bilex.cli.options import json_option, quiet_option

__all__ = ["sweep"]


@click.command()
@click.argument("config", type=click.Path())
@click.option("-o", "--output", default="swept", show_default=True, metavar="OUT", help="The directory to write.")
@json_option
@quiet_option
def sweep(config: str, output: str, as_json: bool, quiet: bool) -> None:
    r"""Run the grid that the TOML file CONFIG describes: a table and its plot.

    Its keys: data (a directory, with layout and pairs) or source, target, train and test (files); methods, priors,
    seeds, sizes, draws, limit, max_rank, held_out, retrieval. Paths are relative to CONFIG. Finished
    cells are kept in OUT, and an interrupted run goes on from there.

    \b
        data = "data"
        pairs = ["en-fr"]
        sizes = [2000, 5000, 10000]
        priors = ["1:1", "2:2"]
        seeds = [5000, "identical"]
    """
    from bilex.experiments.sweep import read_sweep, run_sweep

    grid = read_sweep(config)
    outcome = run_with_progress(
        f"bilex sweep {config}",
        Path(output) / f"{grid.name}.jsonl",
        quiet or as_json,
        lambda reporter: run_sweep(grid, output, reporter=reporter),
    )
    print_outcome(outcome, {"config": config}, as_json, quiet)
