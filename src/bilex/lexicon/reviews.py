"""A person's decisions about the entries of a lexicon: an append-only log in ``review.sqlite``.

A decision is a new row and so is its undoing; no row is ever changed or deleted. An entry is a pair of words, and its
*version* is the number of the last row about it (0 before the first). A caller states which version it saw, and a
decision made on an older one is refused, so two people or two tabs cannot overwrite each other unawares. Each row is
one transaction that is on the disk before the call returns.

A source word that was not matched is the entry of that word and `NO_TARGET`. It can only be corrected, which gives it a
translation.
"""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from bilex.errors import BilexError, InputError
from bilex.files.atomic import atomic_write
from bilex.files.ownership import REVIEWS
from bilex.files.run_directory import file_of_run

ACCEPTED, REJECTED, CORRECTED, UNDECIDED = "accepted", "rejected", "corrected", "undecided"
DECISIONS = (UNDECIDED, ACCEPTED, REJECTED, CORRECTED)
UNDONE = "undone"
NO_TARGET = ""  # the target of a word that was not matched; no word is empty
MAX_CORRECTION_LENGTH = 1000
APPLICATION_ID, SCHEMA_VERSION = 0x62696C78, 1  # "bilx"
MAX_REVIEW_BYTES = 1 << 30  # millions of decisions
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
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""

WordPair = tuple[str, str]


@dataclass(frozen=True)
class Decision:
    """The decision about an entry: its kind, for ``corrected`` the right target, and the version of the entry."""

    kind: str = UNDECIDED
    correction: str | None = None
    version: int = 0
    made: str = ""


class Conflict(BilexError):  # noqa: N818 (HTTP's name for it)
    """The entry was decided in the meantime; `current` is the decision that holds now."""

    def __init__(self, current: Decision) -> None:
        self.current = current
        super().__init__("this entry was decided elsewhere meanwhile; look at the newer decision")


