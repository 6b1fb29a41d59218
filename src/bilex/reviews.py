"""What a person has decided about the entries of a lexicon, kept in ``review.sqlite`` in the run directory.

The database is a log: a decision is a new row and so is its undoing; no row is ever changed or deleted. An entry is a
pair of words, and its *version* is the number of the last row about it (0 before the first). Whoever decides says
which version they saw, and a decision made on an older one is refused, so two people or two tabs cannot overwrite
each other unawares. Each row is one transaction that is on the disk before the call returns.
"""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bilex.errors import BilexError, InputError
from bilex.lexicon import RETRIEVAL, Lexicon
from bilex.rundir import LEXICON, MANIFEST, REVIEWS, check_file, read_manifest

__all__ = [
    "ACCEPTED",
    "CORRECTED",
    "REJECTED",
    "UNDECIDED",
    "VERDICTS",
    "Conflict",
    "Decision",
    "Reviewed",
    "Reviews",
    "is_reviewed",
    "precision_interval",
    "read_reviewed",
]

ACCEPTED, REJECTED, CORRECTED, UNDECIDED = "accepted", "rejected", "corrected", "undecided"
VERDICTS = (ACCEPTED, REJECTED, CORRECTED)
UNDONE = "undone"
NAME = "reviewed"  # RUN/reviewed, as a seed
APPLICATION, FORMAT = 0x62696C78, 1  # "bilx"
SCHEMA = f"""
CREATE TABLE log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('accepted', 'rejected', 'corrected', 'undone')),
    correction TEXT CHECK ((correction IS NOT NULL) = (verdict = 'corrected')),
    undoes INTEGER REFERENCES log (id) CHECK ((undoes IS NOT NULL) = (verdict = 'undone')),
    made TEXT NOT NULL
);
CREATE TRIGGER no_update BEFORE UPDATE ON log BEGIN SELECT RAISE(ABORT, 'the log is only added to'); END;
CREATE TRIGGER no_delete BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'the log is only added to'); END;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
"""
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
            if self.path.exists():
                self._open(create=False)
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
                self._open(create=True)
            with self._transaction() as connection:
                self._catch_up()
                current = self._state(pair)
                if current.version != version:
                    raise Conflict(current)
                verdict, correction, undoes = row(self._stacks.get(pair, []))
                made = datetime.now(UTC).isoformat(timespec="seconds")
                connection.execute(
                    "INSERT INTO log (source, target, verdict, correction, undoes, made) VALUES (?, ?, ?, ?, ?, ?)",
                    (*pair, verdict, correction, undoes, made),
                )
            self._catch_up()
            return self._state(pair)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Hold the write lock of the database, also against other processes, and commit or roll back."""
        assert self._connection is not None
        with self._speaking():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _catch_up(self) -> None:
        """Read the rows that were added since the last time, by this process or by another."""
        if self._connection is None:
            if not self.path.exists():
                return
            self._open(create=False)
            assert self._connection is not None
        with self._speaking():
            rows = self._connection.execute(
                "SELECT id, source, target, verdict, correction, made FROM log WHERE id > ? ORDER BY id", (self._seen,)
            ).fetchall()
        for number, source, target, verdict, correction, made in rows:
            pair = (source, target)
            stack = self._stacks.setdefault(pair, [])
            self._counts[stack[-1].verdict if stack else UNDECIDED] -= 1
            if verdict == UNDONE:
                undone = stack.pop().version
                self._latest = [item for item in self._latest if item[0] != undone]
            else:
                stack.append(Decision(verdict, correction, number, made))
                self._latest.append((number, pair))
            self._counts[stack[-1].verdict if stack else UNDECIDED] += 1
            self._versions[pair] = self._seen = number

    def _open(self, *, create: bool) -> None:
        """Connect to the file, and check that it is ours."""
        with self._speaking():
            address = f"{self.path.resolve().as_uri()}?mode={'rwc' if create else 'rw'}"
            connection = sqlite3.connect(
                address, uri=True, timeout=10, isolation_level=None, check_same_thread=False, cached_statements=16
            )
            try:
                connection.execute("PRAGMA synchronous = EXTRA")  # on the disk when the call returns
                if create or not self.path.stat().st_size:  # empty: the first decision did not get far
                    make_schema(connection)
                self._check(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection

    def _check(self, connection: sqlite3.Connection) -> None:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            raise InputError(self.path, "this is not a review of bilex", "move the file away")
        if version > FORMAT:
            raise InputError(self.path, "this review was written by a newer bilex", "update bilex")

    @contextlib.contextmanager
    def _speaking(self) -> Iterator[None]:
        """Turn what SQLite says into an error of ours."""
        try:
            yield
        except sqlite3.OperationalError as error:  # a full disk, no right to write, a lock that is held too long
            raise InputError(self.path, f"cannot be used ({error})", "check the disk and who may write there") from None
        except sqlite3.Error as error:
            raise InputError(self.path, f"the review is damaged ({error})", "move the file away") from None


def make_schema(connection: sqlite3.Connection) -> None:
    """Make the table, unless another process was quicker."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        (objects,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not objects:
            for statement in split_statements(SCHEMA):
                connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def split_statements(script: str) -> list[str]:
    """Part a script into statements: `executescript` would commit between them."""
    statements, rest = [], ""
    for piece in script.strip().split("\n"):
        rest += piece + "\n"
        if sqlite3.complete_statement(rest):
            statements.append(rest.strip())
            rest = ""
    return statements


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


