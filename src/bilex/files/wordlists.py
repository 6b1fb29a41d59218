"""Read vocabularies, dictionaries and similarity sets line by line, with bounds on each line and on the whole."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

from bilex.errors import BilexWarning, InputError
from bilex.files.lines import LineReader
from bilex.files.streams import MAX_WORD_BYTES, ByteStream, refuse_unreadable_format

MAX_LINE_BYTES = 3 * MAX_WORD_BYTES
MAX_LIST_BYTES = 1 << 28
WINDOW_BYTES = 1 << 18


class WordList:
    """The lines of a list with their numbers.

    `repairs`, and `unfinished` (the last line has no line end), are known after all lines were read.
    """

    def __init__(self, path: str | os.PathLike[str], *, plain_file: bool = False) -> None:
        self.path = os.fspath(path)
        self.repairs: list[str] = []
        self.unfinished = False
        self._plain_file = plain_file

    def warn(self) -> None:
        """Warn of each repair, at the line that called the caller of this method."""
        for repair in self.repairs:
            warnings.warn(f"{self.path}: {repair}", BilexWarning, stacklevel=3)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        with ByteStream(self.path, plain_file=self._plain_file) as stream:
            refuse_unreadable_format(stream)
            reader, total = LineReader(stream, WINDOW_BYTES), 0
            while len(lines := reader.take(WINDOW_BYTES)):
                whole, number = lines.data.data, lines.first_number
                for start, end in zip(lines.starts.tolist(), lines.ends.tolist(), strict=True):
                    if end - start > MAX_LINE_BYTES:
                        raise InputError(
                            self.path,
                            f"a line of {end - start:,} bytes (at most {MAX_LINE_BYTES:,} are accepted)",
                            "check that it is the right file",
                            line=number,
                        )
                    yield number, bytes(whole[start:end])
                    number += 1
                total += len(lines.data)
                if total > MAX_LIST_BYTES:
                    raise InputError(
                        self.path, f"a list of more than {MAX_LIST_BYTES:,} bytes", "check that it is the right file"
                    )
            self.unfinished = reader.unfinished
            self.repairs = [*stream.repairs, *reader.repairs()]
