"""Retraining from a reviewed run, in a process of its own, and what it changed.

The vectors in ``model.safetensors`` are already normalised, so the original files are not needed. The process writes
one JSON object on a line for each step; it can be stopped at any time, and the page stays quick beside it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from typing import TYPE_CHECKING, Any

import numpy as np

from bilex.em.context import Reporter
from bilex.errors import BilexError
from bilex.files.ownership import LEXICON, REPORT
from bilex.files.run_directory import read_manifest, run_directory
from bilex.induction import induce
from bilex.lexicon.lexicon import RETRIEVAL, Lexicon
from bilex.lexicon.reviews import UNDECIDED, Decision, WordPair
from bilex.methods import Method
from bilex.multilingual.cycles import partners_of
from bilex.report.page import write_report
from bilex.runs.progress import ProgressReporter
from bilex.runs.run import Run

if TYPE_CHECKING:
    from bilex.web.explorer import Explorer

MAX_LISTED_CHANGES = 500
MAX_END = 5  # seconds that a process may take to end
MODULE = (sys.executable, "-P", "-m")  # -P: a numpy.py in the current folder, perhaps a stranger's, is not run
EXPLORE = (*MODULE, "bilex", "explore", "--no-browser", "--port", "0", "-q")


class Retraining:
    """Starts the process, one at a time, and follows its progress."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self._lock = threading.Lock()
        self._process: Popen[bytes] | None = None
        self._place: Path | None = None
        self._opened: Popen[bytes] | None = None  # the explorer of the new run
        self._address: str | None = None
        self._state: dict[str, Any] = {"state": "idle"}

    def state(self) -> dict[str, Any]:
        """Return the state: idle, running, done with the changes, or failed with the reason."""
        with self._lock:
            return dict(self._state)

    def start(self) -> dict[str, Any]:
        """Start, unless it is running already."""
        with self._lock:
            if self._state["state"] == "running":
                return dict(self._state)
            progress = self.explorer.progress()
            if not progress["reviewed"] and not progress["added"]:
                raise BilexError("nothing is reviewed yet; accept, reject or correct some entries first")
            end(self._opened)
            folder = self.explorer.folder.resolve()
            self._opened, self._place = None, claim_next_run(folder)
            place = self._place
            command = [*MODULE, "bilex.web.retraining", str(folder), str(place)]
            try:
                self._process = Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, start_new_session=True)
            except OSError as error:
                self._release()
                raise BilexError(f"no process can be started ({error.strerror}); close other programs") from None
            self._state = {"state": "running", "run": place.name, "stage": "reading", "done": 0.0}
            threading.Thread(target=self._follow, args=(self._process, place), daemon=True).start()
            return dict(self._state)

    def open_run(self) -> str:
        """Serve the new run, by an explorer of its own that ends with this one, and return its address."""
        with self._lock:
            if self._state["state"] != "done" or self._place is None:
                raise BilexError("there is no new run to open; learn again first")
            if self._opened is None or self._opened.poll() is not None:
                command = [*EXPLORE, str(self._place)]
                self._opened = Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL)
                assert self._opened.stdout is not None
                self._address = self._opened.stdout.readline().decode().strip()
            if not self._address:
                raise BilexError(f"it cannot be opened; try `bilex explore {self._place}` in a terminal")
            return self._address

    def stop(self) -> None:
        """Stop the processes; what the retraining was writing is removed."""
        with self._lock:
            process, opened = self._process, self._opened
        end(opened)
        if end(process):
            self._release()

    def _release(self) -> None:
        """Remove the empty folder that holds the name of the next run, unless the run is there."""
        if self._place is not None:
            with contextlib.suppress(OSError):
                self._place.rmdir()

    def _follow(self, process: Popen[bytes], place: Path) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            for line in process.stdout:
                with self._lock:
                    self._state |= json.loads(line)
            *_, error_line = ["", *process.stderr.read().decode("utf-8", "replace").strip().splitlines()]
            if process.wait() != 0:
                raise BilexError(error_line or "the process was stopped")
            before, after = self.explorer.run.lexicon, Lexicon.load(place / LEXICON)
            changes = changed_pairs(before, after, self.explorer.reviews.current())
            expected = [before.expected_precision, after.expected_precision]
            found = {"verdict": read_manifest(place)["verdict"], "report": REPORT, "expected": expected}
            with self._lock:
                self._state |= {"state": "done", **found, **changes}
        except (BilexError, OSError, ValueError) as error:
            self._release()
            with self._lock:
                self._state = {"state": "failed", "error": str(error)}


