"""A grid of cells, each computed once: finished cells are kept, so that an interrupted run can be continued.

Every result is appended to a file of JSON lines as soon as it is computed, under a key that depends on everything it
was computed from: the cell's configuration, the content of the input files and the version of bilex. A rerun skips
the cells that it finds there. A line that was torn by a crash is dropped and its cell is computed again.
"""

import contextlib
import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from bilex.em.context import Reporter
from bilex.errors import BilexError, BilexWarning
from bilex.files.folders import take_lock
from bilex.files.ownership import ELSEWHERE, check_output

Result = dict[str, Any]
LINE_START = b'{"key": '


def configuration_key(configuration: dict[str, Any]) -> str:
    """Return a hash of a configuration that does not depend on the order of its keys."""
    text = json.dumps(configuration, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def run_grid(
    cells: Sequence[tuple[str, dict[str, Any]]],
    compute: Callable[[int], Result],
    path: Path,
    reporter: Reporter | None = None,
) -> list[Result]:
    """Compute the cells that are not yet in the file at `path`, and return the results of all in order.

    A cell is its name on a terminal, and everything its result depends on, as JSON can hold it; `compute` is called
    with the place of the cell.
    """
    reporter = reporter or Reporter()
    keys = [configuration_key(configuration) for _, configuration in cells]
    with open_log(path) as file:
        done = read_results(path, file)
        spent: list[float] = []
        for place, (key, (label, configuration)) in enumerate(zip(keys, cells, strict=True)):
            if key in done:
                continue
            rest = len(set(keys[place:]) - done.keys())
            left = f", about {rest * sum(spent) / len(spent):.0f} s left" if spent else ""
            reporter.stage(f"cell {place + 1} of {len(cells)}: {label}{left}")
            reporter.rows(place, len(cells))
            started = time.perf_counter()
            result = compute(place)
            spent.append(time.perf_counter() - started)
            seconds = round(spent[-1], 3)
            append_line(path, file, {"key": key, "cell": configuration, "result": result, "seconds": seconds})
            done[key] = json.loads(json.dumps(result))  # as a later run will read it
    return [done[key] for key in keys]


@contextlib.contextmanager
def open_log(path: Path) -> Iterator[BinaryIO]:
    """Open the file for reading and appending, locked where the system can; remove it again if it stays empty."""
    folder_is_new = not path.parent.exists()
    check_output(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")
    except OSError as error:
        raise BilexError(f"{path}: cannot be written ({error.strerror}); choose another place with -o") from None
    with file:
        held = take_lock(file.fileno(), only_if_free=True)
        if held:  # another that stayed empty may have removed it since it was opened
            held = path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())
        if held is False:  # then nothing is changed
            raise BilexError(f"{path}: another bilex is writing to it; wait for it, or choose another -o")
        try:
            yield file
        finally:
            file.seek(0, os.SEEK_END)
            if not file.tell():
                with contextlib.suppress(OSError):  # Windows removes no open file
                    path.unlink(missing_ok=True)
                    if folder_is_new:
                        path.parent.rmdir()


def read_results(path: Path, file: BinaryIO) -> dict[str, Result]:
    """Read the results by their keys, and cut off a torn last line."""
    file.seek(0)
    content = file.read()
    if not LINE_START.startswith(content[: len(LINE_START)]):  # also if its first line was torn
        raise BilexError(f"{path}: holds no finished cells but something else; move it, or {ELSEWHERE}")
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


def append_line(path: Path, file: BinaryIO, record: dict[str, Any]) -> None:
    """Write a line and flush it to the disk."""
    line = json.dumps(record, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace") + b"\n"
    try:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:
        raise BilexError(f"{path}: cannot be written ({error.strerror}); check the disk") from error
