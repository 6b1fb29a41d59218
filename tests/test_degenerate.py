"""Degenerate input ends in a sound result or a clear error, and no NaN ever reaches a file."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

import bilex
from bilex.errors import BilexError
from bilex.lexicon.lexicon import Lexicon
from bilex.matching.solver import GAP_LIMIT, CertificateError
from bilex.seeds.seed import SeedLike
from bilex.vectors.embeddings import Embeddings
from bilex.vectors.writers import write_vectors
from tests.oracles import random_orthogonal

RNG = np.random.default_rng(0)
COMMON = RNG.normal(size=(50, 8))
TURNED = COMMON @ random_orthogonal(RNG, 8).T
SPREAD = np.exp(np.linspace(-60, 60, 50))[:, None]
CASES: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {
    "all vectors equal": (np.ones((50, 8)), np.ones((50, 8))),
    "all vectors of one side equal": (np.ones((50, 8)), TURNED),
    "rank 1": (np.outer(COMMON[:, 0], COMMON[0]), np.outer(TURNED[:, 0], TURNED[1])),
    "duplicated columns": (np.hstack([COMMON[:, :4]] * 2), np.hstack([TURNED[:, :4]] * 2)),
    "duplicated words": (np.repeat(COMMON[:25], 2, axis=0), np.repeat(TURNED[:25], 2, axis=0)),
    "one dimension": (COMMON[:, :1], TURNED[:, :1]),
    "fewer words than dimensions": (COMMON[:5], TURNED[:5]),
    "one word": (COMMON[:1], TURNED[:1]),
    "1e-30": (COMMON * 1e-30, TURNED * 1e-30),
    "1e30": (COMMON * 1e30, TURNED * 1e30),
    "1e-30 beside 1e30": (COMMON * 1e-30, TURNED * 1e30),
    "every scale": (COMMON * SPREAD, TURNED / SPREAD),
    "subnormal": (COMMON * 1e-44, TURNED * 1e-44),
    "nearly too large": (np.sign(COMMON) * 3e38, np.sign(TURNED) * 3e38),
}
EVERY_CASE = ("bilex", "ruder2018")  # the other methods get, in turn, one of the two cases that tell most
METHOD_CASES = [(method, case) for case in CASES for method in EVERY_CASE] + list(
    zip(sorted(set(bilex.METHODS) - set(EVERY_CASE)), cycle(("rank 1", "every scale")))
)


def language(vectors: NDArray[Any]) -> Embeddings:
    return Embeddings(tuple(f"w{row}" for row in range(len(vectors))), vectors.astype(np.float32))


def check_run_files(folder: Path) -> None:
    """Check that every number in a run directory is finite."""
    for name, tensor in load_file(folder / "model.safetensors").items():
        assert np.isfinite(tensor).all(), name
    json.loads((folder / "run.json").read_text("utf-8"), parse_constant=pytest.fail)
    bilex.Run.load(folder)


def check_run(run: bilex.Run) -> None:
    """Check what holds for every run: cosines are at most 1, and each matching was proved optimal."""
    assert (np.abs(run.lexicon.score) <= 1 + 1e-6).all()
    for iteration in run.info["iterations"]:
        assert abs(iteration["mean_cosine"]) <= 1 + 1e-6
        if iteration["certificate_gap"] is not None:
            assert iteration["certificate_gap"] <= GAP_LIMIT * max(1, iteration["pairs"]) * 2
    if run.theta.target_map is None and run.info["configuration"]["method"]["map"]["kind"] == "orthogonal":
        np.testing.assert_allclose(run.theta.omega @ run.theta.omega.T, np.eye(len(run.theta.omega)), atol=1e-9)


@pytest.mark.filterwarnings("ignore::bilex.errors.BilexWarning")
@pytest.mark.parametrize(("method", "case"), METHOD_CASES)
def test_every_method_ends_in_a_sound_result_or_a_clear_error(method: str, case: str, tmp_path: Path) -> None:
    source, target = map(language, CASES[case])
    place = METHOD_CASES.index((method, case))
    seed: SeedLike = "identical" if place % 2 else [("w0", "w0")]
    try:
        run = bilex.induce(source, target, seed, method)
    except BilexError as error:
        assert case in {"nearly too large", "every scale"} and "none" in bilex.METHODS[method].normalise
        assert "too large" in str(error)
        return
    check_run(run)
    run.save(tmp_path / "run")
    check_run_files(tmp_path / "run")


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_the_scale_of_the_vectors_does_not_matter(scale: float) -> None:
    plain, scaled = (bilex.induce(language(COMMON * by), language(TURNED * by)) for by in (1, scale))
    assert scaled.lexicon.source == plain.lexicon.source
    assert scaled.lexicon.target == plain.lexicon.target
    assert scaled.lexicon.score == pytest.approx(plain.lexicon.score, abs=1e-5)


@pytest.mark.parametrize("number", [np.nan, -np.inf])
def test_nan_and_infinity_are_neither_read_nor_written(number: float, tmp_path: Path) -> None:
    vectors = COMMON.astype(np.float32).copy()
    vectors[7, 3] = number
    with pytest.raises(BilexError, match="'w7' holds NaN"):
        bilex.induce(language(COMMON), language(vectors))
    for name in ("a.vec", "a.bin", "a.safetensors"):
        with pytest.raises(BilexError, match="NaN"):
            write_vectors(tmp_path / name, [f"w{row}" for row in range(50)], vectors)
    lexicon = Lexicon(("a",), ("b",), np.array([number]), np.array([1]), np.array([True]), ("matching",), np.ones(1))
    with pytest.raises(BilexError, match="NaN"):
        lexicon.save(tmp_path / "lexicon.tsv")
    run = bilex.induce(language(COMMON), language(TURNED))
    run.theta.mu[0] = number
    with pytest.raises(BilexError, match="mu holds NaN"):
        run.save(tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_a_matching_without_its_proof_is_an_error_and_not_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The solver is made to leave out one of the best edges."""
    from bilex.matching import solver_kernel as matching

    solve = matching.solve_integers

    def careless(*arguments: Any) -> Any:
        chosen, u, v = solve(*arguments)
        chosen[np.flatnonzero(chosen)[0]] = False
        return chosen, u, v

    monkeypatch.setattr(matching, "solve_integers", careless)
    with pytest.raises(CertificateError):
        bilex.induce(language(COMMON), language(TURNED), method="ruder2018")
    with pytest.raises(CertificateError):
        bilex.induce(language(COMMON), language(TURNED), method="ruder2018", exact=True)


def test_a_dense_matching_without_its_proof_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from bilex.matching import dense as pricing

    found = pricing.violations
    monkeypatch.setattr(pricing, "violations", lambda *arguments: (*found(*arguments)[:2], 1.0))
    with pytest.raises(CertificateError):
        bilex.induce(language(COMMON), language(TURNED), method="ruder2018", exact=True)
