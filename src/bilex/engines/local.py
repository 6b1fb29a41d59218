"""The local engine: BLAS blocks on this machine's cores, each scanned at once by a numba kernel.

Every thread takes blocks of queries and walks over all the targets with one small buffer of scores, so memory is
``threads × QUERY_BLOCK × TARGET_BLOCK`` floats however long the vocabularies are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from bilex.arrays import Floats, Indices, Vectors
from bilex.engines.base import Neighbours, Progress
from bilex.threads import single_threaded_blas, thread_count

__all__ = ["LocalEngine"]

QUERY_BLOCK = 512
TARGET_BLOCK = 1024


@dataclass(frozen=True)
class LocalEngine:
    """Exact search on this machine.

    Parameters
    ----------
    threads
        Worker threads. The answers do not depend on it.
    query_block, target_block
        The shape of a block of scores. The answers do not depend on it.
    progress
        Called with (queries done, queries in all) after each block of queries.
    """

    threads: int = field(default_factory=thread_count)
    query_block: int = QUERY_BLOCK
    target_block: int = TARGET_BLOCK
    progress: Progress | None = None

    def top_k(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        """Find the k targets of largest inner product for each query."""
        from bilex.kernels.topk import scan_block

        if not 1 <= k <= len(targets):
            raise ValueError(f"k is {k}, with {len(targets)} targets")
        best = np.full((len(queries), k), -np.inf)
        where = np.full((len(queries), k), -1, np.int64)

        def search(rows: slice, slack: Floats) -> None:
            block = queries[rows]
            for first, scores in self._blocks(block, targets):
                scan_block(scores, block, targets, first, slack, best[rows], where[rows])

        self._run(search, queries, targets)
        return Neighbours(where, best)

    def rank(self, queries: Vectors, targets: Vectors, chosen: Indices) -> Indices:
        """Give the place, from 1, of ``chosen[q]`` among all targets ordered by score for query q."""
        from bilex.kernels.topk import count_block, edge_scores

        level = edge_scores(queries, targets, np.arange(len(queries)), chosen)
        above = np.zeros(len(queries), np.int64)

        def search(rows: slice, slack: Floats) -> None:
            block = queries[rows]
            for first, scores in self._blocks(block, targets):
                count_block(scores, block, targets, first, slack, level[rows], chosen[rows], above[rows])

        self._run(search, queries, targets)
        return above + 1

    def _blocks(self, queries: Vectors, targets: Vectors) -> Iterator[tuple[int, Vectors]]:
        """Yield the scores of `queries` with one block of targets after the other, in one buffer."""
        buffer = np.empty(len(queries) * min(self.target_block, len(targets)), np.float32)
        for first in range(0, len(targets), self.target_block):
            block = targets[first : first + self.target_block]
            scores = buffer[: len(queries) * len(block)].reshape(len(queries), len(block))
            np.matmul(queries, block.T, out=scores)
            yield first, scores

    def _run(self, search: Callable[[slice, Floats], None], queries: Vectors, targets: Vectors) -> None:
        """Call `search` for every block of queries, on all threads."""
        from bilex.kernels.topk import row_norms, slack_factor

        longest = float(row_norms(targets).max(initial=0.0))
        norms = row_norms(queries)
        # The relative bound says nothing about products that underflow: each may be off by half a subnormal step.
        slack = slack_factor(queries.shape[1]) * longest * norms + queries.shape[1] * 2.0**-148
        slack[norms * longest > 1e38] = np.inf  # sums that may overflow say nothing: every score is computed again
        starts = range(0, len(queries), self.query_block)
        with single_threaded_blas(), ThreadPoolExecutor(self.threads) as pool:
            blocks = [slice(start, start + self.query_block) for start in starts]
            try:
                for done, _ in enumerate(pool.map(lambda rows: search(rows, slack[rows]), blocks), 1):
                    if self.progress is not None:
                        self.progress(min(done * self.query_block, len(queries)), len(queries))
            except BaseException:  # an interrupt: do not work off the queue first
                pool.shutdown(wait=False, cancel_futures=True)
                raise
