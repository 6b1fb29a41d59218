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
from types import FrameType

__all__ = ["install", "interrupted"]

NOTED = threading.Event()
LATER = 0.1


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
