"""The SQLite file of a review: create, open, check and lock it; turn SQLite's errors into bilex's."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bilex.errors import InputError
from bilex.files.atomic import atomic_write
from bilex.files.run_directory import file_of_run

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
    with empty_review() as expected:  # a view or a trigger of another's could do anything, for ever
        if read_schema(connection) != read_schema(expected):
            raise InputError(path, "its tables are not those of a review", "move the file away")
    with connection:
        connection.execute("BEGIN")  # nobody can write until it ends
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
