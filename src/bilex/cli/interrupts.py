"""Handle Ctrl-C and the signals to end (SIGTERM, SIGHUP) reliably and promptly.

Python raises an exception wherever it happens to be. While numba compiles, that may be in a function called from
C code, where the exception is dropped, or turned into another. So a signal is recorded when it arrives, and sent
again if its exception was dropped.

While a long computation runs outside Python, the exception has to wait for its end. `exit_promptly_on_signal` ends
the process from a thread instead: what is on the disk is always whole.
"""

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

received: list[int] = []  # signals that end the command, in order
RESEND_DELAY = 0.1  # seconds
MAX_EXIT_DELAY = 1.2  # seconds from a signal until the process is ended without cleaning up
SHOW_CURSOR = "\x1b[?25h"


class ExitMessage:
    """The message printed if the command is interrupted or fails; it depends on how far the run has come."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start a new command."""
        self.finished = False  # the run is complete and in its place
        self._checkpoint: Path | None = None
        self._how_to_resume, self.written = "", False

    def set_checkpoint(self, checkpoint: Path, how_to_resume: str, *, written: bool) -> None:
        """Record where a checkpoint is, or will be soon; `written` means that this process has written it."""
        self._checkpoint, self._how_to_resume, self.written = checkpoint, how_to_resume, written

    def for_interrupt(self) -> str:
        """Return the message for an interrupt."""
        there = self._checkpoint is not None and self._checkpoint.exists()
        if self.finished or (self.written and not there):
            return "interrupted; the run was already finished"
        return f"interrupted; {self._how_to_resume if there else 'nothing was written'}"

    def after_error(self) -> str:
        """Return what to add to the message of an error."""
        return f"; after that {self._how_to_resume}" if self.written and not self.finished else ""


exit_message = ExitMessage()


def install_signal_handlers() -> None:
    """Record and raise SIGINT, unless it is ignored as in a shell's background job; exit on SIGTERM and SIGHUP."""
    sys.unraisablehook = resend_dropped_signal
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, raise_interrupt)
    ending = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]  # the terminal is closed
    for number in ending:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, exit_on_signal)


def exit_on_signal(number: int, frame: FrameType | None) -> None:
    """Record the signal, and raise an exception, so that temporary files are removed."""
    received.append(number)
    sys.exit(128 + number)


def raise_interrupt(number: int, frame: FrameType | None) -> None:
    """Record the interrupt, and raise it."""
    received.append(number)
    raise KeyboardInterrupt


def resend_dropped_signal(dropped: "sys.UnraisableHookArgs") -> None:
    """Send a signal again whose exception was raised where no code could receive it."""
    if received and dropped.exc_type in (KeyboardInterrupt, SystemExit):
        timer = threading.Timer(RESEND_DELAY, os.kill, (os.getpid(), received[-1]))
        timer.daemon = True
        timer.start()
    else:
        sys.__unraisablehook__(dropped)


@contextmanager
def exit_promptly_on_signal(scratch: Path) -> Iterator[None]:
    """End the process soon after a signal, whatever the block is doing then, and remove the `scratch` folder."""
    if signal.getsignal(signal.SIGTERM) is not exit_on_signal:  # signals are handled by other code
        yield
        return
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    block_ended = threading.Event()
    threading.Thread(target=exit_after_signal, args=(reading, block_ended, scratch), daemon=True).start()
    before = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)  # written to even while C code runs
    try:
        yield
    finally:
        block_ended.set()
        signal.set_wakeup_fd(before)
        writing.close()  # which ends the thread


def exit_after_signal(reading: socket.socket, block_ended: threading.Event, scratch: Path) -> None:
    """Wait for a signal that ends the command; end the process if the block does not end soon after it."""
    with reading:
        while byte := reading.recv(1):
            handler = signal.getsignal(byte[0])
            if handler in (raise_interrupt, exit_on_signal) and not block_ended.wait(MAX_EXIT_DELAY):
                shutil.rmtree(scratch, ignore_errors=True)
                if handler is raise_interrupt:
                    start = f"{SHOW_CURSOR}\n" if sys.stderr.isatty() else ""
                    os.write(
                        2, f"{start}bilex: error: {exit_message.for_interrupt()}\n".encode("utf-8", "backslashreplace")
                    )
                os._exit(128 + byte[0])
