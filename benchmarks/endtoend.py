"""The default's whole command, from two text files to the report, beside one exact search of the same size.

Each command runs in a process of its own, which measures the CPU seconds of its steps (`benchmarks.steps`); its memory
is the largest resident size. Then one word is translated, by `bilex translate` and by `Run.translate`.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.graphs import Languages, languages
from benchmarks.loading import write_text
from benchmarks.memory import largest_resident_size, status
from benchmarks.results import Range, Result, cpu_of, cpu_time, promise, single, taking_turns
from bilex.numerics.types import Vectors
from bilex.runs.run import Run
from bilex.search.int8_kernel import available
from bilex.search.local import LocalEngine

__all__ = ["benchmark", "run", "write_files"]

WORDS, DIMENSION, QUICK_WORDS, QUICK_DIMENSION = 200_000, 300, 2_000, 50
SEED_PAIRS = 5_000
K, SLICE_ROWS = 10, 4_096  # of the search, of which some slices are made
BUDGET = 600  # seconds for the commands
MOST_SEARCHES, MEMORY_LIMIT, TRANSLATE_SECONDS = 2.2, 2_400.0, 1.0
MOST_PRODUCTS, CALLS = 1.5, 20  # one call is too short for the clock of the CPU time
POLL_INTERVAL = 0.05  # seconds between two readings of the memory


def benchmark(quick: bool) -> Iterator[Result]:
    """Write the files, and run the command and slices of the search in turns."""
    words, dimension = (QUICK_WORDS, QUICK_DIMENSION) if quick else (WORDS, DIMENSION)
    made, case = languages(words, dimension), f"{words:,} x {words:,} x {dimension}"
    with tempfile.TemporaryDirectory() as folder:
        arguments = write_files(Path(folder), made)
        source, target = made.source, made.target
        del made
        commands, place = Commands(arguments, Path(folder)), Path(folder) / "run"
        slices = (source[start : start + SLICE_ROWS] for start in cycle(range(0, len(source), SLICE_ROWS)))
        LocalEngine().top_k(source[:100], target[:1000], K)  # compiles
        search = partial(search_slice, slices, target, len(source))
        taken = taking_turns({"command": commands.run_next, "search": search}, quick, warm_up=False, budget=BUDGET)
        looked_up = partial(run, ["translate", str(place), "s7", "--json"])
        lookups = taking_turns({"lookup": lambda: looked_up()[1]}, quick)["lookup"]
        translations = list(translate_word(Run.load(place), case, quick))
    yield Result(
        name="endtoend",
        case=f"{case}, the whole command",
        unit="CPU s",
        ours=taken["command"],
        peer_name=f"one exact search ({'8 bits' if available() else 'float32'}, from slices)",
        peer=taken["search"],
        details=commands.details(),
        **promise(
            f"at most {MOST_SEARCHES:g} searches",
            taken["command"].median <= MOST_SEARCHES * taken["search"].median,
            quick,
        ),
    )
    memory = Range(tuple(commands.memory))
    yield Result(
        name="endtoend",
        case=f"{case}, its memory",
        unit="MB",
        ours=memory,
        peer_name="what it foretold",
        peer=single(commands.info["estimate"]["memory_mb"]),
        **promise(f"at most {MEMORY_LIMIT:g} MB", memory.most <= MEMORY_LIMIT, quick),
    )
    yield Result(
        name="endtoend",
        case=f"{case}, bilex translate, one word",
        unit="s",
        ours=lookups,
        peer_name="what is asked",
        peer=single(TRANSLATE_SECONDS),
        **promise("at most a second", lookups.median <= TRANSLATE_SECONDS, quick),
    )
    yield from translations


class Commands:
    """Runs the command again and again, and keeps what it took."""

    def __init__(self, arguments: list[str], folder: Path) -> None:
        self.arguments, self.folder = [*arguments, "-o", str(folder / "run"), "--force"], folder
        self.info: dict[str, Any] = {}
        self.memory, self.walls = list[float](), list[float]()
        self.steps: dict[str, list[float]] = {}

    def run_next(self) -> float:
        """Run it; return its CPU seconds."""
        steps = self.folder / "steps.json"
        self.info, wall, cpu, memory = run(self.arguments, steps=steps)
        self.memory.append(memory)
        self.walls.append(wall)
        for name, seconds in json.loads(steps.read_text()).items():
            self.steps.setdefault(name, []).append(seconds)
        return cpu

    def details(self) -> dict[str, float]:
        """Return the medians of the steps, and what else is known."""
        known = {
            "wall": median(self.walls),
            "pairs": self.info["pairs"],
            "estimated_s": self.info["estimate"]["seconds"],
        }
        return known | {f"step_{name}": median(seconds) for name, seconds in self.steps.items()}


def translate_word(loaded: Run, case: str, quick: bool) -> Iterator[Result]:
    """Translate one word with a loaded run, beside NumPy's product of the other language's vectors with the word's."""
    word, space = loaded.source.words[7], loaded.space
    measures: dict[str, Callable[[], object]] = {
        "model": lambda: loaded.translate(word),
        "csls": lambda: loaded.translate(word, retrieval="csls"),
        "product": lambda: space.target @ space.source[7],
    }

    def measure(call: Callable[[], object]) -> float:
        return cpu_of(lambda: [call() for _ in range(CALLS)]) / CALLS

    taken = taking_turns({name: partial(measure, call) for name, call in measures.items()}, quick)
    for retrieval in ("model", "csls"):
        yield Result(
            name="endtoend",
            case=f"{case}, Run.translate, one word by {retrieval}",
            unit="CPU s",
            ours=taken[retrieval],
            peer_name="NumPy's product",
            peer=taken["product"],
            **promise(
                f"at most {MOST_PRODUCTS:g}x its time",
                taken[retrieval].median <= MOST_PRODUCTS * taken["product"].median,
                quick,
            ),
        )


