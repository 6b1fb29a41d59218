"""Safetensors files and packed word lists: read with bounds."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilex.errors import InputError
from bilex.files.streams import MAXIMUM_WORD

__all__ = ["longest_line", "one_line", "safetensors_header"]

MAXIMUM_HEADER = 1 << 20
"""Bytes in the longest header of a safetensors file that is read, enough for about ten thousand tensors."""

BYTES_AT_A_TIME = 1 << 20


def safetensors_header(path: str | os.PathLike[str]) -> tuple[dict[str, Any], int]:
    """Return the tensors' descriptions and where their data begins.

    The safetensors library checks the file (sizes, overlaps, limits); what it accepts is then safe to map. It
    is not used to read, because it has no way to give bfloat16 to NumPy. A long header is refused before that: it
    would be held in memory at many times its length.
    """
    from safetensors import SafetensorError, safe_open  # a compiled library, rarely needed

    try:
        with Path(path).open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > MAXIMUM_HEADER:
                raise ValueError(f"a header of {length:,} bytes")
            with safe_open(path, framework="numpy"):
                pass
            header = json.loads(file.read(length))
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(
            path, f"not a readable safetensors file ({one_line(error)})", "get or save the file again"
        ) from None
    header.pop("__metadata__", None)
    return header, 8 + length


def longest_line(text: NDArray[np.uint8]) -> int:
    """Return the length of the longest line of a text, a block at a time; one that is far too long ends the search."""
    longest = begin = 0
    for start in range(0, len(text), BYTES_AT_A_TIME):
        breaks = start + np.flatnonzero(text[start : start + BYTES_AT_A_TIME] == ord("\n"))
        if len(breaks):
            longest = max(longest, int(breaks[0]) - begin, int(np.diff(breaks).max(initial=1)) - 1)
            begin = int(breaks[-1]) + 1
        longest = max(longest, min(start + BYTES_AT_A_TIME, len(text)) - begin)
        if longest > MAXIMUM_WORD:
            break
    return longest


def one_line(error: BaseException) -> str:
    """Shorten an error of another library to one line."""
    return " ".join(str(error).split())[:100]
