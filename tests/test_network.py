"""No command opens a connection: all of them run where there is no network, and where trying to use it is fatal."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.languages import make_languages, write_vec

COMMANDS = """
induce src.vec trg.vec -o run -q
translate run 1900
evaluate run gold.txt
similarity run similarity.txt
hubness run
compare run run gold.txt
export run --format tei -o lexicon.tei
export run --format vec -o mapped.vec
report run -q
doctor
"""

WATCHED = """
import sys

FORBIDDEN = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request"}
tried = []

def watch(event, arguments):
    if event in FORBIDDEN:
        tried.append((event, arguments))
        raise OSError(f"the network was used: {event} {arguments}")

sys.addaudithook(watch)
from bilex import cli

sys.modules["bilex.cli.doctor"].RUN_WORDS = 200
for line in sys.stdin:
    code = cli.run(line.split())
    if code:
        sys.exit(f"{line}: {code}")
sys.exit(f"{tried}" if tried else 0)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    languages = make_languages(120, 8, 40)
    write_vec(tmp_path / "src.vec", languages.source)
    write_vec(tmp_path / "trg.vec", languages.target)
    (tmp_path / "gold.txt").write_text("".join(f"{source}\t{target}\n" for source, target in languages.gold))
    (tmp_path / "similarity.txt").write_text(
        "".join(f"{source}\t{target}\t{n % 5}\n" for n, (source, target) in enumerate(languages.gold[:30]))
    )
    return tmp_path


def run(folder: Path, *before: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*before, sys.executable, "-c", WATCHED],
        input=COMMANDS.strip() + "\n",
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def isolated() -> list[str]:
    """Return the command that runs another without any network, where the system lets us."""
    command = ["unshare", "--map-root-user", "--net"]
    allowed = shutil.which("unshare") and subprocess.run([*command, "true"], capture_output=True, check=False)
    return command if allowed and allowed.returncode == 0 else []


def test_every_command_works_without_a_network(folder: Path) -> None:
    """In a network namespace of its own, where there is not even loopback; elsewhere only the attempt is fatal."""
    done = run(folder, *isolated())
    assert done.returncode == 0, done.stderr[-2000:]
    assert (folder / "run" / "report.html").exists()


def test_an_attempt_would_be_seen(folder: Path) -> None:
    code = WATCHED.replace("code = cli.run(line.split())", "import socket; socket.create_connection(('127.0.0.1', 9))")
    done = subprocess.run(
        [sys.executable, "-c", code], input="x\n", capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode != 0
    assert "the network was used" in done.stderr
