"""Read fastText's binary models: vectors of words, and of character n-grams, which make a vector of any other word.

A file is a header, the dictionary, and a matrix with a row for each word and for each hash of an n-gram; the output
matrix behind it is only for training. The vector of a word is the mean of its own row and those of its n-grams. The
file is mapped, so that only the rows that are needed are read.
"""

import mmap
import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bilex.errors import InputError
from bilex.files.atomic import atomic_write
from bilex.files.streams import FASTTEXT_MAGIC, MAX_WORD_BYTES, ByteStream
from bilex.numerics.types import Indices
from bilex.vectors.cleaning import Collector, Loaded, check_finite, decode_words
from bilex.vectors.hub import resolve

# magic, version; dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn, lrUpdateRate; t;
# words and labels together, words, labels; tokens, pruned
_HEADER = struct.Struct("<2i12id3i2q")
_SUPERVISED = 3
_MATRIX = struct.Struct("<?2q")
_AFTER_WORD = 10  # the end of the word, its count and its type
END_OF_SENTENCE = b"</s>"  # has no n-grams
MAX_NGRAM = 100  # characters; fastText's own default is 6
MODEL_ROWS_PER_BLOCK = 4096
DAMAGED = "get the file again, it looks cut off or damaged"


@dataclass(frozen=True, eq=False)
class FastText:
    """A model, mapped: where its words are in the file, and the matrix of words and n-grams."""

    path: str
    data: NDArray[np.uint8]  #: the whole file
    starts: Indices  #: where each word begins
    ends: Indices
    matrix: NDArray[np.float32]  #: a row for each word, then one for each hash of an n-gram
    sizes: tuple[int, int]  #: characters of the shortest and the longest n-grams; the longest is 0 if there are none

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self.matrix.shape[1])

    def words(self, start: int, stop: int) -> list[bytes]:
        """Return the words of some rows as they are in the file."""
        places = zip(self.starts[start:stop].tolist(), self.ends[start:stop].tolist(), strict=True)
        return [self.data[begin:end].tobytes() for begin, end in places]

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each word that is UTF-8, the first if a word is there twice."""
        decoded = decode_words(self.words(0, len(self.starts)))
        return {word: row for row, word in reversed(list(enumerate(decoded))) if word is not None}

    def vectors(self, rows: Sequence[int] | Indices, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Return the vectors of words, by their rows."""
        from bilex.vectors.subwords_kernel import compose_words  # numba is slow to import

        rows = np.asarray(rows, np.int64)
        out = np.empty((len(rows), self.dimension), np.float32) if out is None else out
        places = (self.starts[rows], self.ends[rows], rows)
        compose_words(self.data, *places, self.sizes, self.matrix, len(self.starts), out)
        if self._end_of_sentence is not None:
            out[rows == self._end_of_sentence] = self.matrix[self._end_of_sentence]
        return out

    def vector(self, word: str) -> NDArray[np.float32] | None:
        """Return the vector of a word, from its character n-grams if it is not in the model; None if it has none."""
        from bilex.vectors.subwords_kernel import compose_words  # numba is slow to import

        try:
            data = np.frombuffer(word.encode("utf-8"), np.uint8)
        except UnicodeError:
            return None
        if word in self.rows:
            vector = self.vectors([self.rows[word]])
        elif data.tobytes() == END_OF_SENTENCE:
            return None
        else:
            vector = np.empty((1, self.dimension), np.float32)
            places = (np.zeros(1, np.int64), np.full(1, len(data)), np.full(1, -1))
            compose_words(data, *places, self.sizes, self.matrix, len(self.starts), vector)
        return vector[0] if np.isfinite(vector).all() and vector.any() else None

    @cached_property
    def _end_of_sentence(self) -> int | None:
        possible = np.flatnonzero(self.ends - self.starts == len(END_OF_SENTENCE)).tolist()
        return next((row for row in possible if self.words(row, row + 1) == [END_OF_SENTENCE]), None)


def open_fasttext(path: str | os.PathLike[str]) -> FastText:
    """Open a model, which has to be whole and of an unsupervised kind."""
    with ByteStream(resolve(path)) as stream:
        return _open(stream)


def read_fasttext(stream: ByteStream, limit: int | None) -> Loaded:
    """Read the first ``limit`` words of a model."""
    model = _open(stream)
    wanted = len(model.starts) if limit is None else min(len(model.starts), limit)
    collector = Collector(model.path, model.dimension, wanted)
    for start in range(0, wanted, MODEL_ROWS_PER_BLOCK):
        rows = np.arange(start, min(start + MODEL_ROWS_PER_BLOCK, wanted))
        block = model.vectors(rows, collector.reserve(len(rows)))
        check_finite(model.path, block, start + 1)
        collector.keep(decode_words(model.words(start, start + len(rows))), rows + 1)
    return collector.finish((model.path,))


