"""Learning again from a reviewed run, in a process of its own, and what that changed.

The vectors in ``model.safetensors`` are already normalised, so the original files are not needed. The process writes
one JSON object on a line for each step; it can be ended at any time, and the page stays quick beside it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from bilex.em.context import Iteration, Reporter
from bilex.errors import BilexError
from bilex.files.run_directory import LEXICON, read_manifest, run_directory
from bilex.induction import induce
from bilex.lexicon.lexicon import RETRIEVAL, Lexicon
from bilex.methods import Method
from bilex.report import REPORT, write_report
from bilex.runs.run import Run

if TYPE_CHECKING:
    from bilex.web.explorer import Explorer

__all__ = ["Retraining", "changed_pairs", "learn_again", "next_name"]

SHOWN = 500  # changes that the page lists


class Retraining:
    """Starts the process, one at a time, and remembers how far it is."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._state: dict[str, Any] = {"state": "idle"}

    def state(self) -> dict[str, Any]:
        """Say how far it is: idle, running, done with the changes, or failed with the reason."""
        with self._lock:
            return dict(self._state)

    def start(self) -> dict[str, Any]:
        """Begin, unless it runs already."""
        with self._lock:
            if self._state["state"] == "running":
                return dict(self._state)
            progress = self.explorer.progress()
            if not progress["reviewed"] and not progress["added"]:
                raise BilexError("nothing is reviewed yet; accept, reject or correct some entries first")
            place = next_name(self.explorer.folder.resolve())
            command = [sys.executable, "-m", "bilex.web.retraining", str(self.explorer.folder.resolve()), str(place)]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._state = {"state": "running", "run": place.name, "stage": "reading", "iterations": 0, "pairs": None}
            threading.Thread(target=self._follow, args=(self._process, place), daemon=True).start()
            return dict(self._state)

    def stop(self) -> None:
        """End the process; what it was writing vanishes."""
        with self._lock:
            process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
            try:
                process.wait(2)
            except subprocess.TimeoutExpired:
                process.kill()

    def _follow(self, process: subprocess.Popen[bytes], place: Path) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            for line in process.stdout:
                with self._lock:
                    self._state |= json.loads(line)
            complaint = last_line(process.stderr)
            if process.wait() != 0:
                raise BilexError(complaint or "learning was ended")
            changes = changed_pairs(self.explorer.run.lexicon, Lexicon.load(place / LEXICON))
            verdict = read_manifest(place)["verdict"]
            with self._lock:
                self._state |= {"state": "done", "verdict": verdict, "report": REPORT, **changes}
        except (BilexError, OSError, ValueError) as error:
            with self._lock:
                self._state = {"state": "failed", "error": str(error)}


def last_line(stream: IO[bytes]) -> str:
    """Give the last thing that the process said."""
    lines = stream.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


def next_name(place: Path) -> Path:
    """Name the run that follows: RUN-2 after RUN, or the next number that is free."""
    parts = re.fullmatch(r"(.+)-(\d{1,6})", place.name)
    base, number = place.name, 2
    if parts is not None and (place.parent / parts[1]).exists():  # RUN-2 was learnt from RUN
        base, number = parts[1], int(parts[2]) + 1
    while (place.parent / f"{base}-{number}").exists():
        number += 1
    return place.parent / f"{base}-{number}"


def changed_pairs(before: Lexicon, after: Lexicon) -> dict[str, Any]:
    """Compare two lexicons by their induced pairs: source words that gained, lost or changed their translations."""
    old, new = targets_of(before), targets_of(after)
    lists: dict[str, list[dict[str, Any]]] = {"gained": [], "lost": [], "changed": []}
    for word in dict.fromkeys([*new, *old]):
        was, now = old.get(word, []), new.get(word, [])
        if set(was) != set(now):
            kind = "gained" if not was else "lost" if not now else "changed"
            lists[kind].append({"source": word, "before": was, "after": now})
    counts = {kind: len(changes) for kind, changes in lists.items()}
    same = sum(set(old[word]) == set(new.get(word, ())) for word in old)
    return {
        "counts": {**counts, "same": same},
        "changes": {kind: changes[:SHOWN] for kind, changes in lists.items()},
    }


def targets_of(lexicon: Lexicon) -> dict[str, list[str]]:
    """Give the induced translations of each source word."""
    found: dict[str, list[str]] = {}
    for entry in lexicon:
        if entry.origin != RETRIEVAL:
            found.setdefault(entry.source, []).append(entry.target)
    return found


class Lines(Reporter):
    """Writes the news of a run as JSON, one object on a line."""

    def __init__(self) -> None:
        self.iterations = 0

    def stage(self, name: str) -> None:
        """Begin a part of the work."""
        self.say(stage=name)

    def iteration(self, iteration: Iteration) -> None:
        """Finish an iteration."""
        self.iterations += 1
        self.say(iterations=self.iterations, pairs=iteration.pairs, mean_cosine=iteration.mean_cosine)

    def say(self, **news: Any) -> None:
        """Write a line."""
        print(json.dumps(news), flush=True)


def learn_again(folder: Path, place: Path, reporter: Reporter | None = None) -> Run:
    """Learn from the reviewed lexicon of a run, as that run was learnt, and write the new run with its report."""
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
        write_report(run, new / REPORT)
        run.write(new)
    return run


def main(arguments: Iterable[str]) -> None:
    """Learn again: RUN and the run to write."""
    import warnings

    from bilex.errors import NothingMatchedWarning

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as an exception, so that nothing is left behind
    folder, place = map(Path, arguments)
    if hasattr(os, "nice"):
        os.nice(5)  # whoever looks at the page comes first
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", NothingMatchedWarning)
    try:
        learn_again(folder, place, Lines())
    except (BilexError, NothingMatchedWarning, OSError, MemoryError) as error:
        sys.exit(str(error) or type(error).__name__)


if __name__ == "__main__":
    main(sys.argv[1:])
