"""``bilex align``: two models or periods of one language in one space, and the words that moved."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bilex.cli.induce import read_side
from bilex.cli.interrupts import exit_promptly_on_signal
from bilex.cli.options import force_option, json_text, limit_option, output_options, print_json
from bilex.errors import BilexWarning

if TYPE_CHECKING:
    from bilex.evaluation.alignment import Alignment, MovedWord

ALIGNMENT, MOVED = "align.json", "moved.tsv"
SHOWN = 10


@click.command()
@click.argument("a", type=click.Path())
@click.argument("b", type=click.Path())
@click.option("-o", "--output", metavar="OUT", help="The directory to write.  [default: A-B-aligned]")
@force_option
@click.option("--words", type=click.IntRange(1), metavar="N", default=200, help="Moved words to list.")
@limit_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["vec", "bin", "safetensors"]),
    default="vec",
    help="The format of the aligned vectors.",
)
@output_options
@click.pass_context
def align(
    context: click.Context,
    a: str,
    b: str,
    output: str | None,
    force: bool,
    words: int,
    limit: int,
    form: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Map the word vectors A onto B, another model or period of the same language.

    The words that both have are the seed, each held out in turn. Writes the directory OUT with the vectors of both in
    one space, moved.tsv with the words that moved most and their old and new neighbours, align.json and report.html.
    """
    from bilex.evaluation.alignment import align as learn
    from bilex.files.atomic import atomic_write_text
    from bilex.files.ownership import REPORT, check_listed_replaceable, file_sha256
    from bilex.files.run_directory import run_directory
    from bilex.report.page import render_alignment
    from bilex.runs.progress import show_progress
    from bilex.runs.summary import summarise_vectors
    from bilex.search.engines import find_engine
    from bilex.vectors.embeddings import short_name
    from bilex.version import __version__

    place = output or f"{short_name(a)}-{short_name(b)}-aligned"
    check = partial(check_listed_replaceable, ALIGNMENT, "align")
    with (
        run_directory(place, check, force=force) as folder,
        exit_promptly_on_signal(folder),
        show_progress(quiet or as_json) as reporter,
    ):
        sides = [read_side(path, limit, reporter) for path in (a, b)]
        inputs = [summarise_vectors(side) for side in sides]
        reporter.stage("aligning")
        engine = find_engine("local", progress=reporter.rows)
        aligned = learn(*sides, engine=engine)
        moved = aligned.moved(words, engine=engine)
        info = {"version": __version__, "command": context.obj, "inputs": inputs, **aligned.figures()}
        names = (aligned.source.name, aligned.target.name)
        if not all(names) or names[0].lower() == names[1].lower():
            names = ("a", "b")
        for name, side in zip(names, (aligned.source, aligned.target), strict=True):
            reporter.stage(f"writing {name}.{form}")
            side.save(folder / f"{name}.{form}")
        atomic_write_text(folder / MOVED, moved_table(moved))
        atomic_write_text(folder / REPORT, render_alignment(aligned, moved, info))
        info["checksums"] = {path.name: file_sha256(path) for path in sorted(folder.iterdir())}
        atomic_write_text(folder / ALIGNMENT, json_text(info))
    if as_json:
        print_json({"output": place, **info, "moved": [vars(word) for word in moved]})
    elif not quiet:
        print_summary(aligned, moved, place)
    if not aligned.fits:
        problem = f"only {aligned.held_out:.0%} of the held-out words find themselves; do not trust the moved words"
        warnings.warn(f"{place}: {problem}", BilexWarning, stacklevel=1)


def moved_table(moved: list[MovedWord]) -> str:
    """Return the moved words as tab-separated lines."""
    from bilex.lexicon.text import tsv_table

    header = ("word", "change", "cosine", "old_neighbours", "new_neighbours")
    rows = []
    for each in moved:
        neighbours = map(" ".join, (each.old_neighbours, each.new_neighbours))
        rows.append((each.word, f"{each.change:.3f}", f"{each.cosine:.4f}", *neighbours))
    return tsv_table(header, rows)


def print_summary(aligned: Alignment, moved: list[MovedWord], place: str) -> None:
    """Print how well the models fit, and the words that moved most."""
    from bilex.cli.evaluation import print_table
    from bilex.files.ownership import REPORT

    figures: dict[str, Any] = aligned.figures()
    click.echo(
        f"{figures['shared']:,} words in both; {aligned.held_out:.0%} of those held out find themselves, "
        f"median cosine {figures['median_cosine']:.2f}"
    )
    rows = [("moved", "change", "old neighbours", "new neighbours")]
    for word in moved[:SHOWN]:
        old, new = (" ".join(names[:4]) for names in (word.old_neighbours, word.new_neighbours))
        rows.append((word.word, f"{word.change:.1f}", old, new))
    print_table(rows)
    click.echo(f"all: {Path(place) / MOVED}, report: {Path(place) / REPORT}")
