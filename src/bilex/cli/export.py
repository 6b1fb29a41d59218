"""``bilex export``: the lexicon, or both languages' vectors in the shared space, in other programs' formats."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bilex.cli.induce import plural
from bilex.cli.options import is_given, min_confidence_option, min_probability_option, quiet_option, run_argument
from bilex.errors import BilexError
from bilex.lexicon.formats import FORMATS

if TYPE_CHECKING:
    from bilex.em.context import Reporter
    from bilex.lexicon.formats.book import Book, Translations
    from bilex.lexicon.lexicon import Entry
    from bilex.lexicon.reviewed import ReviewedLexicon
    from bilex.numerics.types import Vectors
    from bilex.runs.run import Run

VECTOR_FORMATS = {  # the endings that a file of the format may have
    "vec": (".vec", ".txt", ".vec.gz", ".txt.gz"),
    "bin": (".bin",),
    "safetensors": (".safetensors",),
}
SEPARATOR = re.compile(r"[ \t\r\n]")


@click.command()
@run_argument
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS, *VECTOR_FORMATS]),
    default="tsv",
    metavar="FORMAT",
    help=f"For the lexicon {', '.join(FORMATS)}; for vectors {', '.join(VECTOR_FORMATS)}.",
)
@click.option("-o", "--output", metavar="FILE", help="The file to write.  [default for lexicons: stdout]")
@click.option(
    "--side",
    type=click.Choice(["source", "target", "both"]),
    help="Whose vectors; both writes two files, such as FILE.en.vec and FILE.fr.vec.  [default: both]",
)
@click.option("--vectors", metavar="FILE", help="Map the vectors in FILE, of one --side, instead of the run's own.")
@click.option("--reviewed", is_flag=True, help="As it was reviewed: rejected pairs left out, corrections put in.")
@click.option(
    "--group-by-lemma", is_flag=True, help="One entry for all forms of two words; the run has to have lemmas."
)
@min_confidence_option
@min_probability_option("All pairs that are right with at least this probability, in the lexicon or not.")
@quiet_option
def export(
    run: str,
    form: str,
    output: str | None,
    side: str | None,
    vectors: str | None,
    reviewed: bool,
    group_by_lemma: bool,
    min_confidence: float,
    min_probability: float | None,
    quiet: bool,
) -> None:
    """Write the lexicon of RUN, or its vectors, in another program's format.

    tsv is the table of the run, csv and jsonl (one JSON object per line) the same; muse has two words per line. tei
    is a dictionary for FreeDict's tools, stardict one for GoldenDict and others, tbx for translation tools, dix for
    Apertium, anki a deck of cards. lex holds the model's translation probabilities in both directions, for Moses and
    eflomal. vec, bin and safetensors hold the words of each language with their vectors in the shared space, of length
    1, so that inner products are cosines. With --vectors they hold other words of one language, mapped as the run maps
    its own; a fastText model stays one as bin, with its n-grams mapped.

    Words are written as they are. To open a tsv or csv in a spreadsheet, import its columns as text: a word such as
    =1+1 is a formula to it.
    """
    from bilex.files.ownership import check_not_input
    from bilex.lexicon.formats import book_names, write_book
    from bilex.lexicon.formats.book import grouped_by_lemma
    from bilex.runs.progress import show_progress
    from bilex.runs.run import Run

    context = click.get_current_context()
    if problem := find_problem(context):
        raise click.UsageError(problem, context)
    with show_progress(quiet) as reporter:
        reporter.stage("reading")
        loaded = Run.load(run)
        if output is not None:
            names = [output] if form in VECTOR_FORMATS else book_names(form, output).values()
            check_not_input(loaded.info, *names)
        book = None if form in VECTOR_FORMATS else book_of(loaded, run, reviewed, min_confidence, min_probability)
        if group_by_lemma and book is not None:
            if not loaded.source.lemmas and not loaded.target.lemmas:
                raise BilexError("this run has no lemmas; run `bilex induce` with --lemmas")
            lemmas = (dict(zip(side.words, side.lemmas, strict=False)) for side in (loaded.source, loaded.target))
            book = grouped_by_lemma(book, *lemmas)
        written = []
        if vectors is not None and output is not None:
            written = write_transformed(loaded, vectors, output, str(side), reporter)
        elif form in VECTOR_FORMATS and output is not None:
            written = write_sides(loaded, output, side or "both", reporter)
        elif output is not None and book is not None:
            reporter.stage(f"writing {output}")
            written = write_book(book, form, output)
    if output is None and book is not None:  # as UTF-8, whatever the locale is
        for pieces in FORMATS[form].files(book).values():
            sys.stdout.buffer.writelines(pieces)
        sys.stdout.buffer.flush()
    if not quiet and written:
        if vectors is None:
            click.echo(f"{count_written(loaded, book, form, side)}, written to", err=True)
        for name in written:
            click.echo(name)


def count_written(run: Run, book: Book | None, form: str, side: str | None) -> str:
    """Count what was written: entries, or words with vectors."""
    if book is not None:
        return plural(len(book.entries), "entry") if form != "lex" else "translation probabilities"
    written = [f"{len(each):,}" for name, each in run.sides.items() if side in (name, "both", None)]
    return f"{' and '.join(written)} words"


def find_problem(context: click.Context) -> str | None:
    """Return why options do not go together, if they do not."""
    from bilex.files.ownership import real_path

    given = context.params
    run, form, output = given["run"], given["form"], given["output"]
    for_lexicons = ("reviewed", "group_by_lemma", "min_confidence", "min_probability")
    chosen = [name for name in for_lexicons if is_given(context, name)]
    if output is not None and real_path(output).parent == real_path(run):
        return f"{output}: a run holds only its own files; choose a place outside {run}"
    if output is not None and os.path.basename(output) in ("", ".", ".."):  # noqa: PTH119 (Path drops a last slash)
        return f"{output}: is a folder; name a file in it"
    if given["vectors"] is not None and (form not in VECTOR_FORMATS or given["side"] not in ("source", "target")):
        return "--vectors needs --format vec, bin or safetensors, and --side source or target"
    if given["min_confidence"] and given["min_probability"] is not None:
        return "--min-confidence and --min-probability exclude each other"
    if output is None and (form in VECTOR_FORMATS or FORMATS[form].endings or not FORMATS[form].is_text):
        return f"{form} is not for a terminal; name a file with -o"
    if form in FORMATS:
        return f"--side is for vectors, and {form} is a lexicon" if given["side"] is not None else None
    if chosen:
        return f"--{chosen[0].replace('_', '-')} is for lexicons, and {form} is not"
    endings = VECTOR_FORMATS[form]
    if not output.lower().endswith(endings) or Path(output).name.lower() in endings:
        return f"{output}: the name of a {form} file ends in {', '.join(endings)}"
    return None


def book_of(run: Run, folder: str, reviewed: bool, min_confidence: float, min_probability: float | None) -> Book:
    """Return the lexicon for a format, or all pairs of at least `min_probability`; as it was reviewed, if asked to."""
    from bilex.lexicon.formats.book import Book
    from bilex.lexicon.reviewed import ReviewedLexicon, read_reviewed
    from bilex.version import __version__

    review = read_reviewed(Path(folder) / "reviewed") if reviewed else ReviewedLexicon()
    entries = reviewed_entries(run, review) if reviewed else list(run.lexicon)
    least = min_confidence if min_probability is None else min_probability
    confident = [entry for entry in entries if entry.confidence >= least]
    if min_probability is not None:  # in the order of the source words' frequency, likeliest first
        sets = {entry[:2]: entry for entry in (*run.sets(least), *confident) if entry[:2] not in review.forbidden}
        rank, last = run.source.index, len(run.source)
        entries = sorted(sets.values(), key=lambda entry: (rank.get(entry.source, last), -entry.confidence))
    else:
        entries = confident
    translations = partial(probable_translations, run, review, least)
    return Book(entries, run.source.name, run.target.name, f"bilex {__version__}", translations)


def reviewed_entries(run: Run, review: ReviewedLexicon) -> list[Entry]:
    """Return the pairs that the review left or put in, in the order of the source words' frequency.

    A pair that a person has settled is certain, and its origin is the review. A correction with a word that has no
    vector has the score 0, and a rank behind all words.
    """
    from bilex.lexicon.lexicon import REVIEW, Entry
    from bilex.runs.prepared import rows_of_pairs

    known = {entry[:2]: entry for entry in run.lexicon}
    added = rows_of_pairs((pair for pair in review.kept if pair not in known), run.source, run.target)
    known |= {entry[:2]: entry for entry in run.entries_of(added, [REVIEW] * len(added))}
    for pair in review.kept:
        entry = known.get(pair) or Entry(*pair, 0.0, len(run.target) + 1, False, REVIEW, 1.0)
        known[pair] = entry._replace(origin=REVIEW, confidence=1.0)
    last = len(run.source)
    return [known[pair] for pair in sorted(review.pairs, key=lambda pair: run.source.index.get(pair[0], last))]


def probable_translations(run: Run, review: ReviewedLexicon, least: float, reverse: bool) -> Iterator[Translations]:
    """Yield the candidates of every word with their probabilities, as the review has settled them.

    They are those of the lexicon; where a word's add up to more than 1, they are divided by their sum.
    """
    side, other_side = (run.target, run.source) if reverse else (run.source, run.target)
    candidates = run.candidates.mirrored() if reverse else run.candidates
    settled: dict[str, list[str]] = {}
    for pair in review.kept:
        word, other = pair[::-1] if reverse else pair
        settled.setdefault(word, []).append(other)
    forbidden = {pair[::-1] if reverse else pair for pair in review.forbidden}
    outside = (word for word in settled if word not in side)
    for row, word in enumerate(chain(side.words, outside)):
        if word in settled:
            yield word, [(other, 1 / len(settled[word])) for other in settled[word]]
            continue
        named = [(other_side.words[column], p) for column, _, p in candidates.listed(row)]
        kept = [(other, p) for other, p in named if p >= least and (word, other) not in forbidden]
        total = max(1.0, sum(p for _, p in kept))
        yield word, [(other, p / total) for other, p in kept]


def write_sides(run: Run, output: str, side: str, reporter: Reporter) -> list[str]:
    """Write the vectors of one language or of both, and return the names of the files."""
    from bilex.files.ownership import check_not_input

    names = names_of_sides(output, run.source.name, run.target.name) if side == "both" else {side: output}
    check_not_input(run.info, *names.values())
    for which, path in names.items():
        reporter.stage(f"writing {path}")
        write_words(path, getattr(run, which).words, getattr(run.space, which), reporter)
    return list(names.values())


def write_words(path: str, words: Sequence[str], vectors: Vectors, reporter: Reporter) -> None:
    """Write words and vectors, without the words that the format cannot hold."""
    from bilex.lexicon.formats.book import warn_about_words
    from bilex.vectors.writers import write_vectors

    if not path.endswith(".safetensors"):
        left_out = [word for word in words if not word or SEPARATOR.search(word)]
        warn_about_words(left_out, "word", "with a space left out", "safetensors keeps them", path)
        if left_out:
            gone = set(left_out)
            rows = [row for row, word in enumerate(words) if word not in gone]
            words, vectors = [words[row] for row in rows], vectors[rows]
    write_vectors(path, words, vectors, reporter.rows)


def write_transformed(run: Run, vectors: str, output: str, side: str, reporter: Reporter) -> list[str]:
    """Map the vectors of a file into the shared space; a fastText model as a model, if a binary file is asked for."""
    from bilex.files.ownership import check_not_read
    from bilex.files.streams import FASTTEXT_MAGIC, ByteStream
    from bilex.runs.transforming import transform_model
    from bilex.vectors.embeddings import load
    from bilex.vectors.fasttext import open_fasttext

    check_not_read(output, [vectors])
    with ByteStream(vectors) as stream:
        is_model = stream.head.startswith(FASTTEXT_MAGIC)
    reporter.stage(f"writing {output}")
    if is_model and output.lower().endswith(".bin"):
        transform_model(run, open_fasttext(vectors), output, side)
    else:
        mapped = run.transform(load(vectors, limit=None), side)
        write_words(output, mapped.words, mapped.vectors, reporter)
    return [output]


def names_of_sides(output: str, source: str, target: str) -> dict[str, str]:
    """Put the names of the languages before the ending of a file name, if they are two language tags."""
    from bilex.lexicon.formats.book import language_tag

    tags = language_tag(source), language_tag(target)
    if "und" in tags or tags[0].lower() == tags[1].lower():
        tags = ("source", "target")
    endings = (ending for group in VECTOR_FORMATS.values() for ending in group if output.lower().endswith(ending))
    ending = output[-len(max(endings, key=len)) :]
    stem = output.removesuffix(ending)
    return {"source": f"{stem}.{tags[0]}{ending}", "target": f"{stem}.{tags[1]}{ending}"}
