"""Fields of a line of text: split, recognised as numbers, decoded, and quoted in messages."""

from __future__ import annotations

import re

from bilex.errors import InputError

FIELD = re.compile(rb"[^ \t]+")
NUMBER = re.compile(rb"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)", re.IGNORECASE)
MAX_QUOTED_CHARACTERS = 42


def split_fields(line: bytes) -> list[bytes]:
    """Split on ASCII spaces and tabs only; any other white space may be part of a word."""
    return FIELD.findall(line)


def is_number(field: bytes) -> bool:
    """Check that the field is a number as C or Python would write it, NaN and infinity included."""
    return NUMBER.fullmatch(field) is not None


def decode_fields(path: str, number: int, fields: list[bytes]) -> list[str]:
    """Decode the fields of line `number` of a file from UTF-8."""
    try:
        return [field.decode("utf-8") for field in fields]
    except UnicodeDecodeError:
        raise InputError(path, "the line is not UTF-8", "convert to UTF-8, e.g. with iconv", line=number) from None


def quoted(text: bytes | str) -> str:
    """Quote a piece of the input for a message: on one line, printable and short."""
    decoded = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    shown = repr(decoded)
    return shown if len(shown) <= MAX_QUOTED_CHARACTERS else shown[: MAX_QUOTED_CHARACTERS - 4] + "...'"
