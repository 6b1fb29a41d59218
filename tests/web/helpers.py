"""Helpers for the tests of the explorer."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.cli.helpers import COMMAND

__all__ = ["ADDRESS", "HOSTILE", "PATIENCE", "PORT", "TOKEN", "logged_in", "serving"]

PORT = 8765
ADDRESS = f"http://127.0.0.1:{PORT}"
TOKEN = "the-token-of-the-tests"
PATIENCE = 60  # seconds, for a loaded machine
HOSTILE = (
    "</script><img src=x onerror=document.title='owned'>",
    '"><svg onload=document.title=`owned`>',
    "{{7*7}}",
    "\u202egnp.exe",
    "=1+1",
    "../../etc/passwd",
    "שלום",
    "日本語",
    "50%",
    "a b",
)


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run ``bilex explore`` as a process of its own; yield it and its address."""
    command = [*COMMAND, "explore", str(folder), "--no-browser", "--port", "0", *arguments]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert server.stderr is not None
    try:
        address = server.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), server.stderr.read()
        yield server, address
    finally:
        server.terminate()  # so that it ends the explorers that it opened
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        server.stdout.close()
        server.stderr.close()


@contextmanager
def logged_in(address: str) -> Iterator[httpx.Client]:
    """Yield a client with the rights of the page."""
    place, _, token = address.partition("/?key=")
    headers = {"x-bilex-token": token, "origin": place}
    with httpx.Client(base_url=place, headers=headers, timeout=60) as client:
        assert client.get(f"/?key={token}").status_code == 303
        yield client
