"""The lexicon: what a user takes home."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bilex.errors import BilexError, InputError
from bilex.files.atomic import atomic_write_text
from bilex.files.wordlists import WordList
from bilex.lexicon.formats import CONFIDENCE, HEADER, plain, tsv_lines
from bilex.lexicon.notebook import table
from bilex.numerics.types import Floats, Indices

if TYPE_CHECKING:
    import pandas

__all__ = ["MATCHING", "RETRIEVAL", "SEED", "Entry", "Lexicon", "plain"]

MATCHING, SEED, RETRIEVAL = "matching", "seed", "retrieval"
SHOWN = 10


class Entry(NamedTuple):
    """One line of a lexicon.

    `score` is the cosine of the pair in the shared space, `rank` the target's place among the source's CSLS
    neighbours, `mutual` whether each is the other's nearest neighbour, `origin` where the pair came from, and
    `confidence` the probability that it is right (`bilex.confidence.assessment`), if that was estimated.
    """

    source: str
    target: str
    score: float
    rank: int
    mutual: bool
    origin: str
    confidence: float | None = None


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Pairs of words with their scores, in the source language's order of frequency."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    score: Floats
    rank: Indices
    mutual: NDArray[np.bool_]
    origin: tuple[str, ...]
    confidence: Floats | None = None

    def __len__(self) -> int:
        return len(self.source)

    def __iter__(self) -> Iterator[Entry]:
        columns = (self.score.tolist(), self.rank.tolist(), self.mutual.tolist())
        sure = repeat(None) if self.confidence is None else self.confidence.tolist()
        return map(Entry, self.source, self.target, *columns, self.origin, sure)

    def __getitem__(self, word: str) -> list[Entry]:
        """Give the entries of a source word."""
        return [entry for entry in self if entry.source == word]

    def head(self, n: int = 10) -> Lexicon:
        """Give the first n entries."""
        return self.where(np.arange(len(self)) < n)

    def where(self, keep: NDArray[np.bool_]) -> Lexicon:
        """Give the lexicon of only those entries."""
        source, target, origin = (
            tuple(compress(column, keep.tolist())) for column in (self.source, self.target, self.origin)
        )
        sure = None if self.confidence is None else self.confidence[keep]
        return Lexicon(source, target, self.score[keep], self.rank[keep], self.mutual[keep], origin, sure)

    def confident(self, least: float) -> Lexicon:
        """Give the lexicon of the entries with at least that confidence, so that its precision is that or better."""
        return self.where(self._confidence() >= least)

    @property
    def expected_precision(self) -> float:
        """The share of its entries that should be right: the mean confidence; NaN if there are no entries."""
        return float(self._confidence().mean()) if len(self) else float("nan")

    def _confidence(self) -> Floats:
        if self.confidence is None:
            raise BilexError("this lexicon has no confidence; induce it again with this version of bilex")
        return self.confidence

    def __repr__(self) -> str:
        lines = ["  ".join(row) for row in self._shown(0, 1, 2, 6)]
        more = [f"... {len(self) - SHOWN} more"] if len(self) > SHOWN else []
        return "\n".join([f"Lexicon of {len(self)} pairs", *lines, *more])

    def _repr_html_(self) -> str:
        """Show the first entries in a notebook."""
        rows = self._shown(*range(7))
        header = HEADER if self.confidence is None else (*HEADER, CONFIDENCE)
        return table(f"Lexicon of {len(self):,} pairs", header, rows, len(self) - len(rows))

    def _shown(self, *columns: int) -> list[tuple[str, ...]]:
        """Give these columns of the first entries, as a person reads them; without the confidence if there is none."""
        rows = [
            (e.source, e.target, f"{e.score:.3f}", str(e.rank), "yes" if e.mutual else "no", e.origin)
            + (() if e.confidence is None else (f"{e.confidence:.2f}",))
            for e in self.head(SHOWN)
        ]
        return [tuple(row[column] for column in columns if column < len(row)) for row in rows]

    def to_pandas(self) -> pandas.DataFrame:
        """Give it as a pandas data frame, one row for each entry; needs ``pip install 'bilex[pandas]'``."""
        try:
            import pandas
        except ImportError:
            raise BilexError("to_pandas needs pandas, which is missing; pip install 'bilex[pandas]'") from None
        columns = dict[str, Any](
            zip(HEADER, (self.source, self.target, self.score, self.rank, self.mutual, self.origin), strict=True)
        )
        return pandas.DataFrame(columns if self.confidence is None else {**columns, CONFIDENCE: self.confidence})

    def to_tsv(self) -> str:
        """Write it as a tab-separated table with a header; a tab or line end inside a word becomes a space."""
        return "".join(tsv_lines(self, confidence=self.confidence is not None))

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
        header = tuple(first.decode("utf-8", "replace").split("\t"))
        if header[: len(HEADER)] != HEADER:
            raise InputError(path, "this is not a lexicon of bilex", f"expected {' '.join(HEADER)}", line=1)
        width = len(HEADER) + (header[len(HEADER) : len(HEADER) + 1] == (CONFIDENCE,))
        entries = [parse_entry(line, path, number, width) for number, line in lines]
        if listed.unfinished:
            raise InputError(path, "the last line has no end", "get the file again, it looks cut off")
        columns = tuple(zip(*entries, strict=True)) or ((),) * len(Entry._fields)
        source, target, score, rank, mutual, origin, sure = columns
        confidence = np.array(sure, float) if width > len(HEADER) else None
        numbers = np.array(score, float), np.array(rank, int), np.array(mutual, bool)
        return cls(source, target, *numbers, origin, confidence)


def parse_entry(line: bytes, path: str | os.PathLike[str], number: int, width: int) -> Entry:
    """Turn the first `width` columns of one line into an entry."""
    try:
        source, target, score, rank, mutual, origin, *rest = line.decode("utf-8").split("\t")[:width]
        sure = float(rest[0]) if width > len(HEADER) else None
        entry = Entry(source, target, float(score), int(rank), bool(("0", "1").index(mutual)), origin, sure)
        if not math.isfinite(entry.score) or not 0 < entry.rank < 1 << 63:
            raise ValueError
        if sure is not None and not 0 <= sure <= 1:
            raise ValueError
        return entry
    except UnicodeDecodeError:
        raise InputError(path, "the line is not UTF-8", "write the lexicon again", line=number) from None
    except (ValueError, IndexError):
        raise InputError(path, "this line is not an entry", "write the lexicon again", line=number) from None
