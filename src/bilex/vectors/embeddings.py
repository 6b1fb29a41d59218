"""Word vectors: the words of one language in order of frequency, and a row of float32 for each."""

import os
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bilex.errors import BilexError, BilexWarning, printable
from bilex.vectors.cleaning import Loaded
from bilex.vectors.hub import SCHEME, HubName, resolve
from bilex.vectors.lemmas import lemmatise
from bilex.vectors.normalisation import normalise_rows
from bilex.vectors.readers import check_limit, read_vectors
from bilex.vectors.writers import write_vectors


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
    means
        What `normalise` has subtracted to centre the vectors, so that others can be put beside them.
    lemmas
        The lemma of each word, if they are known.
    """

    words: tuple[str, ...]
    vectors: NDArray[np.float32]
    paths: tuple[str, ...] = ()
    name: str = ""
    means: tuple[NDArray[np.float64], ...] = ()
    lemmas: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        vectors = np.ascontiguousarray(self.vectors, dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(self.words):
            raise BilexError(f"{len(self.words)} words but vectors of shape {vectors.shape}; give one row per word")
        words = tuple(self.words)
        if wrong := [kind.__name__ for kind in set(map(type, words)) if not issubclass(kind, str)]:
            raise BilexError(f"words are text, but some are of type {wrong[0]}; give strings")
        if len(set(words)) < len(words):
            word, count = Counter(words).most_common(1)[0]
            raise BilexError(f"the word {word!r} occurs {count} times; give each word once")
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "vectors", vectors)

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    @property
    def dimension(self) -> int:
        """The number of columns of `vectors`."""
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        return np.array(self.vectors[self.index[word]])  # the caller may change it

    def __repr__(self) -> str:
        label = f"{self.name!r}, " if self.name else ""
        return f"Embeddings({label}{len(self)} words, {self.dimension} dimensions)"

    def top(self, n: int | None) -> Self:
        """Return the ``n`` most frequent words, sharing their vectors; None returns all."""
        if n is None or n >= len(self):
            return self
        if n < 0:
            raise BilexError(f"cannot take the top {n} words; give a number from 0 on")
        return replace(self, words=self.words[:n], vectors=self.vectors[:n], lemmas=self.lemmas[:n])

    def lemmatised(self, language: str) -> Self:
        """Return them with the lemmas of that language (``fi``); none if it is empty; needs the extra ``lemmas``."""
        return replace(self, lemmas=lemmatise(self.words, language)) if language else self

    def normalise(self, steps: str | Sequence[str] = "unit,centre,unit", *, in_place: bool = False) -> Self:
        """Return new vectors after the given steps, one after the other.

        Parameters
        ----------
        steps
            ``unit`` scales each vector to norm 1 (a zero vector stays zero), ``centre`` (or ``center``) subtracts
            the mean of all vectors, ``iterative`` does both in turn until vectors of norm 1 have mean 0 (Zhang et
            al. 2019), ``none`` does nothing; in any order, as a sequence or separated by commas.
        in_place
            Whether to write over the original vectors, which saves the memory of a copy.
        """
        vectors, means = normalise_rows(self.vectors, steps, in_place=in_place)
        return replace(self, vectors=vectors, means=(*self.means, *means))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the words and vectors to a file, whole or not at all.

        The ending of `path` chooses the format: ``.vec`` or ``.txt`` (text; ``.gz`` may follow), ``.bin`` (word2vec
        binary), ``.safetensors``. Loading any of them returns exactly the same numbers.
        """
        write_vectors(path, self.words, self.vectors)


def load(
    path: str | os.PathLike[str] | Embeddings | Any,
    limit: int | None = 200_000,
    vocabulary: str | os.PathLike[str] | None = None,
) -> Embeddings:
    """Read word vectors.

    Parameters
    ----------
    path
        A file: word2vec, fastText or GloVe text or word2vec binary, plain or gzipped; ``.npy``,
        ``.safetensors``, a fastText model, a folder of model2vec or staticvectors, or ``hf://OWNER/NAME``, which
        ``bilex fetch`` has brought. Or an object: `Embeddings`, or anything with ``vectors`` and either
        ``index_to_key``, as gensim's ``KeyedVectors`` has, or ``words``.
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
    check_limit(limit)
    if isinstance(path, str | os.PathLike):
        loaded, label, name = read_vectors(resolve(path), limit, vocabulary), os.fspath(path), short_name(path)
    elif isinstance(path, Embeddings):
        return path.top(limit)
    else:
        loaded, label, name = read_object(path, limit), type(path).__name__, ""
    for repair in loaded.repairs:
        warnings.warn(repair if repair.startswith(loaded.paths) else f"{label}: {repair}", BilexWarning, stacklevel=2)
    return Embeddings(tuple(loaded.words), loaded.vectors, loaded.paths, name)


def read_object(source: Any, limit: int | None) -> Loaded:
    """Read the words and vectors of an object such as gensim's ``KeyedVectors``, checked like those of a file."""
    from bilex.vectors.matrices import collect_matrix

    label = type(source).__name__
    words, matrix = getattr(source, "index_to_key", getattr(source, "words", None)), getattr(source, "vectors", None)
    if words is None or matrix is None or callable(words):
        raise BilexError(
            f"cannot load vectors from {label}; give a file, or an object with vectors and index_to_key or words"
        )
    words, matrix = list(words), np.asarray(matrix)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu" or len(matrix) != len(words):
        raise BilexError(
            f"{label}: {len(words)} words but vectors of shape {matrix.shape} and type {matrix.dtype}; "
            "give one row of numbers per word"
        )
    if not all(isinstance(word, str) for word in words):
        raise BilexError(f"{label}: some words are not strings; make every word a string")
    numbers = matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)
    return collect_matrix(label, numbers, words, limit, ())


def short_name(path: str | os.PathLike[str]) -> str:
    """Return the file's name without folder and endings: ``en`` for ``vectors/en.vec.gz``."""
    text = os.fspath(path)
    if text.startswith(SCHEME):
        return HubName.parse(text).repository.partition("/")[2]
    return printable(Path(text.removesuffix(".gz")).stem)
