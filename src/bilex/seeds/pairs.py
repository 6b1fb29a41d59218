"""The pairs of a dictionary in little memory, and those of two languages out of a file of many."""

import os
import warnings
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from bilex.errors import BilexWarning, InputError
from bilex.files.lines import quoted
from bilex.files.streams import WRONG_FILE

MAX_LANGUAGES_NAMED = 5
MAX_LANGUAGES = 100


class DictionaryPairs(Sequence[tuple[str, str]]):
    """The pairs of a dictionary, held as bytes: as a list of tuples they would take seven times the file's size."""

    def __init__(self) -> None:
        self._text = bytearray()  # of each pair the source word, a tab and the target word, in UTF-8
        self._ends = array("q", [0])

    def append(self, source: bytes, target: bytes) -> None:
        """Add a pair at the end."""
        self._text += source + b"\t" + target
        self._ends.append(len(self._text))

    def without_repetitions(self) -> Self:
        """Return the pairs in the order of their first occurrence."""
        hashes = np.fromiter((hash(self._bytes(place)) for place in range(len(self))), np.int64, len(self))
        order = np.argsort(hashes, kind="stable")
        repeated = np.zeros(len(self), np.bool_)
        for spot in np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]]):
            before, place = order[spot : spot + 2].tolist()
            repeated[place] = self._bytes(before) == self._bytes(place)
        if not repeated.any():
            return self
        kept = type(self)()
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


class DictionaryName(NamedTuple):
    """The name of a dictionary taken apart: its file, and the two languages or columns that follow it, if any."""

    file: str
    sides: tuple[str, str] | None

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Self:
        """Split ``FILE:SOURCE:TARGET``, unless all of it is the name of a file."""
        name = os.fspath(path)
        file, *sides = name.rsplit(":", 2)
        if len(sides) == 2 and all(sides) and file and not os.path.lexists(name) and Path(file).exists():
            return cls(file, (sides[0], sides[1]))
        return cls(name, None)


class FoundPair(NamedTuple):
    """Two words that a file translates into each other, each with the names of its language; none if not known."""

    left_language: tuple[str, ...]
    left: str
    right_language: tuple[str, ...]
    right: str

    @property
    def languages(self) -> str:
        """The two languages, for messages."""
        return "-".join((*self.left_language[:1], *self.right_language[:1]))

    def in_direction(self, source: str, target: str) -> tuple[str, str] | None:
        """Return the source and the target word, whichever comes first in the file; None if in other languages."""
        if is_named(self.left_language, source) and is_named(self.right_language, target):
            return self.left, self.right
        if is_named(self.left_language, target) and is_named(self.right_language, source):
            return self.right, self.left
        return None


def is_named(language: tuple[str, ...], name: str) -> bool:
    """Check whether a language may have that name."""
    return not language or name.lower() in language


def select(found: Iterable[FoundPair], name: DictionaryName, source: str, target: str) -> DictionaryPairs:
    """Return the pairs of two languages, those after the name of the file if there are any.

    If the file has only two others, these are taken. Each side has to be one word; others are counted in a warning.
    """
    source, target = name.sides or (source, target)
    pairs, skipped = {True: DictionaryPairs(), False: DictionaryPairs()}, {True: 0, False: 0}  # of these two, of others
    example: dict[bool, str] = {}
    languages: dict[str, None] = {}
    for each in found:
        words = each.in_direction(source, target)
        if len(languages) < MAX_LANGUAGES:
            languages[each.languages] = None
        wanted = words is not None
        if not wanted and len(languages) > 1:
            continue
        words = words or (each.left, each.right)
        if several := [word for word in words if word.split() != [word]]:
            example.setdefault(wanted, several[0])
            skipped[wanted] += 1
        else:
            pairs[wanted].append(*(word.encode("utf-8") for word in words))
    wanted = bool(pairs[True]) or len(languages) != 1 or name.sides is not None
    if not pairs[wanted]:
        named = [language for language in languages if language]
        if not named or (not wanted and skipped[wanted]):
            raise InputError(name.file, "no pair of single words in the file", WRONG_FILE)
        listed = ", ".join(named[:MAX_LANGUAGES_NAMED]) + (", ..." if len(named) > MAX_LANGUAGES_NAMED else "")
        problem = f"no pair of single words in {source} and {target}, but languages {listed}"
        raise InputError(name.file, problem, f"name two of them after the file, such as {name.file}:en:fi")
    if skipped[wanted]:
        problem = f"{skipped[wanted]:,} pairs with several words on a side, or none, skipped"
        message = f"{name.file}: {problem} (first: {quoted(example[wanted])})"
        warnings.warn(message, BilexWarning, stacklevel=3)
    return pairs[wanted].without_repetitions()
