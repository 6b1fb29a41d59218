"""The sparse graph of the E-step (paper, section 4.1, "Exploiting Sparsity").

For each source word its k targets of largest edge weight; where the targets choose, for each target its best source,
since no other one can be chosen. The pairs of the previous matching are always added, so that an E-step is never worse
than the last one.
"""

import numpy as np

from bilex.matching.graph import Capacities, Graph, Matching
from bilex.model.theta import MappedWords
from bilex.numerics.rows import with_columns
from bilex.numerics.types import Indices
from bilex.search.engine import Engine


def candidate_graph(
    words: MappedWords, capacities: Capacities, *, k: int, previous: Matching | None, engine: Engine
) -> Graph:
    """Find the candidate edges and compute their weights, exactly."""
    n_sources, n_targets = len(words.source), len(words.target)
    if capacities.targets_choose:
        columns = np.arange(n_targets)
        rows = best_source_of_each_target(words, engine)
    else:
        k = min(k, n_targets)
        columns = engine.top_k(words.queries, words.targets, k).indices.ravel()
        rows = np.repeat(np.arange(n_sources), k)
    if previous is not None:
        rows = np.concatenate([rows, previous.source])
        columns = np.concatenate([columns, previous.target])
    return Graph.from_edges(rows, columns, words.weigh(rows, columns), (n_sources, n_targets))


def best_source_of_each_target(words: MappedWords, engine: Engine) -> Indices:
    """Find the source of largest edge weight for each target, over all sources.

    For a given target the weight is an inner product plus the offset of s. Two more dimensions hold the offset, since
    a single float32 would round it and another source could win.
    """
    rest = words.offsets - words.offsets.astype(np.float32)
    sources = with_columns(words.queries, words.offsets, rest)
    return engine.top_k(with_columns(words.targets, 1.0, 1.0), sources, 1).indices[:, 0]
