"""Cycles against their definition, by enumeration of small lexicons."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilex.errors import InputError
from bilex.lexicon.lexicon import Lexicon
from bilex.multilingual.cycles import Cycles, check_entries, check_triple, partners_of, read_cycles
from bilex.vectors.embeddings import Embeddings

WORDS = range(5)
relations = st.frozensets(st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)), max_size=12)


def lexicon(pairs: list[tuple[str, str]]) -> Lexicon:
    count = len(pairs)
    columns = (np.ones(count), np.ones(count, np.int64), np.ones(count, bool), ("matching",) * count)
    return Lexicon(tuple(s for s, _ in pairs), tuple(t for _, t in pairs), *columns)


def named(pairs: frozenset[tuple[int, int]], first: str, second: str) -> Lexicon:
    return lexicon([(f"{first}{i}", f"{second}{j}") for i, j in sorted(pairs)])


@settings(deadline=None, max_examples=50)
@given(relations, relations, relations)
def test_triples_are_counted_as_defined(
    ab: frozenset[tuple[int, int]], bc: frozenset[tuple[int, int]], ac: frozenset[tuple[int, int]]
) -> None:
    steps = (
        partners_of(named(ab, "a", "b")),
        partners_of(named(bc, "b", "c")),
        partners_of(named(ac, "a", "c"), reverse=True),
    )
    found = check_triple(("a", "b", "c"), steps)
    ends = {
        start: {end for b, c, end in product(WORDS, repeat=3) if (start, b) in ab and (b, c) in bc and (end, c) in ac}
        for start in WORDS
    }
    assert found.returned == sum(bool(end) for end in ends.values())
    assert found.agreed == sum(start in end for start, end in ends.items())
    assert found.agreement == (round(found.agreed / found.returned, 6) if found.returned else None)


@settings(deadline=None, max_examples=50)
@given(relations, st.lists(st.tuples(relations, relations), max_size=3))
def test_entries_are_compared_as_defined(
    ab: frozenset[tuple[int, int]], thirds: list[tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int]]]]
) -> None:
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 3)).astype(np.float32)
    words = Embeddings(tuple(f"c{i}" for i in WORDS), vectors)
    units = vectors.astype(float) / np.linalg.norm(vectors.astype(float), axis=1, keepdims=True)
    others = [(partners_of(named(ac, "a", "c")), partners_of(named(bc, "b", "c")), words) for ac, bc in thirds]
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


def test_a_saved_table_is_read_back_and_joined_by_words(cycles: Cycles, tmp_path: Path) -> None:
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


def test_partners_by_side_and_mutual_neighbours_only() -> None:
    entries = lexicon([("a0", "b0"), ("a0", "b1"), ("a1", "b1")])
    entries.mutual[1] = False
    assert partners_of(entries) == {"a0": ["b0", "b1"], "a1": ["b1"]}
    assert partners_of(entries, reverse=True) == {"b0": ["a0"], "b1": ["a0", "a1"]}
    assert partners_of(entries, mutual_only=True) == {"a0": ["b0"], "a1": ["b1"]}


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"source\ttarget\n", 1),
        (b"source\ttarget\ttested\tagreed\tagreement\tcloseness\na\tb\t1\n", 2),
        (b"\xff\n", None),
    ],
)
def test_a_damaged_table_is_an_input_error(tmp_path: Path, content: bytes, line: int | None) -> None:
    (tmp_path / "cycles.tsv").write_bytes(content)
    with pytest.raises(InputError) as raised:
        read_cycles(tmp_path)
    assert raised.value.line == line
