"""Cut a stream into lines, a block of them at a time, as arrays of where they start and end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bilex.errors import InputError
from bilex.files.streams import UTF8_BOM, ByteStream, Window

MAX_PIECE_BYTES = 1 << 20


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

    def __init__(self, stream: ByteStream, capacity: int | None = None) -> None:
        self._path = stream.path
        self._window = Window(stream, capacity)
        self._window.refill()
        self.bom = self._window.buffer.startswith(UTF8_BOM, 0, self._window.end)
        self._window.start = len(UTF8_BOM) if self.bom else 0
        self._ahead: Lines | None = None
        self.number = 1
        self.carriage_returns = 0
        self.skipped_blanks = 0
        self.unfinished = False

    def peek(self) -> Lines:
        """Return the lines that are in memory, reading on if none is complete; empty at the end."""
        if self._ahead is None:
            self._ahead = self._find_lines()
        return self._ahead

    def take(self, count: int) -> Lines:
        """Return up to ``count`` of the lines in memory and go on behind them."""
        lines = self.peek()
        taken = Lines(lines.data, lines.starts[:count], lines.ends[:count], self.number)
        endings = taken.ends < len(lines.data)
        self.carriage_returns += int(np.count_nonzero(lines.data[taken.ends[endings]] == ord("\r")))
        self.number += len(taken)
        rest = Lines(lines.data, lines.starts[count:], lines.ends[count:], self.number)
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

    def _find_lines(self) -> Lines:
        window = self._window
        # Everything that was in memory has been taken, except for an incomplete line at the end.
        last = window.buffer.rfind(b"\n", window.start, window.end)
        if last < 0 and not window.ended:
            window.refill()
            last = window.buffer.rfind(b"\n", window.start, window.end)
            if last < 0 and not window.ended:
                raise InputError(
                    self._path,
                    f"the line is longer than {len(window.buffer):,} bytes",
                    "check that it is the right file",
                    line=self.number,
                )
        stop = window.end if window.ended else last + 1
        if stop - window.start > MAX_PIECE_BYTES:  # many short lines take more memory than their bytes
            stop = window.buffer.rfind(b"\n", window.start, window.start + MAX_PIECE_BYTES) + 1 or stop
        data = window.array[window.start : stop]
        window.start = stop
        if len(data):
            self.unfinished = bool(data[-1] != ord("\n"))
        breaks = np.flatnonzero(data == ord("\n")).astype(np.int64)
        ends = np.append(breaks, len(data)) if len(data) and self.unfinished else breaks
        starts = np.concatenate([np.zeros(min(1, len(ends)), dtype=np.int64), ends[:-1] + 1])
        filled = ends > starts
        returns = np.zeros(len(ends), dtype=np.bool_)
        returns[filled] = data[ends[filled] - 1] == ord("\r")
        return Lines(data, starts, ends - returns, self.number)
