"""The way into every vector format: choose the reader of a file, by its content where possible.

A new format is a new module beside this one, with a function that returns `Loaded`, and a branch in `read_vectors`.
"""

from __future__ import annotations

import os

from bilex.errors import BilexError, InputError
from bilex.files.streams import FASTTEXT_MODEL, ByteStream, refuse_foreign
from bilex.vectors.cleaning import Loaded

__all__ = ["Loaded", "check_limit", "read_vectors"]


def read_vectors(
    path: str | os.PathLike[str], limit: int | None = None, vocabulary: str | os.PathLike[str] | None = None
) -> Loaded:
    """Read the first ``limit`` word vectors of a file in any of the formats.

    Parameters
    ----------
    path
        Text or word2vec binary (both may be gzipped), ``.npy``, ``.safetensors``, or a fastText model.
    limit
        How many rows to read, from the top; None reads all.
    vocabulary
        The file with the words of a matrix that does not bring its own.

    Returns
    -------
    Loaded
        The words, the vectors, and what was repaired.
    """
    check_limit(limit)
    with ByteStream(path) as stream:
        if stream.head.startswith(FASTTEXT_MODEL) and vocabulary is None:
            from bilex.vectors.fasttext import read_fasttext

            return read_fasttext(stream, limit)
        refuse_foreign(stream)
        if _is_matrix(stream):
            return _read_matrix(stream, limit, vocabulary)
        if vocabulary is not None:
            raise InputError(
                stream.path,
                "the file has its words inside",
                "give a vocabulary only with .npy or .safetensors",
            )
        # Imported where they are needed: the text reader brings numba with it, and that takes its time.
        from bilex.vectors.word2vec import looks_like_word2vec, read_word2vec

        if looks_like_word2vec(stream.head, named_binary=stream.suffix == ".bin"):
            return read_word2vec(stream, limit)
        from bilex.vectors.text import read_text

        return read_text(stream, limit)


def check_limit(limit: int | None) -> None:
    """Raise if the limit allows no word at all."""
    if limit is not None and limit <= 0:
        raise BilexError(f"the limit is {limit}; it must be at least 1")


def _is_matrix(stream: ByteStream) -> bool:
    return stream.suffix in (".npy", ".safetensors") or stream.head.startswith(b"\x93NUMPY")


def _read_matrix(stream: ByteStream, limit: int | None, vocabulary: str | os.PathLike[str] | None) -> Loaded:
    from bilex.vectors.matrices import read_npy, read_safetensors

    if stream.size is None:
        raise InputError(
            stream.path, "a matrix is only read from a plain file", "decompress or copy it to a file first"
        )
    if stream.suffix == ".safetensors":
        return read_safetensors(stream.path, limit, vocabulary)
    return read_npy(stream.path, limit, vocabulary)
