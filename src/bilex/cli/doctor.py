"""``bilex doctor``: what is installed, what this machine can do, and whether a small run gives the right result."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import click

from bilex.cli.options import json_option, print_json, quiet_option
from bilex.errors import BilexError

__all__ = ["doctor", "examine"]

WORDS, DIMENSION, SEED_PAIRS = 2000, 100, 200
REQUIRED = ("numpy", "numba", "safetensors", "threadpoolctl", "msgspec", "rapidfuzz", "rich")
OPTIONAL = ("torch", "distributed", "pandas", "matplotlib")
INSTRUCTIONS = {"avx2": "AVX2", "avx512": "AVX-512", "vnni": "VNNI"}
FILTERS = {"int8": "8-bit integers (AVX-512 VNNI), several times faster", "float32": "float32 by BLAS"}
REINSTALL = "install bilex again, in a fresh virtual environment"
REPORT_IT = "please report it with the output of `bilex doctor --json`"

Facts = dict[str, Any]


@click.command()
@json_option
@quiet_option
def doctor(as_json: bool, quiet: bool) -> None:
    """Show what is installed and what this machine can do, and time a small run.

    The exit code is 0 if bilex works here, and 1 if something that it needs is broken; the message says what to do.
    """
    facts = examine()
    if as_json:
        print_json(facts)
    elif not quiet:
        click.echo("\n".join(facts_for_people(facts)))
    problems = facts["problems"]
    if problems:
        more = f" (and {len(problems) - 1} more, see above)" if len(problems) > 1 else ""
        raise BilexError(problems[0] + more)


def examine() -> Facts:
    """Examine everything; what is broken becomes a sentence in ``problems`` that says what to do."""
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

    facts = {
        "versions": attempt(versions, REINSTALL),
        "threads": attempt(threads, REINSTALL),
        "blas": attempt(blas, "install numpy again"),
        "cpu": attempt(cpu, "install numba again"),
        "memory": attempt(memory, REPORT_IT),
        "cache": attempt(cache, "set NUMBA_CACHE_DIR to a folder that you may write to"),
    }
    facts["run"] = attempt(small_run, REPORT_IT) if not problems else {}
    return {"ok": not problems, "problems": problems, **facts}


def versions() -> Facts:
    """Return the installed versions; import the packages that bilex needs."""
    found: Facts = {"bilex": metadata.version("bilex"), "python": platform.python_version()}
    for name in REQUIRED:
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
    """Return how many threads bilex uses, and why."""
    from bilex.numerics.threads import thread_count

    return {"used": thread_count(), "cores": os.cpu_count(), "BILEX_THREADS": os.environ.get("BILEX_THREADS") or None}


def blas() -> Facts:
    """Return the BLAS libraries that NumPy uses."""
    from threadpoolctl import threadpool_info

    keys = ("internal_api", "version", "architecture", "num_threads")
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return {"libraries": [{key: library.get(key) for key in keys} for library in libraries]}


def cpu() -> Facts:
    """Return the vector instructions of the CPU, and the filter that the searches use with them."""
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
    """Return the memory of this machine or container, in GiB; None where it is unknown."""
    from bilex.cli.memory import measure_memory

    sizes = vars(measure_memory())
    return {name: None if size is None else round(size / 2**30, 1) for name, size in sizes.items()}


def cache() -> Facts:
    """Return where compiled kernels are kept. Without such a place numba refuses to import them."""
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
    induce_made_up(100, 20)
    compiled = time.perf_counter()
    right, gap = induce_made_up(WORDS, DIMENSION)
    ended = time.perf_counter()
    check_made_up(right, gap)
    return {
        "words": WORDS,
        "dimension": DIMENSION,
        "right": round(right, 4),
        "certificate_gap": gap,
        "compile_seconds": round(compiled - started, 3),
        "seconds": round(ended - compiled, 3),
    }


def check_made_up(right: float, gap: float) -> None:
    """Raise an error if the share of right pairs is too small or the certificate's gap too large."""
    if right < 0.95 or gap > 1e-6:
        raise BilexError(f"a small run went wrong ({right:.0%} right, certificate gap {gap:.1g}); {REPORT_IT}")


def induce_made_up(words: int, dimension: int) -> tuple[float, float]:
    """Learn a lexicon whose truth is known; return the share of right pairs and the last certificate's gap."""
    import numpy as np

    from bilex.induction import induce
    from bilex.vectors.embeddings import Embeddings

    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(words, dimension))
    rotation = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    rotated = vectors @ rotation.T + 0.2 * rng.normal(size=vectors.shape)
    source = Embeddings(tuple(f"s{row}" for row in range(words)), vectors.astype(np.float32))
    target = Embeddings(tuple(f"t{row}" for row in range(words)), rotated.astype(np.float32))
    seed = [(f"s{row}", f"t{row}") for row in range(min(SEED_PAIRS, words // 2))]
    run = induce(source, target, seed)
    right = sum(entry.source[1:] == entry.target[1:] for entry in run.lexicon)
    return right / words, float(run.info["iterations"][-1]["certificate_gap"])


def facts_for_people(facts: Facts) -> list[str]:
    """Return the lines to print; a section that could not be examined is left out."""
    lines: list[tuple[str, str]] = []
    if about := facts["versions"]:
        installed = [f"{name} {version}" for name, version in about.items() if version]
        lines.append(("installed", ", ".join(installed[:2])))
        lines += [("", ", ".join(installed[start : start + 5])) for start in range(2, len(installed), 5)]
        if missing := [name for name in OPTIONAL if not about[name]]:
            lines.append(("optional", f"not installed: {', '.join(missing)}"))
    if threads := facts["threads"]:
        asked = f" (BILEX_THREADS={threads['BILEX_THREADS']})" if threads["BILEX_THREADS"] else ""
        lines.append(("threads", f"{threads['used']} of {threads['cores']} cores{asked}"))
    for library in facts["blas"].get("libraries", ()):
        name = f"{library['internal_api']} {library['version']} ({library['architecture']})"
        lines.append(("BLAS", f"{name}, one thread each time bilex calls it"))
    if cpu := facts["cpu"]:
        has = ", ".join(f"{label} {'yes' if cpu[key] else 'no'}" for key, label in INSTRUCTIONS.items())
        lines.append(("CPU", f"{cpu['machine']}; {has}"))
        lines.append(("", f"top-k filter: {FILTERS[cpu['filter']]}{' (BILEX_INT8=0)' * (cpu['BILEX_INT8'] == '0')}"))
    if memory := facts["memory"]:
        lines.append(("memory", f"{memory['available'] or '?'} of {memory['total'] or '?'} GiB available"))
    if cache := facts["cache"]:
        lines.append(("cache", cache["folder"]))
    if run := facts["run"]:
        lines.append(("small run", f"{run['words']:,} x {run['words']:,} words, {run['dimension']} dimensions"))
        lines.append(("", f"{run['seconds']:.2f} s, and {run['compile_seconds']:.1f} s to load or compile the kernels"))
        lines.append(("", f"{run['right']:.1%} of the pairs right, certificate gap {run['certificate_gap']:.1g}"))
    lines += [("problem", problem) for problem in facts["problems"]]
    return [f"{name:10}{value}" for name, value in lines] + ["all is well"] * facts["ok"]
