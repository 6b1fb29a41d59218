"""Word pairs in: seed dictionaries and gold dictionaries, one pair per line."""

from __future__ import annotations

import os

from bilex.errors import InputError
from bilex.files.wordlists import WordList, decoded
from bilex.seeds.packed import PackedPairs
from bilex.vectors.examine import fields_of

__all__ = ["read_pairs"]


def read_pairs(path: str | os.PathLike[str]) -> PackedPairs:
    """Read a dictionary: on each line a source word and a target word.

    The two are separated by a tab, or in a line without tabs by spaces. Blank lines are skipped, and a pair
    that occurs again is the same pair.

    Parameters
    ----------
    path
        The file, in UTF-8, plain or gzipped.

    Returns
    -------
    PackedPairs
        The pairs in the order of their first occurrence, to be read like a list of tuples.

    Raises
    ------
    InputError
        If a line does not hold exactly two words, is not UTF-8, or there is no pair at all.
    """
    lines = WordList(path)
    pairs = PackedPairs()
    for number, line in lines:
        if fields := _fields(lines.path, number, line):
            pairs.append(*fields)
    if not pairs:
        raise InputError(lines.path, "no pair in the file", "put a source and a target word on each line")
    lines.warn()
    return pairs.distinct()


def _fields(path: str, number: int, line: bytes) -> list[bytes]:
    if b"\t" in line:
        fields = [stripped for part in line.split(b"\t") if (stripped := part.strip(b" "))]
    else:
        fields = fields_of(line)
    decoded(path, number, fields)
    if len(fields) not in (0, 2):
        found = "one field" if len(fields) == 1 else f"{len(fields)} fields"
        raise InputError(
            path,
            f"expected a source and a target word but found {found}",
            "put two words on the line, with a tab between them if a word has spaces",
            line=number,
        )
    return fields
