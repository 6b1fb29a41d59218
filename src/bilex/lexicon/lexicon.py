"""The lexicon: the induced word pairs and their scores, and its table ``lexicon.tsv``."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from bilex.errors import BilexError, InputError, check_probability
from bilex.files.atomic import atomic_write_text
from bilex.files.lines import WordList
from bilex.lexicon.text import html_table, tsv_cell
from bilex.numerics.types import Floats, Indices

if TYPE_CHECKING:
    import pandas

MATCHING, SEED, RETRIEVAL, REVIEW, CANDIDATE = "matching", "seed", "retrieval", "review", "candidate"
MAX_SHOWN_ENTRIES = 10


class Entry(NamedTuple):
    """One line of a lexicon.

    `score` is the cosine of the pair in the shared space, `rank` the target's place among the source's CSLS
    neighbours, `mutual` whether each is the other's nearest neighbour, `origin` where the pair came from, and
    `confidence` the probability that it is right (`bilex.confidence.assessment`). The lemmas are empty if they are not
    known.
    """

    source: str
    target: str
    score: float
    rank: int
    mutual: bool
    origin: str
    confidence: float
    source_lemma: str = ""
    target_lemma: str = ""


COLUMNS = Entry._fields
LEMMA_COLUMNS = COLUMNS[-2:]
REQUIRED_COLUMNS = COLUMNS[:-2]  # a lexicon without lemmas has only these


@dataclass(frozen=True, eq=False)
class Lexicon(Sequence[Any]):  # of `Entry`; but words and pairs can be looked for in it
    """Pairs of words with their scores, in the source language's order of frequency.

    It is a sequence of `Entry` objects that can also be asked by word: ``lexicon["house"]`` is the list of the entries
    of a source word, ``"house" in lexicon`` and ``("house", "maison") in lexicon`` check for a word and for a pair.
    Slices, lists of places and masks return a part of it; `to_pandas` a data frame.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    score: Floats
    rank: Indices
    mutual: NDArray[np.bool_]
    origin: tuple[str, ...]
    confidence: Floats
    source_lemma: tuple[str, ...] = ()
    target_lemma: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.source)

    def __iter__(self) -> Iterator[Entry]:
        columns = (self.score.tolist(), self.rank.tolist(), self.mutual.tolist())
        lemmas = (column or repeat("") for column in (self.source_lemma, self.target_lemma))
        return map(Entry, self.source, self.target, *columns, self.origin, self.confidence.tolist(), *lemmas)

    def __contains__(self, item: object) -> bool:
        """Check for a source word, a (source, target) pair or an entry."""
        match item:
            case str(word):
                return word in self._rows
            case (str(word), *_):
                return any(item in (entry, entry[:2]) for entry in self[word])
            case _:
                return False

    @overload
    def __getitem__(self, key: int) -> Entry: ...
    @overload
    def __getitem__(self, key: slice | list[int] | NDArray[Any]) -> Lexicon: ...
    @overload
    def __getitem__(self, key: str) -> list[Entry]: ...
    def __getitem__(self, key: int | slice | str | list[int] | NDArray[Any]) -> Entry | Lexicon | list[Entry]:
        """Return one entry, a part of the lexicon, or the entries of a source word."""
        if isinstance(key, str):
            return [self[row] for row in self._rows.get(key, ())]
        if isinstance(key, slice | list | np.ndarray):
            return self._part(np.arange(len(self))[key])
        numbers = float(self.score[key]), int(self.rank[key]), bool(self.mutual[key])
        lemmas = (column[key] if column else "" for column in (self.source_lemma, self.target_lemma))
        confidence = float(self.confidence[key])
        return Entry(self.source[key], self.target[key], *numbers, self.origin[key], confidence, *lemmas)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Lexicon) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.source, self.target))

    @cached_property
    def _rows(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = {}
        for row, word in enumerate(self.source):
            rows.setdefault(word, []).append(row)
        return rows

    def _part(self, rows: Indices) -> Lexicon:
        source, target, origin, *lemmas = (
            tuple(column[row] for row in rows.tolist()) if column else ()
            for column in (self.source, self.target, self.origin, self.source_lemma, self.target_lemma)
        )
        numbers = self.score[rows], self.rank[rows], self.mutual[rows]
        return Lexicon(source, target, *numbers, origin, self.confidence[rows], *lemmas)

    def head(self, n: int = 10) -> Lexicon:
        """Return the first n entries."""
        return self[: max(n, 0)]

    def confident(self, least: float) -> Lexicon:
        """Return the lexicon of the entries with at least that confidence, so that its precision is that or better."""
        check_probability("the least confidence", least)
        return self[self.confidence >= least]

    @property
    def expected_precision(self) -> float:
        """The share of its entries that should be right: the mean confidence; NaN if there are no entries."""
        return float(self.confidence.mean()) if len(self) else float("nan")

    def __repr__(self) -> str:
        lines = ["  ".join([*row[:3], *row[6:7]]) for row in self._shown()]
        more = [f"... {len(self) - len(lines):,} more"] if len(self) > len(lines) else []
        columns = ["  ".join([*self._columns[:3], *self._columns[6:7]])] if lines else []
        return "\n".join([f"Lexicon of {len(self):,} entries", *columns, *lines, *more])

    def _repr_html_(self) -> str:
        """Show the first entries in a notebook."""
        rows = self._shown()
        return html_table(f"Lexicon of {len(self):,} entries", self._columns, rows, len(self) - len(rows))

    def _shown(self) -> list[tuple[str, ...]]:
        shown = []
        for e in self.head(MAX_SHOWN_ENTRIES):
            numbers = f"{e.score:.3f}", str(e.rank), "yes" if e.mutual else "no"
            shown.append(
                (e.source, e.target, *numbers, e.origin, f"{e.confidence:.2f}", e.source_lemma, e.target_lemma)
            )
        return [row[: len(self._columns)] for row in shown]

    @property
    def _columns(self) -> tuple[str, ...]:
        return columns_with(lemmas=bool(self.source_lemma))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas data frame with one row for each entry; needs ``pip install 'bilex[pandas]'``."""
        try:
            import pandas
        except ImportError:
            raise BilexError("to_pandas needs pandas, which is missing; pip install 'bilex[pandas]'") from None
        return pandas.DataFrame({name: getattr(self, name) for name in self._columns})

    def to_tsv(self) -> str:
        """Return a tab-separated table with a header; a tab or line end inside a word becomes a space."""
        return "".join(tsv_lines(self, self._columns))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tab-separated table, whole or not at all."""
        if not np.isfinite(self.score).all():
            raise BilexError(f"{os.fspath(path)}: a score is NaN or infinity, so nothing is written")
        atomic_write_text(path, self.to_tsv())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Lexicon:
        """Read what `save` wrote; further columns at the end are ignored."""
        listed = WordList(path, plain_file=True)
        lines = iter(listed)
        _, first = next(lines, (1, b""))
        header = tuple(first.decode("utf-8", "replace").split("\t"))
        columns = columns_with(lemmas=header[: len(COLUMNS)] == COLUMNS)
        if header[: len(columns)] != columns:
            raise InputError(path, "this is not a lexicon of bilex", f"expected {' '.join(REQUIRED_COLUMNS)}", line=1)
        entries = [parse_entry(line, path, number, columns) for number, line in lines]
        if listed.unfinished:
            raise InputError(path, "the last line has no end", "get the file again, it looks cut off")
        found = dict(zip(COLUMNS, zip(*entries, strict=True) if entries else ((),) * len(COLUMNS), strict=True))
        kinds: dict[str, type] = {"score": float, "rank": int, "mutual": bool, "confidence": float}
        read: dict[str, Any] = {
            name: np.array(found[name], kinds[name]) if name in kinds else found[name] for name in columns
        }
        return cls(**read)


def columns_with(*, lemmas: bool) -> tuple[str, ...]:
    """Return the columns of a lexicon with or without lemmas."""
    return COLUMNS if lemmas else REQUIRED_COLUMNS


def tsv_lines(entries: Iterable[Entry], columns: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of the table, header first."""
    yield "\t".join(columns) + "\n"
    with_lemmas = LEMMA_COLUMNS[0] in columns
    for source, target, score, rank, mutual, origin, probability, *lemmas in entries:
        first = f"{tsv_cell(source)}\t{tsv_cell(target)}\t{score:.6f}\t{rank}\t{mutual:d}\t{origin}\t{probability:.4f}"
        yield first + "".join(f"\t{tsv_cell(lemma)}" for lemma in lemmas if with_lemmas) + "\n"


def parse_entry(line: bytes, path: str | os.PathLike[str], number: int, columns: tuple[str, ...]) -> Entry:
    """Parse the columns of one line."""
    try:
        fields = line.decode("utf-8").split("\t")[: len(columns)]
        source, target, score, rank, mutual, origin, confidence, *lemmas = fields
        numbers = float(score), int(rank), bool(("0", "1").index(mutual))
        entry = Entry(source, target, *numbers, origin, float(confidence), *lemmas)
        if not math.isfinite(entry.score) or not 0 < entry.rank < 1 << 63 or not 0 <= entry.confidence <= 1:
            raise ValueError
        if len(fields) < len(columns):
            raise ValueError
        return entry
    except UnicodeDecodeError:
        raise InputError(path, "the line is not UTF-8", "write the lexicon again", line=number) from None
    except (ValueError, IndexError):
        raise InputError(path, "this line is not an entry", "write the lexicon again", line=number) from None
