"""Collect the rows that a reader of vectors has found: leave out the unusable ones, and count them.

The readers differ in how bytes become rows; which rows are kept is decided here, so that a duplicate word is
treated alike whether it comes from text, a binary file or a NumPy array.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from bilex.errors import InputError
from bilex.files.lines import quoted
from bilex.files.streams import WRONG_FILE

TEXT_HEADER = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]*\r?\n")
"""The first line of a text or word2vec binary file: the number of words and their dimension."""

MAX_UNDECODABLE_SHARE = 0.01
"""If this share of the words is not UTF-8, the file is in another encoding rather than damaged in places."""


@dataclass(frozen=True)
class Loaded:
    """Words and vectors from a file, and what was repaired, one sentence each."""

    words: list[str]
    vectors: NDArray[np.float32]
    paths: tuple[str, ...]
    repairs: tuple[str, ...]


class Tally:
    """Counts how often something was repaired, and remembers the first place."""

    def __init__(self) -> None:
        self.count = 0
        self.first = ""

    def add(self, line: int, word: str | None = None) -> None:
        """Count one repair."""
        if not self.count:
            self.first = f"line {line}" if word is None else f"{quoted(word)}, line {line}"
            self.line = line
        self.count += 1

    def describe(self, noun: str, what: str) -> list[str]:
        """Return the sentence for the warning, or nothing if nothing was repaired."""
        counted = f"{self.count} {noun}{'s' * (self.count > 1)}"
        return [f"{counted} {what.format(first=self.first)}"] if self.count else []


class Collector:
    """Collects rows in one array, without the unusable ones.

    A reader reserves rows (`reserve`), writes into them, and passes their words (`keep`). `expected` rows are reserved
    at the start; the caller should bound them by what the file can hold, not trust its header.
    """

    def __init__(self, path: str, dimension: int, expected: int = 0) -> None:
        self._path, self.dimension = path, dimension
        self._vectors = np.empty((expected, dimension), dtype=np.float32)
        self._rows: dict[str, int] = {}
        self.rows_seen = 0
        self.duplicates, self.zeros, self.empty, self.undecodable = Tally(), Tally(), Tally(), Tally()

    def reserve(self, count: int) -> NDArray[np.float32]:
        """Return the next ``count`` rows, to be written to. Do not keep them across another call."""
        used = len(self._rows)
        needed = used + count
        if needed > len(self._vectors):
            # Subtle: resizing in place moves memory pages instead of copying them, so the peak stays near the
            # result's own size. It is safe because there is no view of the array at this point.
            roomier = max(needed, len(self._vectors) * 9 // 8)
            self._vectors.resize((roomier, self.dimension), refcheck=False)
        return self._vectors[used:needed]

    def keep(self, words: Sequence[str | None], lines: NDArray[np.int64]) -> None:
        """Keep the usable ones of the rows just written, one per word; ``None`` stands for a word that is not UTF-8."""
        used = len(self._rows)
        block = self._vectors[used : used + len(words)]
        self.rows_seen += len(words)
        zero = block[:, 0] == 0
        zero[zero] = ~block[zero].any(axis=1)
        if not zero.any() and self._all_new(words):
            self._rows.update(zip(words, range(used, used + len(words)), strict=True))
            return
        kept = []
        for position, word in enumerate(words):
            if word is None:
                self.undecodable.add(int(lines[position]))
            elif not word:
                self.empty.add(int(lines[position]))
            elif word in self._rows:
                self.duplicates.add(int(lines[position]), word)
            elif zero[position]:
                self.zeros.add(int(lines[position]), word)
            else:
                self._rows[word] = len(self._rows)
                kept.append(position)
        if len(kept) < len(words):
            block[: len(kept)] = block[kept]

    def _all_new(self, words: Sequence[str | None]) -> TypeGuard[Sequence[str]]:
        """Check that nothing is wrong with any of the words, as in nearly every block."""
        different = set(words)
        return len(different) == len(words) and not {None, ""} & different and self._rows.keys().isdisjoint(different)

    def finish(self, paths: tuple[str, ...], repairs: Sequence[str] = ()) -> Loaded:
        """Return what was collected, or raise if that is nothing or too much is not UTF-8."""
        bad = self.undecodable
        if bad.count and bad.count >= MAX_UNDECODABLE_SHARE * self.rows_seen:
            problem = f"{bad.count} of {self.rows_seen} words are not UTF-8"
            raise InputError(self._path, problem, "convert to UTF-8, e.g. with iconv", line=bad.line)
        if not self._rows:
            raise InputError(self._path, "no usable word vector in the file", WRONG_FILE)
        self._vectors.resize((len(self._rows), self.dimension), refcheck=False)
        messages = [
            *repairs,
            *bad.describe("word", "not UTF-8 left out (first: {first})"),
            *self.empty.describe("empty word", "left out (first: {first})"),
            *self.duplicates.describe("duplicate word", "left out (first: {first}); the first occurrence is kept"),
            *self.zeros.describe("word", "left out because all numbers of the vector are zero (first: {first})"),
        ]
        return Loaded(list(self._rows), self._vectors, paths, tuple(messages))


def check_finite(path: str, block: NDArray[np.float32], first_line: int) -> None:
    """Raise if a row holds NaN or infinity, or a number too large for 32 bits (it has become infinite)."""
    finite = np.isfinite(block).all(axis=1)
    if not finite.all():
        problem, line = "a number is NaN, infinite or too large for 32 bits", first_line + int(np.argmin(finite))
        raise InputError(path, problem, "remove or correct this word", line=line)


def decode_words(words: Sequence[bytes | memoryview]) -> list[str | None]:
    """Decode each word from UTF-8; ``None`` where that is impossible."""
    try:
        return [str(word, "utf-8") for word in words]
    except UnicodeDecodeError:
        return [None] if len(words) == 1 else [decode_words([word])[0] for word in words]
