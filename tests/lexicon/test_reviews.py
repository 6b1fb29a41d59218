"""The review: an append-only log, versions against overwriting, and its consequences for retraining."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bilex.errors import BilexError, InputError
from bilex.lexicon import reviews as review_module
from bilex.lexicon.reviewed import ReviewedLexicon, precision_interval
from bilex.lexicon.reviews import ACCEPTED, CORRECTED, NO_TARGET, REJECTED, Conflict, Decision, Reviews

HOUSE, TREE, DOG = ("house", "maison"), ("tree", "ami"), ("dog", "chat")


def log_of(folder: Path) -> list[tuple[str, int | None]]:
    """Read what each row of the log decided, and which row it undoes."""
    with contextlib.closing(sqlite3.connect(folder / "review.sqlite")) as connection:
        return connection.execute("SELECT verdict, undoes FROM log ORDER BY id").fetchall()


@pytest.fixture
def reviews(tmp_path: Path) -> Iterator[Reviews]:
    with Reviews(tmp_path) as opened:
        yield opened


def test_looking_leaves_nothing_behind(reviews: Reviews, tmp_path: Path) -> None:
    assert reviews.current() == {}
    assert reviews.last() is None
    assert not list(tmp_path.iterdir())


def test_decisions_come_back(reviews: Reviews, tmp_path: Path) -> None:
    first = reviews.decide(HOUSE, ACCEPTED, version=0)
    assert (first.kind, first.version) == (ACCEPTED, 1)
    reviews.decide(TREE, REJECTED, version=0)
    reviews.decide(DOG, CORRECTED, " chien ", version=0)
    with Reviews(tmp_path) as again:
        assert {pair: (d.kind, d.correction, d.version) for pair, d in again.current().items()} == {
            HOUSE: (ACCEPTED, None, 1),
            TREE: (REJECTED, None, 2),
            DOG: (CORRECTED, "chien", 3),
        }
        assert again.last() == DOG
        assert again.changes(2) == (3, {DOG: again.current()[DOG]})
        assert again.changes(3) == (3, {})


def test_an_unmatched_word_can_only_be_given_a_translation(reviews: Reviews) -> None:
    for verdict in (ACCEPTED, REJECTED):
        with pytest.raises(BilexError):
            reviews.decide(("dog", NO_TARGET), verdict, version=0)
    assert reviews.decide(("dog", NO_TARGET), CORRECTED, "chien", version=0).correction == "chien"
    reviewed = ReviewedLexicon.of([HOUSE, ("cat", "chien")], reviews.current())
    assert reviewed.kept == [("dog", "chien")]
    assert reviewed.forbidden == []
    assert reviewed.pairs == [("dog", "chien"), HOUSE]  # chien has its word now


def test_undo_is_another_row_and_restores_the_decision_before(reviews: Reviews, tmp_path: Path) -> None:
    reviews.decide(HOUSE, ACCEPTED, version=0)
    reviews.decide(HOUSE, REJECTED, version=1)
    assert reviews.undo(HOUSE, version=2) == Decision(ACCEPTED, None, 3, reviews.current()[HOUSE].made)
    assert reviews.undo(HOUSE, version=3) == Decision(version=4)
    assert reviews.last() is None
    with pytest.raises(BilexError):
        reviews.undo(HOUSE, version=4)
    assert log_of(tmp_path) == [("accepted", None), ("rejected", None), ("undone", 2), ("undone", 1)]
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
        assert refused.value.current == other.current()[HOUSE]
        with pytest.raises(Conflict):
            reviews.undo(HOUSE, version=0)
        assert len(log_of(tmp_path)) == 1
        reviews.decide(HOUSE, ACCEPTED, version=1)  # having seen it
        assert other.current()[HOUSE].kind == ACCEPTED


def test_of_many_decisions_at_once_one_wins(tmp_path: Path) -> None:
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
    assert len(log_of(tmp_path)) == 2
    for reviews in opened:
        reviews.close()


def test_impossible_decisions_are_refused(reviews: Reviews) -> None:
    for word in ("", "  ", "two\nlines", "tab\tbed", "\ud800", "x" * 1001, None):
        with pytest.raises(BilexError):
            reviews.decide(HOUSE, CORRECTED, word, version=0)
    for kind, word in (("maybe", None), (ACCEPTED, "maison"), ("undecided", None)):
        with pytest.raises(BilexError):
            reviews.decide(HOUSE, kind, word, version=0)
    assert not reviews.path.exists()


def test_odd_words_are_kept_as_they_are(reviews: Reviews) -> None:
    pair = ("</script>'; DROP TABLE log; --", "\u202eשלום")
    reviews.decide(pair, CORRECTED, "=1+1", version=0)
    assert reviews.current()[pair].correction == "=1+1"


def test_correcting_to_the_same_word_accepts(reviews: Reviews) -> None:
    assert reviews.decide(HOUSE, CORRECTED, "maison", version=0).kind == ACCEPTED


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to look at" * 50, b"SQLite format 3\x00" + b"x" * 200]
)
def test_a_damaged_database_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "review.sqlite").write_bytes(content)
    with pytest.raises(InputError):
        Reviews(tmp_path)


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "review.sqlite") as other:
        other.execute("CREATE TABLE mine (x)")
    with pytest.raises(InputError):
        Reviews(tmp_path)


def test_a_newer_database_is_refused(reviews: Reviews, tmp_path: Path) -> None:
    reviews.decide(HOUSE, ACCEPTED, version=0)
    reviews.close()
    with sqlite3.connect(tmp_path / "review.sqlite") as other:
        other.execute("PRAGMA user_version = 2")
    with pytest.raises(InputError, match="newer"):
        Reviews(tmp_path)


ENDLESS = (
    "DROP TABLE log",
    "CREATE VIEW log AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
    "SELECT id, 'a' AS source, 'b' AS target, 'accepted' AS verdict, NULL AS correction, 'now' AS made FROM n",
)
FOREIGN_TRIGGER = ("CREATE TRIGGER more AFTER INSERT ON log BEGIN SELECT 1; END",)
HIDDEN_TRIGGER = (
    *FOREIGN_TRIGGER,
    "PRAGMA writable_schema = ON",
    "UPDATE sqlite_schema SET name = 'sqlite_sequence' WHERE name = 'more'",
)
MISSING_TRIGGER = ("DROP TRIGGER no_delete",)


@pytest.mark.parametrize("commands", [ENDLESS, FOREIGN_TRIGGER, HIDDEN_TRIGGER, MISSING_TRIGGER])
def test_a_database_with_other_tables_views_or_triggers_is_refused(tmp_path: Path, commands: tuple[str, ...]) -> None:
    with Reviews(tmp_path) as reviews:
        reviews.decide(HOUSE, ACCEPTED, version=0)
    with sqlite3.connect(tmp_path / "review.sqlite") as other:
        for command in commands:
            other.execute(command)
    with pytest.raises(InputError):
        Reviews(tmp_path)


def test_an_enormous_database_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Reviews(tmp_path) as reviews:
        reviews.decide(HOUSE, ACCEPTED, version=0)
    monkeypatch.setattr(review_module, "MAX_REVIEW_BYTES", 1000)
    with pytest.raises(InputError):
        Reviews(tmp_path)


def test_an_emptied_database_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "review.sqlite").touch()
    with pytest.raises(InputError):
        Reviews(tmp_path)


@pytest.mark.parametrize(
    "row",
    [
        ("a", "b", "undone", None, 1, "now"),
        (b"a", "b", "accepted", None, None, "now"),
        ("a", "b", "accepted", None, None, b"now"),
    ],
)
def test_rows_that_make_no_sense_are_refused(tmp_path: Path, row: tuple[object, ...]) -> None:
    with Reviews(tmp_path) as reviews:
        reviews.decide(HOUSE, ACCEPTED, version=0)
    with sqlite3.connect(tmp_path / "review.sqlite") as other:
        other.execute("INSERT INTO log (source, target, verdict, correction, undoes, made) VALUES (?,?,?,?,?,?)", row)
    with pytest.raises(InputError):
        Reviews(tmp_path)


def test_the_precision_interval_is_wilsons() -> None:
    published = {(0, 10): (0.0, 0.2775), (5, 10): (0.2366, 0.7634), (81, 263): (0.2553, 0.3662)}
    for (right, total), interval in published.items():
        assert precision_interval(right, total) == pytest.approx((right / total, *interval), abs=1e-4)
    assert precision_interval(0, 0) == (0, 0, 1)


def test_decisions_become_kept_and_forbidden_pairs() -> None:
    lexicon = [HOUSE, TREE, DOG, ("cat", "chien"), ("sun", "soleil")]
    decisions = {
        HOUSE: Decision(ACCEPTED, None, 1),
        TREE: Decision(REJECTED, None, 2),
        DOG: Decision(CORRECTED, "chien", 3),
        ("sun", "soleil"): Decision(version=5),
    }
    found = ReviewedLexicon.of(lexicon, decisions)
    assert found.kept == [HOUSE, ("dog", "chien")]
    assert found.forbidden == [TREE, DOG]
    assert found.pairs == [HOUSE, ("dog", "chien"), ("sun", "soleil")]  # not cat: its chien is dog's


def test_an_earlier_review_holds_until_overruled() -> None:
    earlier = ReviewedLexicon([], [HOUSE, ("sun", "soleil")], [TREE, DOG])
    decisions = {HOUSE: Decision(REJECTED, None, 1), DOG: Decision(ACCEPTED, None, 2)}
    found = ReviewedLexicon.of([HOUSE, DOG], decisions, earlier)
    assert set(found.kept) == {("sun", "soleil"), DOG}
    assert set(found.forbidden) == {HOUSE, TREE}
