"""Ctrl-C works even where Python drops it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from bilex.cli import bilex as commands
from bilex.cli import interrupts
from bilex.cli.interrupts import ExitMessage
from tests.cli.helpers import Bilex

INSTALL = "import signal; from bilex.cli import interrupts; interrupts.install_signal_handlers()"
DROPPED = """
import ctypes, os, signal, sys, time
from bilex.cli import interrupts
interrupts.install_signal_handlers()
kind = ctypes.CFUNCTYPE(None)
callback = kind(lambda: os.kill(os.getpid(), int(sys.argv[1])) or time.sleep(0.01))
try:
    callback()  # C calls Python here: the exception has nowhere to go
    time.sleep(20)
    print("never received")
except (KeyboardInterrupt, SystemExit):
    print("received")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_dropped_in_a_callback_is_sent_again(number: int) -> None:
    command = [sys.executable, "-c", DROPPED, str(int(number))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "received\n", "")


STUCK = """
import ctypes, os, signal, sys, threading, time
from pathlib import Path
from bilex.cli import interrupts
interrupts.install_signal_handlers()
scratch = Path(sys.argv[1])
scratch.mkdir()
threading.Timer(0.1, os.kill, (os.getpid(), int(sys.argv[3]))).start()
with interrupts.exit_promptly_on_signal(scratch):
    if sys.argv[2] == "stuck":
        mutex, library = ctypes.create_string_buffer(64), ctypes.CDLL(None)
        for _ in range(2):
            library.pthread_mutex_lock(mutex)  # the second time it waits for ever, in C, whatever signal comes
    try:
        time.sleep(20)
    except KeyboardInterrupt:
        print("received")
print("went on")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_does_not_wait_for_c_code(tmp_path: Path, number: int) -> None:
    started = time.monotonic()
    command = [sys.executable, "-c", STUCK, str(tmp_path / "scratch"), "stuck", str(int(number))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (128 + number, "")
    if number == signal.SIGINT:
        assert done.stderr.startswith("bilex: error: interrupted") and done.stderr.count("\n") == 1
    assert time.monotonic() - started < 20
    assert not (tmp_path / "scratch").exists()


def test_a_block_that_handles_the_interrupt_continues(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STUCK, str(tmp_path / "scratch"), "free", str(int(signal.SIGINT))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "received\nwent on\n", "")
    assert (tmp_path / "scratch").exists()


def test_an_ignored_interrupt_stays_ignored() -> None:
    code = f"{INSTALL}; print(signal.getsignal(signal.SIGINT))"
    done = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$0" -c "$1"', sys.executable, code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(signal.SIG_IGN)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_end_is_an_exit_that_removes_temporary_files(number: signal.Signals, tmp_path: Path) -> None:
    code = f"""{INSTALL}
from bilex.files.run_directory import run_directory
with run_directory({str(tmp_path / "run")!r}):
    signal.raise_signal({number:d})"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (128 + number, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_error_that_a_signal_caused_is_not_called_a_bug(
    bilex: Bilex, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Such as those of numba, if the exception is raised while it compiles."""

    def fail(*_: object) -> None:
        interrupts.received.append(number)
        raise SystemError("returned NULL without setting an exception")

    monkeypatch.setattr("bilex.runs.run.Run.load", fail)
    outcome = bilex("export", "run")
    assert outcome.code == 128 + number
    assert "bug" not in outcome.err


EARLY = """
import os, runpy, signal, sys
class Interrupted:
    def find_spec(self, name, *_):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupted())
runpy.run_module("bilex", run_name="__main__")
"""


def test_an_interrupt_while_the_command_line_is_imported_is_one_line() -> None:
    done = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (130, "", 1)
    assert done.stderr.startswith("bilex: error: interrupted")


def test_an_interrupt_while_a_command_ends_is_one_line(bilex: Bilex) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    def end() -> None:
        click.get_current_context().find_root().call_on_close(interrupt)

    commands.add_command(click.Command("end", callback=end))
    try:
        outcome = bilex("end")
    finally:
        del commands.commands["end"]
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (130, "", 1)


def test_the_exit_message_follows_the_run(tmp_path: Path) -> None:
    message, checkpoint = ExitMessage(), tmp_path / "checkpoint"
    nothing = message.for_interrupt()
    message.set_checkpoint(checkpoint, "resume it", written=False)  # it is just being written
    assert (message.for_interrupt(), message.after_error()) == (nothing, "")
    checkpoint.touch()  # and is there now, or was written by an earlier process
    assert message.for_interrupt().endswith("resume it") and not message.after_error()
    message.set_checkpoint(checkpoint, "resume it", written=True)
    assert message.for_interrupt().endswith("resume it") and message.after_error().endswith("resume it")
    checkpoint.unlink()  # the run has just taken its place
    finished = message.for_interrupt()
    assert finished not in (nothing, "resume it")
    message.finished = True
    assert (message.for_interrupt(), message.after_error()) == (finished, "")
    message.reset()
    assert message.for_interrupt() == nothing
    message.finished = True  # a method without iterations
    assert message.for_interrupt() == finished