def end(process: Popen[bytes] | None) -> bool:
    """End a process if it is running, and return whether it was."""
    if process is None or process.poll() is not None:
        return False
    process.terminate()
    try:
        process.wait(MAX_END)
    except TimeoutExpired:
        process.kill()
        process.wait()
    return True


def claim_next_run(place: Path) -> Path:
    """Return the path of the next run, RUN-2 after RUN or the next free number, and make an empty folder there.

    An empty folder can be replaced by a run, and no other explorer takes the same name.
    """
    parts = re.fullmatch(r"(.+)-(\d{1,6})", place.name)
    base, number = place.name, 2
    if parts is not None and (place.parent / parts[1]).exists():  # RUN-2 was learnt from RUN
        base, number = parts[1], int(parts[2]) + 1
    while True:
        claimed = place.parent / f"{base}-{number}"
        try:
            claimed.mkdir()
        except FileExistsError:
            number += 1
        except OSError as error:
            raise BilexError(f"{claimed}: cannot be written ({error.strerror}); check who may write there") from None
        else:
            return claimed


def changed_pairs(before: Lexicon, after: Lexicon, decisions: Mapping[WordPair, Decision]) -> dict[str, Any]:
    """Compare two lexicons by their induced pairs: source words that gained, lost or changed their translations.

    Changes of words that were decided about, or that a decided target was taken from or given to, are apart from
    those that came about because the maps have moved, the drift.
    """
    old, new = (partners_of(each[np.array(each.origin) != RETRIEVAL]) for each in (before, after))
    standing = {pair: each for pair, each in decisions.items() if each.kind != UNDECIDED}
    sources = {source for source, _ in standing}
    targets = {target for _, target in standing} | {each.correction for each in standing.values()}
    lists: dict[str, list[dict[str, Any]]] = {"decided": [], "drift": []}
    for word in dict.fromkeys([*new, *old]):
        was, now = old.get(word, []), new.get(word, [])
        if set(was) != set(now):
            due = word in sources or not targets.isdisjoint({*was} ^ {*now})
            lists["decided" if due else "drift"].append({"source": word, "before": was, "after": now})
    same = len({*old, *new}) - sum(map(len, lists.values()))
    replaced = sum(bool(each["before"] and each["after"]) for each in lists["drift"])  # the others came or went
    return {
        "counts": {**{kind: len(changes) for kind, changes in lists.items()}, "replaced": replaced, "same": same},
        "changes": {kind: changes[:MAX_LISTED_CHANGES] for kind, changes in lists.items()},
    }


class JsonLinesReporter(ProgressReporter):
    """Prints the progress of a run as JSON, one object on a line."""

    def show(self, what: str | None = None) -> None:
        """Print the part of the work that begins, and how much of the whole is done."""
        if what is not None:
            print(json.dumps({"stage": what, "done": self.done}), flush=True)


def retrain(folder: Path, place: Path, reporter: Reporter | None = None) -> Run:
    """Retrain from the reviewed lexicon of a run with its method, and write the new run with its report."""
    reporter = reporter or Reporter()
    old = Run.load(folder)
    configuration = old.info["configuration"]
    try:
        method = Method.from_manifest(configuration["method"])
    except BilexError as error:
        raise BilexError(f"{folder}: {error}") from None
    prepared = replace(method, normalise="none", orthography=0.0)  # it was done before the vectors were stored
    run = induce(
        old.source,
        old.target,
        folder / "reviewed",
        prepared,
        complete=bool(configuration.get("complete")),
        reporter=reporter,
    )
    run.info["configuration"] |= {"method": configuration["method"], "learnt_again_from": folder.name}
    run.info["inputs"] = old.info["inputs"]
    reporter.stage("writing")
    with run_directory(place) as new:
        write_report(run, new / REPORT, name=place.name)
        run.write(new)
    return run


def main(arguments: Iterable[str]) -> None:
    """Retrain; the arguments are the reviewed run and the run to write."""
    import warnings

    from bilex.errors import NothingMatchedWarning

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an exception, so that nothing is left behind
    folder, place = map(Path, arguments)
    if hasattr(os, "nice"):
        os.nice(5)  # the page comes first
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", NothingMatchedWarning)
    try:
        retrain(folder, place, JsonLinesReporter())
    except (BilexError, NothingMatchedWarning, OSError, MemoryError) as error:
        sys.exit(str(error) or type(error).__name__)


if __name__ == "__main__":
    main(sys.argv[1:])
