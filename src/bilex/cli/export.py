"""``bilex export``: the lexicon, or both languages' vectors in the shared space, in other programs' formats."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bilex.cli.options import min_confidence_option, quiet_option, run_argument

if TYPE_CHECKING:
    from bilex.em.context import Reporter
    from bilex.lexicon.formats import Row
    from bilex.lexicon.lexicon import Lexicon
    from bilex.runs.run import Run

__all__ = ["export"]

LEXICONS = ("tsv", "jsonl", "muse", "tei")
VECTORS = {  # the endings that a file of the format may have
    "vec": (".vec", ".txt", ".vec.gz", ".txt.gz"),
    "bin": (".bin",),
    "safetensors": (".safetensors",),
}
SEPARATING = re.compile(r"[ \t\r\n]")
LINES_AT_A_TIME = 1000
WORDS_ONLY = ("muse", "tei")  # a correction has no score


@click.command()
@run_argument
@click.option(
    "--format",
    "form",
    type=click.Choice([*LEXICONS, *VECTORS]),
    default="tsv",
    show_default=True,
    help="The lexicon as tsv, jsonl, muse or tei; or the vectors as vec, bin or safetensors.",
)
@click.option("-o", "--output", metavar="FILE", help="The file to write.  [default for lexicons: stdout]")
@click.option(
    "--side",
    type=click.Choice(["source", "target", "both"]),
    help="Whose vectors; both makes two files, such as FILE.en.vec and FILE.fr.vec.  [default: both]",
)
@click.option("--reviewed", is_flag=True, help="As it was reviewed: rejected pairs left out, corrections put in.")
@min_confidence_option
@quiet_option
def export(
    run: str, form: str, output: str | None, side: str | None, reviewed: bool, min_confidence: float, quiet: bool
) -> None:
    """Write the lexicon of RUN, or its vectors, in another program's format.

    tsv is the table of the run, jsonl the same as one JSON object per line, muse two words per line, tei a dictionary
    for FreeDict's tools. vec, bin and safetensors hold the words of each language with their vectors in the shared
    space, of length 1, so that inner products are cosines. --reviewed is for muse and tei, which hold only words.

    Words are written as they are. To open a tsv in a spreadsheet, import its columns as text: a word such as =1+1 is a
    formula to it.
    """
    from bilex.cli.progress import show_progress
    from bilex.runs.run import Run

    if form in LEXICONS and side is not None:
        raise click.UsageError(f"--side is for vectors, and {form} is a lexicon", click.get_current_context())
    if form in VECTORS and min_confidence:
        raise click.UsageError(f"--min-confidence is for lexicons, and {form} is not", click.get_current_context())
    if form in VECTORS:
        check_vector_file(form, output)
    if reviewed and form not in WORDS_ONLY:
        raise click.UsageError(
            f"--reviewed is for {' and '.join(WORDS_ONLY)}; the page exports the decisions as a table"
        )
    if reviewed and min_confidence:
        raise click.UsageError("--min-confidence has no say in what was reviewed; give one of the two")
    if output is not None and Path(output).resolve().parent == Path(run).resolve():
        raise click.UsageError(f"{output}: a run holds only its own files; choose a place outside {run}")
    with show_progress(quiet) as reporter:
        reporter.stage("reading")
        loaded = Run.load(run)
        if min_confidence:
            loaded = replace(loaded, lexicon=sure_entries(loaded, run, min_confidence))
        rows = reviewed_rows(loaded, run) if reviewed else list(loaded.lexicon)
        written = [output] if output is not None else []
        if form in VECTORS and output is not None:
            written = write_sides(loaded, output, side or "both", reporter)
        elif output is not None:
            reporter.stage(f"writing {output}")
            write_lines(output, lexicon_lines(loaded, form, rows), len(rows), reporter)
    if output is None:  # as UTF-8, whatever the locale is
        sys.stdout.buffer.writelines(line.encode("utf-8") for line in lexicon_lines(loaded, form, rows))
        sys.stdout.buffer.flush()
    if not quiet:
        for name in written:
            click.echo(name)


def sure_entries(run: Run, place: str, least: float) -> Lexicon:
    """Take the entries of at least that confidence out of a run's lexicon."""
    from bilex.errors import InputError

    if run.lexicon.confidence is None:  # an earlier version made it
        raise InputError(Path(place) / "lexicon.tsv", "its entries have no confidence", "run `bilex induce` again")
    return run.lexicon.confident(least)


