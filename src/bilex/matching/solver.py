"""The Viterbi E-step's problem and its exact solution: the best edge set within given capacities.

Paper, section 4.1 and the appendix. The matching is partial: a word may stay unmatched at weight 0, and an edge of
weight <= 0 is never chosen. (Solving for a perfect matching and deleting edges afterwards is not equivalent.)

Every solution carries its proof. For any duals u, v >= 0 and capacities a, b, weak duality says that no allowed
edge set is worth more than

    D(u, v) = a Σ u + b Σ v + Σ max(0, w - u - v),      the last sum over all edges

so the *gap* ``D - objective`` bounds how far the solution is from the optimum, whatever the solver did to find it. It
is computed from the original weights, and a gap that is not negligible is an error.
"""

from dataclasses import replace

import numpy as np

from bilex.errors import BilexError
from bilex.matching.graph import Capacities, Graph, Matching
from bilex.numerics.types import Floats, Indices

WEIGHT_BITS = 50  # of the integer weights: sums along a path stay below 63 bits
AUCTION_STEP = 1e-2  # the auction's epsilon, as a fraction of the weights
GAP_LIMIT = 1e-9  # relative to the objective


class CertificateError(BilexError):
    """A matching could not be proved optimal: a defect of bilex, never of the input."""


def solve(graph: Graph, capacities: Capacities, start: Matching | None = None) -> Matching:
    """Find the allowed edge set of largest total weight, with its certificate.

    The weights include the prior (`Prior.apply`). An earlier matching of the same words gives the solver duals to
    `start` from, which changes the time and not the objective. A matching that is not proved optimal is a
    `CertificateError`.
    """
    if capacities.targets_choose:
        chosen, u, v = choose_by_target(graph, capacities.null)
    elif capacities.sources_choose:
        raise BilexError("mirror the capacities and the graph first: targets choose")
    else:
        chosen, u, v = solve_capacities(graph, capacities, None if start is None else start.target_duals)
    matching = Matching(graph.rows[chosen], graph.indices[chosen], float(graph.weights[chosen].sum()), np.nan, u, v)
    gap = certificate(graph, matching, capacities)
    if not gap <= GAP_LIMIT * np.abs(graph.weights[chosen]).sum():
        raise CertificateError(f"the matching misses its certificate by {gap:g}; please report this as a bug")
    return replace(matching, gap=gap)


def solve_capacities(graph: Graph, capacities: Capacities, prices: Floats | None) -> tuple[np.ndarray, Floats, Floats]:
    """Solve for limited capacities on both sides, with integer weights in the kernel."""
    from bilex.matching import solver_kernel as kernel

    assert capacities.source is not None  # a side without limits chooses for itself
    assert capacities.target is not None
    positive = graph.weights > 0
    chosen = np.zeros(len(graph.weights), np.bool_)
    worth = graph.where(positive)
    if not len(worth.weights):
        return chosen, np.zeros(graph.n_sources), np.zeros(graph.n_targets)
    shift = int(WEIGHT_BITS - np.ceil(np.log2(worth.weights.max())))  # may be too large for a power of two as a float
    weights = np.maximum(np.rint(np.ldexp(worth.weights, shift)), 1).astype(np.int64)
    chosen[positive], u, v = kernel.solve_integers(
        worth.indptr,
        worth.indices,
        weights,
        graph.n_targets,
        capacities.source,
        capacities.target,
        np.zeros(graph.n_targets, np.int64) if prices is None else np.rint(np.ldexp(prices, shift)).astype(np.int64),
        auction_step(worth.indptr, weights),
    )
    return chosen, np.ldexp(u.astype(np.float64), -shift), np.ldexp(v.astype(np.float64), -shift)


def auction_step(indptr: Indices, weights: Indices) -> int:
    """Choose the auction's epsilon: small beside the differences that decide between a source's targets.

    It is a fraction of the largest weight or, where weights are nearly equal, of the typical spread within a source's
    edges. It changes the time and not the optimum.
    """
    counts = np.diff(indptr)
    starts, several = indptr[:-1][counts > 0], counts[counts > 0] > 1
    if not several.any():
        return 1
    spreads = (np.maximum.reduceat(weights, starts) - np.minimum.reduceat(weights, starts))[several]
    typical = float(np.median(spreads)) or float(weights.max())
    return max(1, int(AUCTION_STEP * min(typical * 10, float(weights.max()))))


def choose_by_target(graph: Graph, null: bool) -> tuple[np.ndarray, Floats, Floats]:
    """Let every target take its best source, ties by lower source; with `null`, only at a positive weight."""
    order = np.lexsort((graph.rows, -graph.weights, graph.indices))
    _, first = np.unique(graph.indices[order], return_index=True)
    best = order[first]
    if null:
        best = best[graph.weights[best] > 0]
    chosen = np.zeros(len(graph.weights), np.bool_)
    chosen[best] = True
    v = np.zeros(graph.n_targets)
    v[graph.indices[best]] = graph.weights[best]
    return chosen, np.zeros(graph.n_sources), v


def certificate(graph: Graph, matching: Matching, capacities: Capacities) -> float:
    """Compute the gap of a matching: the dual bound minus the weight of its pairs.

    Raise `CertificateError` if the pairs are not edges of the graph or exceed the capacities, or if the duals are no
    duals of this problem.
    """
    edges = np.searchsorted(graph.keys, matching.pairs.keys(graph.n_targets))
    inside = edges < len(graph.weights)
    same = inside.all() and (graph.rows[edges] == matching.source).all()
    if not (same and (graph.indices[edges] == matching.target).all() and len(np.unique(edges)) == len(edges)):
        raise CertificateError("the matching holds a pair that is not in the graph, or one twice")
    check_limits(graph, matching, capacities)
    u, v = matching.source_duals, matching.target_duals
    bound = np.maximum(graph.weights - u[graph.rows] - v[graph.indices], 0).sum()
    # Only targets that have to be matched may have a negative dual.
    of_free_targets = v if capacities.null else np.delete(v, graph.indices)
    if (u < 0).any() or (of_free_targets < 0).any():
        raise CertificateError("the certificate has a negative dual")
    for capacity, dual in ((capacities.source, u), (capacities.target, v)):
        if capacity is not None:
            bound += capacity * dual.sum()
        elif dual.any():  # an unlimited side has no constraint, so no dual
            raise CertificateError("the certificate has a dual on the side without limits")
    return float(bound - graph.weights[edges].sum())


def check_limits(graph: Graph, matching: Matching, capacities: Capacities) -> None:
    """Raise if a word has more pairs than its capacity, or none where it must have one."""
    for words, capacity in ((matching.source, capacities.source), (matching.target, capacities.target)):
        if capacity is not None and (np.bincount(words) > capacity).any():
            raise CertificateError("the matching breaks the limits of the prior")
    if not capacities.null and len(np.unique(graph.indices)) != len(matching.target):
        raise CertificateError("the prior has no null option, but a target that could be matched is not")
