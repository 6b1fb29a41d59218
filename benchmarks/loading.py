"""Reading a text file of vectors, beside gensim and beside reading only its bytes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.graphs import unit_vectors
from benchmarks.results import Result, cpu_of, promise, taking_turns
from bilex.numerics.types import Vectors
from bilex.vectors.embeddings import load

__all__ = ["benchmark", "write_text"]

WORDS, DIMENSION, QUICK_WORDS, QUICK_DIMENSION = 200_000, 300, 1_000, 20
FASTER, WITHIN = 10, 6
BUDGET = 120  # seconds for each reader


def benchmark(quick: bool) -> Iterator[Result]:
    """Measure one file."""
    words, dimension = (QUICK_WORDS, QUICK_DIMENSION) if quick else (WORDS, DIMENSION)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "words.vec"
        write_text(file, unit_vectors(words, dimension, 0), "w")
        load(file, 100)  # compiles
        np.testing.assert_allclose(load(file, None).vectors, by_gensim(file), rtol=1e-6)
        readers: dict[str, Callable[[], object]] = {
            "bilex": lambda: load(file, None).vectors,
            "gensim": lambda: by_gensim(file),
            "raw read": file.read_bytes,
            "raw read by blocks": lambda: by_blocks(file),
        }
        measures = {name: partial(cpu_of, read) for name, read in readers.items()}
        taken = taking_turns(measures, quick, warm_up=False, budget=BUDGET)
        megabytes = file.stat().st_size / 1e6
    ours = taken["bilex"].median
    promises = {
        "gensim": promise(f"at least {FASTER}x", taken["gensim"].median >= FASTER * ours, quick),
        "raw read": promise(f"within {WITHIN}x", ours <= WITHIN * taken["raw read"].median, quick),
        "raw read by blocks": {},
    }
    for peer, promised in promises.items():
        yield Result(
            name="loading",
            case=f"{words:,} x {dimension}, text",
            unit="CPU s",
            ours=taken["bilex"],
            peer_name=peer,
            peer=taken[peer],
            details={"megabytes": megabytes},
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
