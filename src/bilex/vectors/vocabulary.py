"""Read the words of a matrix that has none: one per line, in the order of the rows."""

from __future__ import annotations

import os
from pathlib import Path

from bilex.errors import InputError
from bilex.files.fields import is_number, split_fields
from bilex.files.streams import MAX_WORD_BYTES
from bilex.files.wordlists import WordList

__all__ = ["find_vocabulary", "fit_to_rows", "read_vocabulary"]

VOCABULARY_SUFFIXES = (".vocab", ".vocab.txt", ".words", ".txt")


def find_vocabulary(path: str, given: str | os.PathLike[str] | None) -> str:
    """Return the vocabulary file of a matrix: the one given, or the one beside it with the same stem."""
    if given is not None:
        return os.fspath(given)
    for suffix in VOCABULARY_SUFFIXES:
        candidate = Path(path).with_suffix(suffix)
        if candidate.is_file():
            return os.fspath(candidate)
    names = ", ".join(Path(path).with_suffix(suffix).name for suffix in VOCABULARY_SUFFIXES)
    raise InputError(
        path,
        "the matrix has no vocabulary",
        f"put one word per line into a file beside it ({names}), or name the file",
    )


def read_vocabulary(path: str) -> tuple[list[bytes], list[str]]:
    """Return the words, not yet decoded, and what was repaired.

    A line is a word. Behind a tab, or if every line is a word and a whole number, there may be a count, which
    is dropped. An empty line stands for a row without a word, so that the others keep their rows.
    """
    listed = WordList(path, plain_file=True)
    lines = [line for _, line in listed]
    _check_lines(path, lines)
    words = [line.partition(b"\t")[0] for line in lines]
    if lines and all(_is_word_and_count(line) for line in lines):
        words = [split_fields(line)[0] for line in lines]
    return words, [f"{path}: {repair}" for repair in listed.repairs]


def fit_to_rows(path: str, words: list[bytes], rows: int) -> list[bytes]:
    """Check that there is one word per row; empty lines at the end do not count."""
    blanks = 0
    while len(words) - blanks > rows and not words[-1 - blanks].strip(b" "):
        blanks += 1
    words = words[: len(words) - blanks]
    if not words:
        raise InputError(path, "the vocabulary is empty", "put one word per line into it")
    if len(words) != rows:
        raise InputError(
            path,
            f"the vocabulary has {len(words)} words but the matrix has {rows} rows",
            "name the vocabulary that belongs to the matrix",
        )
    return words


def _check_lines(path: str, lines: list[bytes]) -> None:
    for number, line in enumerate(lines, start=1):
        if len(line) > MAX_WORD_BYTES:
            raise InputError(
                path,
                f"a line of {len(line):,} bytes (a word has at most {MAX_WORD_BYTES:,})",
                "check that this is a vocabulary, one word per line",
                line=number,
            )
    numbers = split_fields(lines[0])[1:] if lines else []
    if len(numbers) > 2 and all(map(is_number, numbers)):
        raise InputError(
            path, "this looks like vectors, not a vocabulary", "name a file with one word per line", line=1
        )


def _is_word_and_count(line: bytes) -> bool:
    fields = split_fields(line)
    return len(fields) == 2 and fields[1].isdigit()
