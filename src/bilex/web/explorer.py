"""What the page can ask of a run and of its review, apart from how it is asked over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from bilex.errors import BilexError, InputError
from bilex.files.run_directory import LEXICON, read_manifest
from bilex.lexicon.lexicon import plain
from bilex.lexicon.reviews import ACCEPTED, NOTHING, UNDECIDED, VERDICTS, Decision, Reviews, precision_interval
from bilex.runs.run import Run
from bilex.vectors.terms import OtherModelError, Subwords
from bilex.web.completion import Completion
from bilex.web.lookup import SIDES, Lookup
from bilex.web.table import UNMATCHED, Query, Table

__all__ = ["BEST", "Explorer", "Unknown"]

BEST = 10  # translations and neighbours that are shown
REMEMBERED = 256  # words whose answers are kept
EXPORTED = ("source", "target", "score", "rank", "mutual", "origin", "decision", "correction")


class Unknown(BilexError):  # noqa: N818 (it is no error to ask)
    """There is no such word or entry."""


class Explorer:
    """A run, its lexicon as a table, and its review."""

    def __init__(self, folder: str | Path, run: Run, models: Iterable[str] = ()) -> None:
        self.folder, self.run = Path(folder), run
        self.sides = {"source": run.source, "target": run.target}
        self.completion = {side: Completion(words.words) for side, words in self.sides.items()}
        self.table, self.lookup = Table(run, self.completion), Lookup(run)
        self.subwords = subwords_of(run, models)
        self.reviews = Reviews(folder)
        self._seen, self._lock = 0, threading.Lock()
        self._outside = lru_cache(maxsize=REMEMBERED)(self._describe_outside)
        self._described = lru_cache(maxsize=REMEMBERED)(lambda side, row: self.lookup.word(side, row, BEST))
        for side in SIDES:
            self.lookup.word(side, 0, 1)  # loads the kernels, so that the first search is as quick as the others

    @classmethod
    def open(cls, folder: str | Path, models: Iterable[str] = ()) -> Explorer:
        """Read a run directory and its review, and fastText models of its languages."""
        return cls(folder, Run.load(folder), models)

    def close(self) -> None:
        """Let go of the review."""
        self.reviews.close()

    def names(self) -> dict[str, str]:
        """Give the names of the two languages."""
        return {side: words.name or side for side, words in self.sides.items()}

    def about(self) -> dict[str, Any]:
        """Say which run this is."""
        configuration = self.run.info.get("configuration", {})
        iterations = self.run.info.get("iterations") or [{}]
        return {
            "run": self.folder.resolve().name,
            "identity": self.run.info.get("files", {}).get(LEXICON, "")[:16],
            "names": self.names(),
            "words": {side: len(words) for side, words in self.sides.items()},
            "entries": self.table.entries,
            "pairs": self.run.info.get("pairs"),
            "mean_cosine": iterations[-1].get("mean_cosine"),
            "method": configuration.get("method", {}).get("name"),
            "seed": configuration.get("seed", {}).get("name"),
            "verdict": self.run.info.get("verdict", {}).get("level"),
        }

    def complete(self, prefix: str, sides: tuple[str, ...], limit: int) -> list[dict[str, Any]]:
        """Give words that begin so, in one or both languages, the most frequent first."""
        if not prefix:
            return []
        found = [(row, side) for side in sides for row in self.completion[side](prefix, limit)]
        words = [{"side": side, "word": self.sides[side].words[row], "frequency": row + 1} for row, side in found]
        words.sort(key=lambda item: (item["word"] != prefix, item["frequency"]))
        return words[:limit]

    def word(self, side: str, word: str) -> dict[str, Any]:
        """Describe a word, with its entries in the lexicon."""
        row = self.sides[side].index.get(word)
        self.refresh()
        entries = (self.table.by_source if side == "source" else self.table.by_target).get(word, [])
        other = "target" if side == "source" else "source"
        described = self._outside(side, word) if row is None else self._described(side, row)
        if described is None:
            raise Unknown(f"no {self.names()[side]} word is spelt so")
        return {
            **described,
            "pairs": self._pairs_among(described["picture"]),
            "entries": [self.table.row(entry) for entry in entries],
            "alone": self._alone(word) if side == "source" else None,
            "elsewhere": other if word in self.sides[other] or (row is None and self._outside(other, word)) else None,
        }

    def outside(self, term: str) -> list[str]:
        """Give the languages in which something that is no word of theirs has a vector all the same."""
        return [side for side in SIDES if term not in self.sides[side] and self._outside(side, term) is not None]

    def _describe_outside(self, side: str, term: str) -> dict[str, Any] | None:
        vector = self.run.vector(term, reverse=side == "target", subwords=self.subwords.get(side))
        return None if vector is None else self.lookup.term(side, term, vector, BEST)

    def _alone(self, word: str) -> dict[str, Any] | None:
        """Give the row of a source word that the matching left alone."""
        row = self.table.number.get((word, NOTHING))
        return None if row is None else self.table.row(row)

    def _pairs_among(self, points: list[dict[str, Any]]) -> list[tuple[str, str]]:
        """Give the entries both of whose words are in a picture."""
        shown = {(point["side"], point["word"]) for point in points}
        words = [word for side, word in shown if side == "source"]
        pairs = [(word, self.table.target[row]) for word in words for row in self.table.by_source.get(word, ())]
        return sorted(pair for pair in pairs if ("target", pair[1]) in shown)

    def entries(self, query: Query) -> dict[str, Any]:
        """Give a page of the table."""
        self.refresh()
        total, rows = self.table.find(query)
        return {"total": total, "offset": query.offset, "rows": [self.table.row(row) for row in rows]}

    def refresh(self) -> None:
        """Take over what was decided since the last time, here or in another process."""
        with self._lock:
            self._seen, changes = self.reviews.changes(self._seen)
            self.table.update(changes)

    def decide(self, entry: int, verdict: str, correction: str | None, version: int) -> dict[str, Any]:
        """Decide about an entry and give its row as it is now."""
        pair = self._pair(entry)
        if not self.reviews.path.exists():
            self._check_place()
        self.reviews.decide(pair, verdict, correction, version=version)
        return self.row(entry)

    def undo(self, entry: int, version: int) -> dict[str, Any]:
        """Take back the last decision about an entry."""
        self.reviews.undo(self._pair(entry), version=version)
        return self.row(entry)

    def row(self, entry: int) -> dict[str, Any]:
        """Give an entry's row."""
        self._pair(entry)
        self.refresh()
        row = self.table.row(entry)
        return {**row, "known": row["correction"] is None or row["correction"] in self.run.target}

    def progress(self) -> dict[str, Any]:
        """Say how far the review is, and how good the lexicon seems."""
        self.refresh()
        entries = self.table.entries
        decided = {row: one for row, one in self.table.decided.items() if one.verdict != UNDECIDED}
        decisions = [decision for row, decision in decided.items() if row < entries]
        right = sum(decision.verdict == ACCEPTED for decision in decisions)
        share, low, high = precision_interval(right, len(decisions))
        counts = dict.fromkeys(VERDICTS, 0)
        for decision in decisions:
            counts[decision.verdict] += 1
        last = self.reviews.last()
        number = None if last is None else self.table.number.get(last)
        return {
            **counts,
            "reviewed": len(decisions),
            "added": len(decided) - len(decisions),
            "entries": entries,
            "precision": share if decisions else None,
            "low": low,
            "high": high,
            "last": None if number is None else self.table.row(number),
        }

    def export(self, *, decided: bool = False) -> str:
        """Write the entries with their decisions as a table: the columns of ``lexicon.tsv``, then two more.

        Words that were left alone and then given a translation follow, with nothing where an entry has its figures.
        """
        self.refresh()
        lines = ["\t".join(EXPORTED)]
        for row, entry in enumerate(self.run.lexicon):
            decision = self.table.decided.get(row, Decision())
            if decided and decision.verdict == UNDECIDED:
                continue
            lines.append(
                f"{plain(entry.source)}\t{plain(entry.target)}\t{entry.score:.6f}\t{entry.rank}\t{entry.mutual:d}"
                f"\t{entry.origin}\t{decision.verdict}\t{plain(decision.correction or '')}"
            )
        for row in sorted(row for row in self.table.decided if row >= self.table.entries):
            decision = self.table.decided[row]
            if decision.correction is not None:
                word, translation = plain(self.table.source[row]), plain(decision.correction)
                lines.append(f"{word}\t\t\t\t\t{UNMATCHED}\t{decision.verdict}\t{translation}")
        return "\n".join(lines) + "\n"

    def _pair(self, entry: int) -> tuple[str, str]:
        if not 0 <= entry < len(self.table):
            raise Unknown("the lexicon has no such entry")
        return self.table.source[entry], self.table.target[entry]

    def _check_place(self) -> None:
        """Raise if another run has taken this one's place: a review must not get into a stranger's directory."""
        if read_manifest(self.folder)["files"].get(LEXICON) != self.run.info["files"].get(LEXICON):
            raise InputError(self.folder, "the run was replaced meanwhile", "start `bilex explore` again")


def subwords_of(run: Run, models: Iterable[str]) -> dict[str, Subwords]:
    """Read fastText models and find out which of the two languages each is of."""
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
