"""``bilex reproduce``: a table or figure of the paper, with the published figures beside ours."""

from __future__ import annotations

from pathlib import Path

import click

from bilex.cli.grid import print_outcome, run_with_progress, split_names, split_sizes
from bilex.cli.options import json_option, quiet_option, wrong_usage

__all__ = ["reproduce"]

EXPERIMENTS = ("table1", "table2", "table3", "table4", "table5", "fig2", "fig3")


@click.command()
@click.argument("name", type=click.Choice(EXPERIMENTS), metavar="{" + ",".join(EXPERIMENTS) + "}")
@click.option("--data", required=True, metavar="DIR", type=click.Path(), help="The directory of the data.")
@click.option(
    "--layout",
    metavar="NAME|FILE",
    help="What is where in DIR: paper, muse, shared, or a TOML file.  [default: DIR/bilex.toml, or the one that fits]",
)
@click.option("-o", "--output", default="reproduced", show_default=True, metavar="OUT", help="The directory to write.")
@click.option("--pairs", callback=split_names, metavar="en-it,...", help="Language pairs.  [default: the layout's]")
@click.option("--methods", callback=split_names, metavar="A,B", help="Methods.  [default: the paper's]")
@click.option(
    "--seeds", callback=split_names, metavar="5000,25,numerals,identical", help="Seeds.  [default: the paper's]"
)
@click.option("--sizes", callback=split_sizes, metavar="N,M", help="Vocabulary sizes of the figures.")
@click.option("--limit", type=click.IntRange(1), default=200_000, show_default=True, help="Words to read of each file.")
@click.option("--max-rank", type=click.IntRange(1), metavar="N", help="The frequency constraint of ruder2018-freq.")
@click.option("--draws", type=click.IntRange(1), default=1, show_default=True, help="Draws of the 25 pairs.")
@json_option
@quiet_option
def reproduce(
    name: str,
    data: str,
    layout: str | None,
    output: str,
    pairs: tuple[str, ...],
    methods: tuple[str, ...],
    seeds: tuple[str, ...],
    sizes: tuple[int, ...],
    limit: int,
    max_rank: int | None,
    draws: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run a table or figure of the paper on the data in DIR.

    Every cell is kept in OUT/NAME.jsonl as soon as it is finished, and an interrupted run goes on from there. Writes
    OUT/NAME.tsv and .txt and, for figures, .svg and .png. A file DIR/bilex.toml can describe data of your own.
    """
    from bilex.experiments import Options
    from bilex.experiments import reproduce as run
    from bilex.experiments.toml import parse_pair

    with wrong_usage():
        for pair in pairs:
            parse_pair(pair)
        options = Options(pairs, methods, seeds, sizes, draws, max_rank)
    outcome = run_with_progress(
        f"bilex reproduce {name}",
        Path(output) / f"{name}.jsonl",
        quiet or as_json,
        lambda reporter: run(name, data, output, layout=layout, options=options, limit=limit, reporter=reporter),
    )
    print_outcome(outcome, {"experiment": name, "data": data}, as_json, quiet)
