"""A run and its review, as the page asks for them, independent of HTTP."""

import threading
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from bilex.errors import BilexError, InputError
from bilex.files.ownership import LEXICON
from bilex.files.run_directory import read_manifest
from bilex.lexicon.reviewed import precision_interval
from bilex.lexicon.reviews import DECISIONS, NO_TARGET, UNDECIDED, Decision, Reviews, WordPair
from bilex.lexicon.text import tsv_cell
from bilex.runs.run import Run
from bilex.vectors.terms import OtherModelError, Subwords
from bilex.web.lookup import OTHER_SIDE, Lookup
from bilex.web.table import UNMATCHED, Completion, Table, TableQuery

MAX_NEIGHBOURS = 10  # translations and neighbours that are shown
MAX_CACHED_WORDS = 512
MAX_COMPLETIONS = 10


class NotInRun(BilexError):  # noqa: N818 (not a fault of the caller)
    """There is no such word or entry."""


class Explorer:
    """A run, its lexicon as a table, and its review."""

    def __init__(self, folder: str | Path, run: Run, models: Iterable[str] = ()) -> None:
        self.folder, self.run = Path(folder), run
        self.sides = run.sides
        self.names = {side: words.name or side for side, words in self.sides.items()}
        self.completion = {side: Completion(words.words) for side, words in self.sides.items()}
        self.table, self.lookup = Table(run, self.completion), {side: Lookup(run, side) for side in self.sides}
        self.subwords = read_subwords(run, models)
        self.reviews = Reviews(folder)
        self._seen, self._lock = 0, threading.Lock()
        self._describe = lru_cache(MAX_CACHED_WORDS)(self._described)
        for lookup in self.lookup.values():
            lookup.word(0, 1)  # loads the kernels, so that the first search is as quick as the others

    @classmethod
    def open(cls, folder: str | Path, models: Iterable[str] = ()) -> Self:
        """Read a run directory and its review, and fastText models of its languages."""
        return cls(folder, Run.load(folder), models)

    def close(self) -> None:
        """Close the review."""
        self.reviews.close()

    def about(self) -> dict[str, Any]:
        """Describe the run."""
        info = self.run.info
        configuration = info.get("configuration", {})
        return {
            "run": self.folder.resolve().name,
            "identity": info.get("files", {}).get(LEXICON, "")[:16],
            "names": self.names,
            "words": {side: len(words) for side, words in self.sides.items()},
            "entries": self.table.entries,
            "headline": self.run.headline,
            "method": configuration.get("method", {}).get("name"),
            "seed": configuration.get("seed", {}).get("name"),
            "verdict": info.get("verdict", {}).get("level"),
        }

    def complete(self, prefix: str, side: str | None) -> list[dict[str, Any]]:
        """Return words with the prefix, in one or both languages, the most frequent first."""
        if not prefix:
            return []
        sides = self.sides if side is None else (side,)
        found = [(row, side) for side in sides for row in self.completion[side](prefix, MAX_COMPLETIONS)]
        words = [{"side": side, "word": self.sides[side].words[row], "frequency": row + 1} for row, side in found]
        words.sort(key=lambda item: (item["word"] != prefix, item["frequency"]))
        return words[:MAX_COMPLETIONS]

    def word(self, side: str, word: str) -> dict[str, Any]:
        """Describe a word or term, with its entries in the lexicon."""
        described, other = self._describe(side, word), OTHER_SIDE[side]
        if described is None:
            raise NotInRun(f"{self.names[side]} has no such word; type its beginning to find others")
        self.refresh()
        entries = self.table.rows_of[side].get(word, [])
        unmatched = self.table.number.get((word, NO_TARGET)) if side == "source" else None
        elsewhere = word in self.sides[other] or (word not in self.sides[side] and self._describe(other, word))
        shown = {
            side: {point["word"] for point in described["picture"] if point["side"] == side} for side in self.sides
        }
        around = (entry for each in shown["source"] for entry in self.run.lexicon[each])
        return {
            **described,
            "pairs": sorted((e.source, e.target) for e in around if e.target in shown["target"]),
            "entries": [self.table.row(entry) for entry in entries],
            "unmatched": None if unmatched is None else self.table.row(unmatched),
            "elsewhere": other if elsewhere else None,
        }

    def outside(self, term: str) -> list[str]:
        """Return the languages in which a term that is not in their vocabulary has a vector all the same."""
        return [side for side, words in self.sides.items() if term not in words and self._describe(side, term)]

    def _described(self, side: str, term: str) -> dict[str, Any] | None:
        if term in self.sides[side]:
            return self.lookup[side].word(self.sides[side].index[term], MAX_NEIGHBOURS)
        vector = self.run.vector(term, reverse=side == "target", subwords=self.subwords.get(side))
        return None if vector is None else self.lookup[side].term(term, vector, MAX_NEIGHBOURS)

    def entries(self, query: TableQuery) -> dict[str, Any]:
        """Return a page of the table."""
        self.refresh()
        total, entries, rows = self.table.find(query)
        shown = [self.table.row(row) for row in rows]
        return {"total": total, "entries": entries, "offset": query.offset, "rows": shown}

    def refresh(self) -> None:
        """Take over the decisions made since the last time, here or in another process."""
        with self._lock:
            self._seen, changes = self.reviews.changes(self._seen)
            self.table.update(changes)

    def decide(self, entry: int, kind: str, correction: str | None, version: int) -> dict[str, Any]:
        """Decide about an entry and return its new row."""
        pair = self._pair(entry)
        own = self.run.info["files"].get(LEXICON)
        if not self.reviews.path.exists() and read_manifest(self.folder)["files"].get(LEXICON) != own:
            raise InputError(self.folder, "the run was replaced meanwhile", "start `bilex explore` again")
        self.reviews.decide(pair, kind, correction, version=version)
        return self.row(entry)

    def undo(self, entry: int, version: int) -> dict[str, Any]:
        """Undo the last decision about an entry and return its new row."""
        self.reviews.undo(self._pair(entry), version=version)
        return self.row(entry)

    def row(self, entry: int) -> dict[str, Any]:
        """Return an entry's row."""
        self._pair(entry)
        self.refresh()
        row = self.table.row(entry)
        return {**row, "known": row["correction"] is None or row["correction"] in self.run.target}

    def progress(self) -> dict[str, Any]:
        """Count the decisions, and estimate the lexicon's precision from them."""
        self.refresh()
        entries, codes = self.table.entries, self.table.decision_codes()
        _, *counts = np.bincount(codes[:entries], minlength=len(DECISIONS)).tolist()
        accepted, reviewed = counts[0], sum(counts)
        share, low, high = precision_interval(accepted, reviewed)
        last = self.reviews.last()
        number = None if last is None else self.table.number.get(last)
        return {
            **dict(zip(DECISIONS[1:], counts, strict=True)),
            "reviewed": reviewed,
            "settled": self.table.settled,
            "added": int(np.count_nonzero(codes[entries:])),
            "entries": entries,
            "precision": share if reviewed else None,
            "expected": self.run.expected_precision if entries else None,
            "low": low,
            "high": high,
            "last": None if number is None else self.table.row(number),
        }

    def export(self, *, decided: bool = False) -> str:
        """Return the entries with their decisions as a table: the columns of ``lexicon.tsv``, then two more.

        Unmatched words that were given a translation follow, with nothing where an entry has its figures.
        """
        self.refresh()
        header, *lines = self.run.lexicon.to_tsv().split("\n")[:-1]
        empty = "\t" * (header.count("\t") - 5)  # what an entry has after its origin
        exported = [f"{header}\tdecision\tcorrection"]
        unmatched = np.flatnonzero(self.table.decision_codes()[len(lines) :]) + len(lines)
        for row in [*range(len(lines)), *unmatched.tolist()]:
            line = lines[row] if row < len(lines) else f"{tsv_cell(self.table.source[row])}\t\t\t\t\t{UNMATCHED}{empty}"
            decision = self.table.decided.get(row, Decision())
            if decision.kind != UNDECIDED or (row < len(lines) and not decided):
                exported.append(f"{line}\t{decision.kind}\t{tsv_cell(decision.correction or '')}")
        return "\n".join(exported) + "\n"

    def _pair(self, entry: int) -> WordPair:
        if not 0 <= entry < len(self.table):
            raise NotInRun("the lexicon has no such entry")
        return self.table.source[entry], self.table.target[entry]


def read_subwords(run: Run, models: Iterable[str]) -> dict[str, Subwords]:
    """Read fastText models and find out which of the two languages each belongs to."""
    found: dict[str, Subwords] = {}
    for path in models:
        try:
            found["source"] = run.subwords(path)
        except OtherModelError as error:
            try:
                found["target"] = run.subwords(error.model, reverse=True)
            except OtherModelError as other:
                raise InputError(path, f"{error.problem}, and {other.problem}", other.remedy) from None
    return found
