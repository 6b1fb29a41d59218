"""The types of arrays in bilex."""

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Word vectors: one row for each word."""

Floats = NDArray[np.float64]
"""Computed numbers: maps, weights, scores."""

Indices = NDArray[np.int64]
"""Positions of words, by frequency from 0."""
