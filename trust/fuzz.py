"""Every reader is given a million files that a fuzzer makes up, led by the coverage of our own code (atheris).

Only an error of ours, of one line, may come back; what is accepted has to be whole: as many vectors as words, no
NaN, no empty word. Inputs that did harm are kept in ``tests/crashes`` and tried by ``make test``. The memory is that of
reading one large file of each kind: the most that the process had above what it had before, in sizes of the file.
Vectors stay below four. A dictionary or similarity set is far above it, since each pair becomes Python objects; such
a list may have at most 256 MB.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.attacks.guard import Guard
from trust.fuzz_targets import TARGETS

__all__ = ["TITLE", "run"]

TITLE = "Fuzzed readers"
EXECUTIONS = 1_000_000
FEW = 500
ROWS, DIMENSION = 60_000, 100
LISTS = ("dictionary", "similarity")


def run(quick: bool) -> dict[str, Any]:
    """Fuzz every reader and measure the memory of each."""
    if importlib.util.find_spec("atheris") is None:
        raise SystemExit("the fuzzer needs atheris: pip install atheris (Linux and macOS)")
    rows: list[list[Any]] = []
    found: dict[str, str] = {}
    for name in TARGETS:
        figures = fuzz(name, FEW if quick else EXECUTIONS)
        found |= {f"{name}: {place}": key for key, place in figures["crashes"].items()}
        rate = round(figures["executions"] / max(figures["seconds"], 0.1))
        rows.append(
            [name, figures["executions"], figures["accepted"], figures["corpus"], rate, len(figures["crashes"])]
        )
    memory = measure(ROWS // 20 if quick else ROWS)
    vectors = [times for kind, _, times in memory if kind not in LISTS]
    return {
        "ok": not found and (quick or max(vectors) < 4),
        "figures": {
            "readers": len(rows),
            "executions": sum(row[1] for row in rows),
            "other errors than ours": len(found),
            "largest memory for vectors, in sizes of the file": max(vectors),
        },
        "tables": [
            {
                "title": "Executions by reader",
                "columns": ["reader", "executions", "accepted", "inputs with new coverage", "a second", "errors"],
                "rows": rows,
            },
            {"title": "Memory", "columns": ["file", "megabytes", "times its size"], "rows": memory},
            *([{"title": "Errors", "columns": ["where"], "rows": [[place] for place in found]}] if found else []),
        ],
    }


def fuzz(name: str, executions: int) -> dict[str, Any]:
    """Fuzz one reader in a process of its own; what breaks it is kept in ``tests/crashes``."""
    crashes = Path(__file__).parent.parent / "tests" / "crashes" / name
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = [sys.executable, "-m", "trust.fuzz_worker", name, str(executions), str(result), str(crashes)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode or not result.exists():
            raise SystemExit(f"the fuzzer of {name} ended with {ended.returncode}: {ended.stderr[-2000:]}")
        figures: dict[str, Any] = json.loads(result.read_text())
    return figures


def measure(rows: int) -> list[list[Any]]:
    """Read a large file of each kind, and give its megabytes and the memory that took, in sizes of the file."""
    guard = Guard()
    table = []
    with tempfile.TemporaryDirectory() as folder:
        make_files(Path(folder), rows)
        (Path(folder) / "tiny.vec").write_text("1 1\na 1\n")
        before = guard.open("vectors", Path(folder) / "tiny.vec").megabytes
        for name, reader in (
            ("a.vec", "vectors"),
            ("a.vec.gz", "vectors"),
            ("a.bin", "vectors"),
            ("a.npy", "vectors"),
            ("half.npy", "vectors"),
            ("a.safetensors", "vectors"),
            ("dictionary", "pairs"),
            ("similarity", "similarity"),
        ):
            size = (Path(folder) / name).stat().st_size / 2**20
            verdict = guard.open(reader, Path(folder) / name)
            assert not verdict.error, verdict
            table.append([name, round(size, 1), round((verdict.megabytes - before) / size, 2)])
    guard.close()
    return table


def make_files(folder: Path, rows: int) -> None:
    """Write a file of each kind."""
    from bilex.embeddings import Embeddings

    rng = np.random.default_rng(0)
    words = tuple(f"word{row}" for row in range(rows))
    vectors = rng.normal(size=(rows, DIMENSION)).astype(np.float32)
    made = Embeddings(words, vectors)
    for name in ("a.vec", "a.bin", "a.safetensors"):
        made.save(folder / name)
    (folder / "a.vec.gz").write_bytes(gzip.compress((folder / "a.vec").read_bytes(), 1))
    for name, matrix in (("a", vectors), ("half", vectors.astype(np.float16))):
        np.save(folder / f"{name}.npy", matrix)
        (folder / f"{name}.vocab").write_text("\n".join(words) + "\n")
    many = [f"{word}x{copy}" for copy in range(10) for word in words]
    (folder / "dictionary").write_text("".join(f"{word} mot{word}\n" for word in many))
    (folder / "similarity").write_text("".join(f"{word}\tmot{word}\t2.5\n" for word in many))
