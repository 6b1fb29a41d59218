"""The command, also as ``python -m bilex``. Ctrl-C is quiet from the start, while the command line is imported."""

import os
import signal
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
    from bilex.cli import main

    signal.signal(signal.SIGINT, before)
    main()


if __name__ == "__main__":
    start()
