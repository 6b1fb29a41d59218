"""The local engine: blocks of scores on this machine's cores, each scanned at once by a numba kernel.

Every thread takes blocks of queries and walks over all the targets with one small buffer of scores, so memory is
``threads × query_block × target_block`` numbers however large the vocabularies are.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from bilex.numerics.rows import as_rows
from bilex.numerics.threads import for_each, thread_count
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import MIN_QUERIES, Neighbours, Progress, check_k

QUERY_BLOCK = 1024
TARGET_BLOCK = 512
MAX_REMEMBERED = 1 << 20  # answers


@dataclass(frozen=True)
class LocalEngine:
    """Exact search on this machine. Threads and the shape of a block of scores do not change the answers.

    EM asks for the best targets of slowly moving queries again and again. Those of the last search of this shape reach
    some level now, which the best now certainly reach as well, so what is below it need not be looked at. Any targets
    would do.
    """

    threads: int = field(default_factory=thread_count)
    query_block: int = QUERY_BLOCK
    target_block: int = TARGET_BLOCK
    progress: Progress | None = None
    _last: dict[tuple[int, int, int], Indices] = field(default_factory=dict, init=False, repr=False, compare=False)

    def top_k(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        """Find the k targets of largest inner product for each query."""
        check_k(k, targets)
        shape = len(queries), len(targets), k
        last = self._last.get(shape)
        levels = None if last is None else lowest_scores(queries, targets, last)
        found = self._search(queries, targets, k, 0, levels)[0]
        self._remember(shape, found.indices)
        return found

    def _remember(self, shape: tuple[int, int, int], answers: Indices) -> None:
        """Keep the answers, and as many of the last ones as there is room for; other threads may do so meanwhile."""
        self._last.pop(shape, None)
        self._last[shape] = answers
        count = 0
        for known, each in reversed(list(self._last.items())):
            count += each.size
            if count > MAX_REMEMBERED:
                self._last.pop(known, None)

    def top_k_both(
        self, queries: Vectors, targets: Vectors, k: int, reached: Floats | None = None
    ) -> tuple[Neighbours, Neighbours]:
        """Find the k best targets of each query and the k best queries of each target, in one pass.

        If k other queries have `reached` a score with each target, queries below it are left out; in their places is
        the number of queries.
        """
        check_k(k)
        return self._search(queries, targets, min(k, len(targets)), min(k, len(queries)), None, reached)

    def _search(
        self,
        queries: Vectors,
        targets: Vectors,
        k: int,
        k_back: int,
        levels: Floats | None = None,
        levels_back: Floats | None = None,
    ) -> tuple[Neighbours, Neighbours]:
        """Find the k best targets of each query, and the `k_back` best queries of each target.

        `levels` are scores that k targets of each query reach, `levels_back` those that other queries have reached.
        """
        from bilex.search.filters import choose_filter

        queries, targets = as_rows(queries), as_rows(targets)
        (best, where), of_targets = empty_lists(len(queries), k), empty_lists(len(targets), k_back)
        if levels is not None:  # as if targets beyond the last had them: the k that reach them come before these
            best[:], where[:] = levels[:, None], len(targets)
        if levels_back is not None:
            of_targets[0][:], of_targets[1][:] = levels_back[:, None], len(queries)
        filtered = choose_filter(queries, targets, self.target_block, has_levels=levels is not None)
        strips = filtered.strips

        def scan(rows: slice) -> None:
            # Each thread begins at another strip, so that they rarely wait for one another.
            number = rows.start // (rows.stop - rows.start)
            turn = number % self.threads * len(strips) // self.threads
            order = strips[turn:] + strips[:turn]
            filtered.scan(queries[rows], rows.start, (best[rows], where[rows]), of_targets, order)

        self._run(scan, len(queries))
        return Neighbours(where, best), Neighbours(*of_targets[::-1])

    def rank(self, queries: Vectors, targets: Vectors, chosen: Indices) -> Indices:
        """Compute the rank, from 1, of ``chosen[q]`` among all targets ordered by score for query q."""
        from bilex.numerics.products_kernel import edge_scores
        from bilex.search.filters import Float32Filter

        queries, targets, chosen = as_rows(queries), as_rows(targets), np.array(chosen, np.int64)
        scores = edge_scores(queries, targets, np.arange(len(queries)), chosen)
        counting, above = Float32Filter(targets, self.target_block), np.zeros(len(queries), np.int64)
        self._run(lambda rows: counting.count(queries[rows], scores[rows], chosen[rows], above[rows]), len(queries))
        return above + 1

    def _run(self, scan: Callable[[slice], None], count: int) -> None:
        """Call `scan` for each block of queries, on all threads."""
        size = min(self.query_block, max(MIN_QUERIES, -(-count // self.threads)))  # so that no thread is idle
        blocks = [slice(start, start + size) for start in range(0, count, size)]
        progress = self.progress
        done = None if progress is None else lambda number: progress(min(number * size, count), count)
        for_each(scan, blocks, threads=self.threads, done=done)


def empty_lists(count: int, k: int) -> tuple[Floats, Indices]:
    """Return k scores and where they were found for each row, before anything was."""
    return np.full((count, k), -np.inf), np.full((count, k), -1, np.int64)


def lowest_scores(queries: Vectors, targets: Vectors, chosen: Indices) -> Floats:
    """Compute the lowest score of each query with the targets chosen for it."""
    from bilex.numerics.products_kernel import edge_scores

    rows = np.repeat(np.arange(len(chosen)), chosen.shape[1])
    scores = edge_scores(as_rows(queries), as_rows(targets), rows, chosen.ravel())
    return np.asarray(scores.reshape(chosen.shape).min(axis=1))
