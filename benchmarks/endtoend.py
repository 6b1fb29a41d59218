"""The default's whole command, from two text files to the report, beside one exact search of the same size.

The command runs in a process of its own, which measures the CPU seconds of its steps (`benchmarks.steps`); its memory
is the largest resident size. Then `bilex translate` looks one word up in the run.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.graphs import Languages, languages
from benchmarks.loading import write_text
from benchmarks.memory import largest_resident_size, status
from benchmarks.results import Range, Result, cpu_time, promise, stopwatch
from bilex.numerics.types import Vectors
from bilex.search.int8_kernel import available
from bilex.search.local import LocalEngine

__all__ = ["benchmark", "run", "write_files"]

WORDS, DIMENSION, QUICK_WORDS, QUICK_DIMENSION = 200_000, 300, 2_000, 50
SEED_PAIRS = 5_000
K, SLICES, SLICE_ROWS = 10, 3, 4_096  # of the search: slices before the command and as many after it
MOST_SEARCHES, MEMORY_LIMIT, TRANSLATE_SECONDS = 2.2, 2_400.0, 1.0
LOOKUPS = 5
POLL_INTERVAL = 0.05  # seconds between two readings of the memory


def benchmark(quick: bool) -> Iterator[Result]:
    """Write the files, time slices of the search before and after, and run the command once."""
    words, dimension = (QUICK_WORDS, QUICK_DIMENSION) if quick else (WORDS, DIMENSION)
    made, filtered = languages(words, dimension), "8 bits" if available() else "float32"
    case = f"{words:,} x {words:,} x {dimension}"
    with tempfile.TemporaryDirectory() as folder:
        arguments = write_files(Path(folder), made)
        source, target = made.source, made.target
        del made
        slices, place = search_slices(source, target), Path(folder) / "run"
        info, wall, cpu, memory = run([*arguments, "-o", str(place)], steps=Path(folder) / "steps.json")
        steps = json.loads((Path(folder) / "steps.json").read_text())
        search = Range((*slices, *search_slices(source, target)))
        lookups = [run(["translate", str(place), "s7", "--json"])[1:3] for _ in range(1 if quick else 1 + LOOKUPS)]
    shares = {f"step_{name}": seconds for name, seconds in steps.items()}
    yield Result(
        name="endtoend",
        case=f"{case}, the whole command, once",
        unit="CPU s",
        ours=cpu,
        peer_name=f"one exact search ({filtered}, from {len(search.seconds)} slices)",
        peer=search.median,
        details={"wall": wall, "pairs": float(info["pairs"]), "peer_least": search.least, "peer_most": search.most}
        | {"estimated_s": info["estimate"]["seconds"]}
        | shares,
        **promise(f"at most {MOST_SEARCHES:g} searches", cpu <= MOST_SEARCHES * search.median, quick),
    )
    yield Result(
        name="endtoend",
        case=f"{case}, its memory",
        unit="MB",
        ours=memory,
        peer_name="what it foretold",
        peer=info["estimate"]["memory_mb"],
        **promise(f"at most {MEMORY_LIMIT:g} MB", memory <= MEMORY_LIMIT, quick),
    )
    walls, seconds = (Range(each) for each in zip(*(lookups[1:] or lookups), strict=True))
    yield Result(
        name="endtoend",
        case=f"{case}, bilex translate, one word",
        unit="s",
        ours=walls.median,
        peer_name="what is asked",
        peer=TRANSLATE_SECONDS,
        details={"our_least": walls.least, "our_most": walls.most, "cpu": seconds.median},
        **promise("at most a second", walls.median <= TRANSLATE_SECONDS, quick),
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


def search_slices(source: Vectors, target: Vectors) -> list[float]:
    """Search for some of the words, and return the CPU seconds that all would take, one figure for each slice."""
    LocalEngine().top_k(source[:100], target[:1000], K)  # compiles
    rows = [source[start : start + SLICE_ROWS] for start in range(0, len(source), SLICE_ROWS)][:SLICES]
    return [
        stopwatch(partial(LocalEngine().top_k, some, target, K))[1]
        * len(source)
        / len(some)  # none knows the last answers
        for some in rows
    ]


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
