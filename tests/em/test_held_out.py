"""What the default method decides by itself: on held-out pairs, recorded, and never by looking at what it holds out."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bilex
from bilex.em import held_out as choosing
from bilex.em.held_out import Choice, split
from bilex.em.context import Reporter
from bilex.methods import METHODS, Method
from bilex.model.constraints import Constraints
from bilex.model.theta import Theta
from bilex.runs.learning import learn
from bilex.search.local import LocalEngine
from bilex.vectors.embeddings import Embeddings
from tests.languages import Languages, make_languages

ENGINE = LocalEngine()
DEFAULT = replace(METHODS["bilex"], max_rank=200, edge_prior="learned")  # with all that can be decided


@pytest.fixture(scope="module")
def languages() -> Languages:
    return make_languages(words=260, noise=0.3)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "LARGE", 40)


def some_gold(languages: Languages, n: int) -> list[tuple[str, str]]:
    return random.Random(1).sample(languages.gold, n)


def choices(languages: Languages, seed: object, method: Method = DEFAULT) -> dict[str, Choice]:
    found = learn(languages.source, languages.target, seed, method, engine=ENGINE)  # type: ignore[arg-type]
    return {choice.about: choice for choice in found.chosen.choices}


def test_a_split_keeps_a_words_translations_together() -> None:
    rows = np.array([0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9])
    rest, held = split((rows, np.arange(12)))
    assert not set(rest[0].tolist()) & set(held[0].tolist())
    assert sorted([*rest[1], *held[1]]) == list(range(12))
    assert np.unique(held[0]).tolist() == [2, 7]  # evenly over the frequencies
    one, other = split((rows, np.arange(12)), 2)
    assert (len(np.unique(one[0])), len(np.unique(other[0]))) == (5, 5)


def test_a_large_seed_is_tried_in_every_way_and_the_best_is_used(languages: Languages) -> None:
    method = replace(DEFAULT, edge_prior="uniform")
    found = learn(languages.source, languages.target, some_gold(languages, 150), method, engine=ENGINE)
    (choice,) = found.chosen.choices
    assert list(choice.measured) == ["procrustes", "seed", "start", "soft", "fixed"]
    assert choice.measured[choice.chosen] == max(choice.measured.values())
    assert choice.held_out > 20
    expected = {"procrustes": ("orthogonal", False), "seed": ("cca", False)}.get(choice.chosen, ("cca", True))
    assert (found.method.maps, found.method.self_learning) == expected
    if expected[1]:
        assert found.method.supervision == choice.chosen


def test_self_learning_is_left_out_where_it_harms(languages: Languages, monkeypatch: pytest.MonkeyPatch) -> None:
    learnt = choosing.Task.learn

    def harmful(self: choosing.Task, method: Method, *args: object, **more: object) -> object:
        found = learnt(self, method, *args, **more)  # type: ignore[arg-type]
        if method.self_learning:
            found = replace(found, theta=replace(found.theta, omega=-found.theta.omega))
        return found

    monkeypatch.setattr(choosing.Task, "learn", harmful)
    found = learn(languages.source, languages.target, some_gold(languages, 150), DEFAULT, engine=ENGINE)
    assert found.chosen.choices[0].chosen in ("procrustes", "seed")
    assert not found.method.self_learning
    words, counts = np.unique(found.fit.matching.target, return_counts=True)
    assert len(words) > 100
    assert counts.max() == 1  # the lexicon is still a matching


def test_what_is_held_out_is_not_learnt_from(languages: Languages, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, asked = list[set[int]](), list[set[int]]()
    learnt, scored = choosing.Task.learn, choosing.held_out_precision

    def watch_learning(self: choosing.Task, method: Method, pairs: choosing.Pairs, **more: object) -> object:
        seen.append(set(pairs[0].tolist()))
        return learnt(self, method, pairs, **more)  # type: ignore[arg-type]

    def watch_scoring(task: choosing.Task, theta: Theta, held: choosing.Pairs, most: int | None) -> float:
        asked.append(set(held[0].tolist()))
        return scored(task, theta, held, most)

    monkeypatch.setattr(choosing.Task, "learn", watch_learning)
    monkeypatch.setattr(choosing, "held_out_precision", watch_scoring)
    started = list[int]()
    from_pairs = Theta.from_pairs

    def watch_maps(source: np.ndarray, *more: object) -> Theta:
        started.append(len(source))
        return from_pairs(source, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Theta, "from_pairs", watch_maps)
    learn(languages.source, languages.target, some_gold(languages, 150), DEFAULT, engine=ENGINE)
    assert len(asked) == 5
    assert max(started[:5]) < 150 - len(asked[0]) + 1
    for words in seen[:3]:  # the other two trials are maps of the seed, without EM
        assert asked[0]
        assert not words & asked[0]
    assert asked[0] <= seen[3]  # the last fit has the whole seed


def test_held_out_precision_is_p_at_1_by_csls(languages: Languages) -> None:
    method = replace(DEFAULT, edge_prior="uniform", supervision="start")
    found = learn(languages.source, languages.target, some_gold(languages, 60), method, engine=ENGINE)
    task = choosing.Task(found.source, found.target, Constraints(), ENGINE, Reporter())
    index = [(found.source.index[s], found.target.index[t]) for s, t in languages.gold]
    held = tuple(np.array(side) for side in zip(*index, strict=True))
    run = bilex.induce(languages.source, languages.target, some_gold(languages, 60), method, engine=ENGINE)
    expected = run.evaluate(languages.gold, retrieval="csls").precision_at(1)
    measured = choosing.held_out_precision(task, found.fit.theta, held, None)  # type: ignore[arg-type]
    assert measured == pytest.approx(expected)


@pytest.mark.parametrize(("seed", "expected"), [("identical", "start"), ("numerals", "start"), (20, "soft")])
def test_a_seed_that_cannot_be_split_is_not(languages: Languages, seed: str | int, expected: str) -> None:
    given = some_gold(languages, seed) if isinstance(seed, int) else seed
    choice = choices(languages, given)["supervision"]
    assert (choice.chosen, choice.measured) == (expected, {})
    assert choice.why


def spelt(languages: Languages, alike: bool) -> Languages:
    """Spell all words at random; where `alike`, a translation is its source word and one letter more."""
    rng = random.Random(0)
    source = {word: "".join(rng.choices("abcdefghij", k=8)) for word in languages.source.words}
    target = {word: "".join(rng.choices("abcdefghij", k=8)) for word in languages.target.words}
    if alike:
        target |= {t: f"{source[s]}{t[0]}" for s, t in languages.gold}
    return Languages(
        Embeddings(tuple(source.values()), languages.source.vectors),
        Embeddings(tuple(target.values()), languages.target.vectors),
        [(source[s], target[t]) for s, t in languages.gold],
    )


def test_a_prior_is_learnt_where_spelling_tells() -> None:
    hard, method = make_languages(words=400, shared=0, noise=0.9, random=3), replace(DEFAULT, supervision="soft")
    found = {}
    for alike in (True, False):
        languages = spelt(hard, alike)
        found[alike] = choices(languages, random.Random(1).sample(languages.gold, 300), method)["edge prior"]
    telling, other = found[True], found[False]
    assert telling.chosen == "learned"
    assert telling.measured["learned"] > telling.measured["uniform"] + 0.1
    assert telling.measured["learned"] > other.measured["learned"] + 0.05
    assert "spelling +" in telling.why


def test_a_prior_that_does_not_help_on_held_out_pairs_is_left_out(
    languages: Languages, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = some_gold(languages, 150)
    method = replace(DEFAULT, supervision="soft")
    monkeypatch.setattr(choosing, "WORTH", 1.0)  # no prior is worth so much
    guarded = learn(languages.source, languages.target, seed, method, engine=ENGINE)
    assert [choice.chosen for choice in guarded.chosen.choices] == ["uniform"]
    uniform = replace(method, edge_prior="uniform")
    plain = learn(languages.source, languages.target, seed, uniform, engine=ENGINE)
    assert guarded.method == plain.method
    np.testing.assert_array_equal(guarded.fit.theta.omega, plain.fit.theta.omega)
    np.testing.assert_array_equal(guarded.fit.matching.target, plain.fit.matching.target)


def test_with_a_small_seed_the_prior_is_learnt_from_the_confident_pairs(languages: Languages) -> None:
    choice = choices(languages, some_gold(languages, 30))["edge prior"]
    assert "the confident part of the matching" in choice.why
    assert set(choice.measured) >= {"uniform", "learned"}


def test_a_matching_does_not_confirm_its_own_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    hard, method = make_languages(words=400, shared=0, noise=0.9, random=3), replace(DEFAULT, supervision="soft")
    languages = spelt(hard, alike=True)
    seed = random.Random(1).sample(languages.gold, 60)
    monkeypatch.setattr(choosing, "LARGE", 61)  # the matching's pairs are enough, the seed's are not
    helpful = choices(languages, seed, method)["edge prior"]
    assert helpful.chosen == "learned"
    assert helpful.measured["added on the seed"] > 0
    # The same words, but those of the seed are spelt by no rule: what the matching says does not help them.
    random_words = {t: f"zz{place}zz" for place, (_, t) in enumerate(seed)}
    renamed = tuple(random_words.get(word, word) for word in languages.target.words)
    odd = Languages(languages.source, Embeddings(renamed, languages.target.vectors), languages.gold)
    judged = choices(odd, [(s, random_words[t]) for s, t in seed], method)["edge prior"]
    assert judged.measured["learned"] > judged.measured["uniform"]
    assert judged.measured["added on the seed"] <= 0
    assert judged.chosen == "uniform"


def test_a_seed_that_is_no_dictionary_cannot_judge_a_prior(languages: Languages) -> None:
    choice = choices(languages, "identical")["edge prior"]
    assert (choice.chosen, choice.measured) == ("uniform", {})
    assert "no dictionary" in choice.why


def test_choices_are_recorded_in_the_run(languages: Languages) -> None:
    run = bilex.induce(languages.source, languages.target, some_gold(languages, 150), DEFAULT, engine=ENGINE)
    assert run.info["choices"][0]["about"] == "supervision"
    assert run.info["configuration"]["method"]["supervision"] != "choose"
    paper = bilex.induce(languages.source, languages.target, "identical", "ruder2018", engine=ENGINE)
    assert paper.info["choices"] == []


@pytest.mark.parametrize("changes", [{"exact": True}, {"prior": "one-to-many"}, {"prior": "many-to-one-no-null"}])
def test_what_a_learnt_prior_cannot_do_is_done_without(languages: Languages, changes: dict[str, Any]) -> None:
    run = bilex.induce(languages.source, languages.target, method=DEFAULT, engine=ENGINE, **changes)
    assert run.info["choices"][-1]["chosen"] == "uniform"
    assert run.evaluate(languages.gold).precision_at(1) > 0.8


def test_what_a_person_settled_is_in_the_matching_however_the_seed_is_used(languages: Languages) -> None:
    seed = some_gold(languages, 150)
    (s, t), (other, right) = seed[0], seed[1]
    kept, forbidden = [(s, right)], [(other, right)]
    run = bilex.induce(languages.source, languages.target, seed, DEFAULT, kept=kept, forbidden=forbidden, engine=ENGINE)
    assert list(run.info["choices"][0]["measured"]) == ["start", "soft", "fixed"]
    pairs = set(zip(run.lexicon.source, run.lexicon.target, strict=True))
    assert (s, right) in pairs
    assert not {(s, t), (other, right)} & pairs


def test_a_run_that_went_without_em_can_be_learnt_again_from_its_review(languages: Languages) -> None:
    decided = replace(DEFAULT, supervision="start", maps="orthogonal", self_learning=False)
    seed = some_gold(languages, 150)
    run = bilex.induce(languages.source, languages.target, seed, decided, forbidden=seed[:1], engine=ENGINE)
    assert seed[0] not in set(zip(run.lexicon.source, run.lexicon.target, strict=True))
