"""Ctrl-C is heard even where Python drops it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from bilex.cli.interrupts import LastWords, interrupted

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


STUCK = """
import hashlib, os, signal, sys, threading, time
from pathlib import Path
from bilex.cli import interrupts
interrupts.install()
scratch = Path(sys.argv[1])
scratch.mkdir()
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
with interrupts.soon(scratch):
    if sys.argv[2] == "stuck":
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # many minutes, all of them in C
    try:
        time.sleep(20)
    except KeyboardInterrupt:
        print("heard")
print("went on")
"""


def test_an_interrupt_does_not_wait_for_c_code(tmp_path: Path) -> None:
    started = time.monotonic()
    command = [sys.executable, "-c", STUCK, str(tmp_path / "scratch"), "stuck"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "bilex: error: interrupted; nothing was written\n"
    assert time.monotonic() - started < 20
    assert not (tmp_path / "scratch").exists()


def test_an_interrupt_that_was_heard_ends_in_order(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STUCK, str(tmp_path / "scratch"), "free"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "heard\nwent on\n", "")
    assert (tmp_path / "scratch").exists()


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


def test_the_last_words_are_true(tmp_path: Path) -> None:
    words, checkpoint = LastWords(), tmp_path / "checkpoint"
    assert (words.interrupt(), words.failure()) == ("interrupted; nothing was written", "")
    checkpoint.touch()
    words.remember(checkpoint, "go on", written=False)  # it is there from the last time
    assert (words.interrupt(), words.failure()) == ("interrupted; go on", "")
    words.remember(checkpoint, "go on", written=True)
    assert (words.interrupt(), words.failure()) == ("interrupted; go on", "; after that go on")
    checkpoint.unlink()  # the run has just taken its place
    assert words.interrupt() == "interrupted; the run was already whole"
    words.finish()
    assert (words.interrupt(), words.failure()) == ("interrupted; the run was already whole", "")
    words.forget()
    words.finish()  # a method without iterations
    assert words.interrupt() == "interrupted; the run was already whole"
