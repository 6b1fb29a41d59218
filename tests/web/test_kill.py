"""Short versions of ``make trust``: many clients at once, and a server that is killed during a review."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from pathlib import Path

from bilex.lexicon.reviews import Reviews
from trust.soak import load, missing, review_and_kill


def test_many_clients_at_once(folder: Path) -> None:
    clients = 8
    tally = load(folder, rounds=3, clients=clients)
    assert not tally.failures
    assert tally.requests == 3 * 6 * clients
    assert tally.confirmed


def test_sigkill_loses_no_confirmed_decision(folder: Path) -> None:
    confirmed = dict[int, str]()
    decisions = review_and_kill(folder, random.Random(0), confirmed)
    assert not missing(folder, confirmed)
    with contextlib.closing(sqlite3.connect(folder / "review.sqlite")) as connection:
        (written,) = connection.execute("SELECT count(*) FROM log").fetchone()
    assert 3 <= decisions <= written <= decisions + 1  # one may be written and not yet confirmed


def test_a_lost_decision_would_be_found(folder: Path) -> None:
    with Reviews(folder) as reviews:
        source, target = (folder / "lexicon.tsv").read_text("utf-8").split("\n")[1].split("\t")[:2]
        reviews.decide((source, target), "accepted", version=0)
    assert missing(folder, {0: "accepted"}) == []
    assert missing(folder, {0: "rejected", 1: "accepted"}) == [
        "entry 0: accepted, not rejected",
        "entry 1: undecided, not accepted",
    ]
