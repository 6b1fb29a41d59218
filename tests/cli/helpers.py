"""Helpers of the command line's tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

__all__ = ["COMMAND", "Bilex", "Outcome", "assert_error_line", "contents", "environment", "spawn"]

COMMAND = [sys.executable, "-c", "from bilex.cli import main; main()"]


class Outcome(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


Bilex = Callable[..., Outcome]


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return everything in a folder, hidden or not: files with their bytes, folders with None."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def assert_error_line(outcome: Outcome, *mentions: str, code: int = 1) -> None:
    """Check for a proper error: the code, nothing on stdout, one line on stderr that contains all mentions."""
    assert outcome.code == code, outcome
    assert outcome.out == ""
    assert re.fullmatch(r"bilex: error: [^\n]+\n", outcome.err), outcome.err
    assert "bug" not in outcome.err
    for mention in mentions:
        assert mention in outcome.err, outcome.err


def environment(**changes: str) -> dict[str, str]:
    """Return the environment for a subprocess."""
    return {**os.environ, **changes}


def spawn(*arguments: object, **options: str) -> Outcome:
    """Run the command line in a process of its own, with pipes."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, env=environment(**options), timeout=120, check=False
    )
    return Outcome(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))
