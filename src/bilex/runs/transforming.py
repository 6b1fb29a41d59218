"""Map vectors that are not in a run into its shared space: those of new words, and whole fastText models.

Normalising is not linear, since a vector is scaled to unit length before the mean is subtracted. A fastText model makes
the vector of a word as a mean of rows, and a mean only commutes with what is linear. So n-grams are mapped as if all
vectors had the mean length of the run's words, and a word's own row is then corrected so that the mean of its rows is
exactly what `Run.transform` gives. Words of the model are exact, up to rounding; words outside it are nearly so.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bilex.errors import BilexError
from bilex.numerics.rows import apply, unit
from bilex.numerics.types import Floats, Vectors
from bilex.vectors.fasttext import FastText, write_mapped_model
from bilex.vectors.normalisation import basic_steps, normalise_rows
from bilex.vectors.spelling import with_spelling

if TYPE_CHECKING:
    from bilex.runs.run import Run

MODEL_WORDS_SAMPLED = 20_000


def transform_rows(run: Run, vectors: Vectors, side: str, words: Sequence[str] | None = None) -> Vectors:
    """Normalise vectors of one side as the run did, and map them; see `Run.transform`."""
    steps, means, orthography = normalisation_of(run, side)
    with np.errstate(over="ignore"):  # what becomes infinite is told below
        rows = np.ascontiguousarray(vectors, np.float32)
    raw = run.sides[side].dimension if not orthography else (means[0].size if means else None)
    if rows.ndim != 2 or (raw is not None and rows.shape[1] != raw):
        raise BilexError(f"vectors of shape {rows.shape}, but those of the {side} have {raw} columns; give such rows")
    if not np.isfinite(rows).all():
        raise BilexError("the vectors hold NaN, infinity or numbers that float32 cannot hold; leave such rows out")
    normalised, _ = normalise_rows(rows, steps, means)
    if orthography and words is None:
        raise BilexError("the run's method adds the spelling of words; give Embeddings, which have words")
    normalised = with_spelling(normalised, words or (), orthography)
    mapped = run.theta.map_source(normalised) if side == "source" else run.theta.map_target(normalised)
    return unit(mapped)


def normalisation_of(run: Run, side: str) -> tuple[list[str], tuple[Floats, ...], float]:
    """Return the steps that the run normalised a side with, the means it subtracted, and the weight of the spelling."""
    if side not in run.sides:
        raise BilexError(f"no side is called {side!r}; choose source or target")
    method = run.info.get("configuration", {}).get("method", {})
    steps = basic_steps(str(method.get("normalise", "unit,centre,unit")))
    centred = steps.count("centre")
    means = run.sides[side].means[-centred:] if centred else ()
    orthography, dimension = float(method.get("orthography", 0)), run.sides[side].dimension
    if len(means) < centred or (not orthography and any(mean.size != dimension for mean in means)):
        raise BilexError("this run does not know the mean of its vectors; run `bilex induce` again")
    return steps, means, orthography


def transform_model(run: Run, model: FastText, path: str | os.PathLike[str], side: str) -> None:
    """Write a fastText model with its words and n-grams mapped into the run's shared space."""
    steps, means, orthography = normalisation_of(run, side)
    if orthography or len(means) > 1:
        raise BilexError("n-grams cannot be mapped for a method with spelling or iterative normalisation; use vec")
    matrix = run.theta.omega if side == "source" else run.theta.target_map
    matrix = np.eye(run.sides[side].dimension) if matrix is None else matrix
    if model.dimension != matrix.shape[1]:
        problem = f"{model.path}: the model has {model.dimension} dimensions, and the {side} {matrix.shape[1]}"
        raise BilexError(f"{problem}; give the model of that language")
    sample = model.vectors(np.arange(min(len(model.starts), MODEL_WORDS_SAMPLED))).astype(np.float64)
    scaled_first = "unit" in steps[: steps.index("centre")] if means else False
    length = float(np.linalg.norm(sample, axis=1).mean()) if scaled_first else 1.0
    shift = length * means[0] if means else np.zeros(model.dimension)
    mapped = float(np.linalg.norm((sample - shift) @ matrix.T, axis=1).mean())
    matrix = matrix / (mapped or 1.0)  # so that mapped words have about length 1
    write_mapped_model(
        path,
        model,
        linear=lambda rows: apply(matrix, (rows - shift).astype(np.float32)),
        exact=lambda rows: transform_rows(run, rows, side),
    )
