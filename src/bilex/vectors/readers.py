"""The way into every vector format: choose the reader of a file, by its content where possible.

A new format is a new module beside this one, with a function that returns `Loaded`, and a branch in `read_vectors`.
"""

import os
import struct
from pathlib import Path

import numpy as np

from bilex.errors import BilexError, InputError
from bilex.files.lines import split_fields
from bilex.files.streams import FASTTEXT_MAGIC, MAX_GZIP_RATIO, ByteStream, refuse_unreadable_format
from bilex.vectors.cleaning import TEXT_HEADER, Loaded

MATRIX_SUFFIXES = (".npy", ".safetensors")
MIN_BYTES_PER_NUMBER = 2  # a digit and a space


def read_vectors(
    path: str | os.PathLike[str], limit: int | None = None, vocabulary: str | os.PathLike[str] | None = None
) -> Loaded:
    """Read the first ``limit`` word vectors of a file in any of the formats; see `bilex.load`."""
    check_limit(limit)
    if Path(path).is_dir():
        from bilex.vectors.tokens import is_model_folder, read_model_folder

        if is_model_folder(path):
            return read_model_folder(path, limit, vocabulary)
    with ByteStream(path) as stream:
        if stream.head.startswith(FASTTEXT_MAGIC) and vocabulary is None:
            from bilex.vectors.fasttext import read_fasttext

            return read_fasttext(stream, limit)
        refuse_unreadable_format(stream)
        if stream.suffix in MATRIX_SUFFIXES or stream.head.startswith(b"\x93NUMPY"):
            from bilex.vectors.matrices import read_matrix

            if stream.size is None:
                remedy = "decompress or copy it to a file first"
                raise InputError(stream.path, "a matrix is only read from a plain file", remedy)
            return read_matrix(stream.path, limit, vocabulary)
        if vocabulary is not None:
            remedy = "give a vocabulary only with .npy or .safetensors"
            raise InputError(stream.path, "the file has its words inside", remedy)
        # Imported where they are needed: the text reader imports numba, which is slow.
        from bilex.vectors.word2vec import looks_like_word2vec, read_word2vec

        if looks_like_word2vec(stream.head, named_binary=stream.suffix == ".bin"):
            return read_word2vec(stream, limit)
        from bilex.vectors.text import read_text

        return read_text(stream, limit)


def check_limit(limit: int | None) -> None:
    """Raise if the limit is no number of words, or allows no word at all."""
    if limit is not None and (not isinstance(limit, int | np.integer) or limit < 1):
        raise BilexError(f"the limit is {limit!r}; give a whole number from 1 up, or None")


def peek_shape(path: str | os.PathLike[str], limit: int | None = None) -> tuple[int, int] | None:
    """Return the number of words, at most `limit`, and the dimension; None if the first bytes do not show them.

    Without a header the number of words is estimated from the size of the file and of its first line. A pipe is not
    opened, since what is read from it is lost.
    """
    if not Path(path).is_file():
        return None
    try:
        if Path(path).suffix.lower() in MATRIX_SUFFIXES:
            from bilex.vectors.matrices import open_matrix

            rows, dimension = open_matrix(os.fspath(path))[0].shape
        else:
            with ByteStream(path) as stream:
                rows, dimension = _text_shape(stream, limit)
    except (BilexError, OSError, ValueError, TypeError, LookupError, struct.error):
        return None  # the reader will raise an error that explains it
    rows = rows if limit is None else min(rows, limit)
    return (rows, dimension) if rows > 0 and dimension > 0 else None


def _text_shape(stream: ByteStream, limit: int | None) -> tuple[int, int]:
    if stream.head.startswith(FASTTEXT_MAGIC):
        from bilex.vectors.fasttext import fasttext_shape

        return fasttext_shape(stream.head)
    header = TEXT_HEADER.match(stream.head)
    if header:
        rows, dimension = int(header[1]), int(header[2])
        size = stream.size if stream.size is not None else MAX_GZIP_RATIO * Path(stream.path).stat().st_size
        if MIN_BYTES_PER_NUMBER * rows * dimension > size:
            raise ValueError("the header is false")
        return rows, dimension
    line, line_feed, _ = stream.head.partition(b"\n")
    if not line_feed:
        raise ValueError("the first line is too long")
    if stream.size is None:
        if limit is None:
            raise ValueError("the size is not known")
        return limit, len(split_fields(line)) - 1
    return stream.size // (len(line) + 1) + 1, len(split_fields(line)) - 1
