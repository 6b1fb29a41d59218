"""The filters of the local engine: cheap scores with a bound on their error.

A filter only drops targets that certainly do not matter; the scores of the others are computed again in float64. The
float32 filter works everywhere. The 8-bit filter (`search/int8_kernel.py`) is faster where the CPU has the
instructions; ``BILEX_INT8=0`` switches it off.
"""

import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from bilex.numerics.products_kernel import row_norms
from bilex.numerics.rows import as_rows
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search import int8_kernel
from bilex.search.engine import MIN_QUERIES
from bilex.search.index import slack_factor
from bilex.search.rounding_kernel import WIDTH, prepare_queries, prepare_targets
from bilex.search.topk_kernel import Lists, count_block, scan_block

SAMPLED_ROWS = 16  # every so many rows show how large the dimensions are
MAX_LEADING = 0.75  # of the dimensions; more save too little
MAX_REST = 0.07  # of the inner products' size may be bounded only; more would let too many scores pass
NO_REST = 0.001


@dataclass(frozen=True)
class Strip:
    """Targets from `start` to `stop`, whose best queries one thread changes at a time."""

    start: int
    stop: int
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __len__(self) -> int:
        return self.stop - self.start


def strips_of(targets: Vectors, width: int) -> list[Strip]:
    """Cut the targets into strips."""
    return [Strip(start, min(start + width, len(targets))) for start in range(0, len(targets), width)]


class Float32Filter:
    """Compares all targets with blocks of queries, by BLAS products in float32."""

    def __init__(self, targets: Vectors, block: int) -> None:
        self.targets, self.strips = targets, strips_of(targets, block)
        self.longest = float(row_norms(targets).max(initial=0.0))

    def scan(self, queries: Vectors, first: int, of_queries: Lists, of_targets: Lists, strips: Iterable[Strip]) -> None:
        """Compare the targets with a block of queries, and merge the scores into the best of both."""
        slack = self.slack(queries)
        for strip, scores in self.products(queries, strips):
            with strip.lock:
                scan_block(scores, queries, self.targets, (first, strip.start), slack, of_queries, of_targets)

    def count(self, queries: Vectors, exact: Floats, chosen: Indices, above: Indices) -> None:
        """Count the targets that come before each query's chosen one, whose score is given."""
        slack = self.slack(queries)
        for strip, scores in self.products(queries, self.strips):
            count_block(scores, queries, self.targets, strip.start, slack, exact, chosen, above)

    def products(self, queries: Vectors, strips: Iterable[Strip]) -> Iterator[tuple[Strip, Vectors]]:
        """Yield the float32 scores of each strip, all in one buffer."""
        buffer = np.empty(len(queries) * max((len(strip) for strip in self.strips), default=0), np.float32)
        for strip in strips:
            scores = buffer[: len(queries) * len(strip)].reshape(len(queries), len(strip))
            yield strip, np.matmul(queries, self.targets[strip.start : strip.stop].T, out=scores)

    def slack(self, queries: Vectors) -> Floats:
        """Bound the error of each query's scores, in both directions."""
        norms, dimension = row_norms(queries), queries.shape[1]
        # The relative bound does not cover products that underflow: each may be off by half a subnormal step.
        slack = slack_factor(dimension) * self.longest * norms + dimension * 2.0**-148
        slack[norms * self.longest > 1e38] = np.inf  # sums that may overflow prove nothing
        return np.asarray(slack)


class Int8Filter:
    """Compares all targets with blocks of queries, by products of 8-bit integers.

    If only the `leading` dimensions are multiplied, the norms of the others stand for these: with q = (q₁, q₂),

        q·t  <=  q₁·t₁ + ‖q₂‖ ‖t₂‖

    The bound is an inner product of shorter rows, and whatever could matter by it is scored in all dimensions.
    """

    def __init__(self, targets: Vectors, block: int, leading: int | None = None) -> None:
        self.targets, self.leading = targets, leading
        self.tiles = prepare_targets(self.shorten(targets))
        self.strips = strips_of(targets, -(-block // WIDTH) * WIDTH)

    def scan(self, queries: Vectors, first: int, of_queries: Lists, of_targets: Lists, strips: Iterable[Strip]) -> None:
        """Compare the targets with a block of queries, and merge the scores into the best of both."""
        rounded = prepare_queries(self.shorten(queries), self.tiles)
        for strip in strips:
            chunks = (strip.start // WIDTH, -(-strip.stop // WIDTH))
            with strip.lock:
                int8_kernel.scan_tiles(
                    queries, self.targets, rounded, self.tiles, chunks, first, of_queries, of_targets
                )

    def shorten(self, vectors: Vectors) -> Vectors:
        """Return the leading dimensions of each row and the norm of the rest, as four equal numbers: none is large."""
        if self.leading is None:
            return vectors
        norms = row_norms(as_rows(vectors[:, self.leading :])).astype(np.float32)
        short = np.empty((len(vectors), self.leading + 4), np.float32)
        short[:, : self.leading] = vectors[:, : self.leading]
        short[:, self.leading :] = np.nextafter(norms, np.float32(np.inf))[:, None] / 2
        return short


def leading_dimensions(queries: Vectors, targets: Vectors, rest: float) -> int | None:
    """Return how many dimensions hold all but `rest` of the inner products' size; None if these are most dimensions.

    Maps of both sides have the dimensions in which these agree first.
    """
    sizes = [(side[::SAMPLED_ROWS].astype(np.float64) ** 2).sum(axis=0)[::-1].cumsum() for side in (queries, targets)]
    left = np.sqrt(sizes[0] * sizes[1])[::-1]
    leading = -(-int(np.count_nonzero(left > rest * left[0])) // 4) * 4
    return leading if leading <= MAX_LEADING * queries.shape[1] else None


def choose_filter(
    queries: Vectors, targets: Vectors, block: int, *, has_levels: bool = False
) -> Float32Filter | Int8Filter:
    """Return the fastest filter that this machine and these vectors allow.

    With levels to start from, few targets pass, and a looser bound costs less than the shorter products save.
    """
    wanted = os.environ.get("BILEX_INT8", "1") != "0" and int8_kernel.available()
    enough = len(queries) >= MIN_QUERIES and len(targets) >= WIDTH
    if wanted and enough and in_int8_range(queries) and in_int8_range(targets):
        return Int8Filter(targets, block, leading_dimensions(queries, targets, MAX_REST if has_levels else NO_REST))
    return Float32Filter(targets, block)


def in_int8_range(vectors: Vectors) -> bool:
    """Check that the largest number is of a size for which float32 arithmetic on the scales is safe."""
    largest = max(float(vectors.max(initial=0.0)), -float(vectors.min(initial=0.0)))
    return bool(1e-12 < largest < 1e12)
