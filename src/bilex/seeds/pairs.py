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


class Selection:
    """Collects the pairs of two languages, or of the only two in the file if these are not."""

    def __init__(self, source: str, target: str) -> None:
        self.source, self.target = source, target
        self.pairs, self.others = DictionaryPairs(), DictionaryPairs()
        self.languages: dict[str, None] = {}
        self.skipped = {True: 0, False: 0}
        self.example = {True: "", False: ""}

    def add(self, found: FoundPair) -> None:
        """Take a pair, if each side is one word of the right language."""
        pair = found.in_direction(self.source, self.target)
        if len(self.languages) < MAX_LANGUAGES:
            self.languages[found.languages] = None
        if pair is None and len(self.languages) > 1:
            return
        wanted = pair is not None
        words = pair or (found.left, found.right)
        several = next((word for word in words if word.split() != [word]), None)
        if several is not None:
            self.example[wanted] = self.example[wanted] or several
            self.skipped[wanted] += 1
        else:
            source, target = words
            (self.pairs if wanted else self.others).append(source.encode("utf-8"), target.encode("utf-8"))

    def result(self, name: DictionaryName) -> DictionaryPairs:
        """Return the pairs, each once, and count what was skipped."""
        wanted = bool(self.pairs) or len(self.languages) != 1 or name.sides is not None
        pairs = self.pairs if wanted else self.others
        if not pairs:
            found = [language for language in self.languages if language]
            if not found or (not wanted and self.skipped[wanted]):
                raise InputError(name.file, "no pair of single words in the file", WRONG_FILE)
            named = ", ".join(found[:MAX_LANGUAGES_NAMED]) + (", ..." if len(found) > MAX_LANGUAGES_NAMED else "")
            problem = f"no pair of single words in {self.source} and {self.target}, but languages {named}"
            raise InputError(name.file, problem, f"name two of them after the file, such as {name.file}:en:fi")
        if count := self.skipped[wanted]:
            problem = f"{count:,} pairs with several words on a side, or none, skipped"
            example = quoted(self.example[wanted])
            warnings.warn(f"{name.file}: {problem} (first: {example})", BilexWarning, stacklevel=4)
        return pairs.without_repetitions()


def select(found: Iterable[FoundPair], name: DictionaryName, source: str, target: str) -> DictionaryPairs:
    """Return the pairs of two languages, those after the name of the file if there are any."""
    selection = Selection(*(name.sides or (source, target)))
    for pair in found:
        selection.add(pair)
    return selection.result(name)
