"""Safetensors files, and the word lists in them: written whole, read with bounds."""

import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilex.errors import BilexError, InputError
from bilex.files.atomic import atomic_path
from bilex.files.streams import MAX_WORD_BYTES

MAX_HEADER_BYTES = 1 << 20  # enough for about ten thousand tensors
SEARCHED_BYTES = 1 << 20
NUMPY_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",  # the upper half of a float32, for which NumPy has no type
    "I64": "<i8",
    "I32": "<i4",
    "U8": "u1",
}


def safetensors_header(path: str | os.PathLike[str]) -> tuple[dict[str, Any], int]:
    """Return the tensors' descriptions and where their data begins.

    The safetensors library checks the file (sizes, overlaps, limits); what it accepts is then safe to map. It
    is not used for reading, because it cannot return bfloat16 to NumPy. A long header is refused before that: it
    would be held in memory at many times its length.
    """
    from safetensors import SafetensorError, safe_open  # a compiled library, rarely needed

    try:
        with Path(path).open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > MAX_HEADER_BYTES:
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


def map_tensor(path: str | os.PathLike[str], entry: Mapping[str, Any], offset: int) -> NDArray[Any]:
    """Map one tensor of a file whose data begins at `offset` into memory: nothing is read before it is used."""
    kind, shape = np.dtype(NUMPY_TYPES[entry["dtype"]]), tuple(entry["shape"])
    if 0 in shape:
        return np.zeros(shape, kind)
    return np.memmap(path, kind, mode="r", offset=offset + entry["data_offsets"][0], shape=shape)


def atomic_write_tensors(
    path: str | os.PathLike[str], tensors: Mapping[str, NDArray[Any]], metadata: dict[str, str] | None = None
) -> None:
    """Write a safetensors file, whole or not at all."""
    from safetensors import SafetensorError  # a compiled library, rarely needed
    from safetensors.numpy import save_file

    with atomic_path(path) as temporary:
        mode = temporary.stat().st_mode
        try:
            save_file({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, temporary, metadata)
        except SafetensorError as error:  # it has the system's error in its text only
            code = re.search(r"(?:os error|code:) (\d+)", str(error))
            raise OSError(int(code[1]), os.strerror(int(code[1]))) if code else error from None
        temporary.chmod(stat.S_IMODE(mode))  # it makes another file, which only its owner may read


def pack_words(words: Sequence[str]) -> NDArray[np.uint8]:
    """Return the words as UTF-8, one on each line."""
    packed = np.frombuffer("\n".join(words).encode("utf-8"), np.uint8)
    if np.count_nonzero(packed == ord("\n")) != max(len(words) - 1, 0) or not words_are_short(packed):
        raise BilexError(f"a word has a line end in it or more than {MAX_WORD_BYTES:,} bytes; rename it")
    return packed


def unpack_words(packed: NDArray[np.uint8]) -> tuple[str, ...]:
    """Return the words that `pack_words` stored."""
    return tuple(packed.tobytes().decode("utf-8").split("\n"))


def words_are_short(packed: NDArray[np.uint8]) -> bool:
    """Check that no packed word is longer than a word may be, without making a copy of a text that is one line."""
    begin = 0
    for start in range(0, len(packed), SEARCHED_BYTES):
        breaks = start + np.flatnonzero(packed[start : start + SEARCHED_BYTES] == ord("\n"))
        end = min(start + SEARCHED_BYTES, len(packed))
        edges = np.concatenate([[begin - 1], breaks, [end]])
        if int(np.diff(edges).max()) - 1 > MAX_WORD_BYTES:
            return False
        begin = int(breaks[-1]) + 1 if len(breaks) else begin
    return True


def one_line(error: BaseException) -> str:
    """Shorten an error of another library to one line."""
    return " ".join(str(error).split())[:100]
