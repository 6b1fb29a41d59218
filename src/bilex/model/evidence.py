"""The kinds of evidence for a pair of words besides the vectors, and the curves that turn them into nats.

A kind of evidence measures pairs of rows. What a value says for a pair is a curve over its knots, piecewise linear and
flat outside of them. `bilex.model.counting` estimates the curves from the run itself, and
`bilex.model.pair_weights` improves them with a dictionary.

To add a kind of evidence, write a class like `SpellingEvidence` and list it in `kinds_between`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bilex.numerics.types import Floats, Indices
from bilex.vectors.spelling import SpellingComparison

Flags = NDArray[np.bool_]


class Evidence(Protocol):
    """A kind of evidence: its name, the knots of its curve, and how to measure it on pairs of rows.

    `direction` is 1 where a larger value speaks for a pair, -1 where a smaller one does, and 0 where that is not known.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def knots(self) -> tuple[float, ...]: ...  # noqa: D102
    @property
    def direction(self) -> int: ...  # noqa: D102
    def measure(self, rows: Indices, columns: Indices) -> Floats:
        """Measure it on pairs of a source row and a target row."""
        ...


@dataclass(frozen=True, eq=False)
class SpellingEvidence:
    """How alike two words are spelt, from 0 to 1, after folding and transliteration."""

    comparison: SpellingComparison
    name: str = "spelling"
    knots: tuple[float, ...] = tuple(tenth / 10 for tenth in range(11))
    direction: int = 1

    def measure(self, rows: Indices, columns: Indices) -> Floats:
        """Compare the spellings."""
        return self.comparison.likeness(rows, columns)


@dataclass(frozen=True, eq=False)
class FrequencyEvidence:
    """How far apart the frequency ranks of two words are: the difference of their logarithms."""

    name: str = "frequency"
    knots: tuple[float, ...] = tuple(half / 2 for half in range(13))
    direction: int = -1

    def measure(self, rows: Indices, columns: Indices) -> Floats:
        """Compare the ranks."""
        return np.asarray(np.abs(np.log1p(rows) - np.log1p(columns)))


def kinds_between(source_words: Sequence[str], target_words: Sequence[str]) -> tuple[Evidence, ...]:
    """Return the kinds of evidence for pairs of words of two vocabularies."""
    return SpellingEvidence(SpellingComparison(source_words, target_words)), FrequencyEvidence()


@dataclass(frozen=True, eq=False)
class Measured:
    """A kind of evidence as measured on the edges of a graph."""

    name: str
    knots: tuple[float, ...]
    direction: int
    values: Floats

    @classmethod
    def on(cls, kind: Evidence, rows: Indices, columns: Indices) -> Measured:
        """Measure a kind of evidence on pairs of rows."""
        return cls(kind.name, kind.knots, kind.direction, kind.measure(rows, columns))

    def where(self, keep: Flags) -> Measured:
        """Return only these edges."""
        return Measured(self.name, self.knots, self.direction, self.values[keep])

    def nats(self, curve: Floats) -> Floats:
        """Read the curve, given by its values at the knots, at every edge."""
        return np.interp(self.values, self.knots, curve)

    def counts(self, marked: Flags) -> Floats:
        """Count the marked edges at each knot; a value between two knots is shared between them."""
        values = np.clip(self.values[marked], self.knots[0], self.knots[-1])
        left = np.clip(np.searchsorted(self.knots, values, side="right") - 1, 0, len(self.knots) - 2)
        knots = np.asarray(self.knots)
        part = (values - knots[left]) / np.diff(knots)[left]
        width = len(knots)
        return np.asarray(np.bincount(left, 1 - part, width) + np.bincount(left + 1, part, width), np.float64)

    def stretches(self) -> Floats:
        """Return a column for each stretch between knots: how much of it lies below the value, from 0 to 1.

        With the increments of a curve as weights, the columns add up to the curve less its first value.
        """
        knots = np.asarray(self.knots)
        return np.asarray(np.clip((self.values[:, None] - knots[:-1]) / np.diff(knots), 0.0, 1.0))
