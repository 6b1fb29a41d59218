"""Vectors out, in formats that can be read back exactly."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from bilex.errors import BilexError
from bilex.files.atomic import atomic_write, atomic_write_tensors
from bilex.files.streams import display
from bilex.vectors.examine import fields_of, is_number

__all__ = ["write_vectors"]


Progress = Callable[[int, int], None]
_ROWS_AT_A_TIME = 1000


def write_vectors(
    path: str | os.PathLike[str],
    words: Sequence[str],
    vectors: NDArray[np.float32],
    progress: Progress | None = None,
) -> None:
    """Write words and vectors in the format that the name's ending asks for.

    Parameters
    ----------
    path
        Ends in ``.vec`` or ``.txt`` (text, also with ``.gz`` behind it), ``.bin`` (word2vec binary) or
        ``.safetensors``.
    words, vectors
        One row per word.
    progress
        Called now and then with (rows written, rows in all).
    """
    if not np.isfinite(vectors).all():
        raise BilexError(f"{os.fspath(path)}: a vector holds NaN or infinity, so nothing is written; leave it out")
    suffixes = [suffix.lower() for suffix in Path(path).suffixes[-2:]]
    if suffixes[-1:] == [".safetensors"]:
        _write_safetensors(path, words, vectors)
    elif suffixes[-1:] == [".bin"]:
        with atomic_write(path) as file:
            _write_rows(path, file, words, vectors, progress, _word2vec_row)
    elif suffixes[-1:] in ([".vec"], [".txt"]):
        with atomic_write(path) as file:
            _write_rows(path, file, words, vectors, progress, _text_row)
    elif suffixes in ([".vec", ".gz"], [".txt", ".gz"]):
        # No name and no time in the gzip header: the same vectors give the same bytes.
        with atomic_write(path) as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
            _write_rows(path, cast(BinaryIO, packed), words, vectors, progress, _text_row)
    else:
        raise BilexError(
            f"{os.fspath(path)}: the name's ending does not tell the format; "
            "use .vec, .txt, .vec.gz, .txt.gz, .bin or .safetensors"
        )


def _write_rows(
    path: str | os.PathLike[str],
    file: BinaryIO,
    words: Sequence[str],
    vectors: NDArray[np.float32],
    progress: Progress | None,
    written: Callable[[bytes, NDArray[np.float32]], bytes | None],
) -> None:
    """Write the header and the rows as `written` has them; None is a word that the format cannot hold."""
    count, dimension = vectors.shape
    file.write(f"{count} {dimension}\n".encode())
    for word, vector in _rows(words, vectors, progress):
        row = written(word.encode("utf-8"), vector)
        if row is None:
            raise _unwritable(path, word)
        file.write(row)


def _text_row(word: bytes, vector: NDArray[np.float32]) -> bytes | None:
    fields = fields_of(word)
    splits_wrongly = len(fields) > 1 and is_number(fields[1])
    if b"\n" in word or word.strip(b" \t") != word or splits_wrongly:
        return None
    # Nine digits are enough to get every float32 back exactly.
    return word + (" %.9g" * len(vector) % tuple(vector.tolist())).encode() + b"\n"


def _word2vec_row(word: bytes, vector: NDArray[np.float32]) -> bytes | None:
    if b" " in word or word.lstrip(b"\r\n") != word:
        return None
    return word + b" " + vector.astype("<f4").tobytes() + b"\n"


def _write_safetensors(path: str | os.PathLike[str], words: Sequence[str], vectors: NDArray[np.float32]) -> None:
    for word in words:
        if "\n" in word:
            raise BilexError(f"{os.fspath(path)}: the word {display(word)} has a line feed in it; rename it")
    joined = np.frombuffer("\n".join(words).encode("utf-8"), dtype=np.uint8)
    atomic_write_tensors(path, {"vectors": vectors, "words": joined})


def _rows(
    words: Sequence[str], vectors: NDArray[np.float32], progress: Progress | None
) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Pair each word with its vector, and tell how far it is."""
    for done, row in enumerate(zip(words, vectors, strict=True), 1):
        yield row
        if progress is not None and (done % _ROWS_AT_A_TIME == 0 or done == len(words)):
            progress(done, len(words))


def _unwritable(path: str | os.PathLike[str], word: str) -> BilexError:
    return BilexError(
        f"{os.fspath(path)}: the word {display(word)} cannot be told from its numbers in this format; "
        "save as .safetensors"
    )
