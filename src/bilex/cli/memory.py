"""The memory of this machine, and of the cgroup (container, batch job) that this process runs in."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

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
    totals = [size * 1024 for size in numbers(root / "proc/meminfo", "MemTotal:")]
    available = [size * 1024 for size in numbers(root / "proc/meminfo", "MemAvailable:")]
    if not totals:
        with suppress(AttributeError, ValueError, OSError):  # macOS has this, Windows neither
            totals = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for folder in cgroup_folders(root):
        for limit_file, usage_file, cached in CGROUP_FILES:
            limit, usage = numbers(folder / limit_file), numbers(folder / usage_file)
            if limit and usage:  # a group without a limit has "max" there, or a huge number
                totals += limit
                available.append(max(0, limit[0] - usage[0] + sum(numbers(folder / "memory.stat", cached))))
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
