"""``bilex doctor``: what is installed, what this machine can do, and whether a small run gives the right result."""

import os
import platform
import tempfile
import time
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import click

from bilex.cli.options import output_options, print_result
from bilex.errors import BilexError

RUN_WORDS, RUN_DIMENSION, RUN_SEED_PAIRS = 2000, 100, 200
REQUIRED = ("numpy", "numba", "safetensors", "threadpoolctl", "msgspec", "rapidfuzz", "rich")
OPTIONAL = ("torch", "distributed", "pandas", "matplotlib")
REINSTALL = "install bilex again, in a fresh virtual environment"
REPORT_IT = "please report it with the output of `bilex doctor --json`"

Findings = tuple[dict[str, Any], list[str]]
"""What ``--json`` prints, and the lines for people."""


@click.command()
@output_options
def doctor(as_json: bool, quiet: bool) -> None:
    """Show what is installed and what this machine can do, and time a small run.

    The exit code is 0 if bilex works here, and 1 if something that it needs is broken; the message says what to do.
    """
    facts: dict[str, Any] = {name: {} for name, *_ in CHECKS}
    lines: list[str] = []
    problems: list[str] = []
    for name, label, check, remedy in CHECKS:
        if check is small_run and problems:
            break
        try:
            facts[name], shown = check()
            lines += [f"{'' if row else label:10}{line}" for row, line in enumerate(shown)]
        except BilexError as error:
            problems.append(str(error))
        except Exception as error:  # a broken installation can raise nearly anything
            problems.append(f"{' '.join(f'{type(error).__name__}: {error}'.split())}; {remedy}")
    lines += [f"problem   {problem}" for problem in problems] or ["all is well"]
    print_result({"ok": not problems, "problems": problems, **facts}, lines, as_json, quiet)
    if problems:
        raise BilexError(problems[0] + f" (and {len(problems) - 1} more, see above)" * (len(problems) > 1))


def versions() -> Findings:
    """Import the packages that bilex needs, and list what is installed."""
    found = {"bilex": metadata.version("bilex"), "python": platform.python_version()}
    for name in REQUIRED:
        try:
            import_module(name)
        except Exception as error:
            about = " ".join(str(error).split())
            raise BilexError(f"{name} cannot be imported ({about}); pip install --force-reinstall {name}") from None
    for name in (*REQUIRED, *OPTIONAL):  # the optional ones are not imported: torch takes seconds
        for package in metadata.distributions(name=name):
            found[name] = package.version
    installed = [f"{name} {version}" for name, version in found.items()]
    missing = [name for name in OPTIONAL if name not in found]
    lines = [", ".join(installed[start : start + 5]) for start in range(0, len(installed), 5)]
    return found | dict.fromkeys(missing), [*lines, f"not installed (optional): {', '.join(missing) or 'none'}"]


def threads() -> Findings:
    """Count the threads that bilex uses."""
    from bilex.numerics.threads import thread_count

    used, cores, asked = thread_count(), os.cpu_count(), os.environ.get("BILEX_THREADS") or None
    why = f" (BILEX_THREADS={asked})" if asked else ""
    return {"used": used, "cores": cores, "BILEX_THREADS": asked}, [f"{used} of {cores} cores{why}"]


def blas() -> Findings:
    """List the BLAS libraries that NumPy uses."""
    from threadpoolctl import threadpool_info

    keys = ("internal_api", "version", "architecture", "num_threads")
    libraries = [{key: each.get(key) for key in keys} for each in threadpool_info() if each["user_api"] == "blas"]
    line = "{internal_api} {version} ({architecture}), one thread each time bilex calls it"
    return {"libraries": libraries}, [line.format(**library) for library in libraries]


