"""Cycles: whether the lexicons of three languages agree about an entry.

Follow a word from a language to a second, to a third and back: lexicons that are right return to the first word. An
entry (a, b) is *tested* by a third language if both of its words have partners there, and *agrees* with it if they
have one in common.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bilex.files.atomic import atomic_write_text
from bilex.lexicon.lexicon import Lexicon
from bilex.lexicon.text import tsv_table
from bilex.numerics.types import Floats, Indices

CYCLES_HEADER = ("source", "target", "tested", "agreed", "agreement")
Partners = Mapping[str, Sequence[str]]
"""The partners of each word in another language."""


@dataclass(frozen=True, eq=False)
class Cycles:
    """How far other languages agree with each entry of a lexicon, in the lexicon's order."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    tested: Indices  # how many third languages have partners for both words
    agreed: Indices  # how many of these have a partner in common

    @property
    def agreement(self) -> Floats:
        """The share of the third languages that agree; NaN where nothing was tested."""
        shares = np.full(len(self.tested), np.nan)
        np.divide(self.agreed, self.tested, out=shares, where=self.tested > 0)
        return shares

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a table with a line for each entry; the share of an untested entry is empty."""
        shares = [f"{share:.6f}" if share >= 0 else "" for share in self.agreement.tolist()]
        columns = (self.source, self.target, self.tested.tolist(), self.agreed.tolist(), shares)
        atomic_write_text(path, tsv_table(CYCLES_HEADER, zip(*columns, strict=True)))


@dataclass(frozen=True)
class Triple:
    """How many words of the first language return to it by way of the other two, and how many to themselves."""

    languages: tuple[str, str, str]
    returned: int
    agreed: int

    @property
    def agreement(self) -> float | None:
        """The share of the returning words that return to themselves; None if no word returns."""
        return round(self.agreed / self.returned, 6) if self.returned else None


def partners_of(lexicon: Lexicon, *, reverse: bool = False, mutual_only: bool = False) -> dict[str, list[str]]:
    """Return the partners of each source word of a lexicon, or with `reverse` of each target word."""
    found: dict[str, list[str]] = {}
    sides = (lexicon.target, lexicon.source) if reverse else (lexicon.source, lexicon.target)
    for word, other, mutual in zip(*sides, lexicon.mutual.tolist(), strict=True):
        if mutual or not mutual_only:
            found.setdefault(word, []).append(other)
    return found


def check_triple(languages: tuple[str, str, str], steps: tuple[Partners, Partners, Partners]) -> Triple:
    """Follow every word of the first language around: `steps` lead to the second, to the third, and back."""
    first, second, third = steps
    returned = agreed = 0
    for word, others in first.items():
        thirds = {end for other in others for end in second.get(other, ())}
        back = {end for other in thirds for end in third.get(other, ())}
        returned += bool(back)
        agreed += word in back
    return Triple(languages, returned, agreed)


def check_entries(lexicon: Lexicon, others: Iterable[tuple[Partners, Partners]]) -> Cycles:
    """Compare every entry with the third languages, each the partners there of the source and of the target words."""
    tested, agreed = np.zeros(len(lexicon), np.int64), np.zeros(len(lexicon), np.int64)
    for of_source, of_target in others:
        for row, (s, t) in enumerate(zip(lexicon.source, lexicon.target, strict=True)):
            ours, theirs = of_source.get(s), of_target.get(t)
            if ours and theirs:
                tested[row] += 1
                agreed[row] += not set(ours).isdisjoint(theirs)
    return Cycles(lexicon.source, lexicon.target, tested, agreed)
