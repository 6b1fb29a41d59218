"""``bilex induce`` from two text files to a lexicon, with the paper's method and with the default.

Ten iterations of the paper's EM are compared with two passes of a float32 search. The command runs in a process of its
own, and its memory is the largest resident size.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.graphs import languages
from benchmarks.loading import write_text
from benchmarks.memory import largest_resident_size, status
from benchmarks.results import Result, promise
from benchmarks.topk import float32
from bilex.numerics.types import Vectors

__all__ = ["benchmark"]

WORDS, DIMENSION, QUICK_WORDS, QUICK_DIMENSION = 200_000, 300, 2_000, 50
SEED_PAIRS = 5_000
ITERATIONS, PASSES = 10, 2
SAMPLE = 20_000  # queries of the float32 pass that is timed
MEMORY_LIMIT = 4_000.0  # MB
POLL_INTERVAL = 0.05  # seconds between two readings of the memory
PAPER = ("--method", "ruder2018", "--tolerance", "0", "--max-iterations", str(ITERATIONS))


def benchmark(quick: bool) -> Iterator[Result]:
    """Write the files, time a slice of a float32 pass before and after, and run the command."""
    words, dimension = (QUICK_WORDS, QUICK_DIMENSION) if quick else (WORDS, DIMENSION)
    made = languages(words, dimension)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{letter}.vec" for letter in "st"]
        for file, vectors in zip(files, (made.source, made.target), strict=True):
            write_text(file, vectors, file.stem)
        seed = Path(folder) / "seed.txt"
        pairs = zip(made.pairs[0][:SEED_PAIRS].tolist(), made.pairs[1][:SEED_PAIRS].tolist(), strict=True)
        seed.write_text("".join(f"s{row}\tt{column}\n" for row, column in pairs))
        before = float32_pass(made.source, made.target)
        source, target = made.source, made.target
        del made
        command = ["induce", *map(str, files), "--seed", str(seed), "--json", "-o"]
        info, wall, cpu, memory = run([*command, str(Path(folder) / "paper"), *PAPER])
        default, default_wall, default_cpu, default_memory = run([*command, str(Path(folder) / "default")])
        passes = PASSES * min(before, float32_pass(source, target))
    em = sum(sum(iteration["seconds"].values()) for iteration in info["iterations"])
    case = f"{words:,} x {words:,} x {dimension}, k=3"
    details = {"wall": wall, "cpu": cpu, "pairs": float(info["pairs"]), "estimated_s": info["estimate"]["seconds"]}
    details |= {f"iteration_{i}": sum(it["seconds"].values()) for i, it in enumerate(info["iterations"], 1)}
    yield Result(
        name="endtoend",
        case=f"{case}, {ITERATIONS} iterations of EM",
        unit="s",
        ours=em,
        peer_name=f"{PASSES} float32 passes of top-k",
        peer=passes,
        details=details,
        **promise("less than the passes", em < passes, quick),
    )
    yield Result(
        name="endtoend",
        case=f"{case}, the default method, the whole command",
        unit="s",
        ours=default_wall,
        peer_name="ruder2018, the whole command",
        peer=wall,
        details={"cpu": default_cpu, "pairs": float(default["pairs"]), "estimated_s": default["estimate"]["seconds"]},
    )
    for method, used, about in (("ruder2018", memory, info), ("the default method", default_memory, default)):
        yield Result(
            name="endtoend",
            case=f"{case}, {method}, the whole command",
            unit="MB",
            ours=used,
            peer_name="a dense float32 array (computed)",
            peer=4e-6 * words * words,
            details={"estimated_mb": about["estimate"]["memory_mb"]},
            **promise(f"below {MEMORY_LIMIT:g} MB", used < MEMORY_LIMIT, quick),
        )


def float32_pass(source: Vectors, target: Vectors) -> float:
    """Time a float32 search for some of the words, and return the wall seconds for all."""
    sample = source[: min(SAMPLE, len(source))]
    float32(sample[:100], target[:1000], 3)  # compiles
    started = time.perf_counter()
    float32(sample, target, 3)
    return (time.perf_counter() - started) * len(source) / len(sample)


def run(arguments: list[str]) -> tuple[dict[str, Any], float, float, float]:
    """Run the command; return its JSON, its wall and CPU seconds, and its largest resident size in MB."""
    started, before = time.perf_counter(), children_time()
    with tempfile.TemporaryFile() as out:
        process, memory = subprocess.Popen([sys.executable, "-m", "bilex", *arguments], stdout=out), 0.0
        while process.poll() is None:
            memory = max(memory, status(process.pid, "VmHWM") or 0.0)  # the maximum so far
            time.sleep(POLL_INTERVAL)
        wall = time.perf_counter() - started
        if process.returncode:
            raise RuntimeError(f"bilex induce ended with exit code {process.returncode}")
        out.seek(0)
        info = json.load(out)
    return info, wall, children_time() - before, memory or largest_resident_size(resource.RUSAGE_CHILDREN)


def children_time() -> float:
    """Return the CPU seconds of all processes that this one started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
