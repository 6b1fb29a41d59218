"""The optimum of the whole graph, not only of the candidates: column generation by exact search.

A matching that is optimal on the candidate graph, with duals u and v, is optimal on the dense n_src × n_trg graph if
no edge anywhere has w > u + v. For a source j that is one search for the target of largest

    w_ij - v_i  =  (Ωs_j - μ)·t_i - v_i  +  offset_j

an inner product with two more dimensions, compared with u_j.
Violating edges are added to the graph, which is solved again from its last duals, until none is left. The certificate
then holds for the full graph: adding the largest remaining violation δ (at most rounding) to every u makes the duals
feasible everywhere, so the dense optimum is at most ``capacity · n_src · δ`` above the bound of the sparse one.
"""

from dataclasses import replace

import numpy as np

from bilex.errors import BilexError
from bilex.matching.graph import Graph, Matching
from bilex.matching.solver import CertificateError, solve
from bilex.model.prior import Prior
from bilex.model.theta import MappedWords
from bilex.numerics.rows import with_columns
from bilex.numerics.types import Indices
from bilex.search.engine import Engine

MAX_NEW_EDGES = 8  # violating edges that a source may add in one round
INFINITE_PRICE = 1e6  # no edge is worth as much
DENSE_GAP_LIMIT = 1e-6  # relative to the objective: every word may add its rounding
NEGLIGIBLE_VIOLATION = 1e-12  # relative to the largest weight: a smaller violation is rounding


def dense_matching(words: MappedWords, graph: Graph, prior: Prior, engine: Engine, start: Matching | None) -> Matching:
    """Solve on the candidate graph, then add violating edges of the dense graph until there are none.

    The candidate graph includes the prior; here the prior is applied to the edges that are added.
    """
    if prior.parts:
        raise BilexError("a learnt prior knows the candidates only; leave out exact")
    if prior.capacities.targets_choose:  # the candidates are the best of all sources already
        return solve(graph, prior.capacities, start)
    shape = len(words.source), len(words.target)
    while True:
        start = solve(graph, prior.capacities, start)
        rows, columns, worst = violations(words, start, prior, engine)
        if not len(rows):
            gap = start.gap + worst * shape[0] * (prior.capacities.source or 1)
            if not gap <= DENSE_GAP_LIMIT * max(1.0, abs(start.objective)):
                raise CertificateError(f"the dense matching misses its certificate by {gap:g}; please report this")
            return replace(start, gap=gap)
        before = len(graph.weights)
        added = prior.apply(Graph.from_edges(rows, columns, words.weigh(rows, columns), shape))
        graph = Graph.from_edges(
            np.concatenate([graph.rows, added.rows]),
            np.concatenate([graph.indices, added.indices]),
            np.concatenate([graph.weights, added.weights]),
            shape,
        )
        if len(graph.weights) == before:
            raise BilexError("pricing found only edges that it had: a defect of bilex, please report it")


def violations(words: MappedWords, matching: Matching, prior: Prior, engine: Engine) -> tuple[Indices, Indices, float]:
    """Find the edges that are worth more than their duals, and the largest negligible violation."""
    u, v = matching.source_duals.copy(), matching.target_duals.copy()
    u[prior.kept.source] = v[prior.kept.target] = INFINITE_PRICE  # kept pairs take no other partner
    most = MAX_NEW_EDGES + int(np.bincount(prior.forbidden.source).max(initial=0))
    coarse = v.astype(np.float32).astype(np.float64)
    queries, targets = with_columns(words.queries, -1.0, -1.0), with_columns(words.targets, coarse, v - coarse)
    found = engine.top_k(queries, targets, min(most, len(targets)))
    offsets = words.offsets + prior.log_odds
    excess = found.scores + (offsets - u)[:, None]
    # With capacities above 1 a chosen edge may be worth more than its duals.
    width = len(targets)
    keys = np.arange(len(queries))[:, None] * np.int64(width) + found.indices
    excess[np.isin(keys, matching.pairs.keys(width))] = 0.0
    excess[np.isin(keys, prior.forbidden.keys(width))] = 0.0
    limit = NEGLIGIBLE_VIOLATION * max(1.0, float(np.abs(offsets).max(initial=0.0)))
    rows, places = np.nonzero(excess > limit)
    return rows, found.indices[rows, places], float(np.clip(excess, 0, limit).max(initial=0.0))
