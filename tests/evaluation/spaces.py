"""A small shared space for the tests of the evaluations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bilex.numerics.rows import apply
from bilex.search.local import LocalEngine
from bilex.search.space import SharedSpace
from bilex.vectors.embeddings import Embeddings
from tests import oracles

Pairs = list[tuple[str, str]]


class Space(NamedTuple):
    space: SharedSpace
    source: Embeddings
    target: Embeddings


def make_space(random: int, sources: int = 40, targets: int = 50, noise: float = 0.5) -> Space:
    """Make words s0, s1, ... and t0, t1, ... of which those with the same number are near each other."""
    rng = np.random.default_rng(random)
    vectors = rng.normal(size=(max(sources, targets), 6))
    omega = oracles.random_orthogonal(rng, 6)
    blurred = vectors[:targets] @ omega.T + noise * rng.normal(size=(targets, 6))
    source = Embeddings(tuple(f"s{row}" for row in range(sources)), vectors[:sources].astype(np.float32))
    target = Embeddings(tuple(f"t{row}" for row in range(targets)), blurred.astype(np.float32))
    return Space(
        SharedSpace.from_vectors(apply(omega, source.vectors), target.vectors, LocalEngine(threads=1)), source, target
    )
