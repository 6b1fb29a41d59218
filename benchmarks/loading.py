"""Reading a text file of vectors, beside gensim and beside reading only its bytes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.graphs import unit_vectors
from benchmarks.results import Result, promise, stopwatch
from bilex.numerics.types import Vectors
from bilex.vectors.embeddings import load

__all__ = ["benchmark", "write_text"]

WORDS, DIMENSION, QUICK_WORDS, QUICK_DIMENSION = 200_000, 300, 1_000, 20
ROUNDS = 3
FASTER, WITHIN = 10, 6


def benchmark(quick: bool) -> Iterator[Result]:
    """Measure one file; gensim, which is slow, once."""
    words, dimension = (QUICK_WORDS, QUICK_DIMENSION) if quick else (WORDS, DIMENSION)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "words.vec"
        write_text(file, unit_vectors(words, dimension, 0), "w")
        load(file, 100)  # compiles
        import_module("gensim.models")
        runs: dict[str, list[tuple[Any, float, float]]] = {}
        for turn in range(ROUNDS):
            readers: dict[str, Callable[[], Any]] = {
                "raw read": file.read_bytes,
                "raw read by blocks": lambda: by_blocks(file),
                "bilex": lambda: load(file, None).vectors,
            }
            if turn == 0:
                readers["gensim"] = lambda: by_gensim(file)
            for name, read in readers.items():
                runs.setdefault(name, []).append(stopwatch(read))
        np.testing.assert_allclose(runs["bilex"][0][0], runs["gensim"][0][0], rtol=1e-6)
        megabytes = file.stat().st_size / 1e6
    cpu = {name: median(run[1] for run in each) for name, each in runs.items()}
    wall = {name: median(run[2] for run in each) for name, each in runs.items()}
    ours = cpu["bilex"]
    promises = {
        "gensim": promise(f"at least {FASTER}x", cpu["gensim"] >= FASTER * ours, quick),
        "raw read": promise(f"within {WITHIN}x", ours <= WITHIN * cpu["raw read"], quick),
        "raw read by blocks": {},
    }
    for peer, promised in promises.items():
        yield Result(
            name="loading",
            case=f"{words:,} x {dimension}, text",
            unit="CPU s",
            ours=ours,
            peer_name=peer,
            peer=cpu[peer],
            details={"our_wall": wall["bilex"], "megabytes": megabytes, "peer_wall": wall[peer]},
            **promised,
        )


def write_text(file: Path, vectors: Vectors, letter: str) -> None:
    """Write vectors with four decimals, as fastText does, under the names w0, w1, ..."""
    row = " %.4f" * vectors.shape[1] + "\n"
    with file.open("w") as out:
        out.write(f"{len(vectors)} {vectors.shape[1]}\n")
        for place, vector in enumerate(vectors):
            out.write(f"{letter}{place}" + row % tuple(vector.tolist()))


def by_blocks(file: Path) -> None:
    """Read the bytes into one buffer and keep none."""
    block = bytearray(1 << 20)
    with file.open("rb", buffering=0) as stream:
        while stream.readinto(block):
            pass


def by_gensim(file: Path) -> Vectors:
    """Read with gensim."""
    from gensim.models import KeyedVectors

    return np.asarray(KeyedVectors.load_word2vec_format(str(file)).vectors)
