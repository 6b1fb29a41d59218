"""The local engine: blocks of scores on this machine's cores, each scanned at once by a numba kernel.

Every thread takes blocks of queries and walks over all the targets with one small buffer of scores, so memory is
``threads × query_block × target_block`` numbers however large the vocabularies are.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from bilex.numerics.threads import single_threaded_blas, thread_count
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Neighbours, Progress, check_k

QUERY_BLOCK = 512
TARGET_BLOCK = 1024


@dataclass(frozen=True)
class LocalEngine:
    """Exact search on this machine. Threads and the shape of a block of scores do not change the answers."""

    threads: int = field(default_factory=thread_count)
    query_block: int = QUERY_BLOCK
    target_block: int = TARGET_BLOCK
    progress: Progress | None = None

    def top_k(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        """Find the k targets of largest inner product for each query."""
        check_k(k, targets)
        best, where = np.full((len(queries), k), -np.inf), np.full((len(queries), k), -1, np.int64)
        self._scan(queries, targets, best, where, np.zeros(0, np.int64))
        return Neighbours(where, best)

    def rank(self, queries: Vectors, targets: Vectors, chosen: Indices) -> Indices:
        """Compute the rank, from 1, of ``chosen[q]`` among all targets ordered by score for query q."""
        from bilex.search.topk_kernel import edge_scores

        scores = edge_scores(queries, targets, np.arange(len(queries)), chosen)
        above = np.zeros(len(queries), np.int64)
        self._scan(queries, targets, scores[:, None], np.array(chosen[:, None]), above)
        return above + 1

    def _scan(self, queries: Vectors, targets: Vectors, best: Floats, where: Indices, above: Indices) -> None:
        """Compare all targets with blocks of queries, on all threads; see `topk_kernel.scan_block`."""
        from bilex.search.filters import choose_filter

        filtered, count = choose_filter(queries, targets, self.target_block), len(queries)
        blocks = [slice(start, start + self.query_block) for start in range(0, count, self.query_block)]

        def scan(rows: slice) -> None:
            filtered.scan(queries[rows], best[rows], where[rows], above[rows])

        with single_threaded_blas(), ThreadPoolExecutor(self.threads) as pool:
            try:
                for done, _ in enumerate(pool.map(scan, blocks), 1):
                    if self.progress is not None:
                        self.progress(min(done * self.query_block, count), count)
            except BaseException:  # after an interrupt, do not finish the queue first
                pool.shutdown(wait=False, cancel_futures=True)
                raise
