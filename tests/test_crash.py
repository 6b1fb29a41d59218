"""A short version of ``make trust``: kills at random moments and before single steps, and Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from trust.crash import COMMAND, MAX_INTERRUPT_SECONDS, Crashes, make_work, try_crashes
from trust.fork_server import ForkServer


@pytest.fixture(scope="module")
def crashes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crashes]:
    with ForkServer(make_work(tmp_path_factory.mktemp("crashes"))) as server:
        yield Crashes(server)


def test_no_kill_and_no_interrupt_loses_or_breaks_anything(crashes: Crashes) -> None:
    try_crashes(crashes, kills=2, every=150, interrupts=1, engines=("local",))
    assert not crashes.faults
    assert crashes.seen["killed"] >= 3
    assert crashes.seen["resumed"] >= 1
    assert crashes.slowest <= MAX_INTERRUPT_SECONDS


def test_a_damaged_run_would_be_found(crashes: Crashes) -> None:
    crashes.server.run(*COMMAND)
    crashes.faults.clear()
    assert crashes.look("undisturbed", old=True) == "new"
    assert not crashes.faults
    lexicon = crashes.run / "lexicon.tsv"
    lexicon.write_bytes(lexicon.read_bytes()[:-100])
    crashes.look("cut", old=True)
    assert len(crashes.faults) == 1
