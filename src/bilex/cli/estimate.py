"""Estimate what a run will need, memory from the sizes and time from a sample of the search, and what there is.

The time is said as a range: what the run takes alone, longer in proportion if other programs use the cores now.

At the peak there are the vectors of both languages, prepared and mapped into the shared space, and the candidates of
every word, some twenty edges whose evidence is weighed. Nothing grows with the product of the vocabularies but the time
(`bilex.runs.costs`).
"""

import os
import re
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

import numpy as np

from bilex.errors import BilexError
from bilex.methods import Method
from bilex.numerics.threads import thread_count
from bilex.runs.costs import stage_seconds
from bilex.search.engine import Engine
from bilex.vectors.readers import peek_shape

BASE_MEMORY = 430e6  # bytes: Python, the libraries and the compiled kernels
COPIES = 2.6  # of both languages' vectors, at the peak
BYTES_PER_WORD = 1600  # of a word's candidates while they are weighed, at the peak as well
BYTES_PER_EDGE = 24  # of the E-step's graph
SAMPLE, LARGE_SAMPLE = (1024, 8192), (4096, 32768)  # queries and targets
LONG_SEARCH = 64  # samples: from here on the large one is worth its time
FASTEST, SLOWEST = 0.5, 1.4  # the range of the time, in estimates; niced programs count in the load, but give way
BUSY = 1.5  # from this factor on, the other programs are mentioned
# The limit, the usage, and in memory.stat the part of the usage that is only cached files; in versions 2 and 1.
CGROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


@dataclass(frozen=True)
class Estimate:
    """Bytes of memory at the peak, and the seconds of each stage; None where they were not measured.

    `slowdown` is how much longer than alone a run takes beside the programs that run now; the seconds include it.
    """

    memory: float
    stages: Mapping[str, float] | None = None
    slowdown: float = 1.0

    @property
    def seconds(self) -> float | None:
        """The seconds in all."""
        return None if self.stages is None else sum(self.stages.values())

    def __str__(self) -> str:
        memory, seconds = f"about {self.memory / 1e9:.1f} GB of memory", self.seconds
        if seconds is None:
            return memory
        busy = ", because other programs are using this machine" if self.slowdown >= BUSY else ""
        return f"{memory} and {format_range(FASTEST * seconds, SLOWEST * seconds)}{busy}"

    def summary(self) -> dict[str, float | None]:
        """Return the fields of ``run.json``."""
        seconds = None if self.seconds is None else float(f"{self.seconds:.3g}")
        return {"memory_mb": round(self.memory / 1e6), "seconds": seconds}


def format_range(low: float, high: float) -> str:
    """Write a range of seconds in words, in round numbers."""
    if high < 10:
        return "a few seconds"
    unit, name, step = (1, "seconds", 5) if high < 120 else (60, "minutes", 1) if high < 7200 else (3600, "hours", 1)
    first = max(step, round(low / unit / step) * step)
    last = max(first + step, round(high / unit / step) * step)
    return f"{first} to {last} {name}"


def estimate_run(
    paths: tuple[str, str],
    limit: int,
    method: Method,
    engine: Engine | None,
    *,
    seedless: bool = False,
    tries: bool = False,
) -> Estimate | None:
    """Estimate a run from the sizes of its files, None if unknown; raise if there is too little free memory.

    `seedless` and `tries` are those of `stage_seconds`.
    """
    source, target = (peek_shape(path, limit) for path in paths)
    if source is None or target is None:
        return None
    words, dimension = (source[0], target[0]), max(source[1], target[1])
    needed = estimate_memory(words, dimension, method)
    check_memory(needed, words, dimension, measure_memory())
    if engine is None:
        return needed
    alone = stage_seconds(
        words, dimension, method, measure_search(engine, dimension, words), seedless=seedless, tries=tries
    )
    slowdown = measure_slowdown()
    return replace(needed, stages={name: seconds * slowdown for name, seconds in alone.items()}, slowdown=slowdown)


def estimate_memory(words: tuple[int, int], dimension: int, method: Method) -> Estimate:
    """Estimate the memory of a run over so many source and target words."""
    most = method.e_step.max_rank or max(words)
    edges = min(method.e_step.candidates, words[1]) * min(words[0], most)
    return Estimate(BASE_MEMORY + bytes_per_word(dimension) * sum(words) + BYTES_PER_EDGE * edges)


def bytes_per_word(dimension: int) -> float:
    """Estimate the memory that a word of either language takes."""
    return COPIES * 4 * dimension + BYTES_PER_WORD


def measure_search(engine: Engine, dimension: int, words: tuple[int, int]) -> float:
    """Measure the seconds that the search takes for a pair of words, on a small sample and as if it ran alone.

    Preparing each query and each target hardly counts in a long search, nor then in a large sample.
    """
    is_long = words[0] * words[1] > LONG_SEARCH * SAMPLE[0] * SAMPLE[1]
    rows, columns = map(min, LARGE_SAMPLE if is_long else SAMPLE, words)
    random = np.random.default_rng(0)
    queries, targets = (random.standard_normal((n, dimension), np.float32) / dimension**0.5 for n in (rows, columns))

    def measure() -> float:
        started = time.process_time()  # the clock would also measure the programs that run beside this one
        engine.top_k(queries, targets, min(3, columns))
        return time.process_time() - started

    return min(measure(), measure()) / (thread_count() * rows * columns)  # the first may load the kernels


def measure_slowdown() -> float:
    """Return how much longer than alone it takes beside the programs of the last minute, which share the cores."""
    if sys.platform == "win32":  # has no load average
        return 1.0
    try:
        return 1 + os.getloadavg()[0] / (os.cpu_count() or 1)
    except OSError:
        return 1.0


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
    beside = needed.memory - bytes_per_word(dimension) * sum(words)  # what is not for each word
    fewer = max(1000, int(max(free - beside, 0) / bytes_per_word(dimension) / 2) // 1000 * 1000)
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
    found = re.findall(r"^\d+:(memory)?:/(.*)$", read_system_file(root / "proc/self/cgroup"), re.MULTILINE)
    groups = [(root / "sys/fs/cgroup" / controller, PurePath(inner)) for controller, inner in found]
    for folder in (mounted / outer for mounted, inner in groups for outer in (inner, *inner.parents)):
        for limit_file, usage_file, cached in CGROUP_FILES:
            limit, usage = numbers(folder / limit_file), numbers(folder / usage_file)
            if limit and usage:  # a group without a limit has "max" there, or a huge number
                totals += limit
                available.append(max(0, limit[0] - usage[0] + sum(numbers(folder / "memory.stat", cached))))
    used = numbers(root / "proc/self/status", r"VmSize:\s")  # of the address space, which `ulimit -v` limits
    for most in numbers(root / "proc/self/limits", "Max address space"):
        available.append(max(0, most - 1024 * sum(used)))
    return Memory(min(totals, default=None), min(available, default=None))


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
