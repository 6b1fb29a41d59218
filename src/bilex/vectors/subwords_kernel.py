"""Compose vectors of words from those of their character n-grams, as fastText does, in numba.

A word is put between ``<`` and ``>``, and its n-grams are counted in characters of UTF-8; either mark alone is none.
The 32-bit FNV-1a hash of an n-gram names its row, behind the rows of the words.
"""

import numpy as np
from numpy.typing import NDArray

from bilex.numerics.compilation import njit
from bilex.numerics.types import Indices

_OPEN, _CLOSE = ord("<"), ord(">")
_BASIS, _PRIME = np.uint32(2166136261), np.uint32(16777619)


@njit(cache=True, nogil=True)
def _marked_byte(data: NDArray[np.uint8], start: int, end: int, place: int) -> int:
    """Return a byte of ``<word>``; the word is at ``data[start:end]``."""
    if place == 0:
        return _OPEN
    return _CLOSE if place > end - start else int(data[start + place - 1])


@njit(cache=True, nogil=True)
def _add_ngrams(
    data: NDArray[np.uint8],
    start: int,
    end: int,
    sizes: tuple[int, int],
    matrix: NDArray[np.float32],
    words: int,
    total: NDArray[np.float32],
) -> int:
    """Add the rows of a word's n-grams to `total`; return how many there are."""
    length, count = end - start + 2, 0
    for first in range(length):
        if _marked_byte(data, start, end, first) & 0xC0 == 0x80:
            continue  # within a character
        key, place = _BASIS, first
        for size in range(1, sizes[1] + 1):
            if place == length:
                break
            inside = True
            while inside:
                byte = np.uint32(_marked_byte(data, start, end, place))
                if byte >= 128:
                    byte |= np.uint32(0xFFFFFF00)  # subtle: fastText widens each byte as a signed number
                key = np.uint32((key ^ byte) * _PRIME)
                place += 1
                inside = place < length and _marked_byte(data, start, end, place) & 0xC0 == 0x80
            if size >= sizes[0] and not (size == 1 and (first == 0 or place == length)):
                row = matrix[words + int(key) % (len(matrix) - words)]
                for column in range(len(total)):
                    total[column] += row[column]
                count += 1
    return count


@njit(cache=True, nogil=True)
def compose_words(
    data: NDArray[np.uint8],
    starts: Indices,
    ends: Indices,
    rows: Indices,
    sizes: tuple[int, int],
    matrix: NDArray[np.float32],
    words: int,
    out: NDArray[np.float32],
) -> None:
    """Write the mean of each word's own row of the matrix and those of its n-grams.

    A word outside the vocabulary has the row -1, and gets zeros if it has no n-grams. `sizes` are those of the shortest
    and the longest n-grams, the longest 0 if there are none; the matrix has the `words` first.
    """
    for word in range(len(out)):
        total, count = out[word], int(rows[word] >= 0)
        for column in range(len(total)):  # in loops, as assignments of slices take seconds to compile
            total[column] = matrix[rows[word], column] if count else 0.0
        count += _add_ngrams(data, starts[word], ends[word], sizes, matrix, words, total)
        if count > 1:
            scale = np.float32(1.0) / np.float32(count)
            for column in range(len(total)):
                total[column] *= scale
