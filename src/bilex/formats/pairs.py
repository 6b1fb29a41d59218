"""Word pairs in: seed dictionaries and gold dictionaries, one pair per line."""

from __future__ import annotations

import os

from bilex.errors import InputError
from bilex.formats.examine import fields_of
from bilex.formats.wordlists import WordList, decoded

__all__ = ["read_pairs"]


def read_pairs(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Read a dictionary: on each line a source word and a target word.

    The two are separated by a tab, or in a line without tabs by spaces. Blank lines are skipped, and a pair
    that occurs again is the same pair.

    Parameters
    ----------
    path
        The file, in UTF-8, plain or gzipped.

    Returns
    -------
    list of tuple of str
        The pairs in the order of their first occurrence.

    Raises
    ------
    InputError
        If a line does not hold exactly two words, is not UTF-8, or there is no pair at all.
    """
    lines = WordList(path)
    pairs: dict[tuple[str, str], None] = {}
    for number, line in lines:
        pair = _pair(lines.path, number, line)
        if pair is not None:
            pairs[pair] = None
    if not pairs:
        raise InputError(lines.path, "no pair in the file", "put a source and a target word on each line")
    lines.warn()
    return list(pairs)


def _pair(path: str, number: int, line: bytes) -> tuple[str, str] | None:
    if b"\t" in line:
        fields = [stripped for part in line.split(b"\t") if (stripped := part.strip(b" "))]
    else:
        fields = fields_of(line)
    if not fields:
        return None
    words = decoded(path, number, fields)
    if len(words) != 2:
        found = "one field" if len(words) == 1 else f"{len(words)} fields"
        raise InputError(
            path,
            f"expected a source and a target word but found {found}",
            "put two words on the line, with a tab between them if a word has spaces",
            line=number,
        )
    return words[0], words[1]
