"""``bilex induce`` from two text files to a lexicon: ten iterations of EM against two passes of a float32 search.

Once with the method of the paper, and once with the default and all that it chooses. The command runs in a process of
its own, whose largest resident size counts as its memory, all included.
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
from benchmarks.results import Result
from benchmarks.topk import float32
from bilex.numerics.types import Vectors

__all__ = ["benchmark"]

WORDS, DIMENSION, QUICK_WORDS, QUICK_DIMENSION = 200_000, 300, 2_000, 50
SEED_PAIRS = 5_000
ITERATIONS, PASSES = 10, 2
SAMPLE = 20_000  # queries of the float32 pass that is timed
MEMORY = 4_000.0  # MB
LOOK = 0.05  # seconds between looks at the memory
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
        bound="" if quick else "less than the passes",
        ok=None if quick else em < passes,
        details=details,
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
            bound="" if quick else f"below {MEMORY:g} MB",
            ok=None if quick else used < MEMORY,
            details={"estimated_mb": about["estimate"]["memory_mb"]},
        )


def float32_pass(source: Vectors, target: Vectors) -> float:
    """Time a search with the float32 filter for some of the words, and give the wall seconds it takes for all."""
    sample = source[: min(SAMPLE, len(source))]
    float32(sample[:100], target[:1000], 3)  # compiles
    started = time.perf_counter()
    float32(sample, target, 3)
    return (time.perf_counter() - started) * len(source) / len(sample)


def run(arguments: list[str]) -> tuple[dict[str, Any], float, float, float]:
    """Run the command; give what it says, its wall and CPU seconds, and its largest resident size in MB."""
    started, before = time.perf_counter(), children_time()
    with tempfile.TemporaryFile() as out:
        process, memory = subprocess.Popen([sys.executable, "-m", "bilex", *arguments], stdout=out), 0.0
        while process.poll() is None:
            memory = max(memory, status(process.pid, "VmHWM") or 0.0)  # the most so far: a late look is enough
            time.sleep(LOOK)
        wall = time.perf_counter() - started
        if process.returncode:
            raise RuntimeError(f"bilex induce ended with exit code {process.returncode}")
        out.seek(0)
        info = json.load(out)
    return info, wall, children_time() - before, memory or largest_resident_size(resource.RUSAGE_CHILDREN)


def children_time() -> float:
    """Give the CPU seconds of all processes that this one has started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
