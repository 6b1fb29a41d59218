"""The filters of the local engine: cheap scores with a bound on their error, block by block.

A filter never decides anything but what is certain: every score that could matter is computed again, in float64. The
float32 filter works everywhere; the 8-bit one (`kernels/int8.py`) is several times faster where the CPU has the
instruction, and can be switched off with ``BILEX_INT8=0``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from bilex.arrays import Floats, Indices, Vectors

__all__ = ["Filter", "Float32Filter", "Int8Filter", "choose_filter"]


class Filter(Protocol):
    """Knows the targets, and finds the best of them for a block of queries."""

    def search(self, queries: Vectors, best: Floats, where: Indices) -> None:
        """Merge all targets into the running best k of each query, in place."""
        ...


class Float32Filter:
    """Scores by BLAS in float32."""

    def __init__(self, targets: Vectors, block: int) -> None:
        from bilex.kernels.topk import row_norms

        self.targets, self.block = targets, block
        self.longest = float(row_norms(targets).max(initial=0.0))

    def search(self, queries: Vectors, best: Floats, where: Indices) -> None:
        """Merge all targets into the running best k of each query."""
        from bilex.kernels.topk import scan_block

        slack = self.slack(queries)
        for first, scores in self.blocks(queries):
            scan_block(scores, queries, self.targets, first, slack, best, where)

    def slack(self, queries: Vectors) -> Floats:
        """Bound the error of each query's scores, in both directions."""
        from bilex.kernels.topk import row_norms, slack_factor

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
    """Upper bounds of the scores from products of 8-bit integers."""

    def __init__(self, targets: Vectors, block: int) -> None:
        from bilex.kernels.int8 import WIDTH, pack_targets, quantise

        self.targets, self.block = targets, -(-block // WIDTH) * WIDTH
        count, dimension = targets.shape
        self.facts, totals = np.empty((4, count), np.float32), np.empty(count, np.int32)
        codes = np.empty((count, dimension), np.int8)
        quantise(targets, codes, self.facts, totals)
        self.packed = pack_targets(codes)
        self.starts = np.zeros(len(self.packed) * 16, np.int32)
        self.starts[:count] = -128 * totals

    def search(self, queries: Vectors, best: Floats, where: Indices) -> None:
        """Merge all targets into the running best k of each query."""
        from bilex.kernels.int8 import ROWS, WIDTH, aligned, multiply, quantise, rounding, scan_products

        facts, codes = np.empty((4, len(queries)), np.float32), np.empty(queries.shape, np.int8)
        quantise(queries, codes, facts, np.empty(len(queries), np.int32))
        height = -(-len(queries) // ROWS) * ROWS
        shifted = aligned((height, self.packed.shape[1] * 4), np.uint8)
        shifted[: len(queries), : queries.shape[1]] = codes.astype(np.int16) + 128
        slack = rounding(facts, self.facts)
        room = aligned((height * self.block,), np.int32)
        for first in range(0, len(self.targets), self.block):
            rows = slice(first, min(first + self.block, len(self.targets)))
            padded = -(-(rows.stop - first) // WIDTH) * WIDTH
            sums = room[: height * padded].reshape(height, padded)
            multiply(shifted, self.packed[first // 16 : (first + padded) // 16], self.starts[first:], sums)
            scan_products(sums, queries, self.targets, first, facts, self.facts[:, rows], slack, best, where)


def choose_filter(queries: Vectors, targets: Vectors, block: int) -> Filter:
    """Give the fastest filter that this machine and these vectors allow."""
    from bilex.kernels.int8 import WIDTH, available

    wanted = os.environ.get("BILEX_INT8", "1") != "0" and available()
    if wanted and len(targets) >= WIDTH and ordinary(queries) and ordinary(targets):
        return Int8Filter(targets, block)
    return Float32Filter(targets, block)


def ordinary(vectors: Vectors) -> bool:
    """Say whether the numbers are of a size that float32 arithmetic on their scales can bear."""
    largest = max(float(vectors.max(initial=0.0)), -float(vectors.min(initial=0.0)))
    return bool(1e-12 < largest < 1e12)
