"""How many words a file of vectors holds and of what dimension, from its first bytes alone."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

import numpy as np

from bilex.errors import BilexError
from bilex.files.streams import FASTTEXT_MODEL, ByteStream
from bilex.vectors.examine import fields_of

__all__ = ["peek_shape"]

_HEADER = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]*\r?\n")


def peek_shape(path: str | os.PathLike[str], limit: int | None = None) -> tuple[int, int] | None:
    """Give the words, at most `limit`, and the dimension; None where the file does not tell or cannot be read.

    Without a header the words are guessed from the size of the file and of its first line. A pipe is not touched,
    since what is read from it is gone.
    """
    if not Path(path).is_file():
        return None
    try:
        suffix = Path(path).suffix.lower()
        if suffix == ".npy":
            rows, dimension = _npy_shape(path)
        elif suffix == ".safetensors":
            rows, dimension = _safetensors_shape(path)
        else:
            with ByteStream(path) as stream:
                rows, dimension = _text_shape(stream, limit)
    except (BilexError, OSError, ValueError, TypeError, LookupError, struct.error):
        return None  # the reader says what is wrong
    rows = rows if limit is None else min(rows, limit)
    return (rows, dimension) if rows > 0 and dimension > 0 else None


def _npy_shape(path: str | os.PathLike[str]) -> tuple[int, int]:
    rows, dimension = np.lib.format.open_memmap(path, mode="r").shape
    return int(rows), int(dimension)


def _safetensors_shape(path: str | os.PathLike[str]) -> tuple[int, int]:
    from safetensors import SafetensorError, safe_open  # a compiled library, rarely needed

    try:
        with safe_open(path, framework="numpy") as file:
            shapes = [tuple(file.get_slice(name).get_shape()) for name in file.keys()]  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(str(error)) from None
    rows, dimension = max((shape for shape in shapes if len(shape) == 2), key=lambda shape: shape[0] * shape[1])
    return int(rows), int(dimension)


def _text_shape(stream: ByteStream, limit: int | None) -> tuple[int, int]:
    if stream.head.startswith(FASTTEXT_MODEL):
        from bilex.vectors.fasttext import fasttext_shape

        return fasttext_shape(stream.head)
    header = _HEADER.match(stream.head)
    if header:
        return int(header[1]), int(header[2])
    line, line_feed, _ = stream.head.partition(b"\n")
    if not line_feed:
        raise ValueError("the first line is too long to be seen")
    if stream.size is None:
        if limit is None:
            raise ValueError("the size is not known")
        return limit, len(fields_of(line)) - 1
    return stream.size // (len(line) + 1) + 1, len(fields_of(line)) - 1