def cpu() -> Findings:
    """Look up the vector instructions of the CPU, and the filter that the searches use with them."""
    import numpy as np
    from llvmlite import binding

    from bilex.search.filters import Int8Filter, choose_filter

    found, sample = binding.get_host_cpu_features(), np.ones((64, 8), np.float32)
    names = {"avx2": "avx2", "avx512": "avx512f", "vnni": "avx512vnni"}
    has = {name: bool(found.get(feature)) for name, feature in names.items()}
    machine, asked = platform.machine(), os.environ.get("BILEX_INT8") or None
    chosen = "int8" if isinstance(choose_filter(sample, sample, 64), Int8Filter) else "float32"
    instructions = ", ".join(f"{name.upper()} {'yes' if present else 'no'}" for name, present in has.items())
    return {"machine": machine, **has, "BILEX_INT8": asked, "filter": chosen}, [
        f"{machine}; {instructions}",
        f"top-k filter: {chosen}" + (f" (BILEX_INT8={asked})" if asked else ""),
    ]


def memory() -> Findings:
    """Measure the memory of this machine or container, in GiB; None where it is unknown."""
    from bilex.cli.estimate import measure_memory

    sizes = vars(measure_memory())
    facts = {name: None if size is None else round(size / 2**30, 1) for name, size in sizes.items()}
    return facts, [f"{facts['available'] or '?'} of {facts['total'] or '?'} GiB available"]


def cache() -> Findings:
    """Check that compiled kernels can be kept."""
    from bilex.search.topk_kernel import scan_block

    remedy = "so every start takes long; set NUMBA_CACHE_DIR to a folder that you may write to"
    if scan_block._cache.cache_path is None:
        raise BilexError(f"compiled kernels cannot be kept anywhere, {remedy}")
    folder = Path(scan_block._cache.cache_path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return {"folder": str(folder), "writable": True}, [str(folder)]
    except OSError as error:
        raise BilexError(f"{folder}: compiled kernels cannot be kept here ({error.strerror}), {remedy}") from None


def small_run() -> Findings:
    """Learn a small made-up lexicon, first tiny (to load or compile the kernels), then timed; check the result."""
    started = time.perf_counter()
    induce_made_up(100, 20)
    compiled = time.perf_counter()
    right, gap = induce_made_up(RUN_WORDS, RUN_DIMENSION)
    seconds, compile_seconds = time.perf_counter() - compiled, compiled - started
    if right < 0.95 or gap > 1e-6:
        raise BilexError(f"a small run went wrong ({right:.0%} right, certificate gap {gap:.1g}); {REPORT_IT}")
    facts = {"words": RUN_WORDS, "dimension": RUN_DIMENSION, "right": round(right, 4), "certificate_gap": gap}
    return {**facts, "compile_seconds": round(compile_seconds, 3), "seconds": round(seconds, 3)}, [
        f"{RUN_WORDS:,} x {RUN_WORDS:,} words, {RUN_DIMENSION} dimensions",
        f"{seconds:.2f} s, and {compile_seconds:.1f} s to load or compile the kernels",
        f"{right:.1%} of the pairs right, certificate gap {gap:.1g}",
    ]


def induce_made_up(words: int, dimension: int) -> tuple[float, float]:
    """Learn a lexicon whose truth is known; return the share of right pairs and the last certificate's gap."""
    import numpy as np

    from bilex.induction import induce
    from bilex.vectors.embeddings import Embeddings

    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(words, dimension))
    rotation = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    rotated = vectors @ rotation.T + 0.2 * rng.normal(size=vectors.shape)
    names = [str(row) for row in range(words)]
    source, target = (Embeddings(tuple(names), side.astype(np.float32)) for side in (vectors, rotated))
    run = induce(source, target, [(name, name) for name in names[: min(RUN_SEED_PAIRS, words // 2)]])
    right = sum(entry.source == entry.target for entry in run.lexicon)
    return right / words, float(run.info["iterations"][-1]["certificate_gap"])


CHECKS = (  # key in --json, label, check, remedy
    ("versions", "installed", versions, REINSTALL),
    ("threads", "threads", threads, REINSTALL),
    ("blas", "BLAS", blas, "install numpy again"),
    ("cpu", "CPU", cpu, "install numba again"),
    ("memory", "memory", memory, REPORT_IT),
    ("cache", "cache", cache, "set NUMBA_CACHE_DIR to a folder that you may write to"),
    ("run", "small run", small_run, REPORT_IT),
)
