"""The lexicon as a table to sort, filter and page through: columns of numbers, so that 200,000 rows stay quick.

Its rows are the entries of the lexicon, in its order, and after them the source words that have none, which a review
can give one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilex.errors import BilexError
from bilex.lexicon.lexicon import MATCHING, RETRIEVAL, SEED
from bilex.lexicon.reviews import ACCEPTED, CORRECTED, NOTHING, REJECTED, UNDECIDED, Decision
from bilex.numerics.types import Indices
from bilex.runs.run import Run
from bilex.web.completion import Completion, TextIndex

__all__ = ["DECISIONS", "ORIGINS", "SORTS", "UNMATCHED", "Query", "Table"]

UNMATCHED = "unmatched"
ORIGINS = (MATCHING, SEED, RETRIEVAL, UNMATCHED)
DECISIONS = (UNDECIDED, ACCEPTED, REJECTED, CORRECTED)
SORTS = ("frequency", "target_frequency", "score", "confidence", "rank", "source", "target", "random")
LARGEST_PAGE = 500
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Query:
    """What part of the table is wanted, and in which order; None leaves a filter out."""

    sort: str = "frequency"
    descending: bool = False
    offset: int = 0
    limit: int = 50
    text: str = ""
    origin: str | None = None
    decision: str | None = None
    mutual: bool | None = None
    matched: bool | None = None
    min_score: float | None = None
    max_score: float | None = None
    min_frequency: int | None = None
    max_frequency: int | None = None

    def __post_init__(self) -> None:
        for name, value, known in (
            ("sort", self.sort, SORTS),
            ("origin", self.origin, (None, *ORIGINS)),
            ("decision", self.decision, (None, *DECISIONS)),
        ):
            if value not in known:
                raise BilexError(f"no {name} is called {value!r}; choose one of {', '.join(filter(None, known))}")
        if self.offset < 0 or not 0 <= self.limit <= LARGEST_PAGE:
            raise BilexError(f"the offset is at least 0, and the limit from 0 to {LARGEST_PAGE}")


class Table:
    """All rows, as columns."""

    def __init__(self, run: Run, completion: Mapping[str, Completion]) -> None:
        self.completion = completion
        lexicon, source, target = run.lexicon, run.source, run.target
        with_entry = set(lexicon.source)
        rest = [word for word in source.words if word not in with_entry]
        self.entries = len(lexicon)
        self.source: tuple[str, ...] = (*lexicon.source, *rest)
        self.target: tuple[str, ...] = (*lexicon.target, *(NOTHING for _ in rest))
        none = np.full(len(rest), np.nan)
        self.score = np.concatenate([lexicon.score, none])
        unknown = np.full(len(lexicon), np.nan)
        self.confidence = np.concatenate([unknown if lexicon.confidence is None else lexicon.confidence, none])
        self.rank = np.concatenate([lexicon.rank, none])
        self.mutual: Mask = np.concatenate([lexicon.mutual, np.zeros(len(rest), bool)])
        known = {name: code for code, name in enumerate(ORIGINS)}
        codes = [known.get(name, 0) for name in lexicon.origin]
        self.origin = np.array([*codes, *(known[UNMATCHED] for _ in rest)], np.int8)
        # Frequency ranks from 1; a word that the table spells otherwise than the vectors has none.
        self.source_row = np.array([source.index.get(word, -1) for word in self.source], np.int64)
        self.target_row = np.array([target.index.get(word, -1) for word in self.target], np.int64)
        self.decision = np.zeros(len(self.source), np.int8)
        self.decided: dict[int, Decision] = {}
        self.number = {pair: row for row, pair in enumerate(zip(self.source, self.target, strict=True))}
        self.sources, self.targets = TextIndex(self.source), TextIndex(self.target)
        self.by_source: dict[str, list[int]] = {}
        self.by_target: dict[str, list[int]] = {}
        for row in range(self.entries):
            self.by_source.setdefault(self.source[row], []).append(row)
            self.by_target.setdefault(self.target[row], []).append(row)
        self._orders: dict[tuple[str, bool], Indices] = {}

    def __len__(self) -> int:
        return len(self.source)

    def update(self, decisions: Mapping[tuple[str, str], Decision]) -> None:
        """Take over what was decided; decisions about pairs that this lexicon does not have are left alone."""
        for pair, decision in decisions.items():
            row = self.number.get(pair)
            if row is not None:
                self.decided[row] = decision
                self.decision[row] = DECISIONS.index(decision.verdict)

    def find(self, query: Query) -> tuple[int, list[int]]:
        """Count the rows that pass the filters, and give those of the page in their order."""
        order = self.order(query.sort, query.descending)
        mask = self.mask(query)
        rows = order if mask is None else order[mask[order]]
        return len(rows), rows[query.offset : query.offset + query.limit].tolist()

    def order(self, sort: str, descending: bool) -> Indices:
        """Give all rows in an order, that of frequency where equal; what has no value comes last."""
        if (sort, descending) not in self._orders:
            keys = self._keys(sort)
            keys = np.where(np.isnan(keys), np.inf, -keys if descending else keys)
            frequency = np.where(self.source_row < 0, len(self), self.source_row)
            self._orders[sort, descending] = np.lexsort((np.arange(len(self)), frequency, keys))
        return self._orders[sort, descending]

    def _keys(self, sort: str) -> NDArray[np.float64]:
        if sort in {"score", "confidence", "rank"}:
            return np.asarray(getattr(self, sort), float)
        if sort in {"frequency", "target_frequency"}:
            rows = self.source_row if sort == "frequency" else self.target_row
            return np.where(rows < 0, np.nan, rows)
        if sort == "random":  # the same in every session, so that a sample can be gone on with
            return np.random.default_rng(0).permutation(len(self)).astype(float)
        rows = self.source_row if sort == "source" else self.target_row
        return np.where(rows < 0, np.nan, self.completion[sort].places[rows])

    def mask(self, query: Query) -> Mask | None:
        """Say of each row whether it passes the filters; None if there are none."""
        filters: list[Mask] = []
        if query.text:
            filters.append(self.sources.containing(query.text) | self.targets.containing(query.text))
        if query.origin is not None:
            filters.append(self.origin == ORIGINS.index(query.origin))
        if query.decision is not None:
            filters.append(self.decision == DECISIONS.index(query.decision))
        if query.decision == UNDECIDED and query.origin != UNMATCHED:  # nobody has to decide about these
            filters.append(np.arange(len(self)) < self.entries)
        if query.mutual is not None:
            filters.append((self.mutual == query.mutual) & (np.arange(len(self)) < self.entries))
        if query.matched is not None:
            filters.append((self.origin < ORIGINS.index(RETRIEVAL)) == query.matched)
        for values, low, high in (
            (self.score, query.min_score, query.max_score),
            (self.source_row + 1, query.min_frequency, query.max_frequency),
        ):
            filters += [values >= low] if low is not None else []
            filters += [values <= high] if high is not None else []
        return np.logical_and.reduce(filters) if filters else None

    def row(self, row: int) -> dict[str, Any]:
        """Give a row under the names of the page's JSON."""
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
            "decision": decision.verdict,
            "correction": decision.correction,
            "version": decision.version,
        }
