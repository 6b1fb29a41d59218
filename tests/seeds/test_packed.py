"""Pairs held as bytes: they have to behave like a list of tuples."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilex.seeds.packed import PackedPairs

word = st.text(st.characters(exclude_characters="\t", exclude_categories=["Cs"]), max_size=3)
pairs = st.lists(st.tuples(word, word), max_size=20)


def pack(content: list[tuple[str, str]]) -> PackedPairs:
    packed = PackedPairs()
    for source, target in content:
        packed.append(source.encode(), target.encode())
    return packed


@settings(deadline=None)
@given(pairs, st.slices(20))
def test_they_behave_like_a_list(content: list[tuple[str, str]], part: slice) -> None:
    packed = pack(content)
    assert packed == content and list(packed) == content and len(packed) == len(content)
    assert packed[part] == content[part]
    assert [packed[-place] for place in range(1, len(content) + 1)] == content[::-1]
    assert packed != [*content, ("a", "b")]
    with pytest.raises(IndexError):
        packed[len(content)]


@settings(deadline=None)
@given(pairs)
def test_repetitions_are_dropped(content: list[tuple[str, str]]) -> None:
    assert pack(content * 2).distinct() == list(dict.fromkeys(content))


def test_pairs_with_the_same_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bilex.seeds.packed.hash", lambda pair: 0, raising=False)
    content = [("a", "b"), ("c", "d"), ("c", "d"), ("e", "f")]
    assert pack(content).distinct() == [("a", "b"), ("c", "d"), ("e", "f")]
