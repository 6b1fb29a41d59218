"""The optimum of the whole graph, not only of the candidates: column generation by exact search.

A matching that is optimal on the candidate graph, with duals u and v, is optimal on the dense n_src × n_trg graph if
no edge anywhere has w > u + v. For a source j that is one search for the target of largest

    w_ij - v_i  =  (Ωs_j - μ)·t_i - v_i  +  offset_j

(whatever weights an edge, `bilex.model.weights`), an inner product with two more dimensions, compared with u_j. Edges
that
violate are added to the graph, it is solved again from the duals it had, and so on until none is left. The certificate
is then for the full graph: adding the largest violation δ that is left (rounding, if anything) to every u makes the
duals feasible everywhere, so the dense optimum is at most ``capacity · n_src · δ`` above the bound of the sparse one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bilex.errors import BilexError
from bilex.matching.solver import CertificateError, Graph, Matching, solve
from bilex.model.constraints import Constraints
from bilex.model.prior import Prior
from bilex.model.weights import Edges, with_columns
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Engine

__all__ = ["dense_matching"]

AT_ONCE = 8  # violating edges that a source may add in one round
DEAR = 1e6  # a price that nothing is worth
DENSE_GAP_LIMIT = 1e-6  # relative to the objective: every word may add its rounding
NEGLIGIBLE = 1e-12  # relative to the largest weight: below it a violation is rounding


def dense_matching(
    edges: Edges,
    graph: Graph,
    prior: Prior,
    engine: Engine,
    start: Matching | None,
    constraints: Constraints | None = None,
) -> Matching:
    """Solve on the candidate graph, then add violating edges of the dense graph until there are none.

    Edges that the constraints rule out do not count, neither here nor in the `graph`.
    """
    constraints = constraints or Constraints()
    if prior.targets_choose:  # its candidates are already the best of all sources
        return solve(graph, prior, start)
    queries, offsets, targets = edges.queries, edges.offsets + prior.log_odds, edges.targets
    while True:
        start = solve(graph, prior, start)
        rows, columns, worst = violations(queries, offsets, targets, start, engine, constraints)
        if not len(rows):
            gap = start.gap + worst * len(queries) * (prior.source_capacity or 1)
            if not gap <= DENSE_GAP_LIMIT * max(1.0, abs(start.objective)):
                raise CertificateError(f"the dense matching misses its certificate by {gap:g}; please report this")
            return replace(start, gap=gap)
        before = len(graph.weights)
        graph = Graph.from_edges(
            np.concatenate([graph.rows, rows]),
            np.concatenate([graph.indices, columns]),
            np.concatenate([graph.weights, edges.weigh(rows, columns)]),
            (len(queries), len(targets)),
        )
        if len(graph.weights) == before:
            raise BilexError("pricing found only edges that it had: a defect of bilex, please report it")


def violations(
    queries: Vectors, offsets: Floats, targets: Vectors, matching: Matching, engine: Engine, constraints: Constraints
) -> tuple[Indices, Indices, float]:
    """Find edges that are worth more than their duals, and how much the worst of the others is."""
    u, v = matching.source_duals.copy(), matching.target_duals.copy()
    u[constraints.kept.source] = v[constraints.kept.target] = DEAR  # they have their partners
    forbidden = constraints.forbidden
    at_once = min(AT_ONCE + int(np.bincount(forbidden.source).max(initial=0)), len(targets))
    coarse = v.astype(np.float32).astype(np.float64)
    found = engine.top_k(with_columns(queries, -1.0, -1.0), with_columns(targets, coarse, v - coarse), at_once)
    excess = found.scores + (offsets - u)[:, None]
    # Where a word has several pairs, a chosen edge may well be worth more than its duals.
    width = np.int64(len(targets))
    keys = np.arange(len(queries))[:, None] * width + found.indices
    excess[np.isin(keys, matching.source * width + matching.target)] = 0.0
    excess[np.isin(keys, forbidden.source * width + forbidden.target)] = 0.0
    limit = NEGLIGIBLE * max(1.0, float(np.abs(offsets).max(initial=0.0)))
    rows, places = np.nonzero(excess > limit)
    return rows, found.indices[rows, places], float(np.clip(excess, 0, limit).max(initial=0.0))
