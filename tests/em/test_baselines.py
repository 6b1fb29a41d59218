"""Every system does what its paper says: laid beside a slow implementation from the textbook."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

import bilex
from bilex.em.context import Context
from bilex.em.em import Fit, fit
from bilex.matching.graph import RowPairs
from bilex.methods import METHODS, MapConfig, Method
from bilex.model.prior import Prior
from bilex.runs.prepared import normalise_for
from bilex.search.local import LocalEngine
from bilex.vectors.embeddings import Embeddings
from tests import oracles
from tests.em import baselines
from tests.em.baselines import Array, Pairs, Trace

ENGINE = LocalEngine(threads=1)
PAPER = ("unit", "center", "unit")
RIDGE = MapConfig().ridge


@dataclass(frozen=True)
class Planted:
    """Raw vectors of very different lengths, a planted rotation, words without a partner on both sides."""

    source: NDArray[np.float32]
    target: NDArray[np.float32]
    gold: Pairs

    def words(self) -> tuple[Embeddings, Embeddings]:
        sides = (("s", self.source), ("t", self.target))
        first, second = (Embeddings(tuple(f"{side}{row}" for row in range(len(v))), v) for side, v in sides)
        return first, second

    def prepared(self, *steps: str) -> tuple[Array, Array]:
        return baselines.normalised(self.source, *steps), baselines.normalised(self.target, *steps)


def plant(random: int = 0, pairs: int = 36, alone: int = 8, dimension: int = 7, noise: float = 0.35) -> Planted:
    rng = np.random.default_rng(random)
    centres = 1.5 * rng.normal(size=(5, dimension)) + 0.4
    source = centres[rng.integers(5, size=pairs + alone)] + rng.normal(size=(pairs + alone, dimension))
    source *= rng.uniform(0.5, 2, size=(len(source), 1))
    rotation = oracles.random_orthogonal(rng, dimension)
    target = source[:pairs] @ rotation.T + noise * rng.normal(size=(pairs, dimension))
    target = np.concatenate([target, rng.normal(size=(alone + 3, dimension)) + 0.7])
    order = rng.permutation(len(target))
    where = np.argsort(order)
    gold = [(j, int(where[j])) for j in range(pairs)]
    return Planted(source.astype(np.float32), target[order].astype(np.float32), gold)


def run_fit(name: str, data: Planted, seed: Pairs, **changes: object) -> Fit:
    """Run a method by its name, up to the parameters and the pairs."""
    method = METHODS[name].with_changes(dict(changes))
    first, second = data.words()
    rows = RowPairs(np.array([j for j, _ in seed]), np.array([i for _, i in seed]))
    prepared = normalise_for(method, first).vectors, normalise_for(method, second).vectors
    return fit(*prepared, rows, method, Prior.configured(method.prior), Context(ENGINE))


def pairs_of(result: Fit) -> Pairs:
    return list(zip(result.matching.source.tolist(), result.matching.target.tolist(), strict=True))


def same_course(result: Fit, trace: Trace) -> None:
    """Check that both took the same iterations to the same end."""
    np.testing.assert_allclose([i.mean_cosine for i in result.iterations], trace.cosines, atol=2e-6)
    np.testing.assert_allclose(result.theta.omega, trace.omegas[-1], atol=2e-5)
    if trace.means:
        np.testing.assert_allclose(result.theta.mu, trace.means[-1], atol=2e-6)
    assert pairs_of(result) == trace.pairs
    assert result.stopped.startswith("converged") == trace.converged()  # mutual neighbours may go round in circles


# Maps learnt from the seed alone


@pytest.mark.parametrize("seeds", [30, 12])
@pytest.mark.parametrize(
    ("name", "steps"), [("zhang2016", ()), ("xing2015", ("unit",)), ("artetxe2016", ("unit", "center"))]
)
def test_an_orthogonal_map_of_the_seed(name: str, steps: tuple[str, ...], seeds: int) -> None:
    data = plant()
    source, target = data.prepared(*steps)
    expected = baselines.procrustes(*baselines.rows_of(source, target, data.gold[:seeds]))
    seed_alone(name, data, seeds, expected, baselines.nearest_by_cosine(source @ expected.T, target))


@pytest.mark.parametrize("seeds", [30, 12])
def test_mikolov2013_is_the_regression_of_the_raw_vectors(seeds: int) -> None:
    data = plant()
    source, target = data.prepared()
    expected = baselines.regression(*baselines.rows_of(source, target, data.gold[:seeds]))
    seed_alone("mikolov2013", data, seeds, expected, baselines.nearest_by_cosine(source @ expected.T, target))


def test_mikolov2013_with_fewer_pairs_than_dimensions_is_the_map_of_least_norm() -> None:
    data = plant()
    source, target = baselines.rows_of(*data.prepared(), data.gold[:4])
    expected = (np.linalg.pinv(source) @ target).T
    omega = run_fit("mikolov2013", data, data.gold[:4]).theta.omega
    np.testing.assert_allclose(omega, expected, atol=1e-9)
    np.testing.assert_allclose(source @ omega.T, target, atol=1e-9)


def seed_alone(name: str, data: Planted, seeds: int, omega: Array, nearest: list[int]) -> None:
    """Check the map, and that every source word has its nearest target in the lexicon and in translations."""
    words = data.words()
    seed = [(words[0].words[j], words[1].words[i]) for j, i in data.gold[:seeds]]
    run = bilex.induce(*words, seed, name, engine=ENGINE)
    np.testing.assert_allclose(run.theta.omega, omega, atol=2e-6)
    assert not run.theta.mu.any()
    assert [run.target.index[entry.target] for entry in run.lexicon] == nearest
    first = run.translate_many(run.source.words, 1, retrieval="nn")
    assert [run.target.index[answer[0].word] for answer in first] == nearest
    assert run.info["stopped"] == "this method learns from the seed alone"


# Hard EM


@pytest.mark.parametrize("random", range(2))
def test_artetxe2017_by_loops(random: int) -> None:
    data = plant(random)
    trace = baselines.artetxe2017(*data.prepared(*PAPER), data.gold[:9])
    same_course(run_fit("artetxe2017", data, data.gold[:9]), trace)
    assert len(trace.cosines) > 1


def test_for_unit_vectors_the_nearest_by_distance_is_the_nearest_by_cosine() -> None:
    data = plant(1)
    source, target = data.prepared(*PAPER)
    result = run_fit("artetxe2017", data, data.gold[:9])
    same_course(result, baselines.artetxe2017(source, target, data.gold[:9]))
    # The matching was made by the map before the last one, which converged: it is the last one's as well.
    nearest = baselines.nearest_by_cosine(source @ result.theta.omega.T, target)
    assert pairs_of(result) == list(enumerate(nearest))


@pytest.mark.parametrize("random", range(2))
@pytest.mark.parametrize(
    ("name", "choose"),
    [
        ("ibm1", baselines.targets_choose),
        ("ruder2018", baselines.one_to_one),
        ("mutual", baselines.mutual_neighbours),
    ],
)
def test_hard_em_by_dense_densities(name: str, choose: object, random: int) -> None:
    data = plant(random, dimension=11)
    trace = baselines.em(*data.prepared(*PAPER), data.gold[:13], choose, cosine=name == "mutual")  # type: ignore[arg-type]
    same_course(run_fit(name, data, data.gold[:13], candidates=len(data.target)), trace)
    assert len(trace.cosines) > 1
    assert np.linalg.norm(trace.means[-1]) > 0.01, "without unmatched targets nothing is shown about μ"


# Soft EM


@pytest.mark.parametrize(("temperature", "random"), [(1.0, 0), (0.1, 1)])
def test_ibm1_em_by_the_dense_posterior(temperature: float, random: int) -> None:
    data = plant(random, pairs=24, alone=5, dimension=5)
    source, target = data.prepared(*PAPER)
    omega, mu = baselines.procrustes(*baselines.rows_of(source, target, data.gold[:7])), np.zeros(5)
    likelihoods = list[float]()
    for iterations in range(1, 9):
        likelihoods.append(baselines.marginal_log_likelihood(omega, mu, source, target, temperature))
        p, none = baselines.ibm1_posterior(oracles.weight_matrix(omega, mu, source, target), temperature)
        # Weighted Procrustes: Σ_ij p_ij t_i s_jᵀ; and the mean of the targets, weighted with p(none).
        left, _, right = np.linalg.svd(
            sum(p[j, i] * np.outer(t, s) for i, t in enumerate(target) for j, s in enumerate(source))
        )
        omega, mu = left @ right, np.average(target, axis=0, weights=none)
        result = run_fit(
            "ibm1-em", data, data.gold[:7], temperature=temperature, max_iterations=iterations, tolerance=0.0
        )
        np.testing.assert_allclose(result.theta.omega, omega, atol=1e-4)
        np.testing.assert_allclose(result.theta.mu, mu, atol=1e-4)
        assert result.iterations[-1].pairs == round(p.sum())
    np.testing.assert_allclose([i.log_likelihood for i in result.iterations], likelihoods, rtol=1e-6)
    never_falls(likelihoods)
    never_falls([i.log_likelihood for i in result.iterations])


@pytest.mark.parametrize("random", range(2))
def test_the_log_likelihood_of_ibm1_em_never_falls_to_the_end(random: int) -> None:
    data = plant(random, pairs=24, alone=5, dimension=5)
    result = run_fit("ibm1-em", data, data.gold[:7])
    assert len(result.iterations) > 5
    never_falls([i.log_likelihood for i in result.iterations])
    # The lexicon is the best alignment under the parameters at the end.
    weights = oracles.weight_matrix(result.theta.omega, result.theta.mu, *data.prepared(*PAPER))
    assert pairs_of(result) == baselines.targets_choose(weights)


def never_falls(values: list[float]) -> None:
    """Check it up to the rounding of scores to float32."""
    assert all(after >= before - 2e-6 * abs(before) for before, after in itertools.pairwise(values))
    assert values[-1] > values[0]


@pytest.mark.parametrize(("temperature", "random"), [(0.05, 1), (1.0, 0)])
def test_sinkhorn_by_dense_scaling(temperature: float, random: int) -> None:
    data = plant(random, pairs=24, alone=5, dimension=5)
    source, target = data.prepared(*PAPER)
    omega, mu = baselines.procrustes(*baselines.rows_of(source, target, data.gold[:7])), np.zeros(5)
    energies = list[float]()
    for iterations in range(1, 7):
        weights = oracles.weight_matrix(omega, mu, source, target)
        plan, source_null, target_null = baselines.transport(weights, temperature)
        entropy = -sum(float((q * np.log(q) - q).sum()) for q in (plan, source_null, target_null))
        null = sum(oracles.log_normal(t, mu) for t in target)
        energies.append(float((plan * weights).sum()) + null + temperature * entropy)
        omega, mu = baselines.procrustes(plan.T @ source, target), np.average(target, axis=0, weights=target_null)
        result = run_fit(
            "sinkhorn",
            data,
            data.gold[:7],
            temperature=temperature,
            candidates=len(target),
            max_iterations=iterations,
            tolerance=0.0,
        )
        np.testing.assert_allclose(result.theta.omega, omega, atol=1e-4)
        np.testing.assert_allclose(result.theta.mu, mu, atol=1e-4)
        assert result.iterations[-1].pairs == round(plan.sum())
    np.testing.assert_allclose([i.log_likelihood for i in result.iterations], energies, rtol=1e-5)
    never_falls(energies)
    never_falls([i.log_likelihood for i in result.iterations])
    # The lexicon is the best matching under the parameters at the end.
    final = oracles.weight_matrix(result.theta.omega, result.theta.mu, source, target)
    assert pairs_of(result) == baselines.one_to_one(final)


# Canonical correlations


@pytest.mark.parametrize("random", range(2))
def test_haghighi2008_by_generalised_eigenvectors_and_scipys_assignment(random: int) -> None:
    data = plant(random)
    source, target = data.prepared(*PAPER)
    cca = baselines.canonical_correlations(*baselines.rows_of(source, target, data.gold[:12]), ridge=RIDGE)
    free, trace = list[int](), Trace()
    while trace.goes_on():
        cosines = cca.cosines(source, target)
        # In the space of the correlations both sides have length 1: w = cos - t·μ + (μ·μ - 1)/2.
        left, right = shared_space(cca, source, target)
        mu = right[free].mean(axis=0) if free else np.zeros(left.shape[1])
        trace.pairs = baselines.one_to_one(cosines - right @ mu + (mu @ mu - 1) / 2)
        free = [i for i in range(len(target)) if i not in {i for _, i in trace.pairs}]
        cca = baselines.canonical_correlations(*baselines.rows_of(source, target, trace.pairs), ridge=RIDGE)
        cosines = cca.cosines(source, target)
        trace.cosines.append(float(np.mean([cosines[pair] for pair in trace.pairs])))
    result = run_fit("haghighi2008", data, data.gold[:12], candidates=len(target))
    assert pairs_of(result) == trace.pairs
    np.testing.assert_allclose([i.mean_cosine for i in result.iterations], trace.cosines, atol=2e-6)
    theta = result.theta
    first, second = (normalise_for(METHODS["haghighi2008"], side) for side in data.words())
    np.testing.assert_allclose(theta.map_source(first.vectors) @ theta.map_target(second.vectors).T, cosines, atol=2e-5)
    assert len(trace.cosines) > 1


def shared_space(cca: baselines.Cca, source: Array, target: Array) -> tuple[Array, Array]:
    sides = (source @ cca.source, target @ cca.target)
    left, right = (side * np.sqrt(cca.correlations) for side in sides)
    return left / np.linalg.norm(left, axis=1)[:, None], right / np.linalg.norm(right, axis=1)[:, None]


def test_the_orthographic_features_stand_beside_the_vectors() -> None:
    words = Embeddings(("aa", "ab"), np.array([[3, 4], [0, 2]], np.float32))
    prepared = normalise_for(Method("mine", normalise="unit", orthography=0.5), words).vectors
    lengths = np.linalg.norm(prepared[:, :2], axis=1), np.linalg.norm(prepared[:, 2:], axis=1)
    np.testing.assert_allclose(lengths[1] / lengths[0], 0.5, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(prepared, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(prepared[:, :2] / lengths[0][:, None], np.array([[0.6, 0.8], [0.0, 1.0]]), atol=1e-6)
    assert normalise_for(Method("mine", normalise="unit"), words).vectors.shape == (2, 2)
