"""A person's decisions about the entries of a lexicon: a log that is only added to, in ``review.sqlite``.

A decision is a new row and so is its undoing; no row is ever changed or deleted. An entry is a pair of words, and its
*version* is the number of the last row about it (0 before the first). Whoever decides says which version they saw, and
a decision made on an older one is refused, so two people or two tabs cannot overwrite each other unawares. Each row is
one transaction that is on the disk before the call returns.

A source word that the matching left alone is the entry of that word and `NOTHING`. It can be corrected, which gives
it a translation, and that is all.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bilex.errors import BilexError, InputError
from bilex.files.run_directory import REVIEWS
from bilex.lexicon.reviews.database import connect, speaking, transaction

__all__ = [
    "ACCEPTED",
    "CORRECTED",
    "NOTHING",
    "REJECTED",
    "UNDECIDED",
    "VERDICTS",
    "Conflict",
    "Decision",
    "Pair",
    "Reviews",
]

ACCEPTED, REJECTED, CORRECTED, UNDECIDED = "accepted", "rejected", "corrected", "undecided"
VERDICTS = (ACCEPTED, REJECTED, CORRECTED)
UNDONE = "undone"
NOTHING = ""  # the target of a word that was left alone; no word is empty
LONGEST = 1000  # characters of a correction

Pair = tuple[str, str]


@dataclass(frozen=True)
class Decision:
    """What holds for an entry: the verdict, for ``corrected`` the right target, and the version of the entry."""

    verdict: str = UNDECIDED
    correction: str | None = None
    version: int = 0
    made: str = ""


class Conflict(BilexError):  # noqa: N818 (nobody did wrong)
    """The entry was decided meanwhile; `current` is what holds now."""

    def __init__(self, current: Decision) -> None:
        self.current = current
        super().__init__("this entry was decided elsewhere meanwhile; look at the newer decision")


class Reviews:
    """The decisions about one run; safe to use from several threads, and beside other processes.

    The file is made by the first decision, so that looking at a run leaves nothing behind.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder) / REVIEWS
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._stacks: dict[Pair, list[Decision]] = {}  # per entry, the decisions that are not undone
        self._versions: dict[Pair, int] = {}
        self._counts: Counter[str] = Counter()
        self._latest: list[tuple[int, Pair]] = []  # all decisions that are not undone, oldest first
        self._seen = 0
        with self._lock:
            self._catch_up()

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __enter__(self) -> Reviews:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def decide(self, pair: Pair, verdict: str, correction: str | None = None, *, version: int) -> Decision:
        """Write a decision about an entry, whose `version` is the one that was looked at.

        Raises
        ------
        Conflict
            If the entry has another version by now.
        """
        if verdict not in VERDICTS:
            raise BilexError(f"no verdict is called {verdict!r}; choose one of {', '.join(VERDICTS)}")
        if (verdict == CORRECTED) != (correction is not None):
            raise BilexError("a correction goes with the verdict 'corrected', and with no other")
        if pair[1] == NOTHING and verdict != CORRECTED:
            raise BilexError("this word has no translation to accept or reject; give it one, or leave it")
        if correction is not None:
            correction = check_correction(correction)
            if correction == pair[1]:
                verdict, correction = ACCEPTED, None
        return self._write(pair, version, lambda _: (verdict, correction, None))

    def undo(self, pair: Pair, *, version: int) -> Decision:
        """Take back the last decision about an entry that still holds; the one before it holds again."""

        def row(stack: list[Decision]) -> tuple[str, None, int]:
            if not stack:
                raise BilexError("there is nothing to undo for this entry")
            return UNDONE, None, stack[-1].version

        return self._write(pair, version, row)

    def __getitem__(self, pair: Pair) -> Decision:
        with self._lock:
            self._catch_up()
            return self._state(pair)

    def current(self) -> dict[Pair, Decision]:
        """Give what holds for every entry that was ever decided."""
        with self._lock:
            self._catch_up()
            return {pair: self._state(pair) for pair in self._versions}

    def changes(self, since: int) -> tuple[int, dict[Pair, Decision]]:
        """Give the number of the last row, and what holds for the entries with rows after `since`."""
        with self._lock:
            self._catch_up()
            return self._seen, {
                pair: self._state(pair) for pair, version in self._versions.items() if version > since
            } if self._seen > since else {}

    def counts(self) -> dict[str, int]:
        """Count the entries by verdict."""
        with self._lock:
            self._catch_up()
            return {verdict: self._counts[verdict] for verdict in VERDICTS}

    def last(self) -> Pair | None:
        """Give the entry of the newest decision that still holds."""
        with self._lock:
            self._catch_up()
            return self._latest[-1][1] if self._latest else None

    def log(self) -> list[dict[str, Any]]:
        """Give all rows, oldest first."""
        with self._lock:
            self._catch_up()
            if self._connection is None:
                return []
            cursor = self._connection.execute("SELECT * FROM log ORDER BY id")
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def _state(self, pair: Pair) -> Decision:
        version = self._versions.get(pair, 0)
        stack = self._stacks.get(pair)
        if not stack:
            return Decision(version=version)
        return Decision(stack[-1].verdict, stack[-1].correction, version, stack[-1].made)

    def _write(self, pair: Pair, version: int, row: Any) -> Decision:
        with self._lock:
            if self._connection is None:
                self._connection = connect(self.path, create=True)
            with speaking(self.path), transaction(self._connection):
                self._catch_up()
                current = self._state(pair)
                if current.version != version:
                    raise Conflict(current)
                verdict, correction, undoes = row(self._stacks.get(pair, []))
                made = datetime.now(UTC).isoformat(timespec="seconds")
                self._connection.execute(
                    "INSERT INTO log (source, target, verdict, correction, undoes, made) VALUES (?, ?, ?, ?, ?, ?)",
                    (*pair, verdict, correction, undoes, made),
                )
            self._catch_up()
            return self._state(pair)

    def _catch_up(self) -> None:
        """Read the rows that were added since the last time, by this process or by another."""
        if self._connection is None:
            if not os.path.lexists(self.path):
                return
            self._connection = connect(self.path, create=False)
        with speaking(self.path):
            rows = self._connection.execute(
                "SELECT id, source, target, verdict, correction, made FROM log WHERE id > ? ORDER BY id", (self._seen,)
            ).fetchall()
        for number, source, target, verdict, correction, made in rows:
            pair = (source, target)
            if not all(isinstance(text, str) for text in (*pair, verdict, correction or "", made)):
                raise InputError(self.path, f"row {number} of the review is damaged", "move the file away")
            stack = self._stacks.setdefault(pair, [])
            self._counts[stack[-1].verdict if stack else UNDECIDED] -= 1
            if verdict == UNDONE:
                if not stack:
                    raise InputError(self.path, f"row {number} of the review undoes nothing", "move the file away")
                undone = stack.pop().version
                self._latest = [item for item in self._latest if item[0] != undone]
            else:
                stack.append(Decision(verdict, correction, number, made))
                self._latest.append((number, pair))
            self._counts[stack[-1].verdict if stack else UNDECIDED] += 1
            self._versions[pair] = self._seen = number


def check_correction(word: str) -> str:
    """Give the word without blanks around it, or say why it cannot be a translation."""
    word = word.strip()
    if not word:
        raise BilexError("the correction is empty; give a word, or reject the entry")
    if len(word) > LONGEST:
        raise BilexError(f"the correction has {len(word)} characters; give at most {LONGEST}")
    if any(ord(char) < 32 or 0xD800 <= ord(char) < 0xE000 for char in word):
        raise BilexError("the correction has a control character or is not Unicode text; write it on one line")
    return word
