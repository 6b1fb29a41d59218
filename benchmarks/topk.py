"""Exact search for the nearest targets: ours with both filters, beside faiss's flat index and NumPy.

The queries are searched in slices, each by ours and by the peers in turns; a slice stands for all queries.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from unittest import mock

import numpy as np

from benchmarks.graphs import languages, map_words
from benchmarks.results import Result, promise, stopwatch, taking_turns
from bilex.numerics.threads import thread_count
from bilex.numerics.types import Indices, Vectors
from bilex.search.int8_kernel import available
from bilex.search.local import LocalEngine

__all__ = ["benchmark", "float32", "gemm_rate"]

WORDS, DIMENSION, QUICK_WORDS, QUICK_DIMENSION = 100_000, 300, 2_000, 50
K = 3
SLICES = 10
NUMPY_BLOCK = 1024
BOUNDS = {"faiss": 1.3, "numpy": 3.0, "float32": 2.5}  # times slower than ours


def benchmark(quick: bool) -> Iterator[Result]:
    """Measure one full pass."""
    words, dimension = (QUICK_WORDS, QUICK_DIMENSION) if quick else (WORDS, DIMENSION)
    mapped = map_words(languages(words, dimension), "good")
    queries, targets = mapped.queries, mapped.targets
    rate = gemm_rate(queries, targets)
    searchers: dict[str, Callable[[Vectors], Indices]] = {
        "float32": lambda block: float32(block, targets, K),
        "faiss": faiss_flat(targets),
        "numpy": lambda block: by_argpartition(block, targets),
    }
    if available():
        searchers["int8"] = lambda block: LocalEngine().top_k(block, targets, K).indices
    answers: dict[str, list[Indices]] = {name: [] for name in searchers}
    parts = np.array_split(queries, SLICES)

    def search_next(name: str) -> float:
        block = parts[len(answers[name]) % SLICES]
        found, cpu, _ = stopwatch(lambda: searchers[name](block))
        answers[name].append(found)
        return cpu * len(queries) / len(block)

    for search in searchers.values():
        search(queries[:100])  # compiles, loads
    passes = taking_turns({name: partial(search_next, name) for name in searchers}, quick, warm_up=False)
    check_same_targets(answers)
    case = f"{words:,} x {words:,} x {dimension}, k={K}"
    for ours, peer in (("float32", "faiss"), ("float32", "numpy"), ("int8", "float32"), ("int8", "faiss")):
        if ours not in passes:
            continue
        factor, middle = BOUNDS[peer], passes[ours].median
        unpromised = quick or (ours, peer) == ("int8", "faiss")
        yield Result(
            name="topk",
            case=f"{case}, {ours} filter",
            unit="CPU s",
            ours=passes[ours],
            peer_name={"faiss": "faiss IndexFlatIP", "numpy": "NumPy argpartition", "float32": "our float32"}[peer],
            peer=passes[peer],
            details={
                "gemm_gflops_per_core": rate / 1e9,
                "our_gflops_per_core": 2.0 * words * words * dimension / middle / 1e9,
            },
            **promise(f"at least {factor:g}x", passes[peer].median >= factor * middle, unpromised),
        )


def float32(queries: Vectors, targets: Vectors, k: int) -> Indices:
    """Search with our float32 filter."""
    with mock.patch.dict(os.environ, BILEX_INT8="0"):
        return LocalEngine().top_k(queries, targets, k).indices


def faiss_flat(targets: Vectors) -> Callable[[Vectors], Indices]:
    """Return a search by faiss's exact index."""
    import faiss

    faiss.omp_set_num_threads(thread_count())
    index = faiss.IndexFlatIP(targets.shape[1])
    index.add(targets)
    return lambda block: np.asarray(index.search(block, K)[1])


def by_argpartition(queries: Vectors, targets: Vectors) -> Indices:
    """Search as one would with NumPy alone: a block of scores, the k largest of each row, sorted."""
    found = []
    for start in range(0, len(queries), NUMPY_BLOCK):
        scores = queries[start : start + NUMPY_BLOCK] @ targets.T
        best = np.argpartition(scores, -K, axis=1)[:, -K:]
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
        found.append(np.take_along_axis(best, order, axis=1))
    return np.concatenate(found)


def check_same_targets(answers: dict[str, list[Indices]]) -> None:
    """Raise if the answers differ: ours must be equal, the peers' may differ where float32 cannot tell two scores."""
    ours = np.sort(np.concatenate(answers["float32"]), axis=1)
    for name, found in answers.items():
        same = float((np.sort(np.concatenate(found), axis=1) == ours).mean())
        if same < (1 if name == "int8" else 0.999):
            raise ArithmeticError(f"{name} finds other targets: {same:.4%} are the same")


def gemm_rate(queries: Vectors, targets: Vectors) -> float:
    """Measure the operations a second of one core in BLAS's float32 product, the limit of the float32 filter."""
    from bilex.numerics.threads import single_threaded_blas

    block, others = queries[:512], targets[:1024]
    with single_threaded_blas():
        seconds = min(stopwatch(lambda: [block @ others.T for _ in range(20)])[1] for _ in range(5))
    return float(20 * 2.0 * len(block) * len(others) * block.shape[1] / max(seconds, 1e-9))
