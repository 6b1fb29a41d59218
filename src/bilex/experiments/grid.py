"""A grid of cells, each computed once: what is done is kept, so that a run that was interrupted goes on.

Every result is appended to a file of JSON lines as soon as it is there, under a key that depends on everything it
was computed from: the cell's configuration, the content of the input files and the version of bilex. A rerun skips
what it finds there. A line that was torn by a crash is dropped and its cell is computed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Generic, Protocol, TypeVar

from bilex.errors import BilexError, BilexWarning

__all__ = ["Finished", "Task", "Watch", "key_of", "run_grid"]

Result = dict[str, Any]


class Task(Protocol):
    """One cell of a grid."""

    @property
    def label(self) -> str:
        """What the cell is called on a terminal."""
        ...

    @property
    def configuration(self) -> dict[str, Any]:
        """Everything the result depends on, as JSON can hold it."""
        ...


AnyTask = TypeVar("AnyTask", bound=Task)


@dataclass(frozen=True)
class Finished(Generic[AnyTask]):
    """A cell and its result."""

    task: AnyTask
    result: Result


class Watch:
    """Is told how a grid goes. Override what is of interest."""

    def begin(self, number: int, total: int, label: str, seconds_left: float | None) -> None:
        """Begin a cell; they are counted from 1, and those found done are counted too."""


def key_of(configuration: dict[str, Any]) -> str:
    """Give a short name for a configuration: the same for equal ones, whatever the order of their keys."""
    text = json.dumps(configuration, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:32]


def run_grid(
    tasks: Sequence[AnyTask], compute: Callable[[AnyTask], Result], path: Path, watch: Watch | None = None
) -> list[Finished[AnyTask]]:
    """Compute the cells that are not yet in the file at `path`, and give the results of all in their order."""
    watch = watch or Watch()
    keys = [key_of(task.configuration) for task in tasks]
    with opened(path) as file:
        done = read_results(path, file)
        spent: list[float] = []
        for number, (key, task) in enumerate(zip(keys, tasks, strict=True), start=1):
            if key in done:
                continue
            rest = len(set(keys[number - 1 :]) - done.keys())
            watch.begin(number, len(tasks), task.label, rest * sum(spent) / len(spent) if spent else None)
            started = time.perf_counter()
            result = compute(task)
            spent.append(time.perf_counter() - started)
            record = {
                "key": key,
                "cell": task.configuration,
                "result": result,
                "seconds": round(spent[-1], 3),
            }
            append(path, file, record)
            done[key] = json.loads(json.dumps(result))  # as it will be read the next time
    return [Finished(task, done[key]) for key, task in zip(keys, tasks, strict=True)]


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open the file for reading and appending, for this process alone; one that stays empty vanishes again."""
    made = not path.parent.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")
    except OSError as error:
        raise BilexError(f"{path}: cannot be written ({error.strerror}); choose another place with -o") from None
    with file:
        try:
            lock(path, file)
            yield file
        finally:
            file.seek(0, os.SEEK_END)
            if not file.tell():
                path.unlink(missing_ok=True)
                with contextlib.suppress(OSError):
                    if made:
                        path.parent.rmdir()


def lock(path: Path, file: BinaryIO) -> None:
    """Keep other processes from appending, where the system has such locks; it ends with the process."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise BilexError(f"{path}: another bilex is writing to it; wait for it, or choose another -o") from None


def read_results(path: Path, file: BinaryIO) -> dict[str, Result]:
    """Read the results by their keys, and cut a torn last line off."""
    file.seek(0)
    content = file.read()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        file.truncate(whole)
    results: dict[str, Result] = {}
    damaged = 0
    for line in content[:whole].split(b"\n"):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            results[str(record["key"])] = dict(record["result"])
        except (ValueError, KeyError, TypeError, RecursionError):
            damaged += 1
    if damaged:
        warnings.warn(f"{path}: {damaged} damaged lines are ignored and computed again", BilexWarning, stacklevel=3)
    return results


def append(path: Path, file: BinaryIO, record: dict[str, Any]) -> None:
    """Write a line and see it to the disk."""
    line = json.dumps(record, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n"
    try:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:
        raise BilexError(f"{path}: cannot be written ({error.strerror}); check the disk") from error
