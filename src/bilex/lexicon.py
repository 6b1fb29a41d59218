"""The lexicon: what a user takes home."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bilex.arrays import Floats, Indices
from bilex.errors import BilexError, InputError
from bilex.formats.atomic import atomic_write_text
from bilex.formats.lexicons import HEADER, plain, tsv_lines
from bilex.formats.notebook import table
from bilex.formats.wordlists import WordList

if TYPE_CHECKING:
    import pandas

__all__ = ["MATCHING", "RETRIEVAL", "SEED", "Entry", "Lexicon", "plain"]

MATCHING, SEED, RETRIEVAL = "matching", "seed", "retrieval"
SHOWN = 10


class Entry(NamedTuple):
    """One line of a lexicon.

    `score` is the cosine of the pair in the shared space, `rank` the target's place among the source's CSLS
    neighbours, `mutual` whether each is the other's nearest neighbour, `origin` where the pair came from.
    """

    source: str
    target: str
    score: float
    rank: int
    mutual: bool
    origin: str


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Pairs of words with their scores, in the source language's order of frequency."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    score: Floats
    rank: Indices
    mutual: NDArray[np.bool_]
    origin: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.source)

    def __iter__(self) -> Iterator[Entry]:
        columns = (self.score.tolist(), self.rank.tolist(), self.mutual.tolist())
        return map(Entry, self.source, self.target, *columns, self.origin)

    def __getitem__(self, word: str) -> list[Entry]:
        """Give the entries of a source word."""
        return [entry for entry in self if entry.source == word]

    def head(self, n: int = 10) -> Lexicon:
        """Give the first n entries."""
        return Lexicon(
            self.source[:n], self.target[:n], self.score[:n], self.rank[:n], self.mutual[:n], self.origin[:n]
        )

    def __repr__(self) -> str:
        lines = [f"{e.source}  {e.target}  {e.score:.3f}" for e in self.head(SHOWN)]
        more = [f"... {len(self) - SHOWN} more"] if len(self) > SHOWN else []
        return "\n".join([f"Lexicon of {len(self)} pairs", *lines, *more])

    def _repr_html_(self) -> str:
        """Show the first entries in a notebook."""
        rows = [
            (e.source, e.target, f"{e.score:.3f}", str(e.rank), "yes" if e.mutual else "no", e.origin)
            for e in self.head(SHOWN)
        ]
        return table(f"Lexicon of {len(self):,} pairs", HEADER, rows, len(self) - len(rows))

    def to_pandas(self) -> pandas.DataFrame:
        """Give it as a pandas data frame, one row for each entry; needs ``pip install 'bilex[pandas]'``."""
        try:
            import pandas
        except ImportError:
            raise BilexError("to_pandas needs pandas, which is missing; pip install 'bilex[pandas]'") from None
        columns = (self.source, self.target, self.score, self.rank, self.mutual, self.origin)
        return pandas.DataFrame(dict(zip(HEADER, columns, strict=True)))

    def to_tsv(self) -> str:
        """Write it as a tab-separated table with a header; a tab or line end inside a word becomes a space."""
        return "".join(tsv_lines(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save it as a tab-separated table, whole or not at all."""
        if not np.isfinite(self.score).all():
            raise BilexError(f"{os.fspath(path)}: a score is NaN or infinity, so nothing is written")
        atomic_write_text(path, self.to_tsv())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Lexicon:
        """Read what `save` wrote; columns added at the end are left alone."""
        listed = WordList(path, plain_file=True)
        lines = iter(listed)
        _, first = next(lines, (1, b""))
        if tuple(first.decode("utf-8", "replace").split("\t")[: len(HEADER)]) != HEADER:
            raise InputError(path, "this is not a lexicon of bilex", f"expected {' '.join(HEADER)}", line=1)
        entries = [parse_entry(line, path, number) for number, line in lines]
        if listed.unfinished:
            raise InputError(path, "the last line has no end", "get the file again, it looks cut off")
        columns = tuple(zip(*entries, strict=True)) or ((),) * len(HEADER)
        source, target, score, rank, mutual, origin = columns
        return cls(source, target, np.array(score, float), np.array(rank, int), np.array(mutual, bool), origin)


def parse_entry(line: bytes, path: str | os.PathLike[str], number: int) -> Entry:
    """Turn one line into an entry."""
    try:
        source, target, score, rank, mutual, origin = line.decode("utf-8").split("\t")[: len(HEADER)]
        entry = Entry(source, target, float(score), int(rank), bool(("0", "1").index(mutual)), origin)
        if not math.isfinite(entry.score) or not 0 < entry.rank < 1 << 63:
            raise ValueError
        return entry
    except UnicodeDecodeError:
        raise InputError(path, "the line is not UTF-8", "write the lexicon again", line=number) from None
    except ValueError:
        raise InputError(path, "this line is not an entry", "write the lexicon again", line=number) from None
