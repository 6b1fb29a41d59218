"""A seed from nothing: a soft matching of the most frequent words that is cooled down until it is a hard one.

EM from pairs of which one in a hundred is right does not get far. So before that, the same two steps are taken softly.
With X and Y the frequent words of both languages (see `coordinates`), P a matrix of probabilities that two words belong
together, each word's adding up to 1, and β an inverse temperature that rises from `HOT` to `COLD`:

- M-step: ``Ω = U D^1/2 Vᵀ`` with ``U D Vᵀ`` the singular value decomposition of ``Xᵀ P Y``. While P is nearly uniform
  only the few directions in which the languages already agree have a weight; others follow as P becomes sharper.
- E-step: ``P ∝ exp(β z + (1 - progress) f)``, balanced by Sinkhorn's rounds; z are the cosines of XΩ with Y, in
  standard deviations, and ``f = -|difference of the logarithms of the ranks|``: translations are about as frequent.

The first P is made of the likeness of `bilex.seeds.signatures` in place of z. This is entropic Gromov-Wasserstein
matching with normalised similarities, cooled slowly. Only the most frequent words take part, so its cost is bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import numpy as np

from bilex.numerics.threads import single_threaded_blas, thread_count
from bilex.numerics.types import Indices, Vectors
from bilex.seeds.signatures import likeness, unit

__all__ = ["SIZES", "couple"]

SIZES = (4000, 2000)  # of the most frequent words: two starts, since none is always good
HOT, COLD = 0.7, 4.0
STEPS = 80
ROUNDS = 6  # of Sinkhorn's in each E-step, from where the last one ended
FIRST_ROUNDS = 15
FIRST_RANK = 10.0  # the most frequent words' ranks say little
BLOCK = 500  # rows at once; a constant, so that results do not depend on the number of threads
TINY = np.float32(1e-30)
T = TypeVar("T")


class Coupling:
    """A soft matching ``P = diag(rows) · kernel · diag(columns)``, worked on in blocks of rows."""

    def __init__(self, size: int) -> None:
        self.kernel = np.empty((size, size), np.float32)
        self.rows = np.ones(size, np.float32)
        self.columns = np.ones(size, np.float32)

    def fill(self, logits: Callable[[slice], Vectors]) -> None:
        """Compute the kernel anew: the exponentials of the logits, of which those of a block of rows are asked for."""

        def work(block: slice) -> None:
            found = logits(block)
            np.exp(found - found.max(axis=1, keepdims=True), out=self.kernel[block])

        in_blocks(work, len(self.rows))

    def balance(self, rounds: int) -> None:
        """Let all rows and columns of P add up to 1 (Sinkhorn)."""

        def work(block: slice) -> Vectors:
            self.rows[block] = 1 / (self.kernel[block] @ self.columns + TINY)
            return np.asarray(self.rows[block] @ self.kernel[block])

        for _ in range(rounds):
            self.columns = 1 / (np.sum(in_blocks(work, len(self.rows)), axis=0) + TINY)

    def times(self, vectors: Vectors) -> Vectors:
        """Give ``P · vectors``: for each source word what is expected of its partner."""
        weighted = self.columns[:, None] * vectors
        expected = in_blocks(lambda block: self.rows[block, None] * (self.kernel[block] @ weighted), len(self.rows))
        return np.concatenate(expected)

    def mutual(self) -> tuple[Indices, Indices]:
        """Give the pairs of words that are each other's most probable partner; there is always one."""
        probable = self.rows[:, None] * self.kernel * self.columns
        best = probable.argmax(axis=1)
        rows = np.flatnonzero(probable.argmax(axis=0)[best] == np.arange(len(best)))
        return rows, best[rows]


def couple(source: Vectors, target: Vectors, size: int) -> tuple[Indices, Indices]:
    """Pair the `size` most frequent words of both languages as far as their vectors tell which belong together."""
    size = min(size, len(source), len(target))
    source, target = source[:size], target[:size]
    ranks = np.log(np.arange(size) + FIRST_RANK).astype(np.float32)
    found = Coupling(size)

    def expected(share: float, block: slice) -> Vectors:
        return np.asarray(-share * np.abs(ranks[block, None] - ranks), np.float32)

    alike = likeness(source, target)
    with single_threaded_blas():
        found.fill(lambda block: alike[block] + expected(1.0, block))
        found.balance(FIRST_ROUNDS)
        x, y = coordinates(source), coordinates(target)
        for step in range(STEPS):
            beta = HOT * (COLD / HOT) ** (step / (STEPS - 1))
            sharpen(found, x, y, beta, partial(expected, 1 - step / STEPS))
    return found.mutual()


def sharpen(found: Coupling, x: Vectors, y: Vectors, beta: float, prior: Callable[[slice], Vectors]) -> None:
    """Take an M-step and an E-step at the inverse temperature β."""
    left, values, right = np.linalg.svd((x.T @ found.times(y)).astype(np.float64), full_matrices=False)
    omega = (left * np.sqrt(values / (values[0] or 1.0))) @ right
    queries, targets = unit(x @ omega.astype(np.float32)), unit(y)
    mean, deviation = moments(queries, targets)
    scale = np.float32(beta / (deviation or 1.0))
    found.fill(lambda block: np.asarray(scale * (queries[block] @ targets.T - mean) + prior(block)))
    found.balance(ROUNDS)


def coordinates(vectors: Vectors) -> Vectors:
    """Give centred unit vectors in the basis of their principal directions, each scaled to the root of its deviation.

    Halfway between the vectors as they are, of which a few directions say everything, and whitened ones, in which
    noise counts as much as anything else.
    """
    centred = unit(vectors - vectors.mean(axis=0)).astype(np.float64)
    left, values, _ = np.linalg.svd(centred - centred.mean(axis=0), full_matrices=False)
    found = left * np.sqrt(values / (values[0] or 1.0))
    return np.asarray(found - found.mean(axis=0), np.float32)


def moments(queries: Vectors, targets: Vectors) -> tuple[np.float32, float]:
    """Give the mean and the standard deviation of all inner products between two sets of vectors."""
    pairs = len(queries) * len(targets)
    mean = float(queries.sum(axis=0, dtype=np.float64) @ targets.sum(axis=0, dtype=np.float64)) / pairs
    squares = ((queries.T @ queries).astype(np.float64) * (targets.T @ targets)).sum() / pairs
    return np.float32(mean), float(np.sqrt(max(squares - mean**2, 0.0)))


def in_blocks(work: Callable[[slice], T], size: int) -> list[T]:
    """Do the work for each block of rows, on all cores, and give the results in order."""
    with ThreadPoolExecutor(thread_count()) as pool:
        return list(pool.map(work, (slice(start, start + BLOCK) for start in range(0, size, BLOCK))))
