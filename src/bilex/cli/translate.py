"""``bilex translate``: look words up in a run."""

import sys
import warnings
from collections.abc import Mapping

import click

from bilex.cli import options
from bilex.cli.terminal import echo
from bilex.errors import BilexError, BilexWarning, InputError

SCORES = {"model": "weight (in nats)", "csls": "CSLS", "nn": "cosine"}


@click.command()
@options.run_argument
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("-k", default=5, type=click.IntRange(1), metavar="N", help="Translations per word.")
@options.min_probability_option("All translations that are right with at least this probability, instead of -k.")
@options.retrieval_option("model")
@options.reverse_option
@click.option(
    "--subwords",
    type=click.Path(),
    metavar="MODEL",
    help="The fastText model of the words' language, for words that have no vector.",
)
@options.output_options
@click.pass_context
def translate(
    context: click.Context,
    run: str,
    words: tuple[str, ...],
    k: int,
    min_probability: float | None,
    retrieval: str,
    reverse: bool,
    subwords: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Translate WORDs, or the words on stdin, one on each line.

    Prints word, translation, score and the probability that it is right, separated by tabs. A term of several words,
    in quotes or on a line of its own, is composed from its words if it has no vector.
    """
    from bilex.runs.run import Run
    from bilex.vectors.hints import describe_missing

    if min_probability is not None:
        for name in ("k", "retrieval"):
            if options.is_given(context, name) and (name == "k" or retrieval != "model"):
                option = "-k" if name == "k" else f"--retrieval {retrieval}"
                raise click.UsageError(f"--min-probability and {option} exclude each other", context)
    if not words:
        words = tuple(line.strip("\r\n") for line in read_lines() if line.strip())
    if not words:
        raise BilexError("no words to translate; give them as arguments or on stdin, one on each line")
    learnt = Run.load(run, lazy=subwords is None and retrieval == "model")
    vocabulary = (learnt.target if reverse else learnt.source).index
    words = tuple(word if word in vocabulary else " ".join(word.split()) or word for word in words)
    model = None if subwords is None else learnt.subwords(subwords, reverse=reverse)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BilexWarning)  # about words without a vector: below, with the name of the run
        answers = learnt.translate_many(
            words, k, min_probability=min_probability, retrieval=retrieval, reverse=reverse, subwords=model
        )
        others = [word for word in words if word not in vocabulary]
        missing = [word for word in others if learnt.vector(word, reverse=reverse, subwords=model) is None]
    pairs = list(zip(words, answers, strict=True))
    listed = describe_missing(missing, vocabulary)
    if as_json:
        options.print_json({"translations": {word: [vars(answer) for answer in found] for word, found in pairs}})
    else:
        if sys.stdout.isatty() and not quiet:
            columns = f"word, translation, {SCORES.get(retrieval, 'score')}, probability that it is right"
            echo(f"{columns} (--retrieval {retrieval})", err=True)
        for word, found in pairs:
            for answer in found:
                echo(f"{word}\t{answer.word}\t{answer.score:.6f}\t{answer.probability:.4f}", wrap=False)
    if len(missing) == len(words):
        turned = (learnt.source if reverse else learnt.target).index
        raise BilexError(f"{run}: {listed}; {advise_search(missing, turned, reverse=reverse, subwords=bool(subwords))}")
    if missing and not quiet:
        echo(f"bilex: warning: {run}: {listed}", err=True)


def advise_search(missing: list[str], other: Mapping[str, int], *, reverse: bool, subwords: bool) -> str:
    """Return what to try if no word was found; `other` holds the words of the other language."""
    if known := next((word for word in missing if word in other), None):
        return f"{known} is a word of the other language: {'leave out' if reverse else 'add'} --reverse"
    model = "" if subwords else ", or give their fastText model with --subwords"
    return f"check the case of the words, or the direction (--reverse){model}"


def read_lines() -> list[str]:
    """Read stdin as UTF-8, whatever the locale is; no more of it than of a list of words in a file."""
    from bilex.files.lines import MAX_LINE_BYTES, MAX_LIST_BYTES
    from bilex.files.streams import UTF8_BOM, WRONG_FILE

    content = sys.stdin.buffer.read(MAX_LIST_BYTES + 1)
    if len(content) > MAX_LIST_BYTES:
        raise InputError("stdin", f"more than {MAX_LIST_BYTES:,} bytes", "translate fewer words at a time")
    for number, line in enumerate(content.split(b"\n"), 1):
        if len(line) > MAX_LINE_BYTES:
            raise InputError("stdin", f"a line of {len(line):,} bytes", WRONG_FILE, line=number)
    try:
        return content.removeprefix(UTF8_BOM).decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InputError("stdin", "this is not UTF-8", "convert it, e.g. with iconv", line=line) from None
