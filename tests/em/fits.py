"""EM on planted data, in a few words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bilex.em.context import Context, Iteration, Reporter
from bilex.em.em import Fit, fit
from bilex.matching.graph import Matching, RowPairs
from bilex.methods import METHODS, Method
from bilex.model.prior import Prior
from bilex.numerics.types import Indices, Vectors
from bilex.search.engine import Engine
from bilex.search.local import LocalEngine
from tests import oracles

ENGINE = LocalEngine(threads=1)


@dataclass(frozen=True)
class Data:
    """Two vocabularies with a planted lexicon: ``target[gold[j]]`` is Ω ``source[j]`` and noise."""

    source: Vectors
    target: Vectors
    gold: Indices
    omega: np.ndarray

    def seed(self, n: int) -> RowPairs:
        return RowPairs(np.arange(n), self.gold[:n])

    def gold_pairs(self) -> set[tuple[int, int]]:
        return set(enumerate(self.gold.tolist()))


def unit(vectors: np.ndarray) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def planted(
    seed: int, n: int = 80, more_sources: int = 0, more_targets: int = 0, dimension: int = 12, noise: float = 0.1
) -> Data:
    """Plant n pairs among words that have no partner; noise is the length of the error beside a length of 1."""
    rng = np.random.default_rng(seed)
    omega = oracles.random_orthogonal(rng, dimension)
    source = unit(rng.normal(size=(n + more_sources, dimension)))
    mapped = source[:n] @ omega.T + noise * rng.normal(size=(n, dimension)) / np.sqrt(dimension)
    others = rng.normal(size=(more_targets, dimension)) + 0.5  # unmatched words have a mean
    order = rng.permutation(n + more_targets)
    return Data(source, unit(np.concatenate([mapped, others]))[order], np.argsort(order)[:n], omega)


class Recorder(Reporter):
    """Keeps the iterations that were reported."""

    def __init__(self) -> None:
        self.iterations: list[Iteration] = []

    def iteration(self, iteration: Iteration) -> None:
        self.iterations.append(iteration)


def paper(**options: Any) -> Method:
    """Return the paper's method with some options changed."""
    return METHODS["ruder2018"].with_changes(options)


def run_fit(
    data: Data,
    seed: RowPairs | int,
    *,
    kept: RowPairs | None = None,
    forbidden: RowPairs | None = None,
    engine: Engine = ENGINE,
    reporter: Reporter | None = None,
    **options: Any,
) -> Fit:
    """Fit the paper's method with some options changed."""
    method = paper(**options)
    prior = replace(Prior.configured(method.prior), kept=kept or RowPairs(), forbidden=forbidden or RowPairs())
    pairs = data.seed(seed) if isinstance(seed, int) else seed
    context = Context(engine, reporter or Reporter())
    return fit(data.source, data.target, pairs, method, prior, context)


def pairs_of(matching: Matching | RowPairs) -> list[tuple[int, int]]:
    return [(int(j), int(i)) for j, i in zip(matching.source, matching.target, strict=True)]


def row_pairs(*pairs: tuple[int, int]) -> RowPairs:
    both = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    return RowPairs(both[:, 0], both[:, 1])
