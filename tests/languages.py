"""Small made-up languages: the target's vectors are the source's, turned and blurred, under other names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bilex.vectors.embeddings import Embeddings

__all__ = ["Languages", "make_languages", "vec_text", "write_vec"]

NUMERALS = 10


@dataclass(frozen=True)
class Languages:
    """Two languages and the truth about them."""

    source: Embeddings
    target: Embeddings
    gold: list[tuple[str, str]]


def make_languages(
    words: int = 300, dimension: int = 24, shared: int = 40, noise: float = 0.15, random: int = 0
) -> Languages:
    """Make two languages of about `words` words each, `shared` of them spelt the same, ten of these numerals.

    Some source words have no translation and some have two, the second one rare.
    """
    rng = np.random.default_rng(random)
    centres = rng.normal(size=(max(2, words // 15), dimension))
    vectors = centres[rng.integers(len(centres), size=words)] + 0.7 * rng.normal(size=(words, dimension))
    rotation = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    names = [f"s{row}" for row in range(words)]
    translations = [f"t{row}" for row in range(words)]
    for place, row in enumerate(rng.permutation(words)[:shared]):
        names[row] = translations[row] = str(1900 + place) if place < NUMERALS else f"taxi{place}"
    # Frequencies differ a little between the languages.
    order = np.argsort(np.arange(words) + rng.normal(scale=5, size=words))
    twice = np.arange(0, words, 29)
    order = np.concatenate([order[order % 17 != 5], twice])
    target = vectors[order] @ rotation.T + noise * rng.normal(size=(len(order), dimension))
    spelt = [translations[row] for row in order[: -len(twice)]] + [f"u{row}" for row in twice]
    gold = sorted((row, word) for row, word in zip(order.tolist(), spelt, strict=True))
    return Languages(
        Embeddings(tuple(names), vectors.astype(np.float32), name="src"),
        Embeddings(tuple(spelt), target.astype(np.float32), name="trg"),
        [(names[row], word) for row, word in gold],
    )


def vec_text(words: Iterable[str], vectors: NDArray[np.float32]) -> str:
    """Write word2vec text, without bilex's own writer."""
    lines = [f"{word} {' '.join(f'{number:.5f}' for number in row)}" for word, row in zip(words, vectors, strict=True)]
    return "\n".join([f"{len(lines)} {vectors.shape[1]}", *lines]) + "\n"


def write_vec(path: Path, side: Embeddings) -> Path:
    """Write one language to a file."""
    path.write_text(vec_text(side.words, side.vectors), "utf-8")
    return path
