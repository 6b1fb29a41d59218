"""Word vectors: the words of one language in order of frequency, and a row of float32 for each."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bilex.errors import BilexError, BilexWarning
from bilex.vectors.formats import Loaded, read_vectors
from bilex.vectors.writers import write_vectors

__all__ = ["ITERATIVE", "Embeddings", "KeyedVectorsLike", "load"]

_ROWS_AT_A_TIME = 4096
ITERATIVE = (*("unit", "center") * 10, "unit")  # each round makes the mean some ten times smaller


@runtime_checkable
class KeyedVectorsLike(Protocol):
    """Anything shaped like gensim's ``KeyedVectors``."""

    @property
    def index_to_key(self) -> Sequence[str]:
        """The words, in the order of the rows."""

    @property
    def vectors(self) -> NDArray[Any]:
        """One row per word."""


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Words and their vectors, most frequent word first.

    Parameters
    ----------
    words
        The words, each once.
    vectors
        One row of float32 per word.
    paths
        The files they came from.
    name
        A short label, such as ``en``.
    """

    words: tuple[str, ...]
    vectors: NDArray[np.float32]
    paths: tuple[str, ...] = ()
    name: str = ""

    def __post_init__(self) -> None:
        vectors = np.ascontiguousarray(self.vectors, dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(self.words):
            raise BilexError(f"{len(self.words)} words but vectors of shape {vectors.shape}; give one row per word")
        object.__setattr__(self, "words", tuple(self.words))
        object.__setattr__(self, "vectors", vectors)

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.vectors[self.index[word]]
        return vector

    def __repr__(self) -> str:
        label = f"{self.name!r}, " if self.name else ""
        return f"Embeddings({label}{len(self)} words, {self.dimension} dimensions)"

    def top(self, n: int | None) -> Embeddings:
        """Return the ``n`` most frequent words, sharing their vectors; None returns all."""
        if n is None or n >= len(self):
            return self
        if n < 0:
            raise BilexError(f"cannot take the top {n} words; give a number from 0 on")
        return replace(self, words=self.words[:n], vectors=self.vectors[:n])

    def normalise(self, steps: str | Sequence[str] = "unit,center,unit") -> Embeddings:
        """Return the vectors after the given steps, one after the other.

        Parameters
        ----------
        steps
            ``unit`` scales each vector to norm 1 (a zero vector stays zero), ``center`` subtracts the mean of
            all vectors, ``iterative`` does both in turn until vectors of norm 1 have mean 0 (Zhang et al. 2019),
            ``none`` does nothing; in any order, as a sequence or separated by commas.

        Returns
        -------
        Embeddings
            New vectors; these are left as they are.
        """
        names = [step.strip() for step in steps.split(",")] if isinstance(steps, str) else list(steps)
        for name in names:
            if name not in _STEPS:
                raise BilexError(f"no normalisation step {name!r}; use {', '.join(_STEPS)}")
        vectors = self.vectors.copy()
        for name in names:
            _STEPS[name](vectors)
        return replace(self, vectors=vectors)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the words and vectors to a file, whole or not at all.

        Parameters
        ----------
        path
            Its ending chooses the format: ``.vec`` or ``.txt`` (text; ``.gz`` may follow), ``.bin`` (word2vec
            binary), ``.safetensors``. Each gives the same numbers back when loaded.
        """
        write_vectors(path, self.words, self.vectors)


def load(
    path: str | os.PathLike[str] | KeyedVectorsLike,
    limit: int | None = 200_000,
    vocabulary: str | os.PathLike[str] | None = None,
) -> Embeddings:
    """Read word vectors.

    Parameters
    ----------
    path
        A file: word2vec, fastText or GloVe text or word2vec binary, plain or gzipped; ``.npy``,
        ``.safetensors`` or a fastText model (``pip install 'bilex[fasttext]'``). Or an object with
        ``index_to_key`` and ``vectors``, as gensim's ``KeyedVectors`` has.
    limit
        How many words to read from the top, where the most frequent ones are; None reads all.
    vocabulary
        For a matrix without words: a file with one word per line. By default it is looked for beside the
        matrix, with the same name and the ending ``.vocab``, ``.vocab.txt``, ``.words`` or ``.txt``.

    Returns
    -------
    Embeddings
        The usable words and their vectors.

    Raises
    ------
    InputError
        If something is wrong that cannot be repaired safely. A `BilexWarning` counts what was repaired.
    """
    if isinstance(path, (str, os.PathLike)):
        loaded, label, name = read_vectors(path, limit, vocabulary), os.fspath(path), _short_name(path)
    elif isinstance(path, KeyedVectorsLike):
        loaded, label, name = _read_keyed_vectors(path, limit), type(path).__name__, ""
    else:
        raise BilexError(
            f"cannot load vectors from {type(path).__name__}; give a file name or something like KeyedVectors"
        )
    for repair in loaded.repairs:
        warnings.warn(repair if repair.startswith(loaded.paths) else f"{label}: {repair}", BilexWarning, stacklevel=2)
    return Embeddings(tuple(loaded.words), loaded.vectors, loaded.paths, name)


def _read_keyed_vectors(source: KeyedVectorsLike, limit: int | None) -> Loaded:
    from bilex.vectors.matrices import collect_matrix

    label = type(source).__name__
    if limit is not None and limit <= 0:
        raise BilexError(f"the limit is {limit}; it must be at least 1")
    words, matrix = list(source.index_to_key), np.asarray(source.vectors)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu" or len(matrix) != len(words):
        raise BilexError(
            f"{label}: {len(words)} words but vectors of shape {matrix.shape} and type {matrix.dtype}; "
            "give one row of numbers per word"
        )
    if not all(isinstance(word, str) for word in words):
        raise BilexError(f"{label}: some words are not strings; make every key in index_to_key a string")
    return collect_matrix(label, matrix, words, limit, paths=())


def _short_name(path: str | os.PathLike[str]) -> str:
    return Path(os.fspath(path).removesuffix(".gz")).stem


def _blocks(vectors: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    return [vectors[start : start + _ROWS_AT_A_TIME] for start in range(0, len(vectors), _ROWS_AT_A_TIME)]


def _unit(vectors: NDArray[np.float32]) -> None:
    """Scale rows to norm 1 in place. In float64, where the squares of all float32 numbers are in range."""
    for block in _blocks(vectors):
        wide = block.astype(np.float64)
        norms = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
        norms[norms == 0] = 1.0
        block[:] = wide / norms


def _center(vectors: NDArray[np.float32]) -> None:
    """Subtract the mean row in place. Block by block in a fixed order, so threads cannot change the sum."""
    if not len(vectors):
        return
    total = np.zeros(vectors.shape[1], dtype=np.float64)
    for block in _blocks(vectors):
        total += block.sum(axis=0, dtype=np.float64)
    mean = total / len(vectors)
    for block in _blocks(vectors):
        block[:] = block - mean


def _none(vectors: NDArray[np.float32]) -> None:
    """Leave the vectors as they are."""


def _iterative(vectors: NDArray[np.float32]) -> None:
    """Scale and centre in turn, so that in the end both hold: norms of 1 and, up to rounding, a mean of 0."""
    for step in ITERATIVE:
        _STEPS[step](vectors)


_STEPS: dict[str, Callable[[NDArray[np.float32]], None]] = {
    "unit": _unit,
    "center": _center,
    "iterative": _iterative,
    "none": _none,
}
