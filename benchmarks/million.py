"""A million words a side: by the local engine, and on a Dask cluster of two workers, one of which is killed on the way.

``python -m benchmarks.million FOLDER`` writes two made-up languages to FOLDER, runs the default's command once on each,
compares the bytes of the two runs, and prints the figures of docs/scaling.md as JSON. It is no part of ``make bench``,
because it takes an hour.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.endtoend import run
from benchmarks.graphs import languages
from benchmarks.memory import status
from benchmarks.results import machine

WORDS, DIMENSION, SEED_PAIRS = 1_000_000, 100, 400
KILL_AFTER = 60.0  # CPU seconds of a worker: EM's own searches, of 8,000 words, take a few
COMPARED = ("lexicon.tsv", "model.safetensors", "candidates.safetensors")
POLL_INTERVAL = 0.5  # seconds
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Write the files unless they are there, run both commands, print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.million", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--words", type=int, default=WORDS)
    parser.add_argument("--dimension", type=int, default=DIMENSION)
    parser.add_argument("--kill-after", type=float, default=KILL_AFTER, help="CPU seconds of the worker that is killed")
    parser.add_argument("--local", action="store_true", help="only the local engine: for the growth with the words")
    options = parser.parse_args()
    folder: Path = options.folder
    command = write_matrices(folder, options.words, options.dimension)
    figures: dict[str, Any] = {"machine": machine(), "words": options.words, "dimension": options.dimension}
    figures["local"] = measure([*command, "-o", str(folder / "local")], folder)
    figures["local"]["right"] = share_right(folder / "local", folder / "pairs.npy")
    if not options.local:
        print(json.dumps(figures["local"], indent=1), flush=True)
        with cluster(folder) as (address, workers):
            watched, sent = Watch(workers, options.kill_after), bytes_on_loopback()
            figures["dask"] = measure([*command, "--engine", f"dask={address}", "-o", str(folder / "dask")], folder)
            figures["dask"] |= {"network_mb": (bytes_on_loopback() - sent) / 1e6, **watched.end()}
        figures["same"] = {name: digest(folder / "local" / name) == digest(folder / "dask" / name) for name in COMPARED}
    (folder / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


def write_matrices(folder: Path, words: int, dimension: int) -> list[str]:
    """Write both languages, their words and the seed; return the beginning of the command that reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    files, seed = [folder / f"{letter}.npy" for letter in "st"], folder / "seed.txt"
    if not seed.exists():
        made = languages(words, dimension)
        for file, vectors in zip(files, (made.source, made.target), strict=True):
            np.save(file, vectors)
            file.with_suffix(".vocab").write_text("".join(f"{file.stem}{row}\n" for row in range(words)))
        np.save(folder / "pairs.npy", np.array(made.pairs))
        pairs = np.array(made.pairs).T[np.argsort(made.pairs[0])][:SEED_PAIRS].tolist()
        seed.write_text("".join(f"s{row}\tt{column}\n" for row, column in pairs))
    return ["induce", *map(str, files), "--seed", str(seed), "--limit", str(words), "--json"]


def measure(arguments: list[str], folder: Path) -> dict[str, Any]:
    """Run the command; return what it took, in all and by steps, and what it foretold."""
    steps = folder / "steps.json"
    info, wall, cpu, memory = run(arguments, steps=steps)
    return {
        "cpu": cpu,
        "wall": wall,
        "memory_mb": memory,
        "entries": info["pairs"],
        "estimate": info["estimate"],
        "steps": json.loads(steps.read_text()),
    }


def share_right(place: Path, pairs: Path) -> float:
    """Return the share of right entries among those whose source word has a translation."""
    translations: dict[int, int] = dict(np.load(pairs).T.tolist())
    lines = (place / "lexicon.tsv").read_text().splitlines()[1:]
    entries = [tuple(int(word[1:]) for word in line.split("\t")[:2]) for line in lines]
    known = [(source, target) for source, target in entries if source in translations]
    return sum(translations[source] == target for source, target in known) / max(1, len(known))


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Start a scheduler and two workers of one thread each; yield its address and the workers."""
    contact = folder / "scheduler.json"
    contact.unlink(missing_ok=True)
    scheduler = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    worker = ["distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", "--memory-limit", "0", "--no-dashboard"]
    started: list[subprocess.Popen[bytes]] = []
    try:
        started.append(start_quietly([*scheduler, "--scheduler-file", str(contact)]))
        while not contact.exists():
            time.sleep(POLL_INTERVAL)
        started += [start_quietly([*worker, "--scheduler-file", str(contact)]) for _ in range(2)]
        yield json.loads(contact.read_text())["address"], started[1:]
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def start_quietly(module: list[str]) -> subprocess.Popen[bytes]:
    """Start a module of Python with its arguments, without its output."""
    return subprocess.Popen([sys.executable, "-m", *module], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Watch:
    """Follows the CPU seconds and the memory of the workers, and kills the first after some CPU seconds."""

    def __init__(self, workers: list[subprocess.Popen[bytes]], kill_after: float) -> None:
        self.workers, self.kill_after = workers, kill_after
        self.cpu, self.memory, self.killed_after = [0.0] * len(workers), [0.0] * len(workers), 0.0
        self._ended, self._thread = threading.Event(), threading.Thread(target=self._follow)
        self._started = time.perf_counter()
        self._thread.start()

    def _follow(self) -> None:
        while not self._ended.wait(POLL_INTERVAL):
            for number, worker in enumerate(self.workers):
                self.cpu[number] = max(self.cpu[number], cpu_seconds(worker.pid))
                self.memory[number] = max(self.memory[number], status(worker.pid, "VmHWM") or 0.0)
            if not self.killed_after and self.cpu[0] >= self.kill_after:
                self.workers[0].send_signal(signal.SIGKILL)
                self.killed_after = time.perf_counter() - self._started

    def end(self) -> dict[str, Any]:
        """Stop, and return the figures; raise if no worker was killed."""
        self._ended.set()
        self._thread.join()
        if not self.killed_after:
            raise RuntimeError("the run ended before a worker was killed; lower --kill-after")
        return {"worker_cpu": self.cpu, "worker_memory_mb": self.memory, "killed_after_s": self.killed_after}


def cpu_seconds(process: int) -> float:
    """Return the CPU seconds of a running process; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


def bytes_on_loopback() -> int:
    """Return how many bytes this machine has sent to itself."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(int(line.split()[9]) for line in lines if line.strip().startswith("lo:"))


def digest(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


if __name__ == "__main__":
    main()
