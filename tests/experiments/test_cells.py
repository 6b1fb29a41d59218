"""Seeds of the experiments: draws are deterministic, and held-out words are queries and not part of the seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bilex.errors import BilexError
from bilex.experiments.cells import Cell, FileCache, TooFewPairs, check_seed_name, held_out_words, seed_pairs
from bilex.experiments.layouts import find_layout
from bilex.methods import METHODS


@pytest.fixture
def cache() -> FileCache:
    return FileCache()


def test_draws(data: Path, cache: FileCache) -> None:
    source, target = cache.vectors(data / "en.vec"), cache.vectors(data / "it.vec")
    train = (*cache.pairs(data / "en-it.train.txt"), ("unknown", "words"))
    whole = seed_pairs("5000", source, target, train)
    assert whole == train[:-1]
    draws = [seed_pairs("25", source, target, train, draw=draw) for draw in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]
    assert len(set(draws[0])) == 25
    assert set(draws[0]) <= set(whole)
    with pytest.raises(TooFewPairs, match=f"only {len(whole)} pairs"):
        seed_pairs("4000", source, target, train)


def test_seeds_from_the_vocabularies(data: Path, cache: FileCache) -> None:
    source, target = cache.vectors(data / "en.vec"), cache.vectors(data / "it.vec")
    identical = seed_pairs("identical", source, target, ())
    numerals = seed_pairs("numerals", source, target, ())
    assert set(numerals) < set(identical)
    assert all(s == t for s, t in identical)
    assert all(s.isdigit() for s, _ in numerals)
    other = cache.vectors(data / "fi.vec")
    for name, message in (("identical", "share no words spelt the same"), ("numerals", "share no numerals")):
        with pytest.raises(TooFewPairs, match=message):
            seed_pairs(name, source, other, ())


def test_held_out_words_are_queries(data: Path, cache: FileCache) -> None:
    source, target = cache.vectors(data / "en.vec"), cache.vectors(data / "it.vec")
    path = data / "en-it.train.txt"
    train = cache.pairs(path)
    left_out = held_out_words(train, 5)
    assert len(left_out) == len({s for s, _ in train}) // 5
    seed = seed_pairs("5000", source, target, train, held_out=5)
    files = find_layout(data).resolve(data, "en-it")
    asked = Cell("translation", files, METHODS["ruder2018"], "5000", cache, held_out=5).gold()
    assert not {s for s, _ in seed} & left_out
    assert left_out <= {s for s, _ in asked}
    assert {*seed, *asked} == {*train, *cache.pairs(data / "en-it.test.txt")}


def test_an_unknown_seed_is_an_error() -> None:
    for name in ("", "0", "twenty", "-5", "²"):
        with pytest.raises(BilexError):
            check_seed_name(name)
