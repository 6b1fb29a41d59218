"""Cycles: whether the lexicons of three languages agree about an entry.

Follow a word from a language to a second, to a third and back: lexicons that are right return to the first word. An
entry (a, b) is *tested* by a third language if both of its words have partners there, and *agrees* with it if they
have one in common. The *closeness* is the highest cosine of a partner of a with a partner of b, 1 where they agree.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bilex.files.atomic import atomic_write_text
from bilex.lexicon.lexicon import Lexicon
from bilex.lexicon.text import tsv_table
from bilex.numerics.rows import unit
from bilex.numerics.types import Floats, Indices
from bilex.vectors.embeddings import Embeddings

CYCLES_HEADER = ("source", "target", "tested", "agreed", "agreement", "closeness")
Partners = Mapping[str, Sequence[str]]
"""The partners of each word in another language."""


@dataclass(frozen=True, eq=False)
class Cycles:
    """How far other languages agree with each entry of a lexicon, in the lexicon's order."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    tested: Indices  # how many third languages have partners for both words
    agreed: Indices  # how many of these have a partner in common
    closeness: Floats  # the mean over those that test; NaN where nothing was tested

    @property
    def agreement(self) -> Floats:
        """The share of the third languages that agree; NaN where nothing was tested."""
        shares = np.full(len(self.tested), np.nan)
        np.divide(self.agreed, self.tested, out=shares, where=self.tested > 0)
        return shares

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a table with a line for each entry; the shares of an untested entry are empty."""
        columns = (self.tested.tolist(), self.agreed.tolist(), self.agreement.tolist(), self.closeness.tolist())
        rows = (
            (source, target, tested, agreed, *(f"{share:.6f}" if tested else "" for share in shares))
            for source, target, tested, agreed, *shares in zip(self.source, self.target, *columns, strict=True)
        )
        atomic_write_text(path, tsv_table(CYCLES_HEADER, rows))


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


def check_entries(lexicon: Lexicon, others: Iterable[tuple[Partners, Partners, Embeddings]]) -> Cycles:
    """Compare every entry with the third languages.

    Each of `others` is a language: the partners there of the source words, those of the target words, and its vectors.
    """
    tested, agreed, closeness = (np.zeros(len(lexicon)) for _ in range(3))
    for of_source, of_target, words in others:
        vectors = unit(words.vectors)
        for row, (s, t) in enumerate(zip(lexicon.source, lexicon.target, strict=True)):
            ours, theirs = of_source.get(s, ()), of_target.get(t, ())
            if not ours or not theirs:
                continue
            tested[row] += 1
            if set(ours) & set(theirs):
                agreed[row] += 1
                closeness[row] += 1
            else:
                left, right = (vectors[[words.index[word] for word in side]].astype(float) for side in (ours, theirs))
                closeness[row] += float((left @ right.T).max())
    closeness = np.divide(closeness, tested, out=np.full(len(lexicon), np.nan), where=tested > 0)
    return Cycles(lexicon.source, lexicon.target, tested.astype(np.int64), agreed.astype(np.int64), closeness)
