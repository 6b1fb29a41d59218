"""How words are spelt, as vectors: character n-grams hashed into a fixed number of dimensions.

The orthographic features of Haghighi et al. (2008): substrings of a word up to length three. Two words that share
many of them have a large inner product. And `fold`, which makes spellings of two languages comparable.
"""

from __future__ import annotations

import unicodedata
import zlib
from collections.abc import Sequence

import numpy as np

from bilex.numerics.types import Vectors

__all__ = ["fold", "spelling_vectors"]

LONGEST = 3
DIMENSION = 256


def spelling_vectors(words: Sequence[str], dimension: int = DIMENSION) -> Vectors:
    """Give each word a unit vector of its hashed character n-grams, with marks for its beginning and end."""
    vectors = np.zeros((len(words), dimension), np.float32)
    for row, word in enumerate(words):
        marked = f"\x02{word}\x03"
        for length in range(1, LONGEST + 1):
            for start in range(len(marked) - length + 1):
                code = zlib.crc32(marked[start : start + length].encode("utf-8"))
                vectors[row, code % dimension] += 1 if code & (1 << 31) else -1
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), np.float32)


def fold(word: str) -> str:
    """Write a word without accents, case and script: what is left to compare between languages.

    Marks are taken off the letters; what is not Latin then is transliterated.
    """
    bare = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)).casefold()
    if bare.isascii():
        return bare
    from anyascii import anyascii

    return str(anyascii(bare)).casefold()
