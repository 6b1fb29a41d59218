"""The contract of an engine: exact answers about inner products, without ever holding an n × m array.

The answers are those of a search in float64 over the given float32 rows, largest score first and ties by lower index.
They do not depend on blocks, threads or machines, so one engine can always replace another.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bilex.errors import BilexError
from bilex.numerics.types import Floats, Indices, Vectors

MIN_QUERIES = 64  # fewer are searched without rounding the targets first, which takes longer than float32 products
Progress = Callable[[int, int], None]
"""Receives (rows done, rows in all) after each block."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The k nearest targets of each query: `indices` and float64 `scores`, both (n, k), nearest first."""

    indices: Indices
    scores: Floats


class Engine(Protocol):
    """Answers the three questions that bilex asks about inner products."""

    def top_k(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        """Find the k targets of largest inner product for each query; k is at most ``len(targets)``."""
        ...

    def top_k_both(self, queries: Vectors, targets: Vectors, k: int) -> tuple[Neighbours, Neighbours]:
        """Find the k best targets of each query and the k best queries of each target, in one pass over all pairs.

        Where a side has fewer than k rows, all of them are found.
        """
        ...

    def rank(self, queries: Vectors, targets: Vectors, chosen: Indices) -> Indices:
        """Compute the rank, from 1, of ``chosen[q]`` among all targets ordered by score for query q."""
        ...


def check_engine(engine: Engine) -> Engine:
    """Return an engine; raise if it is something else, as its name."""
    if not hasattr(engine, "top_k_both"):
        raise BilexError(f"{engine!r} is no engine; make one with bilex.search.engines.find_engine, or leave it out")
    return engine


def check_k(k: int, targets: Vectors | None = None) -> None:
    """Raise if k is less than 1, or if there are not k targets."""
    if k < 1 or (targets is not None and k > len(targets)):
        raise ValueError(f"k is {k}" + (f", with {len(targets)} targets" if targets is not None else ""))
