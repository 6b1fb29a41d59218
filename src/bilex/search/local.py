"""The local engine: blocks of scores on this machine's cores, each scanned at once by a numba kernel.

Every thread takes blocks of queries and walks over all the targets with one small buffer of scores, so memory is
``threads × query_block × target_block`` numbers however large the vocabularies are.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from bilex.numerics.threads import single_threaded_blas, thread_count
from bilex.numerics.types import Indices, Vectors
from bilex.search.engine import Neighbours, Progress

QUERY_BLOCK = 512
TARGET_BLOCK = 1024


@dataclass(frozen=True)
class LocalEngine:
    """Exact search on this machine.

    Parameters
    ----------
    threads
        The number of worker threads. It does not change the answers.
    query_block, target_block
        The shape of a block of scores. It does not change the answers.
    progress
        Receives (queries done, queries in all) after each block of queries.
    """

    threads: int = field(default_factory=thread_count)
    query_block: int = QUERY_BLOCK
    target_block: int = TARGET_BLOCK
    progress: Progress | None = None

    def top_k(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        """Find the k targets of largest inner product for each query."""
        from bilex.search.filters import choose_filter

        if not 1 <= k <= len(targets):
            raise ValueError(f"k is {k}, with {len(targets)} targets")
        best = np.full((len(queries), k), -np.inf)
        where = np.full((len(queries), k), -1, np.int64)
        filtered = choose_filter(queries, targets, self.target_block)
        self._run(lambda rows: filtered.search(queries[rows], best[rows], where[rows]), len(queries))
        return Neighbours(where, best)

    def rank(self, queries: Vectors, targets: Vectors, chosen: Indices) -> Indices:
        """Compute the rank, from 1, of ``chosen[q]`` among all targets ordered by score for query q."""
        from bilex.search.filters import choose_filter
        from bilex.search.topk_kernel import edge_scores

        level = edge_scores(queries, targets, np.arange(len(queries)), chosen)
        above = np.zeros(len(queries), np.int64)
        filtered = choose_filter(queries, targets, self.target_block)
        self._run(lambda rows: filtered.count(queries[rows], level[rows], chosen[rows], above[rows]), len(queries))
        return above + 1

    def _run(self, search: Callable[[slice], None], count: int) -> None:
        """Call `search` for every block of queries, on all threads."""
        blocks = [slice(start, start + self.query_block) for start in range(0, count, self.query_block)]
        with single_threaded_blas(), ThreadPoolExecutor(self.threads) as pool:
            try:
                for done, _ in enumerate(pool.map(search, blocks), 1):
                    if self.progress is not None:
                        self.progress(min(done * self.query_block, count), count)
            except BaseException:  # after an interrupt, do not finish the queue first
                pool.shutdown(wait=False, cancel_futures=True)
                raise
