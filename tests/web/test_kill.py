"""Short versions of ``make trust``: many clients at once, and a server that is killed in the middle of a review."""

from __future__ import annotations

import random
from pathlib import Path

from bilex.lexicon.reviews import Reviews
from trust.soak import CLIENTS, growth, load, missing, review_and_kill


def test_fifty_clients_at_once(folder: Path) -> None:
    tally = load(folder, 4)
    assert not tally.failures
    assert tally.requests > CLIENTS
    assert len(tally.confirmed) > 10
    assert growth(tally.memory) < 0.1 * tally.memory[-1]


def test_sigkill_loses_no_confirmed_decision(folder: Path) -> None:
    dice, confirmed, decisions = random.Random(0), dict[int, str](), 0
    for kills in range(1, 3):
        decisions += review_and_kill(folder, dice, confirmed)
        assert not missing(folder, confirmed)
        with Reviews(folder) as reviews:
            assert decisions <= len(reviews.log()) <= decisions + kills  # one may be written and not yet confirmed
    assert decisions >= 6


def test_a_lost_decision_would_be_seen(folder: Path) -> None:
    with Reviews(folder) as reviews:
        source, target = (folder / "lexicon.tsv").read_text("utf-8").split("\n")[1].split("\t")[:2]
        reviews.decide((source, target), "accepted", version=0)
    assert missing(folder, {0: "accepted"}) == []
    assert missing(folder, {0: "rejected", 1: "accepted"}) == [
        "entry 0: accepted, not rejected",
        "entry 1: undecided, not accepted",
    ]
