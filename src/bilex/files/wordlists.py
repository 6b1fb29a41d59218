"""Lists in: vocabularies, dictionaries and similarity sets, line by line, so that no line can claim much memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

from bilex.errors import BilexWarning, InputError
from bilex.files.lines import LineReader
from bilex.files.streams import MAXIMUM_WORD, ByteStream, refuse_foreign

__all__ = ["MAXIMUM_LINE", "MAXIMUM_LIST", "WordList", "decoded"]

MAXIMUM_LINE = 3 * MAXIMUM_WORD
"""Bytes in the longest line."""

MAXIMUM_LIST = 1 << 28
"""Bytes in the longest list; more is no list of words."""

_WINDOW = 1 << 18


class WordList:
    """The lines of a list with their numbers.

    What was repaired, and whether the last line has no line end, is known once all were read.
    """

    def __init__(self, path: str | os.PathLike[str], *, plain_file: bool = False) -> None:
        self.path = os.fspath(path)
        self.repairs: list[str] = []
        self.unfinished = False
        self._plain_file = plain_file

    def warn(self) -> None:
        """Say what was repaired, to whoever called the function that called this one."""
        for repair in self.repairs:
            warnings.warn(f"{self.path}: {repair}", BilexWarning, stacklevel=3)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        with ByteStream(self.path, plain_file=self._plain_file) as stream:
            refuse_foreign(stream)
            reader, total = LineReader(stream, _WINDOW), 0
            while len(lines := reader.take(_WINDOW)):
                whole, number = lines.data.data, lines.first_number
                for start, end in zip(lines.starts.tolist(), lines.ends.tolist(), strict=True):
                    if end - start > MAXIMUM_LINE:
                        raise InputError(
                            self.path,
                            f"a line of {end - start:,} bytes (at most {MAXIMUM_LINE:,} are accepted)",
                            "check that it is the right file",
                            line=number,
                        )
                    yield number, bytes(whole[start:end])
                    number += 1
                total += len(lines.data)
                if total > MAXIMUM_LIST:
                    raise InputError(
                        self.path, f"a list of more than {MAXIMUM_LIST:,} bytes", "check that it is the right file"
                    )
            self.unfinished = reader.unfinished
            self.repairs = [*stream.repairs, *reader.repairs()]


def decoded(path: str, number: int, fields: list[bytes]) -> list[str]:
    """Decode the fields of a line, or say which line is not UTF-8."""
    try:
        return [field.decode("utf-8") for field in fields]
    except UnicodeDecodeError:
        raise InputError(path, "the line is not UTF-8", "convert to UTF-8, e.g. with iconv", line=number) from None
