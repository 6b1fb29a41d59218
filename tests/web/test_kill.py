"""The trial of a server that is killed during a review (``python -m trust soak``) would find a lost decision."""

from __future__ import annotations

from pathlib import Path

from bilex.lexicon.reviews import Reviews
from trust.soak import missing


def test_a_lost_decision_would_be_found(folder: Path) -> None:
    with Reviews(folder) as reviews:
        source, target = (folder / "lexicon.tsv").read_text("utf-8").split("\n")[1].split("\t")[:2]
        reviews.decide((source, target), "accepted", version=0)
    assert missing(folder, {0: "accepted"}) == []
    assert missing(folder, {0: "rejected", 1: "accepted"}) == [
        "entry 0: accepted, not rejected",
        "entry 1: undecided, not accepted",
    ]
