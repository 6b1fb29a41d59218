"""Estimate what a run will need, memory from the sizes and time from a sample of the search, and what there is.

The largest arrays are the vectors, and at the peak there are several copies of them: prepared, mapped into the shared
space, and one language with the crowding of CSLS beside it. Nothing grows with the product of
the vocabularies but the time, of which the searches over all pairs of words take most: two in EM before the answers
are reused (`search/reuse.py`), a small part of one in each later iteration, and one in both directions for the lexicon.
"""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np

from bilex.errors import BilexError
from bilex.methods import Method
from bilex.numerics.threads import thread_count
from bilex.search.engine import Engine
from bilex.seeds.coupling import SIZES
from bilex.vectors.readers import peek_shape

COPIES = 4.3  # of both languages' vectors, at the peak; measured at 200,000 words a side
BASE_MEMORY = 350e6  # bytes: Python, the libraries and the compiled kernels
BYTES_PER_EDGE = 24  # of the candidate graph
LATER_ITERATIONS, LATER_COST = 8, 0.1  # a usual number, and the share of a full search each costs with reuse
FINAL_SEARCH = 1.5  # the search in both directions, and again for the few words that it leaves open
WORD_COST = 1.6e-4  # CPU seconds to weigh, match and rank the candidates of a word
COUPLING_COST = 3e-6  # CPU seconds for each pair of words, where there is no seed
PARSE_RATE = 60e6  # numbers a second read from text, on two cores
SAMPLE_QUERIES, SAMPLE_TARGETS = 2048, 32768
# The limit, the usage, and in memory.stat the part of the usage that is only cached files; in versions 2 and 1.
CGROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


