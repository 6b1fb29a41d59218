"""Forms of one word: ratios of endings and families of candidates, by their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.model.endings import LONGEST_ENDING
from bilex.model.forms import (
    BEGINNING,
    ENDING_LEVELS,
    FAMILY_COLUMNS,
    OWN_LEMMA_COLUMNS,
    Vocabulary,
    compare_families,
    decide_within_families,
    ending_levels,
    family_columns,
    form_columns,
    parts_by_word,
)

WORDS = ("talo", "talossa", "talot", "Kissa", "kissat", "ö")


def test_words_with_the_same_letters_have_the_same_numbers() -> None:
    found, folded = Vocabulary.of(WORDS), ("talo", "talossa", "talot", "kissa", "kissat", "o")
    assert found.lengths.tolist() == [len(word) for word in folded]
    for letters in range(LONGEST_ENDING + 1):
        for one, mine in zip(found.endings[letters], folded, strict=True):
            same = [
                word[len(word) - min(letters, len(word)) :] == mine[len(mine) - min(letters, len(mine)) :]
                for word in folded
            ]
            assert (found.endings[letters] == one).tolist() == same
    assert [found.families[0] == other for other in found.families] == [
        word[:BEGINNING] == folded[0][:BEGINNING] for word in folded
    ]
    lemmas = Vocabulary.of(WORDS, ["a", "b", "a", "c", "c", "d"]).families
    assert lemmas[0] == lemmas[2] != lemmas[1] and lemmas[3] == lemmas[4]


def test_edges_share_a_number_where_both_endings_are_the_same() -> None:
    source, target = Vocabulary.of(("cats", "dogs", "dog")), Vocabulary.of(WORDS)
    rows, columns = np.repeat(np.arange(3), 6), np.tile(np.arange(6), 3)
    found = ending_levels(source, target, rows, columns)
    for levels, numbers in zip(ENDING_LEVELS, found, strict=True):
        for (one, other), codes in zip(levels, numbers, strict=True):
            same = {
                (int(source.endings[one][r]), int(target.endings[other][c])) for r, c in zip(rows, columns, strict=True)
            }
            assert len(set(codes.tolist())) == len(same)


def test_a_level_looks_at_as_many_letters_as_it_says() -> None:
    words = ("xabc", "yabc", "abbc", "ybcc", "zzzz")  # that share three, two, one and no letter with the first
    side, rows = Vocabulary.of(words), np.zeros(5, np.int64)
    of_target, of_both = ending_levels(side, side, rows, np.arange(5))
    shared = [[True] * 2 + [letters < 3] + [letters < 2] + [False] for letters in (1, 2, 3)]
    for column in (of_target, of_both):
        assert [(numbers == numbers[0]).tolist() for numbers in column] == shared
    of_none, of_both = ending_levels(side, side, np.arange(5), rows)  # and of the source
    assert [(numbers == numbers[0]).tolist() for numbers in of_both] == shared
    assert all((numbers == numbers[0]).all() for numbers in of_none)


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_families_are_those_of_one_word_s_candidates(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bilex.model.forms.WORDS_AT_ONCE", at_once)
    rng, target = np.random.default_rng(1), Vocabulary.of(WORDS)
    rows, columns = np.repeat(np.array([0, 1, 6, 12]), 6), np.tile(np.arange(6), 4)  # more source words than targets
    keep = rng.random(24) < 0.7
    rows, columns, scores = rows[keep], columns[keep], rng.normal(size=int(keep.sum()))
    found = compare_families(scores, rows, columns, (target, target))
    assert found.shape == (len(rows), len(FAMILY_COLUMNS))
    for edge in range(len(rows)):
        own = (rows == rows[edge]) & (target.families[columns] == target.families[columns[edge]])
        several, lengths = own.sum() > 1, target.lengths[columns]
        expected = [
            np.log(np.exp(scores[own]).sum()) - scores[edge],
            several,
            several and lengths[edge] == lengths[own].min(),
            several and columns[edge] == columns[own].min(),
        ]
        np.testing.assert_allclose(found[edge], expected, atol=1e-12)


def test_edges_are_cut_between_two_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bilex.model.forms.WORDS_AT_ONCE", 3)
    rows = np.array([0, 0, 2, 3, 7, 7, 9])
    assert [rows[part].tolist() for part in parts_by_word(rows)] == [[0, 0, 2], [3], [7, 7], [9]]
    assert not [part for part in parts_by_word(rows[:0]) if part.stop > part.start]


def test_what_decides_between_forms_leaves_the_weight_of_the_family() -> None:
    rng, target = np.random.default_rng(1), Vocabulary.of(WORDS)
    rows, columns = np.repeat(np.arange(4), 6), np.tile(np.arange(6), 4)
    scores, nats = rng.normal(size=24), rng.normal(size=24)
    found = decide_within_families(scores, nats, rows, columns, target)
    for edge in range(len(rows)):
        own = (rows == rows[edge]) & (target.families[columns] == target.families[columns[edge]])
        np.testing.assert_allclose(np.exp(scores + found)[own].sum(), np.exp(scores)[own].sum())
        np.testing.assert_allclose((found - nats)[own], (found - nats)[edge])  # between forms it is what was said
        assert own.sum() > 1 or abs(found[edge]) < 1e-12
    heavy = decide_within_families(scores + 500, nats, rows, columns, target)
    np.testing.assert_allclose(heavy, found)  # without overflow


def test_a_candidate_without_others_is_a_family_of_its_own() -> None:
    one, target = np.zeros(1, np.int64), Vocabulary.of(WORDS)
    with np.errstate(all="raise"):  # and nobody is warned of anything
        assert compare_families(np.array([3.0]), one, one, (target, target)).tolist() == [[0, 0, 0, 0]]
        assert decide_within_families(np.array([3.0]), np.array([2.0]), one, one, target).tolist() == [0]


def test_words_that_are_lemmas_are_marked() -> None:
    rows, columns, scores = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 3]), np.zeros(4)
    plain, known = Vocabulary.of(WORDS), Vocabulary.of(WORDS, ("talo", "talo", "talo", "kissa", "kissa", "ö"))
    families = len(FAMILY_COLUMNS)
    assert [len(form_columns(sides)) for sides in ((plain, plain), (plain, known), (known, known))] == [6, 8, 10]
    lemmas = ending_levels(plain, known, rows, columns)[-1]
    assert [len(set(level.tolist())) for level in lemmas] == [2, 4, 4, 4]  # lemma or not; then by the source's ending
    alike = Vocabulary.of(("casa", "masa"), ("casa", "mas"))  # with the same ending, and one is a lemma
    levels = ending_levels(plain, alike, np.zeros(2, np.int64), np.arange(2))[-1]
    assert all(len(set(level.tolist())) == 2 for level in levels)
    both = compare_families(scores, rows, columns, (known, known))
    assert family_columns((known, known)) == (*FAMILY_COLUMNS, *OWN_LEMMA_COLUMNS)
    assert both[:, families:].tolist() == [[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert both[:, 1].tolist() == [1, 1, 0, 0]  # a family is a lemma
    for sides, place in (((known, plain), 0), ((plain, known), 1)):
        assert family_columns(sides)[families:] == OWN_LEMMA_COLUMNS[place : place + 1]
        found = compare_families(scores, rows, columns, sides)[:, families:]
        np.testing.assert_array_equal(found[:, 0], both[:, families + place])
