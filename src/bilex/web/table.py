"""The lexicon as a table to sort, filter and page through: columns of numbers, so that 200,000 rows stay quick.

Its rows are the entries of the lexicon, in its order, and after them the source words that were not matched, which a
review can give a translation. Words are found while they are typed, ignoring case and accents.
"""

import threading
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from bilex.lexicon.lexicon import MATCHING, RETRIEVAL, REVIEW, SEED
from bilex.lexicon.reviews import DECISIONS, NO_TARGET, UNDECIDED, Decision, WordPair
from bilex.numerics.types import Indices
from bilex.runs.run import Run


def fold_for_search(text: str) -> str:
    """Remove case, accents and width, so that what is easily typed finds what is written."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in parts if not unicodedata.combining(char)) or text


class Completion:
    """The words of a language, most frequent first; finds those with a given prefix."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.folded = [fold_for_search(word) for word in words]
        self.places: Indices = np.unique(np.array(self.folded, object), return_inverse=True)[1]  # in the alphabet

    def __call__(self, prefix: str, limit: int) -> list[int]:
        """Return the rows of the words with the prefix: an exact match first, then by frequency."""
        sought = fold_for_search(prefix)
        found = (row for row, folded in enumerate(self.folded) if folded.startswith(sought))
        exact = [row for row, word in enumerate(self.words) if word == prefix]
        return [*exact, *islice((row for row in found if row not in exact), limit)][:limit]


UNMATCHED = "unmatched"
ORIGINS = (MATCHING, SEED, REVIEW, RETRIEVAL, UNMATCHED)
Sort = Literal["frequency", "target_frequency", "score", "confidence", "rank", "source", "target", "random"]
Whole = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Real = Annotated[float, msgspec.Meta(ge=-(2**53), le=2**53)]
Mask = NDArray[np.bool_]


class TableQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which part of the table is wanted, and in which order; None leaves a filter out."""

    sort: Sort = "frequency"
    descending: bool = False
    offset: Whole = 0
    limit: Annotated[int, msgspec.Meta(ge=0, le=500)] = 50
    text: str = ""
    origin: Literal["matching", "seed", "review", "retrieval", "unmatched"] | None = None
    decision: Literal["undecided", "accepted", "rejected", "corrected"] | None = None
    mutual: bool | None = None
    matched: bool | None = None
    min_confidence: Real | None = None
    max_confidence: Real | None = None
    min_frequency: Whole | None = None
    max_frequency: Whole | None = None


class Table:
    """All rows, as columns."""

    def __init__(self, run: Run, completion: Mapping[str, Completion]) -> None:
        self.completion = completion
        lexicon, source, target = run.lexicon, run.source, run.target
        unmatched = [word for word in source.words if word not in lexicon]
        self.entries = len(lexicon)
        self.source: tuple[str, ...] = (*lexicon.source, *unmatched)
        self.target: tuple[str, ...] = (*lexicon.target, *(NO_TARGET for _ in unmatched))
        missing = np.full(len(unmatched), np.nan)
        self.score, self.confidence, self.rank = (
            np.concatenate([column, missing]) for column in (lexicon.score, lexicon.confidence, lexicon.rank)
        )
        self.mutual: Mask = np.concatenate([lexicon.mutual, np.zeros(len(unmatched), bool)])
        codes = {name: code for code, name in enumerate(ORIGINS)}
        origins = [*(codes.get(name, 0) for name in lexicon.origin), *(codes[UNMATCHED] for _ in unmatched)]
        self.origin = np.array(origins, np.int8)
        # Frequency ranks from 0; -1 for a word that the table spells otherwise than the vectors.
        self.source_row = np.array([source.index.get(word, -1) for word in self.source], np.int64)
        self.target_row = np.array([target.index.get(word, -1) for word in self.target], np.int64)
        self.decision = np.zeros(len(self.source), np.int8)  # as numbers into DECISIONS
        self.decided: dict[int, Decision] = {}
        self.number = {pair: row for row, pair in enumerate(zip(self.source, self.target, strict=True))}
        pairs = zip(self.source, self.target, strict=True)
        self.texts = [f"{fold_for_search(source)}\n{fold_for_search(target)}" for source, target in pairs]
        self.rows_of: dict[str, dict[str, list[int]]] = {"source": {}, "target": {}}
        for row in range(self.entries):
            self.rows_of["source"].setdefault(self.source[row], []).append(row)
            self.rows_of["target"].setdefault(self.target[row], []).append(row)
        self._lock = threading.Lock()
        self._orders: dict[tuple[str, bool], Indices] = {}

    def __len__(self) -> int:
        return len(self.source)

    def update(self, decisions: Mapping[WordPair, Decision]) -> None:
        """Take over new decisions; those about pairs that this lexicon does not have are ignored."""
        rows = {self.number[pair]: decision for pair, decision in decisions.items() if pair in self.number}
        with self._lock:
            for row, decision in rows.items():
                self.decided[row] = decision
                self.decision[row] = DECISIONS.index(decision.kind)

    def decision_codes(self) -> NDArray[np.int8]:
        """Return the decision about each row as a number into DECISIONS, which no other thread changes."""
        with self._lock:
            return self.decision.copy()

    def find(self, query: TableQuery) -> tuple[int, int, list[int]]:
        """Count the rows that pass the filters, those with an entry, and return those of the page in their order."""
        order, mask = self.order(query.sort, query.descending), self.mask(query)
        rows = order[mask[order]]
        page = rows[query.offset : query.offset + query.limit]
        return len(rows), int(np.count_nonzero(mask[: self.entries])), page.tolist()

    @property
    def settled(self) -> int:
        """How many entries an earlier review has settled."""
        return int(np.count_nonzero(self.origin == ORIGINS.index(REVIEW)))

    def order(self, sort: str, descending: bool) -> Indices:
        """Return all rows in an order, that of frequency where equal; rows without a value come last."""
        if (sort, descending) not in self._orders:
            keys = self._keys(sort)
            keys = np.where(np.isnan(keys), np.inf, -keys if descending else keys)
            frequency = np.where(self.source_row < 0, len(self), self.source_row)
            self._orders[sort, descending] = np.lexsort((np.arange(len(self)), frequency, keys))
        return self._orders[sort, descending]

    def _keys(self, sort: str) -> NDArray[np.float64]:
        if sort in {"score", "confidence", "rank"}:
            return np.asarray(getattr(self, sort), float)
        if sort == "random":  # the same in every session, so that a sample can be continued
            return np.random.default_rng(0).permutation(len(self)).astype(float)
        rows = self.target_row if sort.startswith("target") else self.source_row
        places = rows if sort.endswith("frequency") else self.completion[sort].places[rows]
        return np.where(rows < 0, np.nan, places)

    def mask(self, query: TableQuery) -> Mask:
        """Return which rows pass the filters."""
        matched_rows = np.arange(len(self)) < self.entries
        filters: list[Mask] = [np.ones(len(self), bool)]
        if query.text:
            part = fold_for_search(query.text)
            filters.append(np.array(["\n" not in part and part in text for text in self.texts], bool))
        if query.origin is not None:
            filters.append(self.origin == ORIGINS.index(query.origin))
        if query.decision is not None:
            filters.append(self.decision_codes() == DECISIONS.index(query.decision))
        if (
            query.decision == UNDECIDED and query.origin != UNMATCHED
        ):  # these need no decision, nor do those of an earlier review
            filters.append(matched_rows & (self.origin != ORIGINS.index(REVIEW)))
        if query.mutual is not None:
            filters.append((self.mutual == query.mutual) & matched_rows)
        if query.matched is not None:
            filters.append((self.origin < ORIGINS.index(RETRIEVAL)) == query.matched)
        for values, low, high in (
            (self.confidence, query.min_confidence, query.max_confidence),
            (self.source_row + 1, query.min_frequency, query.max_frequency),
        ):
            filters += [values >= low] if low is not None else []
            filters += [values <= high] if high is not None else []
        return np.asarray(np.logical_and.reduce(filters))

    def row(self, row: int) -> dict[str, Any]:
        """Return a row under the names of the page's JSON."""
        entry = row < self.entries
        decision = self.decided.get(row, Decision())
        return {
            "entry": row,
            "source": self.source[row],
            "target": self.target[row] if entry else None,
            "score": round(float(self.score[row]), 6) if entry else None,
            "confidence": None if np.isnan(self.confidence[row]) else round(float(self.confidence[row]), 4),
            "rank": int(self.rank[row]) if entry else None,
            "mutual": bool(self.mutual[row]) if entry else None,
            "origin": ORIGINS[self.origin[row]],
            "frequency": int(self.source_row[row]) + 1 or None,
            "target_frequency": int(self.target_row[row]) + 1 or None,
            "decision": decision.kind,
            "correction": decision.correction,
            "version": decision.version,
        }
