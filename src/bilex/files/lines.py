"""Cut a stream into lines, a block of them at a time: for vectors, as arrays; for lists of words, one by one.

And a line into fields, which are recognised as numbers, decoded, and quoted in messages.
"""

import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bilex.errors import BilexWarning, InputError
from bilex.files.streams import MAX_WORD_BYTES, UTF8_BOM, WRONG_FILE, ByteStream, refuse_unreadable_format

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


PIECE_BYTES = 1 << 20
LIST_PIECE_BYTES = 1 << 18  # many short lines take more memory than their bytes
MAX_VECTOR_BYTES = 1 << 23
MAX_LINE_BYTES = 3 * MAX_WORD_BYTES
MAX_LIST_BYTES = 1 << 28


@dataclass
class Lines:
    """Some complete lines: ``data[starts[i]:ends[i]]`` is line ``first_number + i``."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    first_number: int

    def __len__(self) -> int:
        return len(self.starts)

    def text(self, line: int) -> bytes:
        """Return the bytes of one line."""
        return self.data[self.starts[line] : self.ends[line]].tobytes()


class LineReader:
    """Cuts a stream into lines at line feeds only, and drops the CR of Windows line ends."""

    def __init__(self, stream: ByteStream, piece_bytes: int | None = None) -> None:
        self._stream, self._piece_bytes = stream, piece_bytes or PIECE_BYTES
        text = stream.read(self._piece_bytes)
        self.bom = text.startswith(UTF8_BOM)
        self._rest = text.removeprefix(UTF8_BOM)
        self._ahead: Lines | None = None
        self.number = 1
        self.carriage_returns = self.skipped_blanks = 0
        self.unfinished = False

    def peek(self) -> Lines:
        """Return the lines that are in memory, reading on if none is complete; empty at the end."""
        if self._ahead is not None:
            return self._ahead
        data = np.frombuffer(self._read_lines(), np.uint8)
        if len(data):
            self.unfinished = bool(data[-1] != ord("\n"))
        breaks = np.flatnonzero(data == ord("\n")).astype(np.int64)
        ends = np.append(breaks, len(data)) if len(data) and self.unfinished else breaks
        starts = np.concatenate([np.zeros(min(1, len(ends)), dtype=np.int64), ends[:-1] + 1])
        filled = ends > starts
        returns = np.zeros(len(ends), dtype=np.bool_)
        returns[filled] = data[ends[filled] - 1] == ord("\r")
        self._ahead = Lines(data, starts, ends - returns, self.number)
        return self._ahead

    def take(self, count: int | None = None) -> Lines:
        """Return up to ``count`` of the lines in memory and go on behind them."""
        lines = self.peek()
        taken = Lines(lines.data, lines.starts[:count], lines.ends[:count], self.number)
        endings = taken.ends < len(lines.data)
        self.carriage_returns += int(np.count_nonzero(lines.data[taken.ends[endings]] == ord("\r")))
        self.number += len(taken)
        rest = Lines(lines.data, lines.starts[len(taken) :], lines.ends[len(taken) :], self.number)
        self._ahead = rest if len(rest) else None
        return taken

    def repairs(self) -> list[str]:
        """Return what was repaired while cutting, one sentence each."""
        repairs = []
        if self.bom:
            repairs.append("byte order mark at the start left out")
        if self.carriage_returns:
            repairs.append(f"{self.carriage_returns} Windows line ends (CRLF) read as line ends")
        return repairs

    def _read_lines(self) -> bytes:
        """Return text up to the end of a line, or of the content."""
        text, self._rest = self._rest, b""
        while not (stop := text.rfind(b"\n") + 1):
            if len(text) > MAX_VECTOR_BYTES:
                problem = f"the line is longer than {MAX_VECTOR_BYTES:,} bytes"
                raise InputError(self._stream.path, problem, WRONG_FILE, line=self.number)
            piece = self._stream.read(self._piece_bytes)
            if not piece:
                return text
            text += piece
        self._rest = text[stop:]
        return text[:stop]


class WordList:
    """The lines of a vocabulary, dictionary or similarity set with their numbers, each and all of bounded length.

    `repairs`, and `unfinished` (the last line has no line end), are known after all lines were read.
    """

    def __init__(self, path: str | os.PathLike[str] | ByteStream, *, plain_file: bool = False) -> None:
        self.path = path.path if isinstance(path, ByteStream) else os.fspath(path)
        self.repairs: list[str] = []
        self.unfinished = False
        self._stream = path if isinstance(path, ByteStream) else None
        self._plain_file = plain_file
        self.max_line_bytes, self.max_bytes = MAX_LINE_BYTES, MAX_LIST_BYTES

    def warn(self) -> None:
        """Warn of each repair, at the line that called the caller of this method."""
        for repair in self.repairs:
            warnings.warn(f"{self.path}: {repair}", BilexWarning, stacklevel=3)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        with self._stream or ByteStream(self.path, plain_file=self._plain_file) as stream:
            refuse_unreadable_format(stream)
            reader, total = LineReader(stream, LIST_PIECE_BYTES), 0
            while len(lines := reader.take()):
                places = zip(lines.starts.tolist(), lines.ends.tolist(), strict=True)
                for number, (start, end) in enumerate(places, lines.first_number):
                    if end - start > self.max_line_bytes:
                        problem = f"a line of {end - start:,} bytes (at most {self.max_line_bytes:,} are accepted)"
                        raise InputError(self.path, problem, WRONG_FILE, line=number)
                    yield number, bytes(lines.data.data[start:end])
                total += len(lines.data)
                if total > self.max_bytes:
                    problem = f"a list of more than {self.max_bytes:,} bytes"
                    raise InputError(self.path, problem, WRONG_FILE)
            self.unfinished = reader.unfinished
            self.repairs = [*stream.repairs, *reader.repairs()]
