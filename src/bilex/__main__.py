"""The command, also as ``python -m bilex``. Ctrl-C is quiet from the start, while the command line is imported."""

import os
import signal
import sys
from types import FrameType


def exit_early(number: int, frame: FrameType | None) -> None:
    """End the process before there is anything to clean up."""
    os.write(2, b"bilex: error: interrupted; nothing was written\n")
    os._exit(130)


def start() -> None:
    """Run the command line."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, exit_early)
    try:
        from bilex.cli import main

        signal.signal(signal.SIGINT, before)
        main()
    except KeyboardInterrupt:  # before the command line has its own handler
        exit_early(signal.SIGINT, None)
    except MemoryError:
        sys.exit("bilex: error: out of memory before the start; allow it more")


if __name__ == "__main__":
    start()
