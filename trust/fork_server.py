"""Run many commands of bilex quickly: a process that has everything loaded and compiled forks a child for each.

A child can be killed after so many seconds, or just before its n-th step in the file system: files opened, created,
moved or removed in the work folder, as Python's audit events count them. So every step can be the last one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["FinishedCommand", "ForkServer"]

STEPS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.truncate"}


@dataclass(frozen=True)
class FinishedCommand:
    """A finished child: exit code (negative for a signal), seconds, output, and number of steps in the file system."""

    code: int
    seconds: float
    out: str
    err: str
    steps: int


class ForkServer:
    """The parent process, whose children run in the work folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "trust.fork_server", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent,
        )

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()

    def run(
        self, *arguments: object, after: float | None = None, step: int | None = None, with_signal: int = signal.SIGKILL
    ) -> FinishedCommand:
        """Run a command, and kill it after so many seconds or before that step."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        order = {"arguments": [*map(str, arguments)], "after": after, "step": step, "signal": int(with_signal)}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the fork server ended with {self.process.wait()}, after {order}")
        return FinishedCommand(**json.loads(answer))


def run_child(order: dict[str, Any], folder: Path, steps: int) -> None:
    """Run the command in this process."""
    out, err = (os.open(folder.parent / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for name in ("out", "err"))
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w", encoding="utf-8"), os.fdopen(2, "w", encoding="utf-8")
    os.chdir(folder)
    count, inside = 0, str(folder)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event in STEPS and isinstance(arguments[0], str | os.PathLike):
            path = os.path.abspath(os.fspath(arguments[0]))  # noqa: PTH100 (no step of its own)
            if str(path).startswith(inside):
                if count == order["step"]:
                    os.kill(os.getpid(), signal.SIGKILL)
                count += 1
                os.pwrite(steps, str(count).encode(), 0)

    sys.addaudithook(watch)
    from bilex.cli import main

    main(order["arguments"])


def serve(folder: Path) -> None:
    """Fork a child for each order, a line of JSON on stdin."""
    from bilex.cli import run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    warm = folder.parent / "warm"
    assert run(["induce", *map(str, sorted(folder.glob("*.vec"))), "-o", str(warm), "--complete", "--quiet"]) == 0
    for line in sys.stdin:
        order = json.loads(line)
        steps = os.open(folder.parent / "steps", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        started = time.monotonic()
        number = os.fork()
        if not number:
            code = 1
            try:
                run_child(order, folder, steps)
            except SystemExit as error:
                code = int(error.code or 0)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        killer = threading.Timer(order["after"] or 0, os.kill, (number, order["signal"]))
        if order["after"] is not None:
            killer.start()
        _, status = os.waitpid(number, 0)
        seconds = time.monotonic() - started
        killer.cancel()
        out, err = ((folder.parent / name).read_text("utf-8") for name in ("out", "err"))
        count = int(os.pread(steps, 20, 0) or b"0")
        os.close(steps)
        finished = FinishedCommand(os.waitstatus_to_exitcode(status), seconds, out, err, count)
        print(json.dumps(asdict(finished)), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
