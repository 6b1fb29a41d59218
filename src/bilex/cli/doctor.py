"""``bilex doctor``: what is installed, what this machine can do, and whether a small run comes out right."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import click

from bilex.cli.options import json_option, print_json, quiet_option
from bilex.errors import BilexError

__all__ = ["doctor", "examine"]

WORDS, DIMENSION, SEED = 2000, 100, 200
IMPORTED = ("numpy", "numba", "safetensors", "threadpoolctl", "matplotlib", "rich")
OPTIONAL = ("torch", "distributed", "pandas")
REPORT_IT = "please report it with the output of `bilex doctor --json`"

Facts = dict[str, Any]


@click.command()
@json_option
@quiet_option
def doctor(as_json: bool, quiet: bool) -> None:
    """Say what is installed and what this machine can do, and time a small run.

    Ends with 0 if all is well, and with 1 if something that bilex cannot do without is broken; then it says what to
    do.
    """
    found = examine()
    if as_json:
        print_json(found)
    elif not quiet:
        for line in screen(found):
            click.echo(line)
    problems = found["problems"]
    if problems:
        more = f" (and {len(problems) - 1} more, see above)" if len(problems) > 1 else ""
        raise BilexError(problems[0] + more)


def examine() -> Facts:
    """Look at everything; what is broken becomes a sentence in ``problems`` that says what to do."""
    problems: list[str] = []

    def attempt(look: Callable[[], Facts], remedy: str) -> Facts:
        try:
            return look()
        except BilexError as error:
            problems.append(str(error))
        except Exception as error:  # a broken installation can raise nearly anything
            about = " ".join(f"{type(error).__name__}: {error}".split())
            problems.append(f"{about}; {remedy}")
        return {}

    again = "install bilex again, in a fresh virtual environment"
    found = {
        "versions": attempt(versions, again),
        "threads": attempt(threads, again),
        "blas": attempt(blas, "install numpy again"),
        "cpu": attempt(cpu, "install numba again"),
        "memory": attempt(memory, REPORT_IT),
        "cache": attempt(cache, "set NUMBA_CACHE_DIR to a folder that you may write to"),
    }
    found["run"] = attempt(small_run, REPORT_IT) if not problems else {}
    return {"ok": not problems, "problems": problems, **found}


def versions() -> Facts:
    """Give the versions of what is installed; import what bilex cannot do without."""
    found: Facts = {"bilex": metadata.version("bilex"), "python": platform.python_version()}
    for name in IMPORTED:
        try:
            import_module(name)
        except Exception as error:
            about = " ".join(str(error).split())
            raise BilexError(f"{name} cannot be imported ({about}); pip install --force-reinstall {name}") from None
        found[name] = metadata.version(name)
    for name in OPTIONAL:  # not imported: torch takes seconds
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def threads() -> Facts:
    """Say how many threads bilex uses, and why."""
    from bilex.numerics.threads import thread_count

    return {"used": thread_count(), "cores": os.cpu_count(), "BILEX_THREADS": os.environ.get("BILEX_THREADS") or None}


def blas() -> Facts:
    """Name the BLAS library that NumPy uses."""
    from threadpoolctl import threadpool_info

    keys = ("internal_api", "version", "architecture", "num_threads")
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return {"libraries": [{key: library.get(key) for key in keys} for library in libraries]}


def cpu() -> Facts:
    """Say which instructions there are, and which filter the searches use for them."""
    import numpy as np
    from llvmlite import binding

    from bilex.search.filters import choose_filter

    features = binding.get_host_cpu_features()
    sample = np.ones((64, 8), np.float32)
    return {
        "machine": platform.machine(),
        "avx2": bool(features.get("avx2")),
        "avx512": bool(features.get("avx512f")),
        "vnni": bool(features.get("avx512vnni")),
        "BILEX_INT8": os.environ.get("BILEX_INT8") or None,
        "filter": {"Int8Filter": "int8"}.get(type(choose_filter(sample, sample, 64)).__name__, "float32"),
    }


def memory() -> Facts:
    """Give the memory of this machine, and of the container if that has less; in GiB, None where unknown."""
    total = available = None
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if match := re.search(r"^MemAvailable: *(\d+) kB", read("/proc/meminfo"), re.MULTILINE):
        available = int(match[1]) * 1024
    limit = read("/sys/fs/cgroup/memory.max").strip()
    if limit.isdecimal() and (total is None or int(limit) < total):
        total, used = int(limit), read("/sys/fs/cgroup/memory.current").strip()
        free = total - int(used) if used.isdecimal() else total
        available = free if available is None else min(available, free)
    return {"total": gib(total), "available": gib(available)}


def read(path: str) -> str:
    """Read one of the system's own files; it may not exist."""
    try:
        return Path(path).read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return ""


