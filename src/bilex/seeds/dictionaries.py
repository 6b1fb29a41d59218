"""Read seed dictionaries and gold dictionaries: one pair of words on each line."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence

import numpy as np

from bilex.errors import InputError
from bilex.files.lines import WordList, decode_fields, split_fields


class DictionaryPairs(Sequence[tuple[str, str]]):
    """The pairs of a dictionary, held as bytes: as a list of tuples they would take seven times the file's size."""

    def __init__(self) -> None:
        self._text = bytearray()  # of each pair the source word, a tab and the target word, in UTF-8
        self._ends = array("q", [0])

    def append(self, source: bytes, target: bytes) -> None:
        """Add a pair at the end."""
        self._text += source + b"\t" + target
        self._ends.append(len(self._text))

    def without_repetitions(self) -> DictionaryPairs:
        """Return the pairs in the order of their first occurrence."""
        hashes = np.fromiter((hash(self._bytes(place)) for place in range(len(self))), np.int64, len(self))
        order = np.argsort(hashes, kind="stable")
        repeated = np.zeros(len(self), np.bool_)
        for spot in np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]]):
            before, place = order[spot : spot + 2].tolist()
            repeated[place] = self._bytes(before) == self._bytes(place)
        if not repeated.any():
            return self
        kept = DictionaryPairs()
        for place in np.flatnonzero(~repeated).tolist():
            kept.append(*self._bytes(place).split(b"\t"))
        return kept

    def _bytes(self, place: int) -> bytes:
        return bytes(self._text[self._ends[place] : self._ends[place + 1]])

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, place: int) -> tuple[str, str]:  # type: ignore[override]  # without slices
        source, target = self._bytes(range(len(self))[place]).decode("utf-8").split("\t")
        return source, target


def read_pairs(path: str | os.PathLike[str]) -> DictionaryPairs:
    """Read a dictionary: on each line a source word and a target word.

    The two are separated by a tab, or in a line without tabs by spaces. Blank lines are skipped, and a pair
    that occurs again is the same pair.
    """
    lines = WordList(path)
    pairs = DictionaryPairs()
    for number, line in lines:
        if fields := two_words(lines.path, number, line):
            pairs.append(*fields)
    if not pairs:
        raise InputError(lines.path, "no pair in the file", "put a source and a target word on each line")
    lines.warn()
    return pairs.without_repetitions()


def two_words(path: str, number: int, line: bytes) -> list[bytes]:
    """Split a line of a dictionary into its two words; a blank line into none."""
    if b"\t" in line:
        fields = [stripped for part in line.split(b"\t") if (stripped := part.strip(b" "))]
    else:
        fields = split_fields(line)
    decode_fields(path, number, fields)
    if len(fields) not in (0, 2):
        found = "one field" if len(fields) == 1 else f"{len(fields)} fields"
        problem = f"expected a source and a target word but found {found}"
        remedy = "put two words on the line, with a tab between them if a word has spaces"
        raise InputError(path, problem, remedy, line=number)
    return fields
