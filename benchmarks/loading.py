"""Reading a text file of vectors: ours against gensim, and against reading its bytes into memory and nothing else."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.graphs import unit_vectors
from benchmarks.results import Result, stopwatch
from bilex.numerics.types import Vectors
from bilex.vectors.embeddings import load

__all__ = ["benchmark", "write_text"]

WORDS, DIMENSION, QUICK_WORDS, QUICK_DIMENSION = 200_000, 300, 1_000, 20
ROUNDS = 3
FASTER, WITHIN = 10, 6


def benchmark(quick: bool) -> Iterator[Result]:
    """Measure one file; gensim, which takes long, once."""
    words, dimension = (QUICK_WORDS, QUICK_DIMENSION) if quick else (WORDS, DIMENSION)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "words.vec"
        write_text(file, unit_vectors(words, dimension, 0), "w")
        load(file, 100)  # compiles
        import_module("gensim.models")
        raw, ours, theirs = [], [], []
        blocks = list[tuple[None, float, float]]()
        for turn in range(ROUNDS):
            raw.append(stopwatch(file.read_bytes))
            blocks.append(stopwatch(lambda: by_blocks(file)))
            ours.append(stopwatch(lambda: load(file, None)))
            if turn == 0:
                theirs.append(stopwatch(lambda: by_gensim(file)))
        np.testing.assert_allclose(ours[0][0].vectors, theirs[0][0], rtol=1e-6)
        size = file.stat().st_size
    cpu = median(seconds for _, seconds, _ in ours)
    walls = {"our_wall": median(wall for *_, wall in ours), "megabytes": size / 1e6}
    peers: dict[str, list[tuple[Any, float, float]]] = {"gensim": theirs, "raw read": raw, "raw read by blocks": blocks}
    medians = {name: median(run[1] for run in runs) for name, runs in peers.items()}
    peer_walls = {name: median(run[2] for run in runs) for name, runs in peers.items()}
    bounds = {"gensim": f"at least {FASTER}x", "raw read": f"within {WITHIN}x"}
    met = {"gensim": medians["gensim"] >= FASTER * cpu, "raw read": cpu <= WITHIN * medians["raw read"]}
    for peer, other in medians.items():
        promised = not quick and peer in bounds
        yield Result(
            name="loading",
            case=f"{words:,} x {dimension}, text",
            unit="CPU s",
            ours=cpu,
            peer_name=peer,
            peer=other,
            bound=bounds[peer] if promised else "",
            ok=met[peer] if promised else None,
            details=walls | {"peer_wall": peer_walls[peer]},
        )


def write_text(file: Path, vectors: Vectors, letter: str) -> None:
    """Write vectors with four decimals, as fastText does, under the names w0, w1, ..."""
    row = " %.4f" * vectors.shape[1] + "\n"
    with file.open("w") as out:
        out.write(f"{len(vectors)} {vectors.shape[1]}\n")
        for place, vector in enumerate(vectors):
            out.write(f"{letter}{place}" + row % tuple(vector.tolist()))


def by_blocks(file: Path) -> None:
    """Read the bytes and keep none."""
    block = bytearray(1 << 20)
    with file.open("rb", buffering=0) as stream:
        while stream.readinto(block):
            pass


def by_gensim(file: Path) -> Vectors:
    """Read with gensim."""
    from gensim.models import KeyedVectors

    return np.asarray(KeyedVectors.load_word2vec_format(str(file)).vectors)
