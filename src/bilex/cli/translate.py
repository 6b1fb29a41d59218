"""``bilex translate``: look words up in a run."""

from __future__ import annotations

import sys
import warnings

import click

from bilex.cli.options import json_option, print_json, quiet_option, retrieval_option, reverse_option, run_argument
from bilex.cli.terminal import echo
from bilex.errors import BilexError, BilexWarning, InputError


@click.command()
@run_argument
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("-k", default=5, show_default=True, type=click.IntRange(1), help="Translations per word.")
@retrieval_option("model")
@reverse_option
@click.option(
    "--subwords",
    type=click.Path(),
    metavar="MODEL",
    help="The fastText model of the words' language, for words that have no vector.",
)
@json_option
@quiet_option
def translate(
    run: str,
    words: tuple[str, ...],
    k: int,
    retrieval: str,
    reverse: bool,
    subwords: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Translate WORDs, or the words on stdin, one on each line.

    Prints word, translation and score, separated by tabs. A term of several words, in quotes or on a line of its own,
    is composed from its words if it has no vector.
    """
    from bilex.runs.run import Run
    from bilex.vectors.hints import describe_missing

    if not words:
        words = tuple(line.strip("\r\n") for line in read_lines() if line.strip())
    if not words:
        raise BilexError("no words to translate; give them as arguments or on stdin, one on each line")
    learnt = Run.load(run)
    model = None if subwords is None else learnt.subwords(subwords, reverse=reverse)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BilexWarning)  # about words without a vector: below, with the name of the run
        answers = learnt.translate_many(words, k, retrieval=retrieval, reverse=reverse, subwords=model)
    pairs = list(zip(words, answers, strict=True))
    missing = [word for word, found in pairs if not found]
    listed = describe_missing(missing, (learnt.target if reverse else learnt.source).index)
    if as_json:
        print_json({"translations": {word: [vars(answer) for answer in found] for word, found in pairs}})
    else:
        for word, found in pairs:
            for answer in found:
                click.echo(f"{word}\t{answer.word}\t{answer.score:.6f}")
    if not any(answers):
        other = "" if subwords else ", or give their fastText model with --subwords"
        raise BilexError(f"{run}: {listed}; check the case of the words, or the direction (--reverse){other}")
    if missing and not quiet:
        echo(f"bilex: warning: {run}: {listed}", err=True)


def read_lines() -> list[str]:
    """Read stdin as UTF-8, whatever the locale is."""
    from bilex.files.streams import UTF8_BOM

    try:
        return sys.stdin.buffer.read().removeprefix(UTF8_BOM).decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InputError("stdin", "this is not UTF-8", "convert it, e.g. with iconv", line=line) from None