def write_mapped_model(
    path: str | os.PathLike[str],
    model: FastText,
    linear: Callable[[NDArray[np.float32]], NDArray[np.float32]],
    exact: Callable[[NDArray[np.float32]], NDArray[np.float32]],
) -> None:
    """Write a model with its rows mapped by a linear function, so that words outside it are mapped with their n-grams.

    The rows of words are corrected so that the vector of a word is `exact` of what it was. The new model has no output
    matrix: it makes vectors, and cannot be trained further.
    """
    count, rows = len(model.starts), len(model.matrix)
    header = bytearray(model.data[: _HEADER.size].tobytes())
    dimension = linear(model.matrix[:1]).shape[1]
    header[8:12] = struct.pack("<i", dimension)
    matrix_place = model.matrix.__array_interface__["data"][0] - model.data.__array_interface__["data"][0]
    own = np.zeros((rows, 1), np.float32)
    own[:count] = 1
    shares = replace(model, matrix=own)  # of a word's own row in its vector
    with atomic_write(path) as file:
        file.write(header)
        file.write(model.data[_HEADER.size : matrix_place - _MATRIX.size].tobytes())
        file.write(_MATRIX.pack(False, rows, dimension))
        for start in range(0, rows, MODEL_ROWS_PER_BLOCK):
            block = linear(model.matrix[start : start + MODEL_ROWS_PER_BLOCK])
            places = np.arange(start, min(start + len(block), count))
            if len(places):
                vectors = model.vectors(places)
                block[: len(places)] += (exact(vectors) - linear(vectors)) / shares.vectors(places)
            file.write(block.astype("<f4").tobytes())
        file.write(_MATRIX.pack(False, 0, dimension))


def fasttext_shape(head: bytes) -> tuple[int, int]:
    """Return the number of words and the dimension from the first bytes of a model."""
    fields = _HEADER.unpack_from(head)
    return fields[16], fields[2]


def _open(stream: ByteStream) -> FastText:
    path = stream.path
    if not stream.head.startswith(FASTTEXT_MAGIC):
        raise InputError(path, "this is not a fastText model", "give the .bin file that fastText has written")
    if stream.size is None:
        raise InputError(path, "a fastText model is only read from a plain file", "decompress it first")
    if stream.size < _HEADER.size:
        raise InputError(path, "the file ends within the header", DAMAGED)
    with Path(path).open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    fields = _HEADER.unpack_from(data)
    dimension, kind, bucket, shortest, longest = fields[2], fields[9], *fields[10:13]
    size, count, labels, _, pruned = fields[15:]
    if kind == _SUPERVISED:
        raise InputError(path, "this model classifies text (supervised)", "train one with skipgram or cbow")
    plausible = dimension > 0 < count and bucket >= 0 <= labels and size == count + labels
    if not plausible or not (shortest >= 0 and 0 <= longest <= MAX_NGRAM):
        raise InputError(path, "the header makes no sense", DAMAGED)
    starts, ends = _find_words(path, data, size)
    place = int(ends[-1]) + _AFTER_WORD + 8 * max(pruned, 0)
    if place + _MATRIX.size > len(data):
        raise InputError(path, "the file ends before the vectors", DAMAGED)
    quantised, rows, columns = _MATRIX.unpack_from(data, place)
    if quantised or pruned > 0:
        raise InputError(path, "the model is quantised (compressed)", "use the .bin, not the .ftz")
    if (rows, columns) != (count + bucket, dimension):
        raise InputError(path, "the vectors are not as many or as long as the header says", DAMAGED)
    place += _MATRIX.size
    if place + 4 * rows * columns > len(data):
        raise InputError(path, "the file ends within the vectors", DAMAGED)
    matrix = np.frombuffer(data, "<f4", rows * columns, place).reshape(rows, columns)
    sizes = (shortest, longest if bucket and pruned else 0)
    return FastText(path, np.frombuffer(data, np.uint8), starts[:count], ends[:count], matrix, sizes)


def _find_words(path: str, data: mmap.mmap, count: int) -> tuple[Indices, Indices]:
    """Return where each entry of the dictionary begins and ends; labels, if there are any, follow the words."""
    if count * _AFTER_WORD > len(data):  # before memory is reserved for them
        raise InputError(path, f"the model promises {count} words, more than the file can hold", DAMAGED)
    starts, ends = np.empty(count, np.int64), np.empty(count, np.int64)
    place = _HEADER.size
    for number in range(count):
        end = data.find(b"\0", place, place + MAX_WORD_BYTES + 1)
        if end < 0:
            raise InputError(path, f"the model promises {count} words but only {number} follow", DAMAGED)
        starts[number], ends[number] = place, end
        place = end + _AFTER_WORD
    return starts, ends
