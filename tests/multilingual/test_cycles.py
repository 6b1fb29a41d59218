"""Cycles against their definition, by enumeration of small lexicons."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilex.lexicon.lexicon import Lexicon
from bilex.multilingual.cycles import Cycles, check_entries, check_triple, partners_of

WORDS = range(5)
relations = st.frozensets(st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)), max_size=12)


def lexicon(pairs: list[tuple[str, str]]) -> Lexicon:
    count = len(pairs)
    columns = (np.ones(count), np.ones(count, np.int64), np.ones(count, bool), ("matching",) * count, np.ones(count))
    return Lexicon(tuple(s for s, _ in pairs), tuple(t for _, t in pairs), *columns)


def named(pairs: frozenset[tuple[int, int]], first: str, second: str) -> Lexicon:
    return lexicon([(f"{first}{i}", f"{second}{j}") for i, j in sorted(pairs)])


@settings(max_examples=50)
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


@settings(max_examples=50)
@given(relations, st.lists(st.tuples(relations, relations), max_size=3))
def test_entries_are_compared_as_defined(
    ab: frozenset[tuple[int, int]], thirds: list[tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int]]]]
) -> None:
    others = [(partners_of(named(ac, "a", "c")), partners_of(named(bc, "b", "c"))) for ac, bc in thirds]
    found = check_entries(named(ab, "a", "b"), others)
    for row, (a, b) in enumerate(sorted(ab)):
        sides = [({c for c in WORDS if (a, c) in ac}, {c for c in WORDS if (b, c) in bc}) for ac, bc in thirds]
        agreements = [bool(ours & theirs) for ours, theirs in sides if ours and theirs]
        assert (found.tested[row], found.agreed[row]) == (len(agreements), sum(agreements))
        if agreements:
            assert found.agreement[row] == sum(agreements) / len(agreements)
        else:
            assert np.isnan(found.agreement[row])


@pytest.fixture
def cycles() -> Cycles:
    source, target = ("house", "a\tb", "tree", "=1+1"), ("maison", "c d", "\u2028", "été")
    return Cycles(source, target, np.array([2, 0, 1, 1]), np.array([1, 0, 1, 0]))


def test_a_table_has_a_line_for_each_entry(cycles: Cycles, tmp_path: Path) -> None:
    cycles.save(tmp_path / "cycles.tsv")
    lines = [line.split("\t") for line in (tmp_path / "cycles.tsv").read_text("utf-8").split("\n")]
    assert lines == [
        ["source", "target", "tested", "agreed", "agreement"],
        ["house", "maison", "2", "1", "0.500000"],
        ["a b", "c d", "0", "0", ""],
        ["tree", "\u2028", "1", "1", "1.000000"],
        ["=1+1", "été", "1", "0", "0.000000"],
        [""],
    ]


def test_partners_by_side_and_mutual_neighbours_only() -> None:
    entries = lexicon([("a0", "b0"), ("a0", "b1"), ("a1", "b1")])
    entries.mutual[1] = False
    assert partners_of(entries) == {"a0": ["b0", "b1"], "a1": ["b1"]}
    assert partners_of(entries, reverse=True) == {"b0": ["a0"], "b1": ["a0", "a1"]}
    assert partners_of(entries, mutual_only=True) == {"a0": ["b0"], "a1": ["b1"]}
