"""Cycles against their definition, spelt out over small lexicons."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilex.errors import InputError
from bilex.lexicon.lexicon import Lexicon
from bilex.multilingual.cycles import (
    CHANCE,
    MEETING,
    Cycles,
    check_entries,
    check_triple,
    confirmed,
    log_ratio,
    meetings,
    partners,
    read_cycles,
    witnessed,
)
from bilex.vectors.embeddings import Embeddings

WORDS = range(5)
relations = st.frozensets(st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)), max_size=12)


def lexicon(pairs: list[tuple[str, str]]) -> Lexicon:
    count = len(pairs)
    columns = (np.ones(count), np.ones(count, np.int64), np.ones(count, bool), ("matching",) * count)
    return Lexicon(tuple(s for s, _ in pairs), tuple(t for _, t in pairs), *columns)


def named(pairs: frozenset[tuple[int, int]], first: str, second: str) -> Lexicon:
    return lexicon([(f"{first}{i}", f"{second}{j}") for i, j in sorted(pairs)])


@settings(deadline=None)
@given(relations, relations, relations)
def test_triples_are_counted_as_defined(
    ab: frozenset[tuple[int, int]], bc: frozenset[tuple[int, int]], ac: frozenset[tuple[int, int]]
) -> None:
    steps = (partners(named(ab, "a", "b")), partners(named(bc, "b", "c")), partners(named(ac, "a", "c"), reverse=True))
    found = check_triple(("a", "b", "c"), steps)
    ends = {
        start: {end for b, c, end in product(WORDS, repeat=3) if (start, b) in ab and (b, c) in bc and (end, c) in ac}
        for start in WORDS
    }
    assert found.returned == sum(bool(end) for end in ends.values())
    assert found.agreed == sum(start in end for start, end in ends.items())
    assert found.agreement == (found.agreed / found.returned if found.returned else None)


@settings(deadline=None)
@given(relations, st.lists(st.tuples(relations, relations), max_size=3))
def test_entries_are_judged_as_defined(
    ab: frozenset[tuple[int, int]], thirds: list[tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int]]]]
) -> None:
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 3)).astype(np.float32)
    words = Embeddings(tuple(f"c{i}" for i in WORDS), vectors)
    units = vectors.astype(float) / np.linalg.norm(vectors.astype(float), axis=1, keepdims=True)
    others = [(partners(named(ac, "a", "c")), partners(named(bc, "b", "c")), words) for ac, bc in thirds]
    found = check_entries(named(ab, "a", "b"), others)
    for row, (a, b) in enumerate(sorted(ab)):
        closest = []
        for ac, bc in thirds:
            ours, theirs = ([c for c in WORDS if (word, c) in way] for word, way in ((a, ac), (b, bc)))
            if ours and theirs:
                closest.append(max(1.0 if c == d else units[c] @ units[d] for c in ours for d in theirs))
        agreed = sum(value == 1.0 for value in closest)
        assert (found.tested[row], found.agreed[row]) == (len(closest), agreed)
        if closest:
            assert found.agreement[row] == agreed / len(closest)
            assert found.closeness[row] == pytest.approx(np.mean(closest), abs=1e-6)
        else:
            assert np.isnan(found.agreement[row]) and np.isnan(found.closeness[row])


@pytest.fixture
def cycles() -> Cycles:
    source, target = ("house", "a\tb", "tree", "=1+1"), ("maison", "c d", "\u2028", "été")
    return Cycles(source, target, np.array([2, 0, 1, 1]), np.array([1, 0, 1, 0]), np.array([0.75, np.nan, 1, -0.5]))


def test_what_is_written_is_read_back_and_joined_by_words(cycles: Cycles, tmp_path: Path) -> None:
    cycles.save(tmp_path / "cycles.tsv")
    read = read_cycles(tmp_path)
    assert read is not None
    assert (read.source[1], read.target) == ("a b", cycles.target)
    np.testing.assert_array_equal(read.tested, cycles.tested)
    np.testing.assert_array_equal(read.agreement, [0.5, np.nan, 1, 0])
    np.testing.assert_array_equal(read.closeness, cycles.closeness)
    wanted = [("=1+1", "été"), ("house", "été"), ("a\tb", "c d"), ("house", "maison")]
    for one in (cycles, read):
        agreement, closeness = one.of(wanted)
        np.testing.assert_array_equal(agreement, [0, np.nan, np.nan, 0.5])
        np.testing.assert_array_equal(closeness, [-0.5, np.nan, np.nan, 0.75])
    assert [len(column) for column in read.of([])] == [0, 0]


def test_a_run_without_cycles_has_none(tmp_path: Path) -> None:
    assert read_cycles(tmp_path) is None


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        (b"", ":1: this is not a table of cycles"),
        (b"source\ttarget\n", ":1: this is not a table of cycles"),
        (b"source\ttarget\ttested\tagreed\tagreement\tcloseness\na\tb\t1\n", ":2: this line is not an entry"),
        (b"source\ttarget\ttested\tagreed\tagreement\tcloseness\na\tb\tx\t0\t\t\n", ":2: this line is not an entry"),
        (b"\xff\n", "not UTF-8"),
    ],
)
def test_damaged_tables_are_explained(tmp_path: Path, content: bytes, pattern: str) -> None:
    (tmp_path / "cycles.tsv").write_bytes(content)
    with pytest.raises(InputError, match=pattern):
        read_cycles(tmp_path)


def test_testimony_is_the_ratio_of_what_is_seen_if_right_and_if_wrong() -> None:
    entries = lexicon([("a0", "b0"), ("a1", "b1"), ("a2", "b2"), ("a3", "b3")])
    of_source = {"a0": {"c0": 0.8}, "a1": {"c1": 0.6}, "a2": {"c2": 0.9}}
    of_target = {"b0": {"c0": 0.5}, "b1": {"c9": 0.7}, "b3": {"c3": 0.9}}
    sure, met = meetings(entries, of_source, of_target)
    np.testing.assert_allclose(sure, [0.8 * 0.5, 0.6 * 0.7, np.nan, np.nan])
    assert met.tolist() == [True, False, False, False]
    found = np.exp(log_ratio(sure[:2], met[:2], meeting=0.7, chance=0.2))
    meet, miss = 0.2 + (0.7 - 0.2) * 0.8 * 0.5, 1 - (0.2 + (0.7 - 0.2) * 0.6 * 0.7)
    np.testing.assert_allclose(found, [meet / 0.2, miss / (1 - 0.2)])
    np.testing.assert_allclose(witnessed(entries, [(of_source, of_target)]), [*log_ratio(sure[:2], met[:2]), 0, 0])


def test_languages_that_testify_count_as_one_together() -> None:
    entries = lexicon([("a0", "b0")])
    agrees = ({"a0": {"c0": 0.8}}, {"b0": {"c0": 0.5}})
    opposes = ({"a0": {"d0": 1.0}}, {"b0": {"d1": 1.0}})
    silent = ({"a0": {"e0": 1.0}}, dict[str, dict[str, float]]())
    yes, no, both = (witnessed(entries, others)[0] for others in ([agrees], [opposes, silent], [agrees, opposes]))
    assert no < 0 < yes
    assert both == pytest.approx((yes + no) / 2)
    assert witnessed(entries, [agrees, agrees])[0] == pytest.approx(yes)


def test_a_language_that_is_never_right_says_nothing() -> None:
    entries = lexicon([("a0", "b0")])
    for partner in ("c0", "c1"):
        hopeless = ({"a0": {"c0": 0.0}}, {"b0": {partner: 0.9}})
        assert witnessed(entries, [hopeless])[0] == 0


def test_confidence_moves_by_bayes_rule_and_not_where_a_person_has_spoken() -> None:
    entries = replace(lexicon([(f"a{i}", f"b{i}") for i in range(4)]), confidence=np.array([0.5, 0.2, 1.0, 0.0]))
    moved = confirmed(entries, np.log([3.0, 0.5, 0.1, 9.0])).confidence
    assert moved is not None
    np.testing.assert_allclose(moved, [0.75, 0.1111, 1, 0])
    assert confirmed(lexicon([("a", "b")]), np.ones(1)).confidence is None
    assert 0 < CHANCE < MEETING < 1
