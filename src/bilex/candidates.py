"""The sparse graph of the E-step (paper, section 4.1, "Exploiting Sparsity").

For each source word the k targets of largest edge weight; for priors where the targets choose, for each target its
best source, which is all such a prior can ever use. The pairs of the previous matching are always added: with them
the E-step cannot do worse than the last one, and so the log-likelihood never falls.
"""

from __future__ import annotations

import numpy as np

from bilex.arrays import Floats, Indices, Vectors
from bilex.engines.base import Engine
from bilex.matching import Graph, Matching
from bilex.model import Theta
from bilex.priors import Prior

__all__ = ["best_source_of_each_target", "candidate_graph", "weigh", "with_columns"]


def candidate_graph(
    theta: Theta,
    source: Vectors,
    target: Vectors,
    prior: Prior,
    *,
    k: int,
    previous: Matching | None,
    engine: Engine,
) -> Graph:
    """Find the candidate edges under θ and weigh them, exactly."""
    queries, offsets, target = theta.queries(source), theta.offsets(source), theta.map_target(target)
    if prior.targets_choose:
        columns = np.arange(len(target))
        rows = best_source_of_each_target(queries, offsets, target, engine)
    else:
        k = min(k, len(target))
        columns = engine.top_k(queries, target, k).indices.ravel()
        rows = np.repeat(np.arange(len(source)), k)
    if previous is not None:
        rows = np.concatenate([rows, previous.source])
        columns = np.concatenate([columns, previous.target])
    weights = weigh(queries, offsets, target, rows, columns)
    return Graph.from_edges(rows, columns, weights, (len(source), len(target)))


def weigh(queries: Vectors, offsets: Floats, target: Vectors, rows: Indices, columns: Indices) -> Floats:
    """Compute the weight of each edge in float64."""
    from bilex.kernels.topk import edge_scores

    return np.asarray(edge_scores(queries, target, rows, columns) + offsets[rows])


def best_source_of_each_target(queries: Vectors, offsets: Floats, target: Vectors, engine: Engine) -> Indices:
    """Find the source of largest edge weight for each target, over all sources.

    For a given target the weight is t·(Ωs - μ) and the offset of s: two more dimensions hold the second, since one
    float32 would round it, and the source found would not always be the best.
    """
    rest = offsets - offsets.astype(np.float32)
    nearest = engine.top_k(with_columns(target, 1.0, 1.0), with_columns(queries, offsets, rest), 1)
    return nearest.indices[:, 0]


def with_columns(vectors: Vectors, first: Floats | float, second: Floats | float) -> Vectors:
    """Append two dimensions to every row."""
    wider = np.empty((len(vectors), vectors.shape[1] + 2), np.float32)
    wider[:, :-2] = vectors
    wider[:, -2] = first
    wider[:, -1] = second
    return wider
