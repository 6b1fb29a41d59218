"""Ctrl-C that is always heard, and soon.

Python raises KeyboardInterrupt wherever it happens to be. While numba compiles, that may be in a function that C code
has called: there the exception cannot go anywhere and is dropped, with a message, and something else fails later or
nothing does. So the interrupt is noted when it comes, and sent again if it was dropped.

While a long computation runs outside Python, the exception has to wait for its end. Where a command promises not to
keep anybody waiting (`soon`), a thread ends the process then: what is on the disk is always whole.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

__all__ = ["LastWords", "install", "interrupted", "last_words", "soon"]

NOTED = threading.Event()
LATER = 0.1
PATIENCE = 1.2  # seconds from Ctrl-C to the end without ceremony
SHOW_CURSOR = "\x1b[?25h"


class LastWords:
    """What is said if the command does not come to its end."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin a command."""
        self._checkpoint: Path | None = None
        self._how, self._written, self._finished = "", False, False

    def finish(self) -> None:
        """From now on the work is done and in its place; only talking is left."""
        self._finished, self._written = True, False

    def remember(self, checkpoint: Path, how: str, *, written: bool) -> None:
        """From now on there is a checkpoint, and a way to go on; `written` says that it is this process's own."""
        self._checkpoint, self._how, self._written = checkpoint, how, written

    def interrupt(self) -> str:
        """Give the sentence for an interrupt."""
        if self._finished or (self._written and self._checkpoint and not self._checkpoint.exists()):
            return "interrupted; the run was already whole"
        return f"interrupted; {self._how or 'nothing was written'}"

    def failure(self) -> str:
        """Give what follows an error's remedy."""
        return f"; after that {self._how}" if self._written else ""


last_words = LastWords()


def install() -> None:
    """Listen to Ctrl-C, unless it is to be ignored, as in a shell's background job; and end in order when told to."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, note)
        sys.unraisablehook = again
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as an exception, so that nothing is left behind


def note(number: int, frame: FrameType | None) -> None:
    """Remember the interrupt, and raise it."""
    NOTED.set()
    raise KeyboardInterrupt


def again(dropped: sys.UnraisableHookArgs) -> None:
    """Send an interrupt once more that was raised where nobody could receive it."""
    if dropped.exc_type is KeyboardInterrupt:
        threading.Timer(LATER, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(dropped)


def interrupted(error: BaseException | None) -> bool:
    """Say whether an interrupt is behind an error."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return NOTED.is_set()


@contextmanager
def soon(scratch: Path) -> Iterator[None]:
    """End the process soon after Ctrl-C, whatever the block is doing then; the `scratch` folder is removed."""
    if signal.getsignal(signal.SIGINT) is not note:  # it is ignored, or somebody else's
        yield
        return
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    over = threading.Event()
    thread = threading.Thread(target=wait_and_end, args=(reading, over, scratch), daemon=True)
    thread.start()
    before = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)  # told even while C code runs
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        writing.close()
        thread.join()
        reading.close()


def wait_and_end(reading: socket.socket, over: threading.Event, scratch: Path) -> None:
    """Wait for Ctrl-C or the end of the block; after Ctrl-C, for that end, but not for long."""
    while number := reading.recv(1):
        if number[0] == signal.SIGINT and not over.wait(PATIENCE):
            shutil.rmtree(scratch, ignore_errors=True)
            start = f"{SHOW_CURSOR}\n" if sys.stderr.isatty() else ""
            os.write(2, f"{start}bilex: error: {last_words.interrupt()}\n".encode())
            os._exit(130)