def gib(size: int | None) -> float | None:
    """Give a size in GiB."""
    return None if size is None else round(size / 2**30, 1)


def cache() -> Facts:
    """Say where compiled kernels are kept. Without such a place numba refuses to import them."""
    import tempfile

    from bilex.search.topk_kernel import scan_block

    folder = Path(scan_block._cache.cache_path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BilexError(
            f"{folder}: compiled kernels cannot be kept here ({error.strerror}), so every start takes long; "
            "set NUMBA_CACHE_DIR to a folder that you may write to"
        ) from None
    return {"folder": str(folder), "writable": True}


def small_run() -> Facts:
    """Learn a small made-up lexicon, first tiny (to load or compile the kernels), then timed; check the result."""
    started = time.perf_counter()
    learn_made_up(100, 20)
    compiled = time.perf_counter()
    right, gap = learn_made_up(WORDS, DIMENSION)
    ended = time.perf_counter()
    if right < 0.95 or gap > 1e-6:
        raise BilexError(f"a small run went wrong ({right:.0%} right, certificate gap {gap:.1g}); {REPORT_IT}")
    return {
        "words": WORDS,
        "dimension": DIMENSION,
        "right": round(right, 4),
        "certificate_gap": gap,
        "compile_seconds": round(compiled - started, 3),
        "seconds": round(ended - compiled, 3),
    }


def learn_made_up(words: int, dimension: int) -> tuple[float, float]:
    """Learn a lexicon whose truth is known: the share of right pairs, and the gap of the last certificate."""
    import numpy as np

    from bilex.induction import induce
    from bilex.vectors.embeddings import Embeddings

    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(words, dimension))
    rotation = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    turned = vectors @ rotation.T + 0.2 * rng.normal(size=vectors.shape)
    names = [f"s{row}" for row in range(words)], [f"t{row}" for row in range(words)]
    source, target = (
        Embeddings(tuple(side), rows.astype(np.float32)) for side, rows in zip(names, (vectors, turned), strict=True)
    )
    seed = list(zip(*(side[: min(SEED, words // 2)] for side in names), strict=True))
    run = induce(source, target, seed)
    right = sum(entry.source[1:] == entry.target[1:] for entry in run.lexicon)
    return right / words, float(run.info["iterations"][-1]["certificate_gap"])


def screen(found: Facts) -> list[str]:
    """Write it for people, on one screen."""
    lines = []

    def add(name: str, value: str) -> None:
        lines.append(f"{name:10}{value}" if value else f"{name:10}(not looked at)")

    about = found["versions"]
    installed = [f"{name} {version}" for name, version in about.items() if version]
    add("installed", ", ".join(installed[:2]))
    lines += [f"{'':10}{', '.join(installed[start : start + 5])}" for start in range(2, len(installed), 5)]
    missing = [name for name, version in about.items() if version is None]
    if missing:
        add("optional", f"not installed: {', '.join(missing)}")
    threads = found["threads"]
    asked = f" (BILEX_THREADS={threads['BILEX_THREADS']})" if threads.get("BILEX_THREADS") else ""
    add("threads", threads and f"{threads['used']} of {threads['cores']} cores{asked}")
    libraries = found["blas"].get("libraries", ())
    one = "one thread each time bilex calls it"
    add(
        "BLAS",
        "; ".join(f"{each['internal_api']} {each['version']} ({each['architecture']}), {one}" for each in libraries),
    )
    cpu = found["cpu"]
    has = ", ".join(f"{label} {'yes' if cpu.get(key) else 'no'}" for key, label in INSTRUCTIONS.items())
    add("CPU", cpu and f"{cpu['machine']}; {has}")
    add("", cpu and f"top-k filter: {FILTERS[cpu['filter']]}{' (BILEX_INT8=0)' * (cpu['BILEX_INT8'] == '0')}")
    room = found["memory"]
    add("memory", room and f"{room['available'] or '?'} of {room['total'] or '?'} GiB available")
    add("cache", found["cache"].get("folder", ""))
    run = found["run"]
    add("small run", run and f"{run['words']:,} x {run['words']:,} words, {run['dimension']} dimensions")
    if run:
        add("", f"{run['seconds']:.2f} s, and {run['compile_seconds']:.1f} s to load or compile the kernels")
        add("", f"{run['right']:.1%} of the pairs right, certificate gap {run['certificate_gap']:.1g}")
    return [
        *lines,
        *(f"problem   {problem}" for problem in found["problems"]),
        *(["all is well"] if found["ok"] else []),
    ]


INSTRUCTIONS = {"avx2": "AVX2", "avx512": "AVX-512", "vnni": "VNNI"}
FILTERS = {"int8": "8-bit integers (AVX-512 VNNI), several times faster", "float32": "float32 by BLAS"}
