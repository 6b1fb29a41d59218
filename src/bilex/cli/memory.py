"""The memory of this machine, and of the cgroup (container, batch job) that this process runs in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

__all__ = ["Memory", "measure_memory"]

# The limit, the usage, and in memory.stat the part of the usage that is only cached files; in versions 2 and 1.
CGROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


@dataclass(frozen=True)
class Memory:
    """Bytes of memory in all, and those that a process can still use; None where the system does not tell."""

    total: int | None
    available: int | None


def measure_memory(root: Path = Path("/")) -> Memory:
    """Measure the memory of this machine, or of the process's cgroup if that has less; read the files below `root`."""
    meminfo = read_text(root / "proc/meminfo")
    totals = [size * 1024 for size in numbers("MemTotal:", meminfo)] or physical_memory()
    available = [size * 1024 for size in numbers("MemAvailable:", meminfo)]
    for folder in cgroup_folders(root):
        for limit_file, usage_file, cached in CGROUP_FILES:
            limit, usage = (numbers("", read_text(folder / name)) for name in (limit_file, usage_file))
            if limit and usage:  # a group without a limit has "max" there, or a huge number
                reclaimable = sum(numbers(cached, read_text(folder / "memory.stat")))
                totals += limit
                available.append(max(0, limit[0] - usage[0] + reclaimable))
    return Memory(min(totals, default=None), min(available, default=None))


def numbers(label: str, text: str) -> list[int]:
    """Return the whole number after a label at the start of a line, if there is one."""
    return [int(match) for match in re.findall(rf"^{label} *(\d+)\b", text, re.MULTILINE)[:1]]


def physical_memory() -> list[int]:
    """Return the size of the machine's memory on systems without /proc/meminfo, if they tell it."""
    with suppress(AttributeError, ValueError, OSError):
        return [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    return []


def cgroup_folders(root: Path) -> Iterator[Path]:
    """Return the folders of this process's memory cgroup and of those around it."""
    for line in read_text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        mounted = {"": "sys/fs/cgroup", "memory": "sys/fs/cgroup/memory"}.get(controllers)
        inner = PurePath(path.strip("/"))
        if mounted:
            yield from (root / mounted / folder for folder in (inner, *inner.parents))


def read_text(path: Path) -> str:
    """Read one of the system's files, or return an empty text if there is none."""
    try:
        return path.read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return ""
