"""Algorithm 1: the paper's log-likelihood never falls, planted lexicons are found, every end is explained."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilex.em import em
from bilex.em.context import Context, Iteration, State, Stopwatch
from bilex.em.em import Fit, reason_to_stop, run_em
from bilex.matching.candidates import candidate_graph
from bilex.matching.graph import Matching, RowPairs
from bilex.matching.solver import solve
from bilex.methods import MapConfig, Method, StoppingConfig
from bilex.model.prior import PRIOR_NAMES, Prior
from bilex.model.theta import MappedWords, Theta, log_likelihood, m_step, mean_cosine
from bilex.search.local import LocalEngine
from tests import oracles
from tests.em.fits import ENGINE, Data, Recorder, pairs_of, paper, planted, run_fit, unit
from tests.model.test_theta import statistics_of


def rounding(pairs: int, longest: float = 1.0) -> float:
    """Bound what rounding Ωs and Ωs - μ to float32 can cost the log-likelihood: 2^-24 ‖t‖‖Ωs - μ‖ for each pair."""
    return pairs * 2.0**-22 * longest**2 + 1e-9


def falls(values: list[float]) -> float:
    return max((before - after for before, after in itertools.pairwise(values)), default=0.0)


# What both steps maximise


@pytest.mark.parametrize(
    ("name", "k", "log_odds"),
    [
        ("1:1", 3, 0.0),
        ("1:1", 1, 0.4),
        ("1:2", 3, -0.1),
        ("2:1", 1, 0.0),
        ("2:2", 3, 0.4),
        ("one-to-many", 1, -0.1),
        ("one-to-many-no-null", 3, 0.0),
        ("many-to-one", 3, 0.4),
        ("many-to-one-no-null", 1, 0.0),
    ],
)
def test_the_log_likelihood_never_falls(name: str, k: int, log_odds: float) -> None:
    longest = 0
    for seed, noise in enumerate((0.05, 0.6, 1.2)):
        data = planted(seed, n=70, more_sources=20 * seed, more_targets=30, dimension=10, noise=noise)
        result = run_fit(data, 6, prior=name, log_odds=log_odds, candidates=k, max_iterations=40)
        values = [iteration.log_likelihood for iteration in result.iterations]
        assert np.isfinite(values).all()
        assert falls(values) <= rounding(150)
        for iteration in result.iterations:
            assert iteration.certificate_gap is not None
            assert abs(iteration.certificate_gap) < 1e-9
        longest = max(longest, len(values))
    assert longest >= 3, "EM that stops at once shows nothing"


@given(st.integers(0, 2**32), st.sampled_from(PRIOR_NAMES), st.integers(1, 4), st.floats(-0.3, 1), st.floats(0.1, 2))
@settings(max_examples=30)
def test_the_log_likelihood_never_falls_on_random_vectors(
    seed: int, name: str, k: int, log_odds: float, length: float
) -> None:
    rng = np.random.default_rng(seed)
    n_sources, n_targets, dimension = rng.integers(2, 30, 3)
    source = (length * rng.normal(size=(n_sources, dimension))).astype(np.float32)
    target = (length * rng.normal(size=(n_targets, dimension))).astype(np.float32)
    data = Data(source, target, np.arange(n_targets), np.eye(dimension))
    few = min(int(n_sources), int(n_targets), 4)
    result = run_fit(data, few, prior=name, log_odds=log_odds, candidates=k, max_iterations=15)
    values = [i.log_likelihood for i in result.iterations]
    assert np.isfinite(values).all()
    longest = max(np.linalg.norm(vectors, axis=1).max() for vectors in (source, target))
    assert falls(values) <= rounding(2 * max(n_sources, n_targets), longest)


@pytest.mark.parametrize(("name", "noise"), [("1:1", 0.3), ("2:2", 1.0), ("one-to-many", 0.3)])
def test_neither_half_step_lowers_it(name: str, noise: float) -> None:
    data, prior = planted(5, n=60, more_targets=25, dimension=10, noise=noise), Prior.named(name, log_odds=0.1)
    source, target, seed = data.source, data.target, data.seed(5)
    words = MappedWords(Theta.from_pairs(source[seed.source], target[seed.target]), source, target)
    matching, values = None, list[float]()
    for _ in range(8):
        graph = prior.apply(candidate_graph(words, prior.capacities, k=2, previous=matching, engine=ENGINE))
        found = solve(graph, prior.capacities)
        if matching is not None:  # the E-step is never worse than the pairs it had
            kept = graph.weights[np.searchsorted(graph.keys, matching.pairs.keys(len(target)))]
            assert found.objective >= kept.sum() - 1e-9
        matching = found
        values.append(log_likelihood(words, matching, prior))
        words = m_step(words.theta, source, target, statistics_of(words, matching, prior), MapConfig())
        values.append(log_likelihood(words, matching, prior))
    assert falls(values) <= rounding(85)
    assert values[-1] > values[0] + 1  # and it does rise


def test_without_the_previous_pairs_as_candidates_it_could_fall() -> None:
    prior = Prior()

    def fall(seed: int) -> float:
        data, values = planted(seed, n=40, more_sources=10, dimension=6, noise=1.2), list[float]()
        theta = Theta.from_pairs(data.source[:4], data.target[data.gold[:4]])
        words = MappedWords(theta, data.source, data.target)
        for _ in range(12):
            graph = candidate_graph(words, prior.capacities, k=1, previous=None, engine=ENGINE)
            matching = solve(graph, prior.capacities)
            statistics = statistics_of(words, matching, prior)
            words = m_step(words.theta, data.source, data.target, statistics, MapConfig())
            values.append(log_likelihood(words, matching, prior))
        return falls(values)

    assert any(fall(seed) > 100 * rounding(50) for seed in range(60))


# What it finds


@pytest.mark.parametrize("name", PRIOR_NAMES)
def test_recovers_a_planted_lexicon_from_a_handful_of_seed_pairs(name: str) -> None:
    data = planted(1, n=300, dimension=20, noise=0.35)
    start = Theta.from_pairs(data.source[:14], data.target[data.gold[:14]])
    result = run_fit(data, 14, prior=name)
    assert result.stopped == em.CONVERGED
    assert np.linalg.norm(result.theta.omega - data.omega) < 0.3 * np.linalg.norm(start.omega - data.omega)
    found = set(pairs_of(result.matching))
    assert len(found & data.gold_pairs()) >= 0.95 * 300
    if name == "1:1":
        assert len(found) <= 300


@pytest.mark.parametrize(("more_sources", "more_targets"), [(0, 150), (150, 0), (60, 90)])
def test_vocabularies_of_different_sizes(more_sources: int, more_targets: int) -> None:
    data = planted(2, 120, more_sources, more_targets, dimension=25, noise=0.2)
    result = run_fit(data, 30)
    assert len(set(pairs_of(result.matching)) & data.gold_pairs()) >= 118
    unmatched = np.setdiff1d(np.arange(len(data.target)), result.matching.target)
    if len(unmatched):
        np.testing.assert_allclose(result.theta.mu, data.target[unmatched].astype(float).mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("name", ["1:1", "one-to-many", "many-to-one"])
def test_the_frequency_constraint_is_a_fit_to_the_frequent_words(name: str) -> None:
    data = planted(11, n=120, more_sources=10, more_targets=30, noise=0.4)
    seed = data.seed(40)  # with words beyond rank 70 on the target side
    assert seed.target.max() >= 70
    result = run_fit(data, seed, prior=name, max_rank=70)
    assert result.matching.source.max() < 70
    assert result.matching.target.max() < 70
    # The same from the same start with only those words; the seed may use the rarer ones.
    prior = Prior.named(name)
    reverse = prior.capacities.sources_choose
    sides = (data.source, seed.source), (data.target, seed.target)
    (source, left), (target, right) = sides[::-1] if reverse else sides
    start = Theta.from_pairs(source[left], target[right])
    method = paper(prior="one-to-many" if reverse else name)
    few = run_em(
        State(start, None, ()), source[:70], target[:70], method, Prior.configured(method.prior), Context(ENGINE)
    )
    assert pairs_of(result.matching) == pairs_of(few.matching.mirrored() if reverse else few.matching)
    # A limit beyond the vocabularies is no limit.
    assert same(run_fit(data, seed, prior=name, max_rank=10**6), run_fit(data, seed, prior=name))


def test_two_translations_of_a_word_are_found_by_1_2_only() -> None:
    rng = np.random.default_rng(3)
    source = unit(rng.normal(size=(60, 15)))
    omega = oracles.random_orthogonal(rng, 15)
    target = unit(np.concatenate([source, source]) @ omega.T + 0.05 * rng.normal(size=(120, 15)))
    data = Data(source, target, np.arange(120), omega)
    both = {(j, j) for j in range(60)} | {(j, j + 60) for j in range(60)}
    assert set(pairs_of(run_fit(data, 20, prior="1:2").matching)) == both
    assert len(run_fit(data, 20).matching) == 60
    # In the other direction it is 2:1: two sources of one target.
    other = run_fit(Data(target, source, data.gold, omega.T), 20, prior="2:1").matching
    assert {(j, i) for i, j in pairs_of(other)} == both


@pytest.mark.parametrize(("name", "log_odds"), [("many-to-one", -0.3), ("many-to-one-no-null", 0.3)])
def test_many_to_one_is_one_to_many_in_the_other_direction(name: str, log_odds: float) -> None:
    data = planted(4, n=70, more_sources=20, more_targets=40, noise=0.5)
    seed = data.seed(10)
    result = run_fit(data, seed, prior=name, log_odds=log_odds)
    mirrored = Data(data.target, data.source, data.gold, data.omega.T)
    reverse, swapped = name.replace("many-to-one", "one-to-many"), RowPairs(seed.target, seed.source)
    other = run_fit(mirrored, swapped, prior=reverse, log_odds=log_odds)
    assert (result.theta.omega == other.theta.omega.T).all()
    assert pairs_of(result.matching) == sorted((j, i) for i, j in pairs_of(other.matching))
    assert [i.log_likelihood for i in result.iterations] == [i.log_likelihood for i in other.iterations]
    assert result.stopped == other.stopped
    assert np.bincount(result.matching.source).max() == 1
    assert other.theta.mu.any() == (log_odds < 0)  # only then some sources are unmatched
    np.testing.assert_allclose(result.theta.mu, result.theta.omega @ other.theta.mu, atol=1e-12)


# How it ends


def test_nothing_matched() -> None:
    data, reporter = planted(6, n=30), Recorder()
    result = run_fit(data, 15, log_odds=-2.0, reporter=reporter)
    assert result.stopped == em.NOTHING_MATCHED
    assert len(result.matching) == result.iterations[0].pairs == 0
    assert len(result.iterations) == len(reporter.iterations) == 1
    assert result.iterations[0].mean_cosine == 0
    assert np.isfinite(result.iterations[0].log_likelihood)
    np.testing.assert_allclose(result.theta.mu, data.target.astype(float).mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("cap", [1, 3])
def test_the_limit_of_iterations(cap: int) -> None:
    result = run_fit(planted(7, n=60, dimension=10, noise=1.0), 4, max_iterations=cap)
    assert len(result.iterations) == cap
    assert result.stopped == em.TOO_LONG


def test_every_iteration_is_reported_with_its_figures() -> None:
    data, reporter = planted(8, noise=0.6), Recorder()
    result = run_fit(data, 8, reporter=reporter)
    seen = reporter.iterations
    assert tuple(seen) == result.iterations
    assert len(seen) > 2
    for iteration in seen:
        assert set(iteration.seconds) == {"candidates", "matching", "mapping"}
        assert all(seconds >= 0 for seconds in iteration.seconds.values())
    words = MappedWords(result.theta, data.source, data.target)
    assert seen[-1].pairs == len(result.matching)
    assert seen[-1].certificate_gap == result.matching.gap
    assert seen[-1].log_likelihood == log_likelihood(words, result.matching, Prior())
    assert seen[-1].mean_cosine == mean_cosine(words, result.matching)


def iterations(*cosines: float, pairs: int = 5) -> list[Iteration]:
    return [Iteration(pairs, cosine, 0.0, 0.0, {}) for cosine in cosines]


def test_reason_to_stop() -> None:
    options = StoppingConfig(max_iterations=4)
    assert reason_to_stop([], options) is None
    assert reason_to_stop(iterations(0.5), options) is None
    assert reason_to_stop(iterations(0.5, 0.5 + 1.1e-6), options) is None
    assert reason_to_stop(iterations(0.5, 0.5 + 0.9e-6), options) == em.CONVERGED
    assert reason_to_stop(iterations(0.5, 0.6, 0.6), options) == em.CONVERGED
    assert reason_to_stop(iterations(0.5, 0.5, 0.6), options) is None  # only the last step counts
    assert reason_to_stop(iterations(0.9, 0.8), options) is None  # the mean falls while the matching grows
    assert reason_to_stop(iterations(0.5, 0.6, 0.7, 0.8), options) == em.TOO_LONG
    assert reason_to_stop(iterations(0.5, 0.6, 0.7, 0.7), options) == em.CONVERGED  # the better reason of the two
    assert reason_to_stop(iterations(0.5, pairs=0), options) == em.NOTHING_MATCHED
    assert reason_to_stop(iterations(0.5, 0.55), replace(options, tolerance=0.1)) == em.CONVERGED
    assert reason_to_stop(iterations(0.5, 0.75), replace(options, tolerance=0.25)) is None  # less, not as much
    # The mean may stand still by chance while the number of pairs still changes.
    assert reason_to_stop([*iterations(0.5, pairs=2106), *iterations(0.5, pairs=2675)], options) is None
    assert reason_to_stop([*iterations(0.5, pairs=2675), *iterations(0.5, pairs=2106)], options) is None
    assert reason_to_stop([*iterations(0.5, pairs=2660), *iterations(0.5, pairs=2675)], options) == em.CONVERGED
    assert reason_to_stop([*iterations(0.5, pairs=99), *iterations(0.5, pairs=100)], options) == em.CONVERGED


def test_the_defaults_are_the_papers() -> None:
    options = Method("plain").options()
    paper_options = {"prior": "1:1", "log_odds": 0.0, "candidates": 3, "max_rank": None, "tolerance": 1e-6}
    paper_options |= {"e_step": "viterbi", "map": "orthogonal", "supervision": "start"}
    paper_options |= {"exact": False, "match_all": False, "self_learning": True, "max_iterations": 100}
    assert {name: options[name] for name in paper_options} == paper_options


def test_a_stopwatch_measures_each_part_from_the_end_of_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([100.0, 102.0, 105.5, 105.75])
    monkeypatch.setattr("time.perf_counter", lambda: next(moments))
    clock = Stopwatch()
    for part in ("candidates", "matching", "mapping"):
        clock.lap(part)
    assert clock.seconds == {"candidates": 2.0, "matching": 3.5, "mapping": 0.25}


def test_a_converged_fit_is_a_fixed_point() -> None:
    data = planted(9, n=60, more_targets=20, noise=0.2)
    result = run_fit(data, 15)
    assert result.stopped == em.CONVERGED
    gains = np.diff([iteration.mean_cosine for iteration in result.iterations])
    assert abs(gains[-1]) < 1e-6
    assert (np.abs(gains[:-1]) >= 1e-6).all()
    again = run_em(
        State(result.theta, None, ()), data.source, data.target, paper(max_iterations=2), Prior(), Context(ENGINE)
    )
    assert pairs_of(again.matching) == pairs_of(result.matching)
    np.testing.assert_allclose(again.theta.omega, result.theta.omega, atol=1e-12)
    np.testing.assert_allclose(again.theta.mu, result.theta.mu, atol=1e-12)


def test_one_dimension_and_three_words() -> None:
    source, target = np.array([[1], [-1], [1]], np.float32), np.array([[-1], [1], [-1]], np.float32)
    result = run_fit(Data(source, target, np.arange(3), np.eye(1)), 1, candidates=50)
    assert result.theta.omega == [[-1]]
    assert len(result.matching) == 3
    assert result.stopped == em.CONVERGED


def test_mean_cosine_is_of_the_induced_pairs() -> None:
    theta = Theta(np.array([[0.0, 1.0], [1.0, 0.0]]), np.ones(2))
    source, target = np.array([[0, 2], [3, 3], [0, 0]], np.float32), np.array([[5, 0], [0, 0.1]], np.float32)
    words = MappedWords(theta, source, target)
    nothing = Matching(np.zeros(0, np.int64), np.zeros(0, np.int64), 0.0, 0.0, np.zeros(3), np.zeros(2))
    pairs = replace(nothing, source=np.array([0, 1]), target=np.array([0, 1]))
    assert mean_cosine(words, pairs) == pytest.approx((1 + np.sqrt(0.5)) / 2)
    assert mean_cosine(words, nothing) == 0
    zero = replace(nothing, source=np.array([2]), target=np.array([0]))
    assert mean_cosine(words, zero) == 0  # and not undefined


# The same to the bit


def same(one: Fit, other: Fit) -> bool:
    arrays = [
        (fit.theta.omega, fit.theta.mu, fit.matching.source, fit.matching.target, fit.matching.target_duals)
        for fit in (one, other)
    ]
    figures = [
        [(i.pairs, i.mean_cosine, i.log_likelihood, i.certificate_gap) for i in fit.iterations] for fit in (one, other)
    ]
    return figures[0] == figures[1] and all(a.tobytes() == b.tobytes() for a, b in zip(*arrays, strict=True))


@pytest.mark.parametrize("name", ["1:1", "2:2", "many-to-one-no-null"])
def test_a_fit_does_not_depend_on_threads_and_blocks(name: str) -> None:
    data = planted(10, n=250, more_sources=30, more_targets=50, dimension=30, noise=0.6)
    engines = (LocalEngine(1), LocalEngine(4), LocalEngine(2, 97, 97), LocalEngine(3, 1, 10**6))
    results = [run_fit(data, 25, prior=name, engine=engine) for engine in engines]
    assert len(results[0].iterations) > 2
    for result in results[1:]:
        assert same(result, results[0])


def test_row_pairs_of_a_seed_may_come_in_any_order() -> None:
    data = planted(12, n=60, noise=0.2)
    seed = data.seed(20)
    shuffled = RowPairs(seed.source[::-1].copy(), seed.target[::-1].copy())
    assert pairs_of(run_fit(data, seed).matching) == pairs_of(run_fit(data, shuffled).matching)


def test_each_side_is_mapped_once_for_each_theta(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = {"source": 0, "target": 0}
    for side in calls:
        original = getattr(Theta, f"map_{side}")

        def counted(theta: Theta, vectors: np.ndarray, side: str = side, original: Any = original) -> np.ndarray:
            calls[side] += 1
            return np.asarray(original(theta, vectors))

        monkeypatch.setattr(Theta, f"map_{side}", counted)
    result = run_fit(planted(13, n=60, noise=0.4), 12, map="cca", annealing=6.0)
    thetas = len(result.iterations) + 1  # the first is the seed's
    assert calls == {"source": thetas, "target": thetas}


def test_a_decision_that_changes_nothing_moves_nothing() -> None:
    data = planted(4, n=80, more_targets=20, noise=0.9)
    found = run_fit(data, 6, map="cca", ridge=1.0)
    first = RowPairs(found.matching.source[:1], found.matching.target[:1])
    kept = run_fit(data, 6, map="cca", ridge=1.0, kept=first)
    assert pairs_of(kept.matching) == pairs_of(found.matching)
    assert len(kept.iterations) < len(found.iterations)
    lost = run_fit(data, 6, map="cca", ridge=1.0, forbidden=first)
    assert pairs_of(first)[0] not in pairs_of(lost.matching)
    assert len(set(pairs_of(lost.matching)) ^ set(pairs_of(found.matching))) <= 4
