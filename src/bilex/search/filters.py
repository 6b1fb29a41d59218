"""The filters of the local engine: cheap scores with a bound on their error, block by block.

A filter never decides anything but what is certain: every score that could matter is computed again, in float64. The
float32 filter works everywhere; the 8-bit one (`search/int8_kernel.py`) is several times faster where the CPU has the
instruction, and can be switched off with ``BILEX_INT8=0``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from bilex.numerics.types import Floats, Indices, Vectors

__all__ = ["Filter", "Float32Filter", "Int8Filter", "choose_filter"]


class Filter(Protocol):
    """Knows the targets, and compares all of them with a block of queries."""

    def search(self, queries: Vectors, best: Floats, where: Indices) -> None:
        """Merge all targets into the running best k of each query, in place."""
        ...

    def count(self, queries: Vectors, reference: Floats, chosen: Indices, above: Indices) -> None:
        """Add to `above` how many targets come before the chosen one, whose score is `reference`."""
        ...


class Float32Filter:
    """Scores by BLAS in float32."""

    def __init__(self, targets: Vectors, block: int) -> None:
        from bilex.search.topk_kernel import row_norms

        self.targets, self.block = targets, block
        self.longest = float(row_norms(targets).max(initial=0.0))

    def search(self, queries: Vectors, best: Floats, where: Indices) -> None:
        """Merge all targets into the running best k of each query."""
        from bilex.search.topk_kernel import scan_block

        slack = self.slack(queries)
        for first, scores in self.blocks(queries):
            scan_block(scores, queries, self.targets, first, slack, best, where)

    def count(self, queries: Vectors, reference: Floats, chosen: Indices, above: Indices) -> None:
        """Count the targets that come before the chosen one."""
        from bilex.search.topk_kernel import count_block

        slack = self.slack(queries)
        for first, scores in self.blocks(queries):
            count_block(scores, queries, self.targets, first, slack, reference, chosen, above)

    def slack(self, queries: Vectors) -> Floats:
        """Bound the error of each query's scores, in both directions."""
        from bilex.search.topk_kernel import row_norms, slack_factor

        norms, dimension = row_norms(queries), queries.shape[1]
        # The relative bound says nothing about products that underflow: each may be off by half a subnormal step.
        slack = slack_factor(dimension) * self.longest * norms + dimension * 2.0**-148
        slack[norms * self.longest > 1e38] = np.inf  # sums that may overflow say nothing
        return np.asarray(slack)

    def blocks(self, queries: Vectors) -> Iterator[tuple[int, Vectors]]:
        """Yield the first target and the scores of one block after the other, in one buffer."""
        buffer = np.empty(len(queries) * min(self.block, len(self.targets)), np.float32)
        for first in range(0, len(self.targets), self.block):
            block = self.targets[first : first + self.block]
            scores = buffer[: len(queries) * len(block)].reshape(len(queries), len(block))
            np.matmul(queries, block.T, out=scores)
            yield first, scores


class Int8Filter:
    """Scores from products of 8-bit integers."""

    def __init__(self, targets: Vectors) -> None:
        from bilex.search.int8_kernel import prepare_targets

        self.targets, self.tiles = targets, prepare_targets(targets)

    def search(self, queries: Vectors, best: Floats, where: Indices) -> None:
        """Merge all targets into the running best k of each query."""
        from bilex.search.int8_kernel import prepare_queries, search

        search(queries, self.targets, *prepare_queries(queries, self.tiles), self.tiles, best, where)

    def count(self, queries: Vectors, reference: Floats, chosen: Indices, above: Indices) -> None:
        """Count the targets that come before the chosen one."""
        from bilex.search.int8_kernel import count, prepare_queries

        count(queries, self.targets, *prepare_queries(queries, self.tiles), self.tiles, reference, chosen, above)


def choose_filter(queries: Vectors, targets: Vectors, block: int) -> Filter:
    """Give the fastest filter that this machine and these vectors allow."""
    from bilex.search.int8_kernel import WIDTH, available

    wanted = os.environ.get("BILEX_INT8", "1") != "0" and available()
    if wanted and len(targets) >= WIDTH and ordinary(queries) and ordinary(targets):
        return Int8Filter(targets)
    return Float32Filter(targets, block)


def ordinary(vectors: Vectors) -> bool:
    """Say whether the numbers are of a size that float32 arithmetic on their scales can bear."""
    largest = max(float(vectors.max(initial=0.0)), -float(vectors.min(initial=0.0)))
    return bool(1e-12 < largest < 1e12)
