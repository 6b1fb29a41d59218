"""A short version of ``make trust``: 20 kills at random moments, some before single steps, and Ctrl-C."""

from __future__ import annotations

from pathlib import Path

from trust.crash import HASTE, Crashes, make_work, try_crashes
from trust.nursery import Nursery


def test_no_kill_and_no_interrupt_loses_or_breaks_anything(tmp_path: Path) -> None:
    with Nursery(make_work(tmp_path)) as nursery:
        crashes = Crashes(nursery)
        try_crashes(crashes, kills=20, every=30, interrupts=3)
    assert not crashes.faults
    assert crashes.seen["killed"] >= 20
    assert crashes.seen["resumed"] >= 10
    assert crashes.seen["found the old run"] >= 3
    assert crashes.seen["Ctrl-C with a checkpoint"] >= 1
    assert crashes.slowest <= HASTE


def test_half_a_run_would_be_seen(tmp_path: Path) -> None:
    with Nursery(make_work(tmp_path)) as nursery:
        crashes = Crashes(nursery)
        assert crashes.look("as it should be", old=True) == "new"
        assert not crashes.faults
        lexicon = crashes.run / "lexicon.tsv"
        lexicon.write_bytes(lexicon.read_bytes()[:-100])
        crashes.look("cut", old=True)
        assert len(crashes.faults) == 1
        assert "lexicon.tsv: the file is damaged" in crashes.faults[0]
