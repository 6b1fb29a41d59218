"""The exact partial matching: equal to slow oracles for all capacities, and never without its proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bilex.errors import BilexError
from bilex.matching import auction_kernel, solver, solver_kernel
from bilex.matching.graph import Capacities, Graph, Matching
from bilex.matching.solver import CertificateError, certificate, solve
from tests import oracles
from tests.oracles import Edges

ONE_TO_ONE = Capacities()
LIMITED = [ONE_TO_ONE, Capacities(2, 1), Capacities(1, 2), Capacities(2, 2), Capacities(3, 2)]
TARGETS_CHOOSE, TARGETS_MUST_CHOOSE = Capacities(None, 1), Capacities(None, 1, null=False)
SOLVABLE = [*LIMITED, TARGETS_CHOOSE, TARGETS_MUST_CHOOSE]


def graph_of(edges: Edges, n_sources: int, n_targets: int) -> Graph:
    pairs = np.array(list(edges), np.int64).reshape(-1, 2)
    return Graph.from_edges(pairs[:, 0], pairs[:, 1], np.array(list(edges.values()), float), (n_sources, n_targets))


def pairs_of(matching: Matching) -> list[tuple[int, int]]:
    return [(int(j), int(i)) for j, i in zip(matching.source, matching.target, strict=True)]


def random_edges(rng: np.random.Generator, n_sources: int, n_targets: int, degree: int, kind: str) -> Edges:
    """Draw `degree` targets for every source; some targets are drawn often, as hubs are."""
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


@given(st.sampled_from(SOLVABLE), small_graphs())
@example(ONE_TO_ONE, ({}, 0, 0))
@example(TARGETS_CHOOSE, ({}, 3, 0))
@example(TARGETS_MUST_CHOOSE, ({}, 0, 2))
@example(ONE_TO_ONE, ({(0, 0): 0.0, (1, 1): -1.0}, 3, 3))
@example(Capacities(2, 2), ({(0, 0): 1.0, (0, 1): 1.0, (1, 0): 1.0, (1, 1): 1.0}, 2, 2))
@settings(max_examples=400)
def test_equals_trying_every_subset(capacities: Capacities, graph: tuple[Edges, int, int]) -> None:
    edges, n_sources, n_targets = graph
    limits = capacities.source, capacities.target, capacities.null
    best, _ = oracles.best_by_subsets(edges, *limits)

    matching = solve(graph_of(edges, n_sources, n_targets), capacities)
    pairs = pairs_of(matching)
    assert oracles.allowed(pairs, edges, *limits)
    assert pairs == sorted(pairs)
    assert matching.objective == pytest.approx(best, abs=1e-12)
    assert sum(edges[pair] for pair in pairs) == pytest.approx(matching.objective, abs=1e-12)
    assert abs(matching.gap) < 1e-12
    assert (len(matching.source_duals), len(matching.target_duals)) == (n_sources, n_targets)
    if capacities.null:
        assert all(edges[pair] > 0 for pair in pairs)


@pytest.mark.parametrize(
    ("n_sources", "n_targets", "degree", "kind"),
    [(300, 300, 3, "ties"), (150, 400, 8, "normal"), (60, 50, 50, "normal")],
)
def test_equals_the_assignment_with_dummies(n_sources: int, n_targets: int, degree: int, kind: str) -> None:
    edges = random_edges(np.random.default_rng(n_sources + degree), n_sources, n_targets, degree, kind)
    best, pairs = oracles.assignment_with_dummies(edges, n_sources, n_targets)
    matching = solve(graph_of(edges, n_sources, n_targets), ONE_TO_ONE)
    assert matching.objective == pytest.approx(best, rel=1e-11)
    if kind == "normal":  # with real-valued weights the optimum is unique
        assert pairs_of(matching) == sorted(pair for pair in pairs if pair in edges)


@pytest.mark.parametrize("capacities", LIMITED)
def test_equals_the_linear_program(capacities: Capacities) -> None:
    assert capacities.source is not None
    assert capacities.target is not None
    kind = "ties" if capacities.source == capacities.target else "normal"
    edges = random_edges(np.random.default_rng(5), 100, 120, 6, kind)
    best = oracles.best_by_linear_program(edges, 100, 120, capacities.source, capacities.target)
    matching = solve(graph_of(edges, 100, 120), capacities)
    assert matching.objective == pytest.approx(best, rel=1e-9)
    assert oracles.allowed(pairs_of(matching), edges, capacities.source, capacities.target)


@pytest.mark.parametrize(
    ("capacities", "scale"), [(ONE_TO_ONE, 1e-80), (ONE_TO_ONE, 1e80), (Capacities(2, 2), 1e-6), (TARGETS_CHOOSE, 1e30)]
)
def test_the_scale_of_the_weights_does_not_matter(capacities: Capacities, scale: float) -> None:
    edges = random_edges(np.random.default_rng(8), 40, 40, 4, "normal")
    plain = solve(graph_of(edges, 40, 40), capacities)
    scaled = solve(graph_of({pair: weight * scale for pair, weight in edges.items()}, 40, 40), capacities)
    assert pairs_of(scaled) == pairs_of(plain)
    assert scaled.objective == pytest.approx(plain.objective * scale, rel=1e-12)


def test_a_tiny_weight_beside_a_large_one_is_still_taken() -> None:
    matching = solve(graph_of({(0, 0): 1e6, (1, 1): 1e-16}, 2, 2), ONE_TO_ONE)
    assert pairs_of(matching) == [(0, 0), (1, 1)]


def test_prices_are_lowered_to_what_the_others_would_pay() -> None:
    n, random = 60, np.random.default_rng(4)
    graph = graph_of({pair: abs(w) + 1 for pair, w in random_edges(random, n, n, 5, "normal").items()}, n, n)
    weights = (graph.weights * 1e6).astype(np.int64)
    slots_a, slots_b, u, v = (np.full((n, 1), -1), np.full((n, 1), -1), np.zeros(n, np.int64), np.zeros(n, np.int64))
    chosen = auction_kernel.auction(graph.indptr, graph.indices, weights, slots_a, slots_b, v, 50_000, 10**6)
    before, seen = v.copy(), solver_kernel.seen_from_b(graph.rows, graph.indices, weights, n)
    solver_kernel.lower_prices(graph.indptr, seen, solver_kernel.SolverState(slots_a, slots_b, u, v, chosen))
    slack = u[graph.rows] + v[graph.indices] - weights
    assert (v >= 0).all() and (v <= before).all() and (v < before).any()
    own = graph.rows[chosen], graph.indices[chosen]
    np.testing.assert_array_equal(u[own[0]], np.maximum(weights[chosen] - v[own[1]], 0))
    assert (slack[~chosen & (v < before)[graph.indices]] >= 0).all()


def test_the_auction_step_is_small_beside_the_differences_that_decide() -> None:
    # Two sources can choose, between weights that are 600,000 and 200,000 apart.
    indptr, weights = np.array([0, 2, 4, 5]), np.array([1_000_000, 400_000, 900_000, 700_000, 5_000_000])
    assert solver.auction_step(indptr, weights) == 40_000  # AUCTION_STEP of ten times the median difference
    # Where that is more than the largest weight, the largest weight counts.
    assert solver.auction_step(indptr, np.array([1_000_000, 400_000, 900_000, 700_000, 2_000_000])) == 20_000
    # So it does where a source's weights are equal, and where no source can choose the step does not matter.
    assert solver.auction_step(indptr, np.array([100_000, 100_000, 3_000_000, 3_000_000, 2_000_000])) == 30_000
    assert solver.auction_step(np.array([0, 1, 1, 2]), np.array([10**9, 10**8])) == 1
    assert solver.auction_step(indptr, np.array([1, 2, 3, 5, 1])) == 1  # never less, in integers


@pytest.mark.parametrize("capacities", [ONE_TO_ONE, Capacities(3, 2)])
def test_the_duals_of_another_matching_are_a_start(capacities: Capacities) -> None:
    rng = np.random.default_rng(14)
    edges = random_edges(rng, 60, 70, 5, "normal")
    earlier = solve(graph_of({pair: weight + rng.normal(0, 0.2) for pair, weight in edges.items()}, 60, 70), capacities)
    cold, warm = (solve(graph_of(edges, 60, 70), capacities, start) for start in (None, earlier))
    assert pairs_of(warm) == pairs_of(cold)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-12)


def test_copying_the_vertices_for_2_2_only_doubles_the_1_1_matching() -> None:
    # Every word has a clear first choice, and a second one that is worth having too.
    edges = {(0, 0): 5.0, (0, 1): 2.0, (1, 1): 4.0, (1, 2): 2.0, (2, 2): 3.0, (2, 0): 1.0}
    once, pairs_once = oracles.best_by_subsets(edges, 1, 1)
    copied, copied_pairs = oracles.assignment_with_dummies(oracles.doubled(edges, 3, 3), 6, 6)
    assert copied == 2 * once  # the copied graph says nothing that 1:1 did not say ...
    assert sorted((j % 3, i % 3) for j, i in copied_pairs) == sorted(2 * pairs_once)  # ... twice
    ours = solve(graph_of(edges, 3, 3), Capacities(2, 2))
    assert pairs_of(ours) == sorted(edges)  # each pair once, and the second choices as well
    assert ours.objective == sum(edges.values())


def test_deleting_from_a_perfect_matching_is_not_enough() -> None:
    # A perfect matching prefers 0-1 and 1-0 (2 - 1 + 2 - 1 > 3 - 9), and then loses an edge for nothing.
    edges = {(0, 0): 3.0, (0, 1): 2.0, (1, 0): -1.0, (1, 1): -9.0}
    assert oracles.perfect_then_delete(edges, 2) == 2
    matching = solve(graph_of(edges, 2, 2), ONE_TO_ONE)
    assert pairs_of(matching) == [(0, 0)]
    assert matching.objective == 3


def test_targets_that_choose_take_the_lower_source_of_a_tie() -> None:
    edges = {(0, 0): 1.0, (1, 0): 1.0, (2, 1): -1.0, (1, 1): -1.0, (0, 2): 0.0}
    assert pairs_of(solve(graph_of(edges, 3, 4), TARGETS_CHOOSE)) == [(0, 0)]
    assert pairs_of(solve(graph_of(edges, 3, 4), TARGETS_MUST_CHOOSE)) == [(0, 0), (0, 2), (1, 1)]


def test_capacities_where_the_sources_choose_must_be_mirrored() -> None:
    with pytest.raises(BilexError, match="mirror"):
        solve(graph_of({(0, 0): 1.0}, 1, 1), TARGETS_CHOOSE.mirrored())


@pytest.mark.parametrize("capacities", [ONE_TO_ONE, Capacities(2, 1)])
def test_exchanging_the_sides_does_not_change_the_optimum(capacities: Capacities) -> None:
    edges = random_edges(np.random.default_rng(12), 50, 70, 4, "normal")
    there = solve(graph_of(edges, 50, 70), capacities)
    back = solve(graph_of({(i, j): weight for (j, i), weight in edges.items()}, 70, 50), capacities.mirrored())
    assert pairs_of(back) == pairs_of(there.mirrored())


# The certificate


def changed(matching: Matching, **changes: Any) -> Matching:
    """Replace fields of a matching by lists."""
    arrays: dict[str, Any] = {name: np.array(value) for name, value in changes.items()}
    return replace(matching, **arrays)


@given(capacities=st.sampled_from(LIMITED), graph=small_graphs(), data=st.data())
@settings(max_examples=150)
def test_any_duals_bound_the_optimum(
    capacities: Capacities, graph: tuple[Edges, int, int], data: st.DataObject
) -> None:
    edges, n_sources, n_targets = graph
    dual = st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0, 3.0])
    u = data.draw(st.lists(dual, min_size=n_sources, max_size=n_sources))
    v = data.draw(st.lists(dual, min_size=n_targets, max_size=n_targets))
    best, best_pairs = oracles.best_by_subsets(edges, capacities.source, capacities.target)
    nothing = Matching(np.zeros(0, np.int64), np.zeros(0, np.int64), 0.0, 0.0, np.array(u, float), np.array(v, float))
    # The bound itself is the gap of the empty matching; every allowed matching stays below it.
    bound = certificate(graph_of(edges, n_sources, n_targets), nothing, capacities)
    assert bound >= best - 1e-12
    source, target = np.array(sorted(best_pairs), np.int64).reshape(-1, 2).T
    optimum = replace(nothing, source=source, target=target)
    gap = certificate(graph_of(edges, n_sources, n_targets), optimum, capacities)
    assert gap == pytest.approx(bound - best, abs=1e-12)


@given(capacities=st.sampled_from(LIMITED), graph=small_graphs(), data=st.data())
@settings(max_examples=150)
def test_the_gap_of_a_suboptimal_matching_is_its_loss(
    capacities: Capacities, graph: tuple[Edges, int, int], data: st.DataObject
) -> None:
    edges, n_sources, n_targets = graph
    matching = solve(graph_of(edges, n_sources, n_targets), capacities)
    pairs = pairs_of(matching)
    if not pairs:
        return
    dropped = data.draw(st.sampled_from(pairs))
    source, target = np.array([pair for pair in pairs if pair != dropped], np.int64).reshape(-1, 2).T
    smaller = replace(matching, source=source, target=target)
    gap = certificate(graph_of(edges, n_sources, n_targets), smaller, capacities)
    assert gap == pytest.approx(edges[dropped], abs=1e-12)
    assert gap > 0 or edges[dropped] < 1e-12  # as far as float64 can tell


def test_the_certificate_measures_how_far_duals_are_off() -> None:
    graph = graph_of({(0, 0): 1.0, (1, 1): 2.0}, 2, 2)
    matching = solve(graph, ONE_TO_ONE)
    assert certificate(graph, changed(matching, source_duals=[9.0, 0.0], target_duals=[0.0, 2.0]), ONE_TO_ONE) == 8
    # Duals that are too small do not help: the edge they do not cover counts in full.
    assert certificate(graph, changed(matching, source_duals=[0.0, 0.0], target_duals=[0.0, 0.0]), ONE_TO_ONE) == 0
    assert certificate(graph, changed(matching, source=[1], target=[1]), ONE_TO_ONE) == 1


SQUARE: Edges = {(0, 0): 2.0, (0, 1): 1.0, (1, 0): 1.0, (1, 2): 1.0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": [1], "target": [1]}, "not in the graph"),
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
def test_the_certificate_rejects(changes: dict[str, list[float]], message: str) -> None:
    graph = graph_of(SQUARE, 2, 3)
    matching = solve(graph, ONE_TO_ONE)
    assert pairs_of(matching) == [(0, 0), (1, 2)]
    with pytest.raises(CertificateError, match=message):
        certificate(graph, changed(matching, **changes), ONE_TO_ONE)


def test_certificate_rejects_any_pair_in_an_empty_graph() -> None:
    graph = graph_of({}, 2, 2)
    with pytest.raises(CertificateError, match="not in the graph"):
        certificate(graph, changed(solve(graph, ONE_TO_ONE), source=[0], target=[0]), ONE_TO_ONE)


@pytest.mark.parametrize("capacities", [Capacities(2, 1), Capacities(1, 2), Capacities(3, 2)])
def test_the_certificate_checks_the_capacities(capacities: Capacities) -> None:
    edges = {(j, i): 1.0 for j in range(4) for i in range(4)}
    graph, (a, b) = graph_of(edges, 4, 4), (capacities.source or 0, capacities.target or 0)
    nothing = changed(solve(graph, capacities), source=np.zeros(0, np.int64), target=np.zeros(0, np.int64))
    certificate(graph, changed(nothing, source=[0] * a, target=range(a)), capacities)
    certificate(graph, changed(nothing, source=range(b), target=[0] * b), capacities)
    with pytest.raises(CertificateError, match="limits"):
        certificate(graph, changed(nothing, source=[0] * (a + 1), target=range(a + 1)), capacities)
    with pytest.raises(CertificateError, match="limits"):
        certificate(graph, changed(nothing, source=range(b + 1), target=[0] * (b + 1)), capacities)


def test_the_certificate_where_the_targets_choose() -> None:
    edges = {(0, 0): 2.0, (1, 0): 3.0, (0, 1): -1.0, (1, 1): -2.0}
    graph, null, no_null = graph_of(edges, 2, 3), TARGETS_CHOOSE, TARGETS_MUST_CHOOSE
    matching = solve(graph, no_null)
    assert pairs_of(matching) == [(0, 1), (1, 0)]
    assert matching.gap == 0
    assert certificate(graph, changed(matching, source=[0, 0], target=[0, 1]), no_null) == 1  # not the best source
    with pytest.raises(CertificateError, match="no null option"):
        certificate(graph, changed(matching, source=[1], target=[0]), no_null)
    with pytest.raises(CertificateError, match="negative dual"):
        certificate(graph, matching, null)
    with pytest.raises(CertificateError, match="without limits"):
        certificate(graph, changed(matching, source_duals=[1.0, 0.0]), no_null)
    with pytest.raises(CertificateError, match="limits"):
        certificate(graph, changed(matching, source=[0, 1, 0], target=[0, 0, 1]), no_null)


def test_a_dual_cannot_lower_the_bound_of_a_target_without_edges() -> None:
    # Target 2 has no edge. With a negative dual there, a wrong matching would look proved.
    graph = graph_of({(0, 0): 2.0, (1, 0): 3.0}, 2, 3)
    matching = changed(solve(graph, TARGETS_MUST_CHOOSE), source=[0], target=[0], target_duals=[3.0, 0.0, -1.0])
    with pytest.raises(CertificateError, match="negative dual"):
        certificate(graph, matching, TARGETS_MUST_CHOOSE)


@pytest.mark.parametrize("missing", [1.0, 1e-8])
def test_solve_does_not_trust_its_kernel(missing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = solver.solve_capacities

    def faulty(graph: Graph, *rest: Any) -> tuple[Any, Any, Any]:
        chosen, u, v = sound(graph, *rest)
        return chosen & (graph.weights > missing), u, v

    monkeypatch.setattr(solver, "solve_capacities", faulty)
    with pytest.raises(CertificateError, match="misses its certificate"):
        solve(graph_of({(0, 0): 2.0, (1, 1): missing}, 2, 2), ONE_TO_ONE)


def test_solve_does_not_accept_an_undefined_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "certificate", lambda *_: np.nan)
    with pytest.raises(CertificateError, match="nan"):
        solve(graph_of(SQUARE, 2, 3), ONE_TO_ONE)
