"""Normalisation of word vectors: steps that are named in a method's configuration and applied in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bilex.errors import BilexError
from bilex.numerics.types import Vectors

ROWS_PER_BLOCK = 4096
ALIASES = {"center": "centre"}
ITERATIVE = (*("unit", "centre") * 10, "unit")  # each round makes the mean about ten times smaller


def basic_steps(steps: str | Sequence[str]) -> list[str]:
    """Split the steps and replace each that consists of others, so that ``unit``, ``centre`` and ``none`` are left."""
    names = steps.split(",") if isinstance(steps, str) else steps
    found: list[str] = []
    for name in names:
        step = ALIASES.get(name.strip(), name.strip())
        if step != "iterative" and step not in STEPS:
            raise BilexError(f"no normalisation step {name!r}; use unit, centre, iterative or none")
        found += ITERATIVE if step == "iterative" else (step,)
    return found


def normalise_rows(vectors: Vectors, steps: str | Sequence[str]) -> Vectors:
    """Return a copy of the vectors after the given steps."""
    names, normalised = basic_steps(steps), vectors.copy()
    for name in names:
        STEPS[name](normalised)
    return normalised


def blocks_of(vectors: Vectors) -> list[Vectors]:
    """Cut the rows into views of a fixed size, so that threads cannot change the order of a sum."""
    return [vectors[start : start + ROWS_PER_BLOCK] for start in range(0, len(vectors), ROWS_PER_BLOCK)]


def scale_to_unit(vectors: Vectors) -> None:
    """Scale rows to norm 1 in place, in float64, where the squares of all float32 numbers are in range."""
    for block in blocks_of(vectors):
        wide = block.astype(np.float64)
        norms = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
        norms[norms == 0] = 1.0
        block[:] = wide / norms


def subtract_mean(vectors: Vectors) -> None:
    """Subtract the mean row in place."""
    if not len(vectors):
        return
    total = np.zeros(vectors.shape[1], dtype=np.float64)
    for block in blocks_of(vectors):
        total += block.sum(axis=0, dtype=np.float64)
    mean = total / len(vectors)
    for block in blocks_of(vectors):
        block[:] = block - mean


STEPS: dict[str, Callable[[Vectors], None]] = {
    "unit": scale_to_unit,
    "centre": subtract_mean,
    "none": lambda vectors: None,
}
