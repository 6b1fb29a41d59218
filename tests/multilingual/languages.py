"""Small made-up languages that are rotations of one another; words with the same number mean the same."""

from __future__ import annotations

import numpy as np

from bilex.vectors.embeddings import Embeddings

__all__ = ["make_many", "right"]


def make_many(
    names: str = "abc", words: int = 150, dimension: int = 24, noise: float = 0.15, random: int = 0
) -> dict[str, Embeddings]:
    """Make languages whose word number i is called a-i, b-i, ... and has the same meaning in all of them.

    Every tenth word is spelt the same everywhere, and each language lacks some words of the others.
    """
    rng = np.random.default_rng(random)
    meanings = rng.normal(size=(words // 12, dimension))[rng.integers(words // 12, size=words)]
    meanings = meanings + 0.7 * rng.normal(size=(words, dimension))
    made = {}
    for place, name in enumerate(names):
        turn = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
        vectors = meanings @ turn.T + noise * rng.normal(size=(words, dimension))
        rows = [row for row in range(words) if row % 23 != place]
        spelt = tuple(f"taxi-{row}" if row % 10 == 0 else f"{name}-{row}" for row in rows)
        made[name] = Embeddings(spelt, vectors[rows].astype(np.float32))
    return made


def right(source: str, target: str) -> bool:
    """Return whether two words mean the same."""
    return source.split("-")[1] == target.split("-")[1]
