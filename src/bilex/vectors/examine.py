"""One line of text vectors, looked at slowly: what it holds, or what is wrong with it.

The compiled parser hands over the lines it is not sure of. This module is the definition of what a line means;
it may be slow, since such lines are rare and an error ends the reading anyway.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from bilex.errors import InputError
from bilex.files.streams import display

__all__ = ["examine_line", "fields_of", "is_number"]

_FIELD = re.compile(rb"[^ \t]+")
_NUMBER = re.compile(rb"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)", re.IGNORECASE)


def fields_of(line: bytes) -> list[bytes]:
    """Split on ASCII spaces and tabs only; any other white space may be part of a word."""
    return _FIELD.findall(line)


def is_number(field: bytes) -> bool:
    """Whether the field is a number as C or Python would write it, NaN and infinity included."""
    return _NUMBER.fullmatch(field) is not None


def examine_line(path: str, number: int, line: bytes, dimension: int) -> tuple[bytes, NDArray[np.float32]]:
    """Return the word of the line (with its spaces, if it has any) and its vector.

    Raises
    ------
    InputError
        If the line is not a word followed by ``dimension`` finite numbers.
    """
    fields = list(_FIELD.finditer(line))
    texts = [field.group() for field in fields]
    if line[:1] in (b" ", b"\t") and len(texts) == dimension and all(map(is_number, texts)):
        return b"", _values(path, number, texts)
    extra = len(texts) - 1 - dimension
    spaced = extra > 0 and not is_number(texts[1])
    for text in texts[-dimension:] if spaced else texts[1:]:
        if not is_number(text):
            raise InputError(path, f"{display(text)} is not a number", "correct the line", line=number)
    if extra != 0 and not spaced:
        raise InputError(
            path,
            f"expected {dimension} numbers after the word {display(texts[0])} but found {len(texts) - 1}",
            "correct the line, or get the file again",
            line=number,
        )
    word = line[fields[0].start() : fields[extra].end()]
    return word, _values(path, number, texts[-dimension:])


def _values(path: str, number: int, texts: list[bytes]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        values = np.array([float(text) for text in texts], dtype=np.float64).astype(np.float32)
    finite = np.isfinite(values)
    if not finite.all():
        bad = texts[int(np.argmin(finite))]
        raise InputError(
            path,
            f"{display(bad)} is not a finite 32-bit number",
            "remove or correct this word",
            line=number,
        )
    return values
