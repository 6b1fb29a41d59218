"""Small text files in, line by line: what can be repaired safely is repaired, and counted in a warning."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass

from bilex.errors import BilexWarning, InputError
from bilex.formats.streams import BOM, ByteStream, refuse_foreign

__all__ = ["Lines", "decoded", "read_lines"]


@dataclass(frozen=True)
class Lines:
    """The lines of a file without their ends, and what was repaired."""

    path: str
    lines: list[bytes]
    repairs: list[str]

    def warn(self) -> None:
        """Say what was repaired, to whoever called the function that called this one."""
        for repair in self.repairs:
            warnings.warn(f"{self.path}: {repair}", BilexWarning, stacklevel=3)


def read_lines(path: str | os.PathLike[str]) -> Lines:
    """Read a file in UTF-8, plain or gzipped, with or without byte order mark and Windows line ends."""
    with ByteStream(path) as stream:
        refuse_foreign(stream)
        text = stream.read_all()
        name, repairs = stream.path, [*stream.repairs]
    if text.startswith(BOM):
        text = text[len(BOM) :]
        repairs.append("byte order mark at the start left out")
    lines = text.split(b"\n")
    returns = sum(line.endswith(b"\r") for line in lines)
    if returns:
        repairs.append(f"{returns} Windows line ends (CRLF) read as line ends")
    return Lines(name, [line.removesuffix(b"\r") for line in lines], repairs)


def decoded(path: str, number: int, fields: list[bytes]) -> list[str]:
    """Decode the fields of a line, or say which line is not UTF-8."""
    try:
        return [field.decode("utf-8") for field in fields]
    except UnicodeDecodeError:
        raise InputError(path, "the line is not UTF-8", "convert to UTF-8, e.g. with iconv", line=number) from None