def precision_interval(right: int, total: int, z: float = 1.959964) -> tuple[float, float, float]:
    """Give the share of right ones and its Wilson score interval, of 95% by default; (0, 0, 1) for none."""
    if not total:
        return 0.0, 0.0, 1.0
    share = right / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return share, max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class Reviewed:
    """A reviewed lexicon as a seed: where to start, which pairs to keep and which to forbid."""

    pairs: list[Pair]
    kept: list[Pair]
    forbidden: list[Pair]

    @classmethod
    def of(
        cls, lexicon: Iterable[Pair], decisions: Mapping[Pair, Decision], inherited: Mapping[str, Any] | None = None
    ) -> Reviewed:
        """Put a lexicon and the decisions about it together.

        Accepted pairs and corrections are kept, rejected and corrected pairs forbidden; `inherited` are those of an
        earlier review that the lexicon was learnt with, where no decision says otherwise. Undecided pairs are a
        place to start from, unless one of their words is in a kept pair.
        """
        inherited = inherited or {}
        kept = dict.fromkeys(map(as_pair, inherited.get("kept", ())))
        forbidden = dict.fromkeys(map(as_pair, inherited.get("forbidden", ())))
        for pair, decision in decisions.items():
            if decision.verdict == UNDECIDED:
                continue
            kept.pop(pair, None)
            forbidden.pop(pair, None)
            (kept if decision.verdict == ACCEPTED else forbidden)[pair] = None
        for pair, decision in decisions.items():
            if decision.correction is not None:
                forbidden.pop((pair[0], decision.correction), None)
                kept[pair[0], decision.correction] = None
        settled = ({source for source, _ in kept}, {target for _, target in kept})
        free = [
            pair
            for pair in lexicon
            if pair not in forbidden and pair[0] not in settled[0] and pair[1] not in settled[1]
        ]
        return cls([*kept, *free], list(kept), list(forbidden))


def as_pair(item: Any) -> Pair:
    """Turn a pair as JSON has it into one of ours."""
    source, target = item
    return str(source), str(target)


def is_reviewed(path: str | os.PathLike[str]) -> bool:
    """Say whether a seed's path means the reviewed lexicon of a run, ``RUN/reviewed``, and not a file."""
    place = Path(path)
    return place.name == NAME and not place.exists() and (place.parent / MANIFEST).exists()


def read_reviewed(path: str | os.PathLike[str]) -> Reviewed:
    """Read the reviewed lexicon of a run: its induced pairs, as ``RUN/review.sqlite`` has them kept and forbidden."""
    folder = Path(path).parent
    info = read_manifest(folder)
    if not (folder / REVIEWS).exists():
        raise InputError(folder, "nobody has reviewed this run yet", f"do so with `bilex explore {folder}`")
    check_file(folder, LEXICON, info)
    entries = [(e.source, e.target) for e in Lexicon.load(folder / LEXICON) if e.origin != RETRIEVAL]
    with Reviews(folder) as reviews:
        decisions = reviews.current()
    try:
        reviewed = Reviewed.of(entries, decisions, info.get(NAME))
    except (TypeError, ValueError, AttributeError):
        raise InputError(folder / MANIFEST, "its reviewed pairs are not pairs", "run `bilex induce` again") from None
    if not reviewed.pairs:
        raise InputError(folder, "nothing is left of the lexicon after the review", "accept or correct some entries")
    return reviewed
