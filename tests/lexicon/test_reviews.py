"""The review: a log that is only added to, versions against overwriting, and what it means for learning again."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bilex.errors import BilexError, InputError
from bilex.lexicon.reviews import (
    ACCEPTED,
    CORRECTED,
    NOTHING,
    REJECTED,
    Conflict,
    Decision,
    Reviewed,
    Reviews,
    precision_interval,
)

HOUSE, TREE, DOG = ("house", "maison"), ("tree", "ami"), ("dog", "chat")


@pytest.fixture
def reviews(tmp_path: Path) -> Iterator[Reviews]:
    with Reviews(tmp_path) as opened:
        yield opened


def test_looking_leaves_nothing_behind(reviews: Reviews, tmp_path: Path) -> None:
    assert reviews[HOUSE] == Decision()
    assert reviews.current() == {}
    assert reviews.last() is None
    assert reviews.log() == []
    assert not list(tmp_path.iterdir())


def test_decisions_come_back(reviews: Reviews, tmp_path: Path) -> None:
    first = reviews.decide(HOUSE, ACCEPTED, version=0)
    assert (first.verdict, first.version) == (ACCEPTED, 1)
    reviews.decide(TREE, REJECTED, version=0)
    reviews.decide(DOG, CORRECTED, " chien ", version=0)
    with Reviews(tmp_path) as again:
        assert {pair: (d.verdict, d.correction, d.version) for pair, d in again.current().items()} == {
            HOUSE: (ACCEPTED, None, 1),
            TREE: (REJECTED, None, 2),
            DOG: (CORRECTED, "chien", 3),
        }
        assert again.counts() == {ACCEPTED: 1, REJECTED: 1, CORRECTED: 1}
        assert again.last() == DOG
        assert again.changes(2) == (3, {DOG: again[DOG]})
        assert again.changes(3) == (3, {})


def test_the_log_of_a_review_that_another_process_began(reviews: Reviews, tmp_path: Path) -> None:
    with Reviews(tmp_path) as other:
        other.decide(HOUSE, ACCEPTED, version=0)
    assert [row["source"] for row in reviews.log()] == ["house"]


def test_a_word_that_was_left_alone_can_only_be_given_a_translation(reviews: Reviews) -> None:
    for verdict in (ACCEPTED, REJECTED):
        with pytest.raises(BilexError, match="no translation to accept or reject"):
            reviews.decide(("dog", NOTHING), verdict, version=0)
    assert reviews.decide(("dog", NOTHING), CORRECTED, "chien", version=0).correction == "chien"
    reviewed = Reviewed.of([HOUSE, ("cat", "chien")], reviews.current())
    assert reviewed.kept == [("dog", "chien")]
    assert reviewed.forbidden == []
    assert reviewed.pairs == [("dog", "chien"), HOUSE]  # chien has its word now


def test_undo_is_another_row_and_brings_the_one_before_back(reviews: Reviews) -> None:
    reviews.decide(HOUSE, ACCEPTED, version=0)
    reviews.decide(HOUSE, REJECTED, version=1)
    assert reviews.undo(HOUSE, version=2) == Decision(ACCEPTED, None, 3, reviews[HOUSE].made)
    assert reviews.undo(HOUSE, version=3) == Decision(version=4)
    assert reviews.last() is None
    assert reviews.counts() == {ACCEPTED: 0, REJECTED: 0, CORRECTED: 0}
    with pytest.raises(BilexError, match="nothing to undo"):
        reviews.undo(HOUSE, version=4)
    assert [(row["verdict"], row["undoes"]) for row in reviews.log()] == [
        ("accepted", None),
        ("rejected", None),
        ("undone", 2),
        ("undone", 1),
    ]
    assert reviews.decide(HOUSE, REJECTED, version=4).version == 5


def test_the_log_cannot_be_rewritten(reviews: Reviews, tmp_path: Path) -> None:
    reviews.decide(HOUSE, ACCEPTED, version=0)
    with sqlite3.connect(tmp_path / "review.sqlite") as other:
        for statement in ("UPDATE log SET verdict = 'rejected'", "DELETE FROM log"):
            with pytest.raises(sqlite3.IntegrityError, match="only added to"):
                other.execute(statement)


def test_a_decision_on_an_older_version_is_refused(reviews: Reviews, tmp_path: Path) -> None:
    with Reviews(tmp_path) as other:  # as another process would have it
        other.decide(HOUSE, REJECTED, version=0)
        with pytest.raises(Conflict) as refused:
            reviews.decide(HOUSE, ACCEPTED, version=0)
        assert refused.value.current == other[HOUSE]
        with pytest.raises(Conflict):
            reviews.undo(HOUSE, version=0)
        assert len(other.log()) == 1
        reviews.decide(HOUSE, ACCEPTED, version=1)  # having seen it
        assert other[HOUSE].verdict == ACCEPTED


def test_of_many_at_once_one_wins(tmp_path: Path) -> None:
    opened = [Reviews(tmp_path) for _ in range(4)]
    opened[0].decide(TREE, ACCEPTED, version=0)
    refused: list[Conflict] = []

    def decide(reviews: Reviews) -> None:
        try:
            reviews.decide(HOUSE, ACCEPTED, version=0)
        except Conflict as conflict:
            refused.append(conflict)

    threads = [threading.Thread(target=decide, args=(reviews,)) for reviews in opened * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == len(threads) - 1
    assert len(opened[0].log()) == 2
    for reviews in opened:
        reviews.close()


@pytest.mark.parametrize("word", ["", "  ", "two\nlines", "tab\tbed", "\ud800", "x" * 1001])
def test_no_such_correction(reviews: Reviews, word: str) -> None:
    with pytest.raises(BilexError, match="correction"):
        reviews.decide(HOUSE, CORRECTED, word, version=0)
    assert not reviews.path.exists()


def test_odd_words_are_kept_as_they_are(reviews: Reviews) -> None:
    pair = ("</script>'; DROP TABLE log; --", "\u202eשלום")
    reviews.decide(pair, CORRECTED, "=1+1", version=0)
    assert reviews[pair].correction == "=1+1"


def test_correcting_to_what_is_there_accepts(reviews: Reviews) -> None:
    assert reviews.decide(HOUSE, CORRECTED, "maison", version=0).verdict == ACCEPTED


def test_wrong_verdicts(reviews: Reviews) -> None:
    with pytest.raises(BilexError, match="maybe"):
        reviews.decide(HOUSE, "maybe", version=0)
    with pytest.raises(BilexError, match="correction"):
        reviews.decide(HOUSE, ACCEPTED, "maison", version=0)
    with pytest.raises(BilexError, match="correction"):
        reviews.decide(HOUSE, CORRECTED, version=0)


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to look at" * 50, b"SQLite format 3\x00" + b"x" * 200]
)
def test_a_broken_database(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "review.sqlite").write_bytes(content)
    with pytest.raises(InputError, match=r"review\.sqlite: .*; "):
        Reviews(tmp_path)


def test_somebody_elses_database(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "review.sqlite") as other:
        other.execute("CREATE TABLE mine (x)")
    with pytest.raises(InputError, match="not a review of bilex"):
        Reviews(tmp_path)


def test_a_newer_database(reviews: Reviews, tmp_path: Path) -> None:
    reviews.decide(HOUSE, ACCEPTED, version=0)
    reviews.close()
    with sqlite3.connect(tmp_path / "review.sqlite") as other:
        other.execute("PRAGMA user_version = 2")
    with pytest.raises(InputError, match="newer bilex; update"):
        Reviews(tmp_path)


def test_an_emptied_database_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "review.sqlite").touch()
    with pytest.raises(InputError, match=r"review\.sqlite: the file is empty; delete it"):
        Reviews(tmp_path)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (("a", "b", "undone", None, 1, "now"), "undoes nothing"),
        ((b"a", "b", "accepted", None, None, "now"), "is damaged"),
        (("a", "b", "accepted", None, None, 3.5), "is damaged"),
    ],
)
def test_rows_that_make_no_sense_are_refused(tmp_path: Path, row: tuple[object, ...], problem: str) -> None:
    with Reviews(tmp_path) as reviews:
        reviews.decide(HOUSE, ACCEPTED, version=0)
    with sqlite3.connect(tmp_path / "review.sqlite") as other:
        other.execute("CREATE TABLE copy AS SELECT * FROM log")
        other.execute("DROP TABLE log")
        other.execute("CREATE TABLE log (id INTEGER PRIMARY KEY, source, target, verdict, correction, undoes, made)")
        other.execute("INSERT INTO log (source, target, verdict, correction, undoes, made) VALUES (?,?,?,?,?,?)", row)
    with pytest.raises(InputError, match=problem):
        Reviews(tmp_path)


@pytest.mark.parametrize(
    ("right", "total", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (9, 10, 0.5958, 0.9821), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_interval(right: int, total: int, low: float, high: float) -> None:  # published values
    found = precision_interval(right, total)
    assert found == pytest.approx((right / total, low, high), abs=1e-4)


def test_interval_of_nothing() -> None:
    assert precision_interval(0, 0) == (0, 0, 1)


def test_what_a_review_means_for_learning() -> None:
    lexicon = [HOUSE, TREE, DOG, ("cat", "chien"), ("sun", "soleil")]
    decisions = {
        HOUSE: Decision(ACCEPTED, None, 1),
        TREE: Decision(REJECTED, None, 2),
        DOG: Decision(CORRECTED, "chien", 3),
        ("sun", "soleil"): Decision(version=5),
    }
    found = Reviewed.of(lexicon, decisions)
    assert found.kept == [HOUSE, ("dog", "chien")]
    assert found.forbidden == [TREE, DOG]
    assert found.pairs == [HOUSE, ("dog", "chien"), ("sun", "soleil")]  # not cat: its chien is dog's


def test_an_earlier_review_counts_until_overruled() -> None:
    earlier = {"kept": [list(HOUSE), ["sun", "soleil"]], "forbidden": [list(TREE), list(DOG)]}
    decisions = {HOUSE: Decision(REJECTED, None, 1), DOG: Decision(ACCEPTED, None, 2)}
    found = Reviewed.of([HOUSE, DOG], decisions, earlier)
    assert set(found.kept) == {("sun", "soleil"), DOG}
    assert set(found.forbidden) == {HOUSE, TREE}
