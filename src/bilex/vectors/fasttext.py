"""Read fastText's binary models: vectors of words, and of character n-grams, which make a vector of any other word.

The numbers are read by gensim (``pip install 'bilex[fasttext]'``), which loops for ever on a file that is cut off. So
the structure of the file is checked first, and only whole files are passed on.
"""

from __future__ import annotations

import contextlib
import logging
import mmap
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilex.errors import BilexError, InputError
from bilex.files.streams import FASTTEXT_MAGIC, MAX_WORD_BYTES, ByteStream
from bilex.vectors.cleaning import Loaded
from bilex.vectors.matrices import collect_matrix

# magic, version; dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn, lrUpdateRate; t;
# words and labels together, words, labels; tokens, pruned
_HEADER = struct.Struct("<2i12id3i2q")
_SUPERVISED = 3
_MATRIX = struct.Struct("<?2q")
DAMAGED = "get the file again, it looks cut off or damaged"


@dataclass(frozen=True, eq=False)
class FastText:
    """A model: its words as they stand in the file, and gensim's object, which makes a vector of any word."""

    path: str
    words: list[bytes]
    model: Any

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each word."""
        return dict(self.model.key_to_index)

    @property
    def vectors(self) -> NDArray[np.float32]:
        """One row for each word."""
        vectors: NDArray[np.float32] = self.model.vectors
        return vectors

    def vector(self, word: str) -> NDArray[np.float32] | None:
        """Return the vector of a word, from its character n-grams if it is not in the model; None if it has none."""
        with _silent():
            try:
                vector = np.asarray(self.model.get_vector(word), np.float32)
            except (KeyError, UnicodeError):
                return None
        return vector if np.isfinite(vector).all() and vector.any() else None


def open_fasttext(path: str | os.PathLike[str]) -> FastText:
    """Read a model, which has to be whole and of an unsupervised kind."""
    with ByteStream(path) as stream:
        return _open(stream)


def read_fasttext(stream: ByteStream, limit: int | None) -> Loaded:
    """Read the first ``limit`` words of a model."""
    model = _open(stream)
    return collect_matrix(model.path, model.vectors, model.words, limit, (model.path,))


def fasttext_shape(head: bytes) -> tuple[int, int]:
    """Return the number of words and the dimension from the first bytes of a model."""
    fields = _HEADER.unpack_from(head)
    return fields[16], fields[2]


def _open(stream: ByteStream) -> FastText:
    if not stream.head.startswith(FASTTEXT_MAGIC):
        raise InputError(stream.path, "this is not a fastText model", "give the .bin file that fastText has written")
    if stream.size is None:
        raise InputError(stream.path, "a fastText model is only read from a plain file", "decompress it first")
    try:
        from gensim.models.fasttext import load_facebook_vectors
    except ImportError:
        raise BilexError(
            f"{stream.path}: reading a fastText model needs gensim, which is missing; pip install 'bilex[fasttext]'"
        ) from None
    words = _checked_words(stream.path)
    names = [word.decode("utf-8", "backslashreplace") for word in words]  # as gensim decodes them
    if len(set(names)) < len(names):
        raise InputError(stream.path, "a word stands twice in the model", DAMAGED)
    with _silent():
        try:
            # An absolute path: gensim would take a name with a colon for an address on the network.
            model = load_facebook_vectors(os.path.abspath(stream.path))  # noqa: PTH100
        except MemoryError:
            raise
        except Exception as error:
            # gensim raises many kinds of errors.
            about = " ".join(f"{type(error).__name__}: {error}".split())[:100]
            raise InputError(stream.path, f"gensim cannot read the model ({about})", DAMAGED) from None
    if list(model.index_to_key) != names or model.vectors.shape[0] != len(names):
        raise InputError(stream.path, "gensim finds other words in the model than bilex", DAMAGED)
    return FastText(stream.path, words, model)


def _checked_words(path: str) -> list[bytes]:
    """Check that a model is whole up to the end of its matrix, and return its words."""
    with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if len(data) < _HEADER.size:
            raise InputError(path, "the file ends within the header", DAMAGED)
        fields = _HEADER.unpack_from(data)
        dimension, kind, bucket, shortest, longest = fields[2], fields[9], *fields[10:13]
        size, count, labels, _, pruned = fields[15:]
        if kind == _SUPERVISED or labels > 0:
            raise InputError(path, "this model classifies text (supervised)", "train one with skipgram or cbow")
        grams = longest == 0 or 0 < shortest <= longest < MAX_WORD_BYTES
        if dimension < 1 or count < 1 or bucket < 0 or size != count or not grams:
            raise InputError(path, "the header makes no sense", DAMAGED)
        words, place = [], _HEADER.size
        for number in range(count):
            end = data.find(b"\0", place, place + MAX_WORD_BYTES + 1)
            if end < 0:
                raise InputError(path, f"the model promises {count} words but only {number} follow", DAMAGED)
            words.append(data[place:end])
            place = end + 10  # the word's count and type follow
        place += 8 * max(pruned, 0)
        if place + _MATRIX.size > len(data):
            raise InputError(path, "the file ends before the vectors", DAMAGED)
        quantised, rows, columns = _MATRIX.unpack_from(data, place)
        if quantised:
            raise InputError(path, "the model is quantised, which gensim does not read", "use the .bin, not the .ftz")
        if (rows, columns) != (count + bucket, dimension):
            raise InputError(path, "the vectors are not as many or as long as the header says", DAMAGED)
        if place + _MATRIX.size + 4 * rows * columns > len(data):
            raise InputError(path, "the file ends within the vectors", DAMAGED)
        return words


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep gensim from logging; what matters becomes an error or a warning of bilex."""
    logger = logging.getLogger("gensim")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
