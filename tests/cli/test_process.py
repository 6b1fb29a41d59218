"""The command as a process: terminals, pipes, signals, and how little `--help` loads."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bilex import __version__, cli
from tests.cli.helpers import COMMAND, Bilex, assert_error_line, contents, environment, spawn

ENDLESS = ["--tolerance", "0", "--max-iterations", "1000000"]


def watch(arguments: list[str], folder: Path, until: str | None = None) -> tuple[int, str, str]:
    """Run with a terminal as stderr; interrupt it when `until` is on the screen. Return code, stdout, screen."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=slave,
        env=environment(TERM="xterm", COLUMNS="120"),
    )
    os.close(slave)
    limit = threading.Timer(120, process.kill)
    limit.start()
    screen = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error on Linux
        while data := os.read(master, 4096):
            screen += data
            if until is not None and re.search(until.encode(), screen):
                process.send_signal(signal.SIGINT)
                until = None
    os.close(master)
    out, _ = process.communicate(timeout=60)
    limit.cancel()
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.decode("utf-8")).replace("\r", "\n")
    return process.returncode, out.decode("utf-8"), text


def test_progress_is_visible_on_a_terminal(work: Path) -> None:
    arguments = ["induce", "src.vec", "trg.vec", "-o", "new", "--tolerance", "0", "--max-iterations", "100"]
    code, out, screen = watch([*arguments, "--method", "ruder2018", "--no-report"], work)
    assert code == 0
    assert "lexicon: new/lexicon.tsv" in out
    assert re.search(r"iteration \d+: [\d,]+ pairs", screen)
    clock = [int(minutes) * 60 + int(seconds) for minutes, seconds in re.findall(r"0:(\d\d):(\d\d)", screen)]
    assert clock == sorted(clock)  # one clock for the whole command


def test_an_interrupt_during_the_iterations_leaves_a_checkpoint(work: Path) -> None:
    before, place = contents(work), "a new one"
    code, out, screen = watch(["induce", "src.vec", "trg.vec", "-o", place, *ENDLESS], work, r"iteration ([2-9]|\d\d):")
    assert (code, out) == (130, "")
    assert "`bilex induce --resume 'a new one'`" in screen.rstrip().rpartition("bilex: error: ")[2]
    assert "Traceback" not in screen
    left = contents(work)
    assert left.pop(f"{place}/checkpoint.safetensors")
    assert left == {**before, place: None}


def test_an_interrupt_while_reading_writes_nothing(work: Path) -> None:
    os.mkfifo(work / "slow.vec")  # nobody writes to it
    before = sorted(work.rglob("*"))
    code, out, screen = watch(["induce", "slow.vec", "trg.vec", "-o", "new"], work, "reading slow.vec")
    assert (code, out) == (130, "")
    assert "bilex: error: interrupted" in screen
    assert sorted(work.rglob("*")) == before


def test_an_interrupt_in_a_pipe_is_one_line(work: Path) -> None:
    before = contents(work)
    process = subprocess.Popen(
        [*COMMAND, "induce", "src.vec", "trg.vec", "-o", "run", "--force", *ENDLESS],
        cwd=work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    until = time.monotonic() + 60
    while contents(work) == before:  # until the command has made its temporary folder
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert re.fullmatch(b"bilex: error: interrupted[^\n]+\n", err)
    left = contents(work)
    assert (left.pop("run/checkpoint.safetensors", None) is not None) == (b"--resume run" in err)
    assert left == before


def test_a_closed_pipe_is_no_traceback(made: Path) -> None:
    """As in ``bilex translate ... | head -1``, with more output than a pipe holds."""
    process = subprocess.Popen(
        [*COMMAND, "translate", str(made / "run"), *(f"s{row}" for row in range(60)), "-k", "100"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().count(b"\t") == 3
    process.stdout.close()
    err = process.stderr.read().decode("utf-8")
    process.stderr.close()
    assert process.wait(timeout=60) in (0, 1, 141)
    assert "Traceback" not in err
    assert "Exception" not in err
    assert "BrokenPipe" not in err


def test_a_full_disk_behind_stdout_is_one_line(made: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with Path("/dev/full").open("wb") as full:
        command = [*COMMAND, "translate", str(made / "run"), "s0", "s1", "s2"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr.decode("utf-8").count("\n") == 1


@pytest.mark.parametrize("code", ["import bilex", "from bilex.cli import run; run(['evaluate', '--help'])"])
def test_help_and_import_load_nothing_heavy(code: str) -> None:
    heavy = {"numpy", "numba", "rich", "safetensors", "scipy", "rapidfuzz"}
    script = f"{code}\nimport sys\nprint('loaded:', *({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.endswith("loaded:\n"), done.stdout


# Help


def test_every_command_has_help_and_quiet(bilex: Bilex) -> None:
    for name, command in cli.bilex.commands.items():
        option = "-h" if len(name) % 2 else "--help"
        outcome = bilex(name, option)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out.startswith(f"Usage: bilex {name} ")
        assert {"--quiet", "-q"} <= {option for parameter in command.params for option in parameter.opts}


def test_version(bilex: Bilex) -> None:
    assert bilex("--version") == (0, f"bilex, version {__version__}\n", "")


def test_a_bare_command_shows_the_help_but_is_wrong_usage(bilex: Bilex) -> None:
    outcome = bilex()
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("Usage: bilex [OPTIONS]")


def test_an_unknown_command_and_missing_arguments_are_wrong_usage(bilex: Bilex) -> None:
    assert_error_line(bilex("inudce"), "inudce", "`bilex --help`", code=2)
    assert_error_line(bilex("induce", "src.vec"), "TRG", "`bilex induce --help`", code=2)
    assert_error_line(bilex("translate"), "RUN", code=2)


def test_exit_codes_reach_the_shell() -> None:
    assert_error_line(spawn("induce", "--prior", "3:1", "a", "b"), "3:1", code=2)


def test_an_unexpected_exception_is_one_line(bilex: Bilex, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **_options: object) -> None:
        raise ZeroDivisionError("over\nthere")

    monkeypatch.setattr("bilex.runs.run.Run.load", fail)
    outcome = bilex("translate", made / "run", "s0")
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert "ZeroDivisionError: over there" in outcome.err
    monkeypatch.setenv("BILEX_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        bilex("translate", made / "run", "s0")
