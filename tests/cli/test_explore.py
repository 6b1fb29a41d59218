"""``bilex explore`` and ``--seed RUN/reviewed`` as a user runs them."""

from __future__ import annotations

import contextlib
import signal
import socket
from pathlib import Path

import httpx
import pytest

from bilex import Run
from bilex.lexicon.reviews import Reviews
from tests.cli.helpers import Bilex, assert_error_line, contents
from tests.web.helpers import logged_in, serving


def test_a_broken_run_is_refused(bilex: Bilex, work: Path) -> None:
    """What a run may lack is tested in tests/runs; here one of its own files and the review."""
    assert_error_line(bilex("explore", work / "nowhere", "--no-browser", "--port", "0"), "nowhere")
    (work / "run" / "review.sqlite").write_bytes(b"half of a database")
    assert_error_line(bilex("explore", "run", "--no-browser", "--port", "0"), "review.sqlite")
    (work / "run" / "model.safetensors").unlink()
    assert_error_line(bilex("explore", "run", "--no-browser", "--port", "0"), "model.safetensors")


def test_a_port_in_use_is_refused(bilex: Bilex, work: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert_error_line(bilex("explore", "run", "--no-browser", "--port", port), str(port), "--port")
    assert_error_line(bilex("explore", "run", "--port", "70000"), "70000", code=2)


def test_it_serves_this_machine_until_ctrl_c(work: Path) -> None:
    before = contents(work / "run")
    with serving(work / "run") as (server, address):
        place, _, key = address.partition("/?key=")
        arguments = Path(f"/proc/{server.pid}/cmdline")
        assert not arguments.exists() or key.encode() not in arguments.read_bytes()
        assert len(key) >= 40
        assert httpx.get(place).status_code == 403
        with logged_in(address) as browser:
            assert browser.get("/").status_code == 200
            assert browser.get("/api/word", params={"side": "source", "word": "s1"}).json()["word"] == "s1"
        port = int(place.rpartition(":")[2])
        names = {str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)}
        for name in (name for name in names if not name.startswith("127.")):
            with socket.socket() as stranger, pytest.raises(OSError):
                stranger.settimeout(2)
                stranger.connect((name, port))
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
        assert server.stderr is not None
        assert len(server.stderr.read().splitlines()) == 1
    assert contents(work / "run") == before  # looking leaves nothing behind


def test_the_browser_is_started_with_a_key_that_works_once(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address in the list of processes is of no use after the browser has opened it."""
    import webbrowser

    from bilex.cli.explore import bind, serve
    from bilex.web.explorer import Explorer

    opened: list[tuple[str, list[int]]] = []

    def browse(address: str) -> None:
        opened.append((address, [httpx.get(address).status_code for _ in range(2)]))
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(webbrowser, "open", browse)
    with bind(0) as listening, contextlib.suppress(KeyboardInterrupt):
        serve(Explorer.open(work / "run"), listening, "the-token", browser=True)
    ((address, statuses),) = opened
    assert "the-token" not in address
    assert statuses == [303, 403]


def test_the_next_free_port_is_used() -> None:
    from bilex.cli.explore import DEFAULT_PORT, bind

    with bind(None) as first, bind(None) as second:
        ports = first.getsockname()[1], second.getsockname()[1]
        assert ports[0] != ports[1]
        assert all(port >= DEFAULT_PORT for port in ports)
        assert first.getsockname()[0] == "127.0.0.1"


def reviewed_pairs(work: Path) -> tuple[tuple[str, str], tuple[str, str]]:
    entries = [e for e in Run.load(work / "run").lexicon if e.origin == "matching"]
    accepted, rejected = ((e.source, e.target) for e in entries[:2])
    with Reviews(work / "run") as reviews:
        reviews.decide(accepted, "accepted", version=0)
        reviews.decide(rejected, "rejected", version=0)
    return accepted, rejected


def test_retraining_from_a_review(bilex: Bilex, work: Path) -> None:
    accepted, rejected = reviewed_pairs(work)
    arguments = ("induce", "src.vec", "trg.vec", "--max-rank", "200", "--quiet")
    assert bilex(*arguments, "--seed", "run/reviewed", "-o", "again") == (0, "", "")
    pairs = {(e.source, e.target) for e in Run.load(work / "again").lexicon}
    assert accepted in pairs
    assert rejected not in pairs


def test_a_seed_without_a_review_is_refused(bilex: Bilex, work: Path) -> None:
    assert_error_line(
        bilex("induce", "src.vec", "trg.vec", "--seed", "run/reviewed", "-o", "again"), "run", "bilex explore run"
    )
    assert_error_line(
        bilex("induce", "src.vec", "trg.vec", "--seed", "nowhere/reviewed", "-o", "again"), "nowhere/reviewed"
    )
    assert not (work / "again").exists()


def test_a_review_is_not_overwritten(bilex: Bilex, work: Path) -> None:
    reviewed_pairs(work)
    before = contents(work / "run")
    outcome = bilex("induce", "src.vec", "trg.vec", "-o", "run", "--quiet")
    assert_error_line(outcome, "run", "review.sqlite", "-o")
    assert contents(work / "run") == before
