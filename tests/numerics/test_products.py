"""Inner products in float64, and the bound on those in float32."""

import numpy as np
import pytest

from bilex.numerics import products_kernel
from bilex.search.index import slack_factor
from tests import oracles
from tests.numerics.test_rows import random_vectors


@pytest.mark.parametrize("dimension", [1, 8, 301])
def test_inner_products_and_the_bound_on_float32(dimension: int) -> None:
    left, right = random_vectors(23, 30, dimension), random_vectors(24, 40, dimension)
    rows, columns = np.divmod(np.arange(30 * 40), 40)
    expected, norms = oracles.score_matrix(left, right), products_kernel.row_norms(left)
    scores = products_kernel.edge_scores(left, right, rows, columns)
    np.testing.assert_allclose(scores, expected.ravel(), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(norms, np.linalg.norm(left.astype(np.float64), axis=1), rtol=1e-14)
    errors = np.abs((left @ right.T).astype(np.float64) - expected)
    assert (errors <= slack_factor(dimension) * np.outer(norms, products_kernel.row_norms(right))).all()