def check_vector_file(form: str, output: str | None) -> None:
    """Raise if there is no file to write the vectors to, or one whose name belongs to another format."""
    context = click.get_current_context()
    if output is None:
        raise click.UsageError(f"{form} is not for a terminal; name a file with -o", context)
    if not output.lower().endswith(VECTORS[form]) or Path(output).name.lower() in VECTORS[form]:
        raise click.UsageError(f"{output}: the name of a {form} file ends in {', '.join(VECTORS[form])}", context)


def reviewed_rows(run: Run, folder: str) -> list[Row]:
    """Give the pairs that the review left or put in, in the order of the source words' frequency."""
    from bilex.lexicon.reviews import read_reviewed

    pairs = read_reviewed(Path(folder) / "reviewed").pairs
    last = len(run.source)
    ordered = sorted(pairs, key=lambda pair: run.source.index.get(pair[0], last))
    return [(source, target, 0.0, 0, False, "", None) for source, target in ordered]


def lexicon_lines(run: Run, form: str, rows: Sequence[Row]) -> Iterable[str]:
    """Give the lines of a lexicon in one of its formats."""
    from bilex.lexicon.formats import jsonl_lines, muse_lines, tei_lines, tsv_lines
    from bilex.version import __version__

    if form == "tei":
        return tei_lines(rows, run.source.name, run.target.name, f"bilex {__version__}")
    if form == "tsv":
        return tsv_lines(rows, confidence=run.lexicon.confidence is not None)
    return {"jsonl": jsonl_lines, "muse": muse_lines}[form](rows)


def write_lines(path: str, lines: Iterable[str], entries: int, reporter: Reporter) -> None:
    """Write lines to a file, whole or not at all."""
    from bilex.files.atomic import atomic_write

    with atomic_write(path) as file:
        for number, line in enumerate(lines):
            file.write(line.encode("utf-8"))
            if number % LINES_AT_A_TIME == 0:
                reporter.rows(min(number, entries), entries)


def write_sides(run: Run, output: str, side: str, reporter: Reporter) -> list[str]:
    """Write the vectors of one language or of both; give the names of the files."""
    from bilex.vectors.writers import write_vectors

    sides = {"source": (run.source.words, run.space.source), "target": (run.target.words, run.space.target)}
    names = suffixed(output, run.source.name, run.target.name)
    chosen = {name: (output if side != "both" else names[name]) for name in sides if side in (name, "both")}
    for name, path in chosen.items():
        reporter.stage(f"writing {path}")
        words, vectors = sides[name]
        rows = list(range(len(words)))
        if not path.endswith(".safetensors"):
            rows = [row for row, word in enumerate(words) if word and not SEPARATING.search(word)]
            warn_of_missing(path, [word for word in words if not word or SEPARATING.search(word)])
        kept = vectors if len(rows) == len(words) else vectors[rows]
        write_vectors(path, [words[row] for row in rows], kept, reporter.rows)
    return list(chosen.values())


def suffixed(output: str, source: str, target: str) -> dict[str, str]:
    """Put the names of the languages before the ending of a file name, if they are two and fit for it."""
    from bilex.lexicon.formats import language_tag

    tags = language_tag(source), language_tag(target)
    if "und" in tags or tags[0].lower() == tags[1].lower():
        tags = ("source", "target")
    endings = (ending for group in VECTORS.values() for ending in group if output.lower().endswith(ending))
    cut = len(output) - len(max(endings, key=len))
    stem, ending = output[:cut], output[cut:]
    return {"source": f"{stem}.{tags[0]}{ending}", "target": f"{stem}.{tags[1]}{ending}"}


def warn_of_missing(path: str, words: list[str]) -> None:
    """Count the words that this format cannot tell from their numbers."""
    from bilex.errors import BilexWarning
    from bilex.files.fields import quoted

    if words:
        what = "1 word" if len(words) == 1 else f"{len(words):,} words"
        message = f"{path}: {what} with a space left out (first: {quoted(words[0])}); safetensors keeps them"
        warnings.warn(message, BilexWarning, stacklevel=2)
