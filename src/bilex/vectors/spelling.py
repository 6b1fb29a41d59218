"""How words are spelt, as vectors: character n-grams hashed into a fixed number of dimensions.

The orthographic features of Haghighi et al. (2008): substrings of a word up to length three. Two words that share
many of them have a large inner product. And how alike the spellings of two languages are, after `fold_spelling`.
"""

import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bilex.numerics.threads import thread_count
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.vectors.normalisation import normalise_rows

LONGEST = 3
PAIRS_AT_ONCE = 1 << 17  # whose spellings are held at once
DIMENSION = 256


def spelling_vectors(words: Sequence[str], dimension: int = DIMENSION) -> Vectors:
    """Hash the character n-grams of each word into a unit vector, with marks for its beginning and end."""
    vectors = np.zeros((len(words), dimension), np.float32)
    for row, word in enumerate(words):
        marked = f"\x02{word}\x03"
        for length in range(1, LONGEST + 1):
            for start in range(len(marked) - length + 1):
                code = zlib.crc32(marked[start : start + length].encode("utf-8"))
                vectors[row, code % dimension] += 1 if code & (1 << 31) else -1
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), np.float32)


def with_spelling(vectors: Vectors, words: Sequence[str], weight: float) -> Vectors:
    """Put the spelling of words beside their vectors, and scale these to norm 1; with the weight 0 nothing changes."""
    if not weight:
        return vectors
    return normalise_rows(np.hstack([vectors, np.float32(weight) * spelling_vectors(words)]), "unit")[0]


class WithoutMarks(dict[int, int | None]):
    """A table for `str.translate` that removes marks; it learns each character when it first comes."""

    def __missing__(self, code: int) -> int | None:
        self[code] = None if unicodedata.combining(chr(code)) else code
        return self[code]


WITHOUT_MARKS = WithoutMarks()


def fold_spelling(word: str) -> str:
    """Write a word without accents, case and script, so that spellings of two languages can be compared.

    Marks are removed from the letters; what is not Latin then is transliterated.
    """
    if word.isascii():
        return word.casefold()
    bare = unicodedata.normalize("NFKD", word).translate(WITHOUT_MARKS).casefold()
    if bare.isascii():
        return bare
    from anyascii import anyascii

    return str(anyascii(bare)).casefold()


@dataclass(frozen=True, eq=False)
class SpellingComparison:
    """Compares the spellings of two vocabularies."""

    source_words: Sequence[str]
    target_words: Sequence[str]

    def likeness(self, rows: Indices, columns: Indices) -> Floats:
        """Compute ``1 - edits / length of the longer word`` for pairs of rows; 1 for two empty words."""
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cpdist

        sides = []
        for words, chosen in ((self.source_words, rows), (self.target_words, columns)):
            is_used = np.zeros(len(words), np.bool_)
            is_used[chosen] = True
            folded = [fold_spelling(words[row]) for row in np.flatnonzero(is_used).tolist()]
            places = (np.cumsum(is_used) - 1)[chosen]
            sides.append((np.array(folded, object), np.array([len(word) for word in folded], np.int64), places))
        (one, one_length, ones), (other, other_length, others) = sides
        likeness, threads = np.empty(len(rows)), thread_count()
        for start in range(0, len(rows), PAIRS_AT_ONCE):
            a, b = ones[start : start + PAIRS_AT_ONCE], others[start : start + PAIRS_AT_ONCE]
            edits = cpdist(
                one[a].tolist(), other[b].tolist(), scorer=Levenshtein.distance, dtype=np.int64, workers=threads
            )
            longer = np.maximum(np.maximum(one_length[a], other_length[b]), 1)
            likeness[start : start + PAIRS_AT_ONCE] = 1.0 - edits / longer
        return likeness
