"""Seeds of the experiments: draws that can be repeated, and what is held out stays out."""

from __future__ import annotations

from pathlib import Path

import pytest

from bilex.errors import BilexError
from bilex.experiments.seeds import TooFew, check_seed, held_out_words, seed_pairs
from bilex.experiments.seeds import test_pairs as pairs_to_ask
from bilex.experiments.sources import Sources


@pytest.fixture
def sources() -> Sources:
    return Sources()


def test_draws(data: Path, sources: Sources) -> None:
    source, target = sources.vectors(data / "en.vec"), sources.vectors(data / "it.vec")
    train = (*sources.pairs(data / "en-it.train.txt"), ("unknown", "words"))
    whole = seed_pairs("5000", source, target, train)
    assert whole == train[:-1]
    draws = [seed_pairs("25", source, target, train, draw=draw) for draw in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]
    assert len(set(draws[0])) == 25
    assert set(draws[0]) <= set(whole)
    with pytest.raises(TooFew, match=f"only {len(whole)} pairs"):
        seed_pairs("4000", source, target, train)


def test_seeds_from_the_vocabularies(data: Path, sources: Sources) -> None:
    source, target = sources.vectors(data / "en.vec"), sources.vectors(data / "it.vec")
    identical = seed_pairs("identical", source, target, ())
    numerals = seed_pairs("numerals", source, target, ())
    assert set(numerals) < set(identical)
    assert all(s == t for s, t in identical)
    assert all(s.isdigit() for s, _ in numerals)
    other = sources.vectors(data / "fi.vec")
    for name, message in (("identical", "share no words spelt the same"), ("numerals", "share no numerals")):
        with pytest.raises(TooFew, match=message):
            seed_pairs(name, source, other, ())


def test_what_is_held_out_is_asked_for(data: Path, sources: Sources) -> None:
    source, target = sources.vectors(data / "en.vec"), sources.vectors(data / "it.vec")
    path = data / "en-it.train.txt"
    train = sources.pairs(path)
    left_out = held_out_words(train, 5)
    assert len(left_out) == len({s for s, _ in train}) // 5
    seed = seed_pairs("5000", source, target, train, held_out=5)
    asked = pairs_to_ask(sources, data / "en-it.test.txt", path, 5)
    assert not {s for s, _ in seed} & left_out
    assert left_out <= {s for s, _ in asked}
    assert {*seed, *asked} == {*train, *sources.pairs(data / "en-it.test.txt")}


@pytest.mark.parametrize("name", ["", "0", "twenty", "-5", "²"])
def test_a_seed_without_meaning(name: str) -> None:
    with pytest.raises(BilexError, match="no seed is called"):
        check_seed(name)
