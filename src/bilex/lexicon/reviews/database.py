"""The SQLite file of a review: opened, checked, locked, and what SQLite says turned into errors of ours."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from bilex.errors import InputError
from bilex.files.atomic import atomic_write
from bilex.files.run_directory import file_of_run

__all__ = ["connect", "speaking", "transaction"]

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


def connect(path: Path, *, create: bool) -> sqlite3.Connection:
    """Connect to the file, and check that it is ours."""
    if create:
        make_review(path)
    path = file_of_run(path.parent, path.name)
    with speaking(path):
        if not path.stat().st_size:
            raise InputError(path, "the file is empty", "delete it; the next decision makes it again")
        address = f"{path.resolve().as_uri()}?mode=rw"
        connection = sqlite3.connect(
            address, uri=True, timeout=10, isolation_level=None, check_same_thread=False, cached_statements=16
        )
        try:
            connection.execute("PRAGMA synchronous = EXTRA")  # on the disk when the call returns
            check(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Raise if the file is not a review, not whole, or one of a newer bilex."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise InputError(path, "this is not a review of bilex", "move the file away")
    connection.execute("BEGIN")  # nobody can write until it ends
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    (pages,), (size,) = (connection.execute(f"PRAGMA page_{what}").fetchone() for what in ("count", "size"))
    cut = path.stat().st_size < pages * size  # SQLite itself takes a last page that is cut for one of zeros
    connection.execute("COMMIT")
    if cut or found != "ok":
        raise InputError(path, "the review is damaged or cut off", "move the file away")
    if version > FORMAT:
        raise InputError(path, "this review was written by a newer bilex", "update bilex")


@contextlib.contextmanager
def speaking(path: Path) -> Iterator[None]:
    """Turn what SQLite says into an error of ours."""
    try:
        yield
    except sqlite3.OperationalError as error:  # a full disk, no right to write, a lock that is held too long
        raise InputError(path, f"cannot be used ({error})", "check the disk and who may write there") from None
    except sqlite3.Error as error:
        raise InputError(path, f"the review is damaged ({error})", "move the file away") from None


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold the write lock of the database, also against other processes, and commit or roll back."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def make_review(path: Path) -> None:
    """Put an empty review into its place, whole or not at all, unless another process was quicker."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        content = connection.serialize()
    with atomic_write(path, replace=False) as file:
        file.write(content)
