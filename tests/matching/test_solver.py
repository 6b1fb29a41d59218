"""The exact partial matching: equal to slow oracles for every prior, and never without its proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bilex.errors import BilexError
from bilex.matching import solver as module
from bilex.matching.graph import Graph, Matching
from bilex.matching.solver import CertificateError, certificate, solve
from bilex.model.prior import Prior
from tests import oracles
from tests.oracles import Edges

PAPER_PRIORS = [Prior.named(name) for name in ("1:1", "1:2", "2:1", "2:2")]
CAPACITY_PRIORS = [*PAPER_PRIORS, Prior(3, 2), Prior(2, 3), Prior(1, 4), Prior(5, 5)]
CHOOSING_PRIORS = [Prior.named("one-to-many"), Prior.named("one-to-many-no-null")]
SOLVABLE_PRIORS = [*CAPACITY_PRIORS, *CHOOSING_PRIORS]


def name_of(value: Any) -> str:
    return value.name if isinstance(value, Prior) else str(value)


def graph_of(edges: Edges, n_sources: int, n_targets: int) -> Graph:
    pairs = np.array(list(edges), np.int64).reshape(-1, 2)
    return Graph.from_edges(pairs[:, 0], pairs[:, 1], np.array(list(edges.values()), float), (n_sources, n_targets))


def pairs_of(matching: Matching) -> list[tuple[int, int]]:
    return [(int(j), int(i)) for j, i in zip(matching.source, matching.target, strict=True)]


def random_edges(rng: np.random.Generator, n_sources: int, n_targets: int, degree: int, kind: str) -> Edges:
    """Give every source about `degree` targets; some targets are asked for often, as hubs are."""
    popularity = rng.pareto(1.0, n_targets) + 0.1
    edges: Edges = {}
    for source in range(n_sources):
        for target in rng.choice(n_targets, min(degree, n_targets), p=popularity / popularity.sum(), replace=False):
            weight = rng.integers(-1, 5) / 2 if kind == "ties" else rng.normal(0.2, 0.5)
            edges[source, int(target)] = float(weight)
    return edges


# Few distinct weights, so that ties, zeros and negative ones are common; and any weights at all.
tied_weights = st.sampled_from([-1.0, -0.25, 0.0, 0.25, 0.5, 0.5, 1.0, 1.0, 2.0])
any_weights = st.floats(-4, 4, allow_nan=False, width=32)


@st.composite
def small_graphs(draw: st.DrawFn) -> tuple[Edges, int, int]:
    """Draw graphs of at most 9 edges, often with isolated vertices, sometimes with no vertex at all."""
    n_sources, n_targets = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    places = [(j, i) for j in range(n_sources) for i in range(n_targets)]
    pairs = draw(st.lists(st.sampled_from(places), unique=True, max_size=9)) if places else []
    weights = draw(st.sampled_from([tied_weights, any_weights]))
    return {pair: draw(weights) for pair in pairs}, n_sources, n_targets


@pytest.mark.parametrize("prior", SOLVABLE_PRIORS, ids=name_of)
@given(small_graphs(), st.sampled_from([0.0, 0.0, 0.5, -0.5, 0.3]))
@example(({}, 0, 0), 0.0)
@example(({}, 3, 0), 0.0)
@example(({}, 0, 2), 0.0)
@example(({}, 2, 3), 1.0)
@example(({(0, 0): 0.0, (1, 1): -1.0}, 3, 3), 0.0)
@example(({(0, 0): 1.0, (0, 1): 1.0, (1, 0): 1.0, (1, 1): 1.0}, 2, 2), 0.0)
@settings(deadline=None, max_examples=80)
def test_equals_trying_every_subset(prior: Prior, graph: tuple[Edges, int, int], log_odds: float) -> None:
    edges, n_sources, n_targets = graph
    prior = replace(prior, log_odds=log_odds)
    shifted = {pair: weight + log_odds for pair, weight in edges.items()}
    best, _ = oracles.best_by_subsets(shifted, prior.source_capacity, prior.target_capacity, prior.null)

    matching = solve(graph_of(edges, n_sources, n_targets), prior)
    pairs = pairs_of(matching)
    assert oracles.allowed(pairs, edges, prior.source_capacity, prior.target_capacity, prior.null)
    assert pairs == sorted(pairs)
    assert matching.objective == pytest.approx(best, abs=1e-12)
    assert sum(shifted[pair] for pair in pairs) == pytest.approx(matching.objective, abs=1e-12)
    assert abs(matching.gap) < 1e-12
    assert (len(matching.source_duals), len(matching.target_duals)) == (n_sources, n_targets)
    if prior.null:
        assert all(shifted[pair] > 0 for pair in pairs)


@pytest.mark.parametrize("kind", ["ties", "normal"])
@pytest.mark.parametrize(("n_sources", "n_targets", "degree"), [(300, 300, 3), (150, 400, 8), (400, 120, 5)])
def test_equals_the_assignment_with_dummies(n_sources: int, n_targets: int, degree: int, kind: str) -> None:
    edges = random_edges(np.random.default_rng(n_sources + degree), n_sources, n_targets, degree, kind)
    best, _ = oracles.assignment_with_dummies(edges, n_sources, n_targets)
    matching = solve(graph_of(edges, n_sources, n_targets), Prior())
    assert matching.objective == pytest.approx(best, rel=1e-11)
    assert oracles.allowed(pairs_of(matching), edges, 1, 1)


@pytest.mark.parametrize("kind", ["ties", "normal"])
@pytest.mark.parametrize("prior", CAPACITY_PRIORS, ids=name_of)
def test_equals_the_linear_program(prior: Prior, kind: str) -> None:
    assert prior.source_capacity is not None
    assert prior.target_capacity is not None
    edges = random_edges(np.random.default_rng(5), 200, 250, 6, kind)
    best = oracles.best_by_linear_program(edges, 200, 250, prior.source_capacity, prior.target_capacity)
    matching = solve(graph_of(edges, 200, 250), prior)
    assert matching.objective == pytest.approx(best, rel=1e-9)
    assert oracles.allowed(pairs_of(matching), edges, prior.source_capacity, prior.target_capacity)


def test_dense_graph() -> None:
    weights = np.random.default_rng(0).normal(size=(90, 110))
    edges = {(j, i): float(weights[j, i]) for j in range(90) for i in range(110)}
    best, pairs = oracles.assignment_with_dummies(edges, 90, 110)
    matching = solve(graph_of(edges, 90, 110), Prior())
    assert matching.objective == pytest.approx(best, rel=1e-11)
    assert pairs_of(matching) == sorted(pairs)  # with real-valued weights the optimum is unique


@pytest.mark.parametrize("scale", [1e-80, 1e-30, 1e-6, 1e6, 1e30, 1e80])
@pytest.mark.parametrize("prior", SOLVABLE_PRIORS, ids=name_of)
def test_the_scale_of_the_weights_does_not_matter(prior: Prior, scale: float) -> None:
    edges = random_edges(np.random.default_rng(8), 40, 40, 4, "normal")
    plain = solve(graph_of(edges, 40, 40), prior)
    scaled = solve(graph_of({pair: weight * scale for pair, weight in edges.items()}, 40, 40), prior)
    assert pairs_of(scaled) == pairs_of(plain)
    assert scaled.objective == pytest.approx(plain.objective * scale, rel=1e-12)


def test_a_tiny_weight_beside_a_large_one_is_still_taken() -> None:
    matching = solve(graph_of({(0, 0): 1e6, (1, 1): 1e-16}, 2, 2), Prior())
    assert pairs_of(matching) == [(0, 0), (1, 1)]


def test_the_auction_steps_are_small_beside_what_decides_between_the_targets_of_a_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Two sources can choose, between weights that are 600,000 and 200,000 apart.
    indptr, weights = np.array([0, 2, 4, 5]), np.array([1_000_000, 400_000, 900_000, 700_000, 5_000_000])
    assert module.auction_step(indptr, weights) <= 100_000
    monkeypatch.setattr(module, "AUCTION_STEP", 1e-3)
    assert module.auction_step(indptr, weights) == 4_000  # of ten times the median
    # Where that is more than the largest weight, the largest weight counts.
    assert module.auction_step(indptr, np.array([1_000_000, 400_000, 900_000, 700_000, 2_000_000])) == 2_000
    # So it does where a source's weights are equal, and where no source can choose the step does not matter.
    assert module.auction_step(indptr, np.array([100_000, 100_000, 3_000_000, 3_000_000, 2_000_000])) == 3_000
    assert module.auction_step(np.array([0, 1, 1, 2]), np.array([10**9, 10**8])) == 1
    assert module.auction_step(indptr, np.array([1, 2, 3, 5, 1])) == 1  # never less, in integers


@pytest.mark.parametrize("prior", CAPACITY_PRIORS, ids=name_of)
def test_the_duals_of_another_matching_are_a_place_to_start_from(prior: Prior) -> None:
    rng = np.random.default_rng(14)
    edges = random_edges(rng, 60, 70, 5, "normal")
    earlier = solve(graph_of({pair: weight + rng.normal(0, 0.2) for pair, weight in edges.items()}, 60, 70), prior)
    cold, warm = (solve(graph_of(edges, 60, 70), prior, start) for start in (None, earlier))
    assert pairs_of(warm) == pairs_of(cold)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-12)


@pytest.mark.parametrize("prior", CAPACITY_PRIORS, ids=name_of)
def test_larger_log_odds_never_match_fewer(prior: Prior) -> None:
    graph = graph_of(random_edges(np.random.default_rng(2), 60, 50, 4, "normal"), 60, 50)
    sizes = [len(solve(graph, replace(prior, log_odds=log_odds))) for log_odds in (-9, -0.5, 0, 0.5, 9)]
    assert sizes == sorted(sizes)
    assert sizes[0] == 0


def test_literal_copying_for_2_2_is_degenerate_and_ours_is_not() -> None:
    # Every word has a clear first choice, and a second one that is worth having too.
    edges = {(0, 0): 5.0, (0, 1): 2.0, (1, 1): 4.0, (1, 2): 2.0, (2, 2): 3.0, (2, 0): 1.0}
    once, pairs_once = oracles.best_by_subsets(edges, 1, 1)
    copied, copied_pairs = oracles.assignment_with_dummies(oracles.doubled(edges, 3, 3), 6, 6)
    assert copied == 2 * once  # the copied graph says nothing that 1:1 did not say ...
    assert sorted((j % 3, i % 3) for j, i in copied_pairs) == sorted(2 * pairs_once)  # ... twice
    ours = solve(graph_of(edges, 3, 3), Prior.named("2:2"))
    assert pairs_of(ours) == sorted(edges)  # each pair once, and the second choices as well
    assert ours.objective == sum(edges.values())


@pytest.mark.parametrize("seed", range(5))
def test_literal_copying_is_degenerate_on_random_graphs(seed: int) -> None:
    edges = random_edges(np.random.default_rng(seed), 30, 30, 4, "normal")
    one_to_one = solve(graph_of(edges, 30, 30), Prior())
    copied = solve(graph_of(oracles.doubled(edges, 30, 30), 60, 60), Prior())
    assert copied.objective == pytest.approx(2 * one_to_one.objective, rel=1e-12)
    assert sorted((j % 30, i % 30) for j, i in pairs_of(copied)) == sorted(2 * pairs_of(one_to_one))
    ours = pairs_of(solve(graph_of(edges, 30, 30), Prior.named("2:2")))
    assert len(set(ours)) == len(ours) > len(one_to_one)


def test_deleting_from_a_perfect_matching_is_not_enough() -> None:
    # A perfect matching prefers 0-1 and 1-0 (2 - 1 + 2 - 1 > 3 - 9), and then loses an edge for nothing.
    edges = {(0, 0): 3.0, (0, 1): 2.0, (1, 0): -1.0, (1, 1): -9.0}
    assert oracles.perfect_then_delete(edges, 2) == 2
    matching = solve(graph_of(edges, 2, 2), Prior())
    assert pairs_of(matching) == [(0, 0)]
    assert matching.objective == 3


def test_deleting_from_a_perfect_matching_is_worse_on_dense_random_graphs() -> None:
    weights = np.random.default_rng(4).normal(-0.3, 0.5, (60, 60))
    edges = {(j, i): float(weights[j, i]) for j in range(60) for i in range(60)}
    edges = {pair: weight for pair, weight in edges.items() if weight < 0.2 or sum(pair) % 7 == 0}
    best, _ = oracles.assignment_with_dummies(edges, 60, 60)
    assert oracles.perfect_then_delete(edges, 60) < best - 1e-3
    assert solve(graph_of(edges, 60, 60), Prior()).objective == pytest.approx(best, rel=1e-11)


def test_the_targets_choose_ties_by_lower_source() -> None:
    edges = {(0, 0): 1.0, (1, 0): 1.0, (2, 1): -1.0, (1, 1): -1.0, (0, 2): 0.0}
    assert pairs_of(solve(graph_of(edges, 3, 4), Prior.named("one-to-many"))) == [(0, 0)]
    assert pairs_of(solve(graph_of(edges, 3, 4), Prior.named("one-to-many-no-null"))) == [(0, 0), (0, 2), (1, 1)]


@pytest.mark.parametrize("name", ["many-to-one", "many-to-one-no-null"])
def test_priors_where_the_sources_choose_must_be_mirrored(name: str) -> None:
    with pytest.raises(BilexError, match="mirror"):
        solve(graph_of({(0, 0): 1.0}, 1, 1), Prior.named(name))


# The certificate


def wrong(matching: Matching, **changes: Any) -> Matching:
    """Change a matching, given as lists."""
    arrays: dict[str, Any] = {name: np.array(value) for name, value in changes.items()}
    return replace(matching, **arrays)


@pytest.mark.parametrize("prior", SOLVABLE_PRIORS, ids=name_of)
def test_certificate_is_zero_at_the_optimum(prior: Prior) -> None:
    graph = graph_of(random_edges(np.random.default_rng(3), 80, 70, 5, "normal"), 80, 70)
    matching = solve(graph, prior)
    assert abs(matching.gap) < 1e-11
    assert certificate(graph, matching, prior) == matching.gap


@pytest.mark.parametrize("prior", CAPACITY_PRIORS, ids=name_of)
@given(graph=small_graphs(), data=st.data())
@settings(deadline=None, max_examples=40)
def test_any_duals_bound_the_optimum(prior: Prior, graph: tuple[Edges, int, int], data: st.DataObject) -> None:
    edges, n_sources, n_targets = graph
    dual = st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0, 3.0])
    u = data.draw(st.lists(dual, min_size=n_sources, max_size=n_sources))
    v = data.draw(st.lists(dual, min_size=n_targets, max_size=n_targets))
    best, best_pairs = oracles.best_by_subsets(edges, prior.source_capacity, prior.target_capacity)
    nothing = Matching(np.zeros(0, np.int64), np.zeros(0, np.int64), 0.0, 0.0, np.array(u, float), np.array(v, float))
    # The bound itself is the gap of the empty matching; every allowed matching stays below it.
    bound = certificate(graph_of(edges, n_sources, n_targets), nothing, prior)
    assert bound >= best - 1e-12
    best_pairs = sorted(best_pairs)
    optimum = wrong(nothing, source=[j for j, _ in best_pairs], target=[i for _, i in best_pairs]) if best else nothing
    assert certificate(graph_of(edges, n_sources, n_targets), optimum, prior) == pytest.approx(bound - best, abs=1e-12)


@pytest.mark.parametrize("prior", CAPACITY_PRIORS, ids=name_of)
@given(graph=small_graphs(), data=st.data())
@settings(deadline=None, max_examples=40)
def test_gap_of_a_suboptimal_matching(prior: Prior, graph: tuple[Edges, int, int], data: st.DataObject) -> None:
    edges, n_sources, n_targets = graph
    matching = solve(graph_of(edges, n_sources, n_targets), prior)
    pairs = pairs_of(matching)
    if not pairs:
        return
    dropped = data.draw(st.sampled_from(pairs))
    kept = [pair for pair in pairs if pair != dropped]
    source, target = np.array(kept, np.int64).reshape(-1, 2).T
    gap = certificate(graph_of(edges, n_sources, n_targets), replace(matching, source=source, target=target), prior)
    assert gap == pytest.approx(edges[dropped], abs=1e-12)  # what was lost, exactly
    assert gap > 0 or edges[dropped] < 1e-12  # as long as a float64 can tell


def test_certificate_says_by_how_much_duals_are_off() -> None:
    graph = graph_of({(0, 0): 1.0, (1, 1): 2.0}, 2, 2)
    matching = solve(graph, Prior())
    assert certificate(graph, wrong(matching, source_duals=[9.0, 0.0], target_duals=[0.0, 2.0]), Prior()) == 8
    # Duals that are too small are no excuse: the edge they do not cover counts in full.
    assert certificate(graph, wrong(matching, source_duals=[0.0, 0.0], target_duals=[0.0, 0.0]), Prior()) == 0
    assert certificate(graph, wrong(matching, source=[1], target=[1]), Prior()) == 1


SQUARE: Edges = {(0, 0): 2.0, (0, 1): 1.0, (1, 0): 1.0, (1, 2): 1.0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": [1], "target": [1]}, "not in the graph"),
        ({"source": [0], "target": [4]}, "not in the graph"),  # not an alias of (1, 1)
        ({"source": [0], "target": [3]}, "not in the graph"),  # not an alias of (1, 0)
        ({"source": [1], "target": [-3]}, "not in the graph"),  # not an alias of (0, 0)
        ({"source": [7], "target": [0]}, "not in the graph"),
        ({"source": [0, 0], "target": [0, 0]}, "twice"),
        ({"source": [0, 0], "target": [0, 1]}, "limits"),
        ({"source": [0, 1], "target": [0, 0]}, "limits"),
        ({"source_duals": [-1.0, 0.0]}, "negative dual"),
        ({"target_duals": [0.0, 0.0, -1e-9]}, "negative dual"),
    ],
)
def test_certificate_rejects(changes: dict[str, list[float]], message: str) -> None:
    graph = graph_of(SQUARE, 2, 3)
    matching = solve(graph, Prior())
    assert pairs_of(matching) == [(0, 0), (1, 2)]
    with pytest.raises(CertificateError, match=message):
        certificate(graph, wrong(matching, **changes), Prior())


def test_certificate_rejects_any_pair_in_an_empty_graph() -> None:
    graph = graph_of({}, 2, 2)
    with pytest.raises(CertificateError, match="not in the graph"):
        certificate(graph, wrong(solve(graph, Prior()), source=[0], target=[0]), Prior())


@pytest.mark.parametrize("prior", [Prior.named("1:2"), Prior.named("2:1"), Prior(3, 2)], ids=name_of)
def test_certificate_knows_the_capacities(prior: Prior) -> None:
    edges = {(j, i): 1.0 for j in range(4) for i in range(4)}
    graph, (a, b) = graph_of(edges, 4, 4), (prior.source_capacity or 0, prior.target_capacity or 0)
    nothing = replace(solve(graph, prior), source=np.zeros(0, np.int64), target=np.zeros(0, np.int64))
    certificate(graph, wrong(nothing, source=[0] * a, target=range(a)), prior)
    certificate(graph, wrong(nothing, source=range(b), target=[0] * b), prior)
    with pytest.raises(CertificateError, match="limits"):
        certificate(graph, wrong(nothing, source=[0] * (a + 1), target=range(a + 1)), prior)
    with pytest.raises(CertificateError, match="limits"):
        certificate(graph, wrong(nothing, source=range(b + 1), target=[0] * (b + 1)), prior)


def test_certificate_of_one_to_many() -> None:
    edges = {(0, 0): 2.0, (1, 0): 3.0, (0, 1): -1.0, (1, 1): -2.0}
    graph, null, no_null = graph_of(edges, 2, 3), *CHOOSING_PRIORS
    matching = solve(graph, no_null)
    assert pairs_of(matching) == [(0, 1), (1, 0)]
    assert matching.gap == 0
    assert certificate(graph, wrong(matching, source=[0, 0], target=[0, 1]), no_null) == 1  # not the best source
    with pytest.raises(CertificateError, match="no null option"):
        certificate(graph, wrong(matching, source=[1], target=[0]), no_null)
    with pytest.raises(CertificateError, match="negative dual"):
        certificate(graph, matching, null)
    with pytest.raises(CertificateError, match="without limits"):
        certificate(graph, wrong(matching, source_duals=[1.0, 0.0]), no_null)
    with pytest.raises(CertificateError, match="limits"):
        certificate(graph, wrong(matching, source=[0, 1, 0], target=[0, 0, 1]), no_null)


def test_a_dual_cannot_lower_the_bound_where_there_is_nothing_to_match() -> None:
    # Target 2 has no edge. A negative dual there, harmless as "free sign", would make a wrong matching look proved.
    graph, prior = graph_of({(0, 0): 2.0, (1, 0): 3.0}, 2, 3), Prior.named("one-to-many-no-null")
    matching = wrong(solve(graph, prior), source=[0], target=[0], target_duals=[3.0, 0.0, -1.0])
    try:
        gap = certificate(graph, matching, prior)
    except CertificateError:
        return
    assert gap >= 1


@pytest.mark.parametrize("fault", ["drops an edge", "claims nothing"])
def test_solve_does_not_trust_its_kernel(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = module.solve_capacities

    def faulty(graph: Graph, prior: Prior, prices: Any) -> tuple[Any, Any, Any]:
        chosen, u, v = sound(graph, prior, prices)
        if fault == "drops an edge":
            chosen[np.flatnonzero(chosen)[0]] = False
        return chosen, u * (fault != "claims nothing") - (fault == "claims nothing"), v

    monkeypatch.setattr(module, "solve_capacities", faulty)
    with pytest.raises(CertificateError):
        solve(graph_of(SQUARE, 2, 3), Prior())


@pytest.mark.parametrize("missing", [1e-3, 1e-8])
def test_solve_does_not_accept_a_small_gap(missing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = module.solve_capacities

    def careless(graph: Graph, prior: Prior, prices: Any) -> tuple[Any, Any, Any]:
        chosen, u, v = sound(graph, prior, prices)
        return chosen & (graph.weights > missing), u, v

    monkeypatch.setattr(module, "solve_capacities", careless)
    with pytest.raises(CertificateError, match="misses its certificate"):
        solve(graph_of({(0, 0): 1.0, (1, 1): missing}, 2, 2), Prior())


def test_solve_does_not_accept_an_undefined_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "certificate", lambda *_: np.nan)
    with pytest.raises(CertificateError, match="nan"):
        solve(graph_of(SQUARE, 2, 3), Prior())


# Graphs and matchings as data


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.floats(-1, 1)), max_size=20),
)
@settings(deadline=None)
def test_graph_from_edges(n_sources: int, n_targets: int, listed: list[tuple[int, int, float]]) -> None:
    listed = [(j % n_sources, i % n_targets, weight) for j, i, weight in listed]
    graph = Graph.from_edges(
        np.array([j for j, _, _ in listed], np.int64),
        np.array([i for _, i, _ in listed], np.int64),
        np.array([weight for _, _, weight in listed], float),
        (n_sources, n_targets),
    )
    expected: Edges = {}
    for j, i, weight in listed:
        expected.setdefault((j, i), weight)  # the first of several counts
    assert (graph.n_sources, graph.n_targets) == (n_sources, n_targets)
    assert list(zip(graph.rows, graph.indices, graph.weights, strict=True)) == [
        (j, i, expected[j, i]) for j, i in sorted(expected)
    ]
    for j in range(n_sources):
        assert list(graph.indices[graph.indptr[j] : graph.indptr[j + 1]]) == sorted(i for k, i in expected if k == j)
    kept = graph.where(graph.weights > 0)
    assert list(zip(kept.rows, kept.indices, strict=True)) == [pair for pair in sorted(expected) if expected[pair] > 0]
    assert (kept.n_sources, kept.n_targets) == (n_sources, n_targets)


def test_mirrored_matching_is_sorted_by_its_new_source() -> None:
    matching = Matching(
        np.array([0, 0, 1]), np.array([1, 2, 0]), 3.0, 0.5, np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    )
    mirrored = matching.mirrored()
    assert pairs_of(mirrored) == [(0, 1), (1, 0), (2, 0)]
    assert (mirrored.objective, mirrored.gap) == (3.0, 0.5)
    assert list(mirrored.source_duals) == [3, 4, 5]
    assert list(mirrored.target_duals) == [1, 2]
    assert pairs_of(mirrored.mirrored()) == pairs_of(matching)
    assert len(mirrored) == 3


@pytest.mark.parametrize("prior", PAPER_PRIORS, ids=name_of)
def test_exchanging_the_sides_does_not_change_the_optimum(prior: Prior) -> None:
    edges = random_edges(np.random.default_rng(12), 50, 70, 4, "normal")
    there = solve(graph_of(edges, 50, 70), prior)
    back = solve(graph_of({(i, j): weight for (j, i), weight in edges.items()}, 70, 50), prior.mirrored())
    assert pairs_of(back) == pairs_of(there.mirrored())