def write_files(folder: Path, made: Languages) -> list[str]:
    """Write the vectors and the seed; return the beginning of the command that reads them."""
    files = [folder / f"{letter}.vec" for letter in "st"]
    for file, vectors in zip(files, (made.source, made.target), strict=True):
        write_text(file, vectors, file.stem)
    seed = folder / "seed.txt"
    pairs = zip(made.pairs[0][:SEED_PAIRS].tolist(), made.pairs[1][:SEED_PAIRS].tolist(), strict=True)
    seed.write_text("".join(f"s{row}\tt{column}\n" for row, column in pairs))
    return ["induce", *map(str, files), "--seed", str(seed), "--json"]


def search_slice(slices: Iterator[Vectors], target: Vectors, count: int) -> float:
    """Search for the words of the next slice, and return the CPU seconds that all would take."""
    some = next(slices)
    return (
        cpu_of(partial(LocalEngine().top_k, some, target, K)) * count / len(some)
    )  # it does not know the last answers


def run(
    arguments: list[str], *, steps: Path | None = None, environment: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], float, float, float]:
    """Run the command; return its JSON, its wall and CPU seconds, and its largest resident size in MB."""
    module = ["bilex"] if steps is None else ["benchmarks.steps", str(steps)]
    started, before = time.perf_counter(), cpu_time()
    with tempfile.TemporaryFile() as out:
        command, variables = [sys.executable, "-m", *module, *arguments], {**os.environ, **(environment or {})}
        process, memory = subprocess.Popen(command, stdout=out, env=variables), 0.0
        while process.poll() is None:
            memory = max(memory, status(process.pid, "VmHWM") or 0.0)  # the maximum so far
            time.sleep(POLL_INTERVAL)
        wall = time.perf_counter() - started
        if process.returncode not in (0, 3):  # 3: made-up words may look like a failed run
            raise RuntimeError(f"bilex {arguments[0]} ended with exit code {process.returncode}")
        out.seek(0)
        info = json.load(out)
    return info, wall, cpu_time() - before, memory or largest_resident_size(resource.RUSAGE_CHILDREN)
