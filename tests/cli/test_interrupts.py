"""Ctrl-C is heard even where Python drops it."""

from __future__ import annotations

import signal
import subprocess
import sys

from bilex.cli.interrupts import interrupted

DROPPED = """
import ctypes, os, signal, sys, time
from bilex.cli import interrupts
interrupts.install()
kind = ctypes.CFUNCTYPE(None)
callback = kind(lambda: os.kill(os.getpid(), signal.SIGINT) or time.sleep(0.01))
try:
    callback()  # C calls Python here: the exception has nowhere to go
    time.sleep(20)
    print("never heard")
except KeyboardInterrupt:
    print("heard")
"""


def test_an_interrupt_dropped_in_a_callback_is_sent_again() -> None:
    done = subprocess.run([sys.executable, "-c", DROPPED], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "heard\n", "")


def test_an_ignored_interrupt_stays_ignored() -> None:
    code = (
        "import signal; from bilex.cli import interrupts; interrupts.install(); print(signal.getsignal(signal.SIGINT))"
    )
    done = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$0" -c "$1"', sys.executable, code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(signal.SIG_IGN)


def test_told_to_end_is_an_exit_and_leaves_nothing() -> None:
    code = "import signal; from bilex.cli import interrupts; interrupts.install(); signal.raise_signal(signal.SIGTERM)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (143, "")


def test_an_interrupt_behind_another_error_is_found() -> None:
    try:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise RuntimeError("no compiled object yet") from None
    except RuntimeError as error:
        assert interrupted(error)
    assert not interrupted(ValueError("another"))
