"""What a method decides by itself: on held-out pairs, recorded, and never from the pairs it holds out."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import bilex
from bilex.em import held_out
from bilex.em.context import Context
from bilex.em.em import Fit
from bilex.em.held_out import Choice, Training, choose_supervision, held_out_precision, in_common, split_words
from bilex.induction import induce, learn
from bilex.matching.graph import RowPairs
from bilex.methods import METHODS, Method
from bilex.model.theta import MappedWords, Theta
from bilex.numerics.rows import unit
from bilex.numerics.types import Vectors
from bilex.runs.entries import Learnt
from bilex.runs.prepared import prepare
from bilex.search.engine import Neighbours
from bilex.search.local import LocalEngine
from bilex.search.space import CROWDING_NEIGHBOURS
from bilex.seeds import coupling
from tests import oracles
from tests.languages import Languages, make_languages

ENGINE = LocalEngine()
DEFAULT = METHODS["bilex"].with_changes({"max_rank": 200, "match_all": True})


@pytest.fixture(scope="module")
def languages() -> Languages:
    return make_languages(words=260, noise=0.3)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "MIN_WORDS_TO_SPLIT", 40)
    monkeypatch.setattr(coupling, "COUPLINGS", 3)


def some_gold(languages: Languages, n: int) -> list[tuple[str, str]]:
    return random.Random(1).sample(languages.gold, n)


def fitted(languages: Languages, seed: object, method: Method = DEFAULT) -> Learnt:
    prepared = prepare(languages.source, languages.target, seed, method)  # type: ignore[arg-type]
    return learn(prepared, Context(ENGINE))


@dataclass(frozen=True)
class CountingEngine(LocalEngine):
    """Counts the words that it is asked about."""

    asked: list[int] = field(default_factory=list)

    def top_k(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        """Count and search."""
        self.asked.append(len(queries))
        return super().top_k(queries, targets, k)


def test_where_only_one_side_is_mapped_words_that_hardly_moved_are_not_searched_again(languages: Languages) -> None:
    engine = CountingEngine()
    prepared = prepare(languages.source, languages.target, some_gold(languages, 20), METHODS["ruder2018"])
    iterations = len(learn(prepared, Context(engine)).fit.iterations)
    assert engine.asked[:2] == [len(languages.source)] * 2
    assert iterations > 2 and sum(engine.asked[2:]) < len(languages.source)


def test_a_split_keeps_the_translations_of_a_word_together() -> None:
    pairs = RowPairs(np.array([0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9]), np.arange(12))
    rest, held = split_words(pairs)
    assert not set(rest.source.tolist()) & set(held.source.tolist())
    assert sorted([*rest.target, *held.target]) == list(range(12))
    assert np.unique(held.source).tolist() == [2, 7]  # evenly over the frequencies
    one, other = split_words(pairs, 2)
    assert (len(np.unique(one.source)), len(np.unique(other.source))) == (5, 5)


def test_a_large_seed_is_tried_in_every_way_and_the_best_is_used(languages: Languages) -> None:
    found = fitted(languages, some_gold(languages, 150))
    (choice,) = found.choices
    assert list(choice.measured) == ["procrustes", "seed", "fixed", "soft"]
    assert choice.measured[choice.chosen] == max(choice.measured.values())
    assert choice.held_out > 20
    expected = {"procrustes": ("orthogonal", False), "seed": ("cca", False)}.get(choice.chosen, ("cca", True))
    assert (found.method.map.kind, found.method.self_learning) == expected
    if expected[1]:
        assert found.method.supervision == choice.chosen


def test_a_seed_is_tried_only_as_a_start_where_soft_is_best() -> None:
    """Where more trust in the seed is better, less is not tried."""
    noisy = make_languages(words=260, noise=1.1)
    (choice,) = fitted(noisy, some_gold(noisy, 60)).choices
    assert list(choice.measured) == ["procrustes", "seed", "fixed", "soft", "start"]
    assert choice.measured["soft"] > max(choice.measured[name] for name in ("procrustes", "seed", "fixed"))


def test_a_map_without_self_learning_is_judged_on_the_words_that_em_sees(languages: Languages) -> None:
    """A search over all words would cost as much as the one that the lexicon is built from."""
    seed_only = DEFAULT.with_changes({"self_learning": False, "supervision": "start"})
    assert fitted(languages, some_gold(languages, 150), seed_only).fit.iterations[0].pairs == 200


@pytest.mark.parametrize("evidence", [True, False])
def test_the_lexicon_of_a_map_without_self_learning_is_still_a_matching(
    languages: Languages, monkeypatch: pytest.MonkeyPatch, evidence: bool
) -> None:
    def choose_seed_map(training: Training, method: Method, seed: object) -> tuple[Method, Choice]:
        return method.with_changes({"supervision": "start", "self_learning": False}), Choice("supervision", "seed", "")

    monkeypatch.setattr(held_out, "choose_supervision", choose_seed_map)
    seed = some_gold(languages, 150)
    run = induce(languages.source, languages.target, seed, min_confidence=0, evidence=evidence)
    assert len(run.lexicon) > 100
    assert len(set(run.lexicon.target)) == len(run.lexicon)


class Watched(Training):
    """Records the source words that each trial learns from."""

    def trial(self, method: Method, pairs: RowPairs) -> Fit:
        SEEN.append(set(pairs.source.tolist()))
        return super().trial(method, pairs)


SEEN: list[set[int]] = []


def test_held_out_words_are_not_learnt_from(languages: Languages) -> None:
    prepared = prepare(languages.source, languages.target, some_gold(languages, 150), DEFAULT)
    training = Watched(prepared.source.vectors, prepared.target.vectors, prepared.prior, Context(ENGINE))
    SEEN.clear()
    _, choice = choose_supervision(training, DEFAULT, prepared.seed)
    _, held = split_words(prepared.seed.pairs.among_frequent(200))
    assert choice.held_out == len(np.unique(held.source))
    assert len(SEEN) == 2  # the other two trials are maps of the seed, without EM
    for words in SEEN:
        assert not words & set(held.source.tolist())


def test_the_choice_tells_pairs_found_without_a_seed_from_other_automatic_seeds(languages: Languages) -> None:
    prepared = prepare(languages.source, languages.target, "numerals", DEFAULT)
    training = Training(prepared.source.vectors, prepared.target.vectors, prepared.prior, Context(ENGINE))
    seeds = [replace(prepared.seed, name=name) for name in ("numerals", "identical", "unsupervised")]
    numerals, identical, unsupervised = (choose_supervision(training, DEFAULT, seed)[1] for seed in seeds)
    assert numerals == identical != unsupervised
    assert {numerals.chosen, unsupervised.chosen} == {"start"}


def test_held_out_precision_is_p_at_1_by_csls(languages: Languages) -> None:
    method, seed = DEFAULT.with_changes({"supervision": "start"}), some_gold(languages, 60)
    run = bilex.induce(languages.source, languages.target, seed, method, engine=ENGINE)
    prepared = prepare(languages.source, languages.target, languages.gold, method)
    sides = prepared.source.vectors, prepared.target.vectors
    measured = held_out_precision(MappedWords(run.theta, *sides), prepared.seed.pairs, ENGINE)
    assert measured == pytest.approx(run.evaluate(languages.gold, retrieval="csls").precision_at(1))
    nonsense = Theta(-run.theta.omega, run.theta.mu, run.theta.target_map)
    assert held_out_precision(MappedWords(nonsense, *sides), prepared.seed.pairs, ENGINE) < 0.1


def test_held_out_precision_corrects_for_hubs() -> None:
    rng, theta = np.random.default_rng(0), Theta(np.eye(5), np.zeros(5))
    source, target = (unit((rng.normal(size=(count, 5)) - 1).astype(np.float32)) for count in (60, 50))  # off centre
    mapped, words = MappedWords(theta, source, target), np.arange(60)
    by_csls = oracles.csls(source, target, CROWDING_NEIGHBOURS).argmax(axis=1)
    by_cosine = oracles.score_matrix(source, target).argmax(axis=1)
    assert held_out_precision(mapped, RowPairs(words, by_csls), ENGINE) == 1
    assert held_out_precision(mapped, RowPairs(words, by_cosine), ENGINE) == np.mean(by_csls == by_cosine) < 0.9


@pytest.mark.parametrize(("seed", "expected"), [("identical", "start"), ("numerals", "start"), (20, "soft")])
def test_a_seed_that_cannot_be_split_is_not_tried(languages: Languages, seed: str | int, expected: str) -> None:
    (choice,) = fitted(languages, some_gold(languages, seed) if isinstance(seed, int) else seed).choices
    assert (choice.about, choice.chosen, choice.measured) == ("supervision", expected, {})
    assert choice.why.startswith({"start": "identical strings", "soft": "it has fewer"}[expected])


def test_choices_are_recorded_in_the_run(languages: Languages) -> None:
    run = bilex.induce(languages.source, languages.target, some_gold(languages, 150), DEFAULT, engine=ENGINE)
    assert run.info["choices"][0]["about"] == "supervision"
    assert run.info["configuration"]["method"]["supervision"] != "choose"
    paper = bilex.induce(languages.source, languages.target, "identical", "ruder2018", engine=ENGINE)
    assert paper.info["choices"] == []


def test_settled_pairs_are_in_the_matching_whatever_the_role_of_the_seed(languages: Languages) -> None:
    seed = some_gold(languages, 150)
    (s, t), (other, right) = seed[0], seed[1]
    kept, forbidden = [(s, right)], [(other, right)]
    run = bilex.induce(languages.source, languages.target, seed, DEFAULT, kept=kept, forbidden=forbidden, engine=ENGINE)
    assert list(run.info["choices"][0]["measured"]) == ["fixed", "soft"]
    pairs = set(zip(run.lexicon.source, run.lexicon.target, strict=True))
    assert (s, right) in pairs
    assert not {(s, t), (other, right)} & pairs


def test_a_run_that_chose_the_map_of_the_seed_can_be_learnt_again_from_its_review(languages: Languages) -> None:
    decided = DEFAULT.with_changes({"supervision": "start", "map": "orthogonal", "self_learning": False})
    seed = some_gold(languages, 150)
    run = bilex.induce(languages.source, languages.target, seed, decided, forbidden=seed[:1], engine=ENGINE)
    assert seed[0] not in set(zip(run.lexicon.source, run.lexicon.target, strict=True))


def test_another_start_is_tried_where_the_seed_led_to_pairs_that_are_mostly_wrong() -> None:
    languages = make_languages(600, 60)
    named = fitted(languages, "numerals", METHODS["bilex"])
    assert [choice.chosen for choice in named.choices] == ["start"]  # a start that has a name is used as it is
    found = fitted(languages, languages.gold[:3], METHODS["bilex"])
    assert found.choices[0].chosen == "soft"
    other = found.choices[1]
    assert (other.about, found.method.supervision) == ("start", "start")
    assert {"words spelt the same", "pairs common to at least 2 couplings"} < set(other.measured)
    assert other.measured[other.chosen] == max(other.measured.values())
    right = {(languages.source.index[one], languages.target.index[two]) for one, two in languages.gold}
    matched = list(zip(found.fit.matching.source.tolist(), found.fit.matching.target.tolist(), strict=True))
    assert np.mean([pair in right for pair in matched]) > 0.9


def test_pairs_in_common_are_those_that_enough_results_have() -> None:
    rows = np.arange(20)
    first, second, third = (RowPairs(rows, (rows * step) % 20) for step in (1, 1, 11))  # alike in the even rows
    shared = {
        name: (pairs.source.tolist(), pairs.target.tolist())
        for name, pairs in in_common([first, second, third], "x", 20)
    }
    assert shared == {
        "pairs common to at least 2 x": (rows.tolist(), rows.tolist()),
        "pairs common to at least 3 x": (rows[::2].tolist(), rows[::2].tolist()),
    }
    assert dict(in_common([first.where(rows < 7), second], "x", 20)) == {}  # too few to start from
    assert len(dict(in_common([first.where(rows < 8), second], "x", 20))) == 1
    assert [name for name, _ in in_common([first] * 3, "x", 20)] == [
        "pairs common to at least 3 x"
    ]  # the same as two do
    most = [name for name, _ in in_common([first] * 6 + [first.where(rows < 10)], "x", 20)]
    assert most == ["pairs common to at least 6 x"]  # few pairs are common to more
    assert [name for name, _ in in_common([first] * 8, "x", 20)] == most  # also if all are


def test_a_trial_sees_only_the_words_of_the_e_step(languages: Languages) -> None:
    prepared = prepare(languages.source, languages.target, some_gold(languages, 60), DEFAULT)
    training = Training(prepared.source.vectors, prepared.target.vectors, prepared.prior, Context(ENGINE))
    method = prepared.method.with_changes({"supervision": "soft", "evidence": False})
    assert training.fit(method, prepared.seed.pairs).matching.source.max() >= 200
    assert training.trial(method, prepared.seed.pairs).matching.source.max() < 200


def test_further_rounds_start_from_what_the_results_share(languages: Languages) -> None:
    prepared = prepare(languages.source, languages.target, some_gold(languages, 30), DEFAULT)
    training = Training(prepared.source.vectors, prepared.target.vectors, prepared.prior, Context(ENGINE))
    wrong, seed = RowPairs(np.arange(30), np.arange(30)[::-1].copy()), prepared.seed.pairs
    starts = [("seed", seed), ("wrong", wrong), ("half", seed.where(seed.source % 2 == 0))]
    _, once = held_out.choose_start(training, prepared.method, starts)
    assert list(once.measured) == ["seed", "wrong", "half"]
    iterations = training.trial(prepared.method, wrong).iterations
    assert len(iterations) > 2 and once.measured["wrong"] == iterations[-1].log_likelihood
    assert once.agreement > 0.5
    far = [("seed", seed), ("wrong", wrong)]
    assert held_out.choose_start(training, prepared.method, far)[1].agreement < 0.5
    assert held_out.choose_start(training, prepared.method, far[:1])[1].agreement == 1
    _, more = held_out.choose_start(training, prepared.method, starts, rounds=3)
    assert "pairs common to at least 2 results of round 1" in more.measured
    assert max(more.measured.values()) >= max(once.measured.values())


def test_rounds_go_on_while_the_likelihood_rises() -> None:
    noisy = make_languages(words=150, noise=0.6)
    prepared = prepare(noisy.source, noisy.target, noisy.gold[:20], METHODS["ruder2018"])
    training = Training(prepared.source.vectors, prepared.target.vectors, prepared.prior, Context(ENGINE))
    seed = prepared.seed.pairs
    starts = [(f"{part}", seed.where(seed.source % 3 == part)) for part in range(3)]
    starts.append(("even", seed.where(seed.source % 2 == 0)))
    _, choice = held_out.choose_start(training, prepared.method, starts, rounds=3)
    first = max(choice.measured[name] for name, _ in starts)
    later = [max(choice.measured[name] for name in choice.measured if f"round {n}" in name) for n in (1, 2)]
    assert first < later[0] < later[1] == choice.measured[choice.chosen]


def test_without_a_seed_em_starts_from_the_coupling_that_leads_farthest(
    languages: Languages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_out, "SIZES", (100, 50))
    prepared = prepare(languages.source, languages.target, some_gold(languages, 30), METHODS["ruder2018"])
    training = Training(prepared.source.vectors, prepared.target.vectors, prepared.prior, Context(ENGINE))
    found = held_out.fit_method(training, replace(prepared.seed, name="unsupervised"), prepared.method)
    (choice,) = found.choices
    assert choice.about == "start" and list(choice.measured) == ["100 words", "50 words"]
    assert found.fit.iterations[-1].log_likelihood == max(choice.measured.values())
    assert held_out.fit_method(training, prepared.seed, prepared.method).choices == ()


def test_a_seed_of_exactly_enough_words_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    few = make_languages(words=90)
    prepared = prepare(few.source, few.target, few.gold[:30], DEFAULT)
    training = Training(prepared.source.vectors, prepared.target.vectors, prepared.prior, Context(ENGINE))
    words = len(np.unique(prepared.seed.source))
    for limit, tried in ((words + 1, False), (words, True)):
        monkeypatch.setattr(held_out, "MIN_WORDS_TO_SPLIT", limit)
        assert bool(choose_supervision(training, prepared.method, prepared.seed)[1].measured) is tried


def test_rounds_end_where_the_likelihood_no_longer_rises() -> None:
    """EM that starts from where it ended ends there again, and no better."""
    clear = make_languages(words=100, noise=0.05)
    prepared = prepare(clear.source, clear.target, clear.gold[:60], METHODS["ruder2018"])
    training = Training(prepared.source.vectors, prepared.target.vectors, prepared.prior, Context(ENGINE))
    wrong = RowPairs(np.arange(60), np.arange(60)[::-1].copy())
    starts = [("one", prepared.seed.pairs), ("other", prepared.seed.pairs), ("wrong", wrong)]
    _, choice = held_out.choose_start(training, prepared.method, starts, rounds=4)
    again = "pairs common to at least 2 results of round 1"
    assert choice.measured["wrong"] < choice.measured["one"] == choice.measured[again]
    assert not [name for name in choice.measured if "round 2" in name]


def test_a_fit_that_the_model_likes_best_stays(languages: Languages, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = prepare(languages.source, languages.target, some_gold(languages, 30), DEFAULT)
    training = Training(prepared.source.vectors, prepared.target.vectors, prepared.prior, Context(ENGINE))
    first = held_out.fit_method(training, prepared.seed, prepared.method)
    nothing, start = RowPairs(), held_out.Choice("start", "x", "y", agreement=0.0)

    def with_likelihood(value: float) -> held_out.FittedMethod:
        last = replace(first.fit.iterations[-1], log_likelihood=value)
        return replace(first, fit=replace(first.fit, iterations=(*first.fit.iterations, last)), choices=(start,))

    worst = with_likelihood(-1e9)
    found = held_out.fit_from_elsewhere(training, worst, prepared.seed, nothing)
    assert found.fit is not worst.fit
    measured = sorted(found.choices[-1].measured.values())
    better = with_likelihood(measured[-1] - 1e-6)
    assert measured[0] < measured[-1] - 1e-6
    assert held_out.fit_from_elsewhere(training, better, prepared.seed, nothing).fit is not better.fit
    best = with_likelihood(measured[-1])  # liked as much
    found = held_out.fit_from_elsewhere(training, best, prepared.seed, nothing)
    assert found.fit is best.fit
    assert [(choice.chosen, choice.agreement > 0.5) for choice in found.choices] == [("x", True)]
    monkeypatch.setattr(held_out, "MIN_IN_COMMON", 1000)
    assert held_out.fit_from_elsewhere(training, first, prepared.seed, nothing) is first  # nowhere else to start


def test_other_starts_have_the_pairs_of_a_seed_but_not_those_that_were_found_without_one(languages: Languages) -> None:
    prepared = prepare(languages.source, languages.target, some_gold(languages, 30), DEFAULT)
    training = Watched(prepared.source.vectors, prepared.target.vectors, prepared.prior, Context(ENGINE))
    seed, some = prepared.seed, RowPairs(*[np.arange(100, 150)] * 2)
    first = held_out.fit_method(training, seed, prepared.method)
    first = replace(
        first, fit=replace(first.fit, matching=replace(first.fit.matching, source=some.source, target=some.target))
    )
    given, found = set(seed.source.tolist()), list[bool]()
    for name in (seed.name, "unsupervised"):
        SEEN.clear()
        held_out.fit_from_elsewhere(training, first, replace(seed, name=name), some)
        found.append(all(given <= words for words in SEEN[:2]))
    assert found == [True, False]


def test_the_largest_coupling_may_be_known_already(languages: Languages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "SIZES", (1000, 50))
    prepared, known = prepare(languages.source, languages.target, "identical", DEFAULT), RowPairs(*[np.arange(3)] * 2)
    training = Training(prepared.source.vectors, prepared.target.vectors, prepared.prior, Context(ENGINE))
    (_, first), (name, second) = held_out.couplings(training, known)
    assert first is known and len(second) and name == "50 words"
    fewest = min(len(languages.source), len(languages.target))
    monkeypatch.setattr(held_out, "SIZES", (1000, fewest))
    assert [name for name, _ in held_out.couplings(training, known)] == [f"{fewest} words"]  # the same, so once


@pytest.mark.parametrize(
    ("purity", "deviation", "seed", "expected"),
    [(0.1, 0.1, "seed.txt", True), (0.4, 0.04, "unsupervised", True), (0.4, 0.06, "seed.txt", False)]
    + [(0.1, 0.1, name, False) for name in ("identical", "numerals")],
)
def test_a_seed_leads_astray_only_where_the_evidence_is_sure(
    languages: Languages,
    purity: float,
    deviation: float,
    seed: str,
    expected: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = fitted(languages, some_gold(languages, 30))
    assert found.fit.weights is not None
    fit = replace(found.fit, weights=replace(found.fit.weights, purity=purity, deviation=deviation))
    assert held_out.leads_astray(replace(found.prepared.seed, name=seed), fit) is expected
    assert not held_out.leads_astray(replace(found.prepared.seed, name=seed), replace(fit, weights=None))
    alone = Choice("start", "x", "y", agreement=0.05)
    few = seed not in ("identical", "numerals")
    assert held_out.leads_astray(replace(found.prepared.seed, name=seed), replace(fit, weights=None), [alone]) is few
    monkeypatch.setattr(
        held_out, "MIN_WORDS_TO_SPLIT", len(np.unique(found.prepared.seed.source))
    )  # so many are not few
    assert held_out.leads_astray(replace(found.prepared.seed, name=seed), fit) is (seed == "unsupervised")