@dataclass(frozen=True)
class Estimate:
    """Bytes of memory at the peak, and seconds; the time is None where it was not measured."""

    memory: float
    seconds: float | None

    def __str__(self) -> str:
        memory, seconds = f"about {self.memory / 1e9:.1f} GB of memory", self.seconds
        if seconds is None:
            return memory
        if seconds < 10:
            return f"{memory} and a few seconds"
        return f"{memory} and " + (f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes")

    def summary(self) -> dict[str, float | None]:
        """Return the fields of ``run.json``."""
        seconds = None if self.seconds is None else float(f"{self.seconds:.3g}")
        return {"memory_mb": round(self.memory / 1e6), "seconds": seconds}


def estimate_run(
    paths: tuple[str, str], limit: int, method: Method, engine: Engine | None, *, seedless: bool = False
) -> Estimate | None:
    """Estimate a run from the sizes of its files, None if unknown; raise if there is too little free memory.

    Without a seed (`seedless`) a start is looked for first: couplings of the most frequent words, and EM from each.
    """
    source, target = (peek_shape(path, limit) for path in paths)
    if source is None or target is None:
        return None
    words, dimension = (source[0], target[0]), max(source[1], target[1])
    check_memory(estimate_from_sizes(words, dimension, method, None), words, dimension, measure_memory())
    return estimate_from_sizes(words, dimension, method, engine, seedless=seedless)


def estimate_from_sizes(
    words: tuple[int, int], dimension: int, method: Method, engine: Engine | None, *, seedless: bool = False
) -> Estimate:
    """Estimate a run over so many source and target words; without an engine, only its memory."""
    rows, columns = words
    edges = min(method.e_step.candidates, columns) * rows
    memory = BASE_MEMORY + COPIES * 4 * (rows + columns) * dimension + BYTES_PER_EDGE * edges
    if engine is None:
        return Estimate(memory, None)
    pairs = int(FINAL_SEARCH * rows * columns)
    coupled = sum(min(rows, columns, size) ** 2 for size in SIZES) if seedless else 0
    if method.self_learning:
        most = method.e_step.max_rank or max(words)
        searches = 2 + LATER_ITERATIONS * (LATER_COST if method.map.kind != "cca" else 1)  # both sides move: no reuse
        pairs += int(searches * min(rows, most) * min(columns, most)) * (1 + len(SIZES) * seedless)
        pairs += rows * columns if method.e_step.match_all and not method.evidence and max(words) > most else 0
    seconds = pairs / pairs_per_second(engine, dimension, words)
    seconds += (rows + columns) * (dimension / PARSE_RATE + WORD_COST)
    return Estimate(memory, seconds + COUPLING_COST * coupled / thread_count())


def pairs_per_second(engine: Engine, dimension: int, words: tuple[int, int]) -> float:
    """Measure the speed of the search on a small sample."""
    counts = (min(SAMPLE_QUERIES, words[0]), min(SAMPLE_TARGETS, words[1]))
    random = np.random.default_rng(0)
    queries, targets = (random.standard_normal((count, dimension), np.float32) / dimension**0.5 for count in counts)
    engine.top_k(queries[:8], targets, 1)  # loads the kernels
    started = time.perf_counter()
    engine.top_k(queries, targets, min(3, len(targets)))
    return len(queries) * len(targets) / (time.perf_counter() - started)


@dataclass(frozen=True)
class Memory:
    """Bytes of memory in all, and those that a process can still use; None where the system does not tell."""

    total: int | None
    available: int | None


def check_memory(needed: Estimate, words: tuple[int, int], dimension: int, memory: Memory) -> None:
    """Raise an error that says what would fit, if there is less memory than needed."""
    free = memory.total if memory.available is None else memory.available
    if free is None or needed.memory <= free:
        return
    bytes_per_word = COPIES * 4 * dimension + BYTES_PER_EDGE * 3
    fewer = max(1000, int(max(free - BASE_MEMORY, 0) / bytes_per_word / 2) // 1000 * 1000)
    raise BilexError(
        f"{words[0]:,} and {words[1]:,} words of {dimension} numbers need {needed.memory / 1e9:.1f} GB of memory, and "
        f"only {free / 1e9:.1f} GB are free; close other programs, or read fewer words with --limit {fewer}"
    )


def measure_memory(root: Path = Path("/")) -> Memory:
    """Measure the memory of this machine, or of the process's cgroup (container, batch job) if that has less.

    The system's files are those below `root`.
    """
    totals = [size * 1024 for size in numbers(root / "proc/meminfo", "MemTotal:")]
    available = [size * 1024 for size in numbers(root / "proc/meminfo", "MemAvailable:")]
    if not totals and sys.platform != "win32":
        with suppress(ValueError, OSError):  # macOS
            totals = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for folder in cgroup_folders(root):
        for limit_file, usage_file, cached in CGROUP_FILES:
            limit, usage = numbers(folder / limit_file), numbers(folder / usage_file)
            if limit and usage:  # a group without a limit has "max" there, or a huge number
                totals += limit
                available.append(max(0, limit[0] - usage[0] + sum(numbers(folder / "memory.stat", cached))))
    used = numbers(root / "proc/self/status", r"VmSize:\s")  # of the address space, which `ulimit -v` limits
    for most in numbers(root / "proc/self/limits", "Max address space"):
        available.append(max(0, most - 1024 * sum(used)))
    return Memory(min(totals, default=None), min(available, default=None))


def cgroup_folders(root: Path) -> list[Path]:
    """Return the folders of this process's memory cgroup and of those around it."""
    found = re.findall(r"^\d+:(memory)?:/(.*)$", read_system_file(root / "proc/self/cgroup"), re.MULTILINE)
    groups = [(root / "sys/fs/cgroup" / controller, PurePath(inner)) for controller, inner in found]
    return [mounted / folder for mounted, inner in groups for folder in (inner, *inner.parents)]


def numbers(path: Path, label: str = "") -> list[int]:
    """Return the whole number after a label at the start of a line, if there is one."""
    match = re.search(rf"^{label} *(\d+)\b", read_system_file(path), re.MULTILINE)
    return [int(match[1])] if match else []


def read_system_file(path: Path) -> str:
    """Read one of the system's files, or return an empty text if there is none."""
    try:
        return path.read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return ""
