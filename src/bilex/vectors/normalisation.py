"""Normalisation of word vectors: steps that are named in a method's configuration and applied in order."""

from collections.abc import Iterable, Sequence

import numpy as np

from bilex.errors import BilexError
from bilex.numerics.types import Floats, Vectors

ROWS_PER_BLOCK = 4096
STEPS = ("unit", "centre", "none")
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


def normalise_rows(
    vectors: Vectors, steps: str | Sequence[str], means: Iterable[Floats] = (), *, in_place: bool = False
) -> tuple[Vectors, list[Floats]]:
    """Return the vectors after the given steps, a copy or `in_place`, and the means that were subtracted.

    With `means`, those of other vectors are subtracted, so that these end up where they would beside the others.
    """
    names, given = basic_steps(steps), iter(means)
    normalised = vectors if in_place and vectors.flags.writeable else vectors.copy()
    subtracted = []
    for name in names:
        if name == "unit":
            scale_to_unit(normalised)
        elif name == "centre" and len(vectors):
            mean = next(given, None)
            subtracted.append(mean_row(normalised) if mean is None else mean)
            for block in blocks_of(normalised):
                block[:] = block - subtracted[-1]
    return normalised, subtracted


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


def mean_row(vectors: Vectors) -> Floats:
    """Return the mean of the rows."""
    total = np.zeros(vectors.shape[1], dtype=np.float64)
    for block in blocks_of(vectors):
        total += block.sum(axis=0, dtype=np.float64)
    return np.asarray(total / len(vectors))
