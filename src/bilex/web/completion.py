"""Search for words while they are typed, ignoring case and accents."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from bilex.numerics.types import Indices


def fold_for_search(text: str) -> str:
    """Remove case, accents and width, so that what is easily typed finds what is written."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in parts if not unicodedata.combining(char)) or text


class Completion:
    """The words of a language in alphabetical order; finds the most frequent ones with a given prefix."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        folded = np.array([fold_for_search(word) for word in words], object)
        self.order: Indices = np.argsort(folded, kind="stable")
        self.folded: list[str] = folded[self.order].tolist()
        new = np.array([a != b for a, b in pairwise(self.folded)], np.int64)
        self.places = np.empty(len(words), np.int64)  # of each row in the alphabet, from 0; equal where spelt alike
        self.places[self.order] = np.concatenate([np.zeros(min(1, len(words)), np.int64), np.cumsum(new)])

    def __call__(self, prefix: str, limit: int) -> list[int]:
        """Return the rows of the words with the prefix: exact matches first, then by frequency."""
        sought = fold_for_search(prefix)
        first = bisect_left(self.folded, sought)
        last = bisect_left(self.folded, sought + "\U0010ffff", lo=first)
        rows = self.order[first:last]
        if len(rows) > limit:
            rows = np.partition(rows, limit)[: limit + 1]
        end = bisect_right(self.folded, sought, lo=first)
        exact = [row for row in self.order[first:end].tolist() if self.words[row] == prefix]
        return [*exact, *(row for row in np.sort(rows).tolist() if row not in exact)][:limit]
