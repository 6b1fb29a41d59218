"""Several languages through a hub: made-up ones, of which every right entry is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bilex.errors import BilexError, BilexWarning
from bilex.multilingual.many import Many, in_hub, induce_many
from bilex.seeds.seed import SeedLike
from tests.multilingual.languages import make_many, right

METHOD = "ruder2018"


@pytest.fixture(scope="module")
def learnt() -> Many:
    return induce_many(make_many("abcd"), "identical", METHOD)


def test_every_pair_is_learnt_and_right(learnt: Many) -> None:
    assert learnt.languages == ("a", "b", "c", "d") and learnt.hub == "a"
    assert list(learnt.lexicons) == list(learnt.runs) == [(s, t) for s in "abcd" for t in "abcd" if s < t]
    for (source, target), lexicon in learnt.lexicons.items():
        run = learnt.runs[source, target]
        assert (run.source.name, run.target.name) == (source, target)
        assert run.lexicon is lexicon
        assert sum(map(right, lexicon.source, lexicon.target)) >= 0.97 * len(lexicon)
        assert len(lexicon) >= 110
        seed = run.info["configuration"]["seed"]["name"]
        assert seed == ("identical" if source == "a" else "through a")


def test_cycles_close_where_the_entries_are_right(learnt: Many) -> None:
    assert [triple.languages for triple in learnt.triples] == [tuple(each) for each in ("abc", "abd", "acd", "bcd")]
    for triple in learnt.triples:
        assert triple.returned > 100 and (triple.agreement or 0) > 0.95
    for pair, cycles in learnt.cycles.items():
        assert (cycles.source, cycles.target) == (learnt.lexicons[pair].source, learnt.lexicons[pair].target)
        assert cycles.tested.max() == 2


def test_agreement_tells_right_entries_from_wrong_ones() -> None:
    noisy = induce_many(make_many("abcd", noise=0.6), "identical", METHOD)
    shares: dict[bool, list[float]] = {True: [], False: []}
    for cycles in noisy.cycles.values():
        for s, t, share in zip(cycles.source, cycles.target, cycles.agreement.tolist(), strict=True):
            if not np.isnan(share):
                shares[right(s, t)].append(share)
    assert min(len(values) for values in shares.values()) > 30
    assert np.mean(shares[True]) > np.mean(shares[False]) + 0.2


def test_a_seed_through_the_hub_counts_as_guessed(learnt: Many) -> None:
    run = learnt.runs["b", "c"]
    assert set(run.lexicon.origin) == {"matching"}
    assert run.info["confidence"]["calibrated_on"] == "the run itself"


def test_all_languages_meet_in_the_hubs_space(learnt: Many) -> None:
    hub = learnt.runs["a", "b"].source
    moved = {name: in_hub(learnt.runs["a", name]) for name in "bcd"}
    for name, side in moved.items():
        norms = np.linalg.norm(learnt.runs["a", name].target.vectors, axis=1)
        np.testing.assert_allclose(np.linalg.norm(side.vectors, axis=1), norms, atol=1e-5)
    for one, other in ((hub, moved["b"]), (moved["c"], moved["d"])):  # also two that were never matched to get there
        common = [(word, f"{other.words[5][0]}-{word.split('-')[1]}") for word in one.words if "taxi" not in word]
        common = [(s, t) for s, t in common if t in other]
        assert len(common) > 90
        cosines = [float(one[s] @ other[t]) for s, t in common]
        assert np.mean(cosines) > 0.9


def test_the_caller_chooses_the_hub_and_the_seeds() -> None:
    languages = make_many("abc")
    pairs: dict[str, SeedLike] = {"a": [(f"b-{i}", f"a-{i}") for i in range(1, 80) if i % 10], "c": "identical"}
    seen: list[tuple[str, str]] = []
    found = induce_many(
        languages, pairs, METHOD, hub="b", each=lambda run: seen.append((run.source.name, run.target.name))
    )
    assert found.languages == ("b", "a", "c") and found.runs == {}
    assert seen == [("b", "a"), ("b", "c"), ("a", "c")] == list(found.lexicons)
    assert found.details["b", "a"]["seed"]["name"] == "pairs"


def test_the_summary_holds_the_figures_of_pairs_and_triples(learnt: Many) -> None:
    summary = learnt.summary()
    assert (summary["hub"], summary["languages"]) == ("a", list("abcd"))
    for pair in summary["pairs"]:
        cycles = learnt.cycles[pair["source"], pair["target"]]
        tested = cycles.tested > 0
        assert (pair["entries"], pair["tested"]) == (len(cycles.source), int(tested.sum()))
        assert pair["agreement"] == pytest.approx((cycles.agreed[tested] / cycles.tested[tested]).mean(), abs=1e-6)
    assert summary["left_out"] == []


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        ({"hub": "z"}, "the hub 'z'"),
        ({"seeds": {"a": "identical"}}, "a seed for 'a'"),
        ({"seeds": {"b": [("x", "y")]}}, "^a-b: "),
    ],
)
def test_wrong_calls_are_errors(arguments: dict[str, Any], pattern: str) -> None:
    with pytest.raises(BilexError, match=pattern):
        induce_many(make_many("abc", words=60), method=METHOD, **arguments)


def test_too_few_or_unequal_languages_are_refused() -> None:
    for names in ("", "ab"):
        with pytest.raises(BilexError):
            induce_many(make_many(names, words=60))
    languages = make_many("abc", words=60)
    languages["c"] = replace(languages["c"], vectors=languages["c"].vectors[:, :5])
    with pytest.raises(BilexError, match="a has 24 dimensions and c has 5"):
        induce_many(languages)


def test_a_language_that_fails_does_not_stop_the_others() -> None:
    languages = make_many("abcd", words=100)
    languages["b"] = replace(languages["b"], vectors=np.zeros_like(languages["b"].vectors))
    with pytest.warns(BilexWarning, match="is left out") as caught:
        found = induce_many(languages, method=METHOD)
    assert len(caught) == 3
    assert list(found.left_out) == [("a", "b"), ("b", "c"), ("b", "d")]
    assert list(found.lexicons) == [("a", "c"), ("a", "d"), ("c", "d")]
    assert [triple.languages for triple in found.triples] == [("a", "c", "d")]
    first = found.summary()["left_out"][0]
    assert (first["source"], first["target"]) == ("a", "b") and first["why"]


def test_nothing_at_all_is_an_error() -> None:
    with pytest.warns(BilexWarning), pytest.raises(BilexError):
        induce_many(make_many("abc", words=60), method=METHOD, log_odds=-100.0)
