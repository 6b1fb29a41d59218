"""Ctrl-C that is always heard.

Python raises KeyboardInterrupt wherever it happens to be. While numba compiles, that may be in a function that C code
has called: there the exception cannot go anywhere and is dropped, with a message, and something else fails later or
nothing does. So the interrupt is noted when it comes, and sent again if it was dropped.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

__all__ = ["LastWords", "install", "interrupted", "last_words"]

NOTED = threading.Event()
LATER = 0.1


class LastWords:
    """What is said if the command does not come to its end."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin a command, or end it well."""
        self._checkpoint: Path | None = None
        self._how, self._written = "", False

    def remember(self, checkpoint: Path, how: str, *, written: bool) -> None:
        """From now on there is a checkpoint, and a way to go on; `written` says that it is this process's own."""
        self._checkpoint, self._how, self._written = checkpoint, how, written

    def interrupt(self) -> str:
        """Give the sentence for an interrupt."""
        if self._checkpoint is None:
            return "interrupted; nothing was written"
        return f"interrupted; {self._how if self._checkpoint.exists() else 'the run was already whole'}"

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