class Reviews:
    """The decisions about one run; safe to use from several threads, and beside other processes.

    The file is created by the first decision, so looking at a run leaves nothing behind.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder) / REVIEWS
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._stacks: dict[WordPair, list[Decision]] = {}  # for each entry, the decisions that are not undone
        self._versions: dict[WordPair, int] = {}
        self._standing: dict[int, WordPair] = {}  # all decisions that are not undone by row number, oldest first
        self._last_row = 0
        with self._lock:
            self._catch_up()

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def decide(self, pair: WordPair, kind: str, correction: str | None = None, *, version: int) -> Decision:
        """Write a decision about an entry; raise `Conflict` if it no longer has the `version` that the caller saw."""
        if kind not in (ACCEPTED, REJECTED, CORRECTED):
            raise BilexError(f"no decision is called {kind!r}; choose one of {ACCEPTED}, {REJECTED}, {CORRECTED}")
        if (kind == CORRECTED) != (correction is not None):
            raise BilexError("a correction goes with the decision 'corrected', and with no other")
        if pair[1] == NO_TARGET and kind != CORRECTED:
            raise BilexError("this word has no translation to accept or reject; give it one, or leave it")
        if correction is not None:
            correction = checked_correction(correction)
            if correction == pair[1]:
                kind, correction = ACCEPTED, None
        return self._append(pair, version, kind, correction)

    def undo(self, pair: WordPair, *, version: int) -> Decision:
        """Undo the last decision about an entry that still holds; the one before it holds again."""
        return self._append(pair, version, UNDONE, None)

    def current(self) -> dict[WordPair, Decision]:
        """Return the decision about every entry that was ever decided."""
        return self.changes(0)[1]

    def changes(self, since: int) -> tuple[int, dict[WordPair, Decision]]:
        """Return the number of the last row, and the decisions about the entries with rows after `since`."""
        with self._lock:
            self._catch_up()
            changed = [pair for pair, version in self._versions.items() if version > since]
            return self._last_row, {pair: self._current(pair) for pair in changed}

    def last(self) -> WordPair | None:
        """Return the entry of the newest decision that still holds."""
        with self._lock:
            self._catch_up()
            return next(reversed(self._standing.values()), None)

    def _current(self, pair: WordPair) -> Decision:
        stack = self._stacks.get(pair) or [Decision()]
        return replace(stack[-1], version=self._versions.get(pair, 0))

    def _append(self, pair: WordPair, version: int, kind: str, correction: str | None) -> Decision:
        with self._lock:
            if self._connection is None:
                self._connection = connect(self.path, create=True)
            with sqlite_errors(self.path), self._connection:  # commits, or rolls back
                self._connection.execute("BEGIN IMMEDIATE")  # also against other processes
                self._catch_up()
                current = self._current(pair)
                if current.version != version:
                    raise Conflict(current)
                undone = None
                if kind == UNDONE:
                    if not self._stacks.get(pair):
                        raise BilexError("there is nothing to undo for this entry")
                    undone = self._stacks[pair][-1].version
                made = datetime.now(UTC).isoformat(timespec="seconds")
                self._connection.execute(
                    "INSERT INTO log (source, target, verdict, correction, undoes, made) VALUES (?, ?, ?, ?, ?, ?)",
                    (*pair, kind, correction, undone, made),
                )
            self._catch_up()
            return self._current(pair)

    def _catch_up(self) -> None:
        """Read the rows that were added since the last time, by this process or by another."""
        if self._connection is None:
            if not os.path.lexists(self.path):
                return
            self._connection = connect(self.path, create=False)
        query = "SELECT id, source, target, verdict, correction, made FROM log WHERE id > ? ORDER BY id"
        with sqlite_errors(self.path):
            rows = self._connection.execute(query, (self._last_row,)).fetchall()
        for number, source, target, kind, correction, made in rows:
            pair = (source, target)
            if not all(isinstance(text, str) for text in (*pair, kind, correction or "", made)):
                raise InputError(self.path, f"row {number} of the review is damaged", "move the file away")
            stack = self._stacks.setdefault(pair, [])
            if kind != UNDONE:
                stack.append(Decision(kind, correction, number, made))
                self._standing[number] = pair
            elif stack:
                del self._standing[stack.pop().version]
            else:
                raise InputError(self.path, f"row {number} of the review undoes nothing", "move the file away")
            self._versions[pair] = self._last_row = number


def checked_correction(word: str) -> str:
    """Return the word without surrounding blanks, or raise if it cannot be a translation."""
    word = word.strip()
    if not word:
        raise BilexError("the correction is empty; give a word, or reject the entry")
    if len(word) > MAX_CORRECTION_LENGTH:
        raise BilexError(f"the correction has {len(word)} characters; give at most {MAX_CORRECTION_LENGTH}")
    if any(ord(char) < 32 or 0xD800 <= ord(char) < 0xE000 for char in word):
        raise BilexError("the correction has a control character or is not Unicode text; write it on one line")
    return word


def connect(path: Path, *, create: bool) -> sqlite3.Connection:
    """Open the file and check that it is a review."""
    if create:  # whole or not at all, unless another process was quicker
        with empty_review() as connection, atomic_write(path, replace=False) as file:
            file.write(connection.serialize())
    path = file_of_run(path.parent, path.name)
    with sqlite_errors(path):
        if not path.stat().st_size:
            raise InputError(path, "the file is empty", "delete it; the next decision makes it again")
        if path.stat().st_size > MAX_REVIEW_BYTES:
            raise InputError(path, f"the review has more than {MAX_REVIEW_BYTES:,} bytes", "move the file away")
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=10, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA synchronous = EXTRA")  # on the disk when the call returns
            check_review(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


@contextlib.contextmanager
def empty_review() -> Iterator[sqlite3.Connection]:
    """Yield a review without a decision, in memory."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        yield connection


def read_schema(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    """Read which tables, views and triggers there are, without running any of them."""
    return connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name LIMIT 10").fetchall()


def check_review(connection: sqlite3.Connection, path: Path) -> None:
    """Raise if the file is not a review, is damaged, or was written by a newer bilex."""

    def pragma(name: str) -> Any:
        return connection.execute(f"PRAGMA {name}").fetchone()[0]

    if pragma("application_id") != APPLICATION_ID:
        raise InputError(path, "this is not a review of bilex", "move the file away")
    if pragma("user_version") > SCHEMA_VERSION:
        raise InputError(path, "this review was written by a newer bilex", "update bilex")
    with empty_review() as expected:  # a foreign view or trigger could run for ever
        if read_schema(connection) != read_schema(expected):
            raise InputError(path, "its tables are not those of a review", "move the file away")
    with connection:
        connection.execute("BEGIN")  # no process can write until it ends
        whole = pragma("quick_check(1)") == "ok"
        cut = path.stat().st_size < pragma("page_count") * pragma("page_size")  # SQLite takes what is cut off for zeros
    if cut or not whole:
        raise InputError(path, "the review is damaged or cut off", "move the file away")


@contextlib.contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into an `InputError` that names the file."""
    try:
        yield
    except sqlite3.OperationalError as error:  # a full disk, no permission to write, a lock that is held too long
        raise InputError(path, f"cannot be used ({error})", "check the disk and who may write there") from None
    except sqlite3.Error as error:
        raise InputError(path, f"the review is damaged ({error})", "move the file away") from None
