"""``bilex export``: the lexicon, or both languages' vectors in the shared space, in other programs' formats."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bilex.cli.options import min_confidence_option, quiet_option, run_argument

if TYPE_CHECKING:
    from bilex.em.context import Reporter
    from bilex.lexicon.lexicon import Entry
    from bilex.runs.run import Run

LEXICON_FORMATS = ("tsv", "jsonl", "muse", "tei")
REVIEWED_FORMATS = ("muse", "tei")  # a correction has no score, so the formats without scores
VECTOR_FORMATS = {  # the endings that a file of the format may have
    "vec": (".vec", ".txt", ".vec.gz", ".txt.gz"),
    "bin": (".bin",),
    "safetensors": (".safetensors",),
}
SEPARATOR = re.compile(r"[ \t\r\n]")
LINES_PER_REPORT = 1000


@click.command()
@run_argument
@click.option(
    "--format",
    "form",
    type=click.Choice([*LEXICON_FORMATS, *VECTOR_FORMATS]),
    default="tsv",
    show_default=True,
    help="The lexicon as tsv, jsonl, muse or tei; or the vectors as vec, bin or safetensors.",
)
@click.option("-o", "--output", metavar="FILE", help="The file to write.  [default for lexicons: stdout]")
@click.option(
    "--side",
    type=click.Choice(["source", "target", "both"]),
    help="Whose vectors; both writes two files, such as FILE.en.vec and FILE.fr.vec.  [default: both]",
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

    check_options(run, form, output, side, reviewed, min_confidence)
    with show_progress(quiet) as reporter:
        reporter.stage("reading")
        loaded = Run.load(run)
        if min_confidence:
            loaded = replace(loaded, lexicon=loaded.lexicon.confident(min_confidence))
        entries = reviewed_entries(loaded, run) if reviewed else list(loaded.lexicon)
        written = [output] if output is not None else []
        if form in VECTOR_FORMATS and output is not None:
            written = write_sides(loaded, output, side or "both", reporter)
        elif output is not None:
            reporter.stage(f"writing {output}")
            write_lines(output, lexicon_lines(loaded, form, entries), len(entries), reporter)
    if output is None:  # as UTF-8, whatever the locale is
        sys.stdout.buffer.writelines(line.encode("utf-8") for line in lexicon_lines(loaded, form, entries))
        sys.stdout.buffer.flush()
    if not quiet:
        for name in written:
            click.echo(name)


def check_options(
    run: str, form: str, output: str | None, side: str | None, reviewed: bool, min_confidence: float
) -> None:
    """Raise a usage error if options do not go together."""
    problem = None
    if form in VECTOR_FORMATS:
        endings = VECTOR_FORMATS[form]
        if min_confidence:
            problem = f"--min-confidence is for lexicons, and {form} is not"
        elif output is None:
            problem = f"{form} is not for a terminal; name a file with -o"
        elif not output.lower().endswith(endings) or Path(output).name.lower() in endings:
            problem = f"{output}: the name of a {form} file ends in {', '.join(endings)}"
    elif side is not None:
        problem = f"--side is for vectors, and {form} is a lexicon"
    if reviewed and form not in REVIEWED_FORMATS:
        problem = f"--reviewed is for {' and '.join(REVIEWED_FORMATS)}; the explorer exports the decisions as a table"
    elif reviewed and min_confidence:
        problem = "--min-confidence does not apply to a reviewed lexicon; give one of the two"
    elif output is not None and Path(output).resolve().parent == Path(run).resolve():
        problem = f"{output}: a run holds only its own files; choose a place outside {run}"
    if problem is not None:
        raise click.UsageError(problem, click.get_current_context())


def reviewed_entries(run: Run, folder: str) -> list[Entry]:
    """Return the pairs that the review left or put in, in the order of the source words' frequency."""
    from bilex.lexicon.lexicon import Entry
    from bilex.lexicon.reviewed import read_reviewed

    pairs = read_reviewed(Path(folder) / "reviewed").pairs
    last = len(run.source)
    ordered = sorted(pairs, key=lambda pair: run.source.index.get(pair[0], last))
    return [Entry(*pair, score=0.0, rank=0, mutual=False, origin="") for pair in ordered]


def lexicon_lines(run: Run, form: str, entries: Sequence[Entry]) -> Iterable[str]:
    """Return the lines of a lexicon in one of its formats."""
    from bilex.lexicon.formats import jsonl_lines, muse_lines, tei_lines
    from bilex.lexicon.lexicon import tsv_lines
    from bilex.version import __version__

    if form == "tei":
        return tei_lines(entries, run.source.name, run.target.name, f"bilex {__version__}")
    if form == "tsv":
        return tsv_lines(entries, confidence=run.lexicon.confidence is not None)
    return jsonl_lines(entries) if form == "jsonl" else muse_lines(entries)


def write_lines(path: str, lines: Iterable[str], entries: int, reporter: Reporter) -> None:
    """Write lines to a file, whole or not at all."""
    from bilex.files.atomic import atomic_write

    with atomic_write(path) as file:
        for number, line in enumerate(lines):
            file.write(line.encode("utf-8"))
            if number % LINES_PER_REPORT == 0:
                reporter.rows(min(number, entries), entries)


def write_sides(run: Run, output: str, side: str, reporter: Reporter) -> list[str]:
    """Write the vectors of one language or of both, and return the names of the files."""
    from bilex.lexicon.formats import warn_about_words
    from bilex.vectors.writers import write_vectors

    names = names_of_sides(output, run.source.name, run.target.name) if side == "both" else {side: output}
    for which, path in names.items():
        reporter.stage(f"writing {path}")
        words, vectors = getattr(run, which).words, getattr(run.space, which)
        if not path.endswith(".safetensors"):
            rows = [row for row, word in enumerate(words) if word and not SEPARATOR.search(word)]
            left_out = [word for word in words if not word or SEPARATOR.search(word)]
            warn_about_words(left_out, "word", "with a space left out", "safetensors keeps them", path)
            if left_out:
                words, vectors = [words[row] for row in rows], vectors[rows]
        write_vectors(path, words, vectors, reporter.rows)
    return list(names.values())


def names_of_sides(output: str, source: str, target: str) -> dict[str, str]:
    """Put the names of the languages before the ending of a file name, if they are two language tags."""
    from bilex.lexicon.formats import language_tag

    tags = language_tag(source), language_tag(target)
    if "und" in tags or tags[0].lower() == tags[1].lower():
        tags = ("source", "target")
    endings = (ending for group in VECTOR_FORMATS.values() for ending in group if output.lower().endswith(ending))
    cut = len(output) - len(max(endings, key=len))
    stem, ending = output[:cut], output[cut:]
    return {"source": f"{stem}.{tags[0]}{ending}", "target": f"{stem}.{tags[1]}{ending}"}
