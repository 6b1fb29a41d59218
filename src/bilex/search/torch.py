"""The torch engine: float32 products on a GPU (CUDA or MPS) or in torch on the CPU, with exact answers.

The device only filters. For each query it returns the M > k targets of largest float32 score, which are scored again
on the host in float64, as in the local engine. The other targets have a float32 score of at most v, the smallest of
the M, and so a true score of at most v + slack, the error bound of `search/topk_kernel.py`. If the k-th best of the M
is above that, the k best of all targets are among the M. The few other queries (ties at the edge, or scores that
overflow) are searched by the local engine.

The bound holds for float32 products in any order of summation, so TF32, bfloat16 and autocast are switched off during
a search. Each score that comes back is checked against the bound, and a device that breaks it is an error.

Both sides are on the device once, for the duration of a search; only candidates come back. Threads of the host wait for
them and score them, so that the next blocks are queued meanwhile and the device does not wait for the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bilex.errors import BilexError
from bilex.numerics.rows import as_rows
from bilex.numerics.threads import thread_count
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Neighbours, Progress, check_k
from bilex.search.index import slack_factor
from bilex.search.local import LocalEngine

DEVICES = ("cuda", "mps", "cpu")
SPARE_CANDIDATES = 32  # how many more than k come back from the device
MAX_NEAR_RANK = 32  # `rank` counts the targets before one that is not among so many
TORCH_QUERY_BLOCK = 1024
TORCH_TARGET_BLOCK = 8192  # 32 MiB of scores at a time

DeviceLists = tuple[Any, Any]
"""Tensors on the device: the largest scores of each row, and where they were found."""


@dataclass(eq=False)
class TorchEngine:
    """Exact search with torch. Threads and the shape of a block of scores do not change the answers."""

    device: str | None = None  # None for the first of `DEVICES` that is available
    threads: int = field(default_factory=thread_count)  # on the host
    query_block: int = TORCH_QUERY_BLOCK
    target_block: int = TORCH_TARGET_BLOCK
    progress: Progress | None = None
    doubtful: int = field(default=0, init=False)  # queries that the local engine had to search the last time

    def __enter__(self) -> TorchEngine:
        """Find torch and the device now, so that a missing one is an error before the vectors are read."""
        find_device(self.device)
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: the engine holds nothing between searches."""

    def top_k(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        """Find the k targets of largest inner product for each query."""
        check_k(k, targets)
        answers = Answers(queries, targets, k)
        self._filter(queries, targets, answers, None)
        return self._finish(answers)

    def top_k_both(self, queries: Vectors, targets: Vectors, k: int) -> tuple[Neighbours, Neighbours]:
        """Find the k best targets of each query and the k best queries of each target, in one pass."""
        check_k(k)
        of_queries = Answers(queries, targets, min(k, len(targets)))
        of_targets = Answers(targets, queries, min(k, len(queries)))
        if len(queries) and len(targets):
            self._filter(queries, targets, of_queries, of_targets)
        return self._finish(of_queries), self._finish(of_targets)

    def rank(self, queries: Vectors, targets: Vectors, chosen: Indices) -> Indices:
        """Compute the rank, from 1, of ``chosen[q]`` among all targets ordered by score for query q.

        Most chosen targets are near, and found by `top_k`; the local engine counts for the others.
        """
        if not len(queries):
            return np.zeros(0, np.int64)
        near = self.top_k(queries, targets, min(MAX_NEAR_RANK, len(targets))).indices == chosen[:, None]
        ranks = np.asarray(near.argmax(axis=1) + 1)
        far = np.flatnonzero(~near.any(axis=1))
        if len(far):
            ranks[far] = LocalEngine(self.threads).rank(queries[far], targets, chosen[far])
        return ranks

    def _finish(self, answers: Answers) -> Neighbours:
        """Let the local engine search where the device's answers prove nothing."""
        rest = np.flatnonzero(~answers.proved)
        self.doubtful = len(rest)
        if len(rest) and answers.k:
            found = LocalEngine(self.threads).top_k(answers.queries[rest], answers.targets, answers.k)
            answers.indices[rest], answers.scores[rest] = found.indices, found.scores
        return Neighbours(answers.indices, answers.scores)

    def _filter(self, queries: Vectors, targets: Vectors, of_queries: Answers, of_targets: Answers | None) -> None:
        """Find on the device the best targets of each block of queries, and the best queries of all targets if asked.

        The host settles some blocks while the device computes the next ones. What is best for the targets stays on the
        device until all queries have passed.
        """
        torch, device = find_device(self.device)
        strips = [slice(start, start + self.target_block) for start in range(0, len(targets), self.target_block)]
        with working(torch, device, self.threads), ThreadPoolExecutor(self.threads) as pool:
            settling = list[Future[None]]()

            def settle(answers: Answers, rows: slice, found: DeviceLists) -> None:
                # A copy from the device waits until it is done, so this thread, which queues its work, makes none.
                settling.append(pool.submit(lambda: answers.settle(rows, *(part.cpu().numpy() for part in found))))
                if len(settling) > 2 * self.threads:  # waiting answers take memory
                    settling.pop(0).result()

            try:
                all_queries, all_targets = upload(torch, device, queries), upload(torch, device, targets)
                best_queries = [no_lists(torch, device, len(targets[strip])) for strip in strips]
                for start in range(0, len(queries), self.query_block):
                    rows = slice(start, start + self.query_block)
                    block = all_queries[rows]
                    best = no_lists(torch, device, len(block))
                    for i, strip in enumerate(strips):
                        scores = block @ all_targets[strip].T
                        best = merge_best(torch, best, scores, strip.start, of_queries.kept)
                        if of_targets is not None:
                            best_queries[i] = merge_best(torch, best_queries[i], scores.T, start, of_targets.kept)
                    settle(of_queries, rows, best)
                    if self.progress is not None:
                        self.progress(min(start + self.query_block, len(queries)), len(queries))
                if of_targets is not None:
                    for strip, lists in zip(strips, best_queries, strict=True):
                        settle(of_targets, strip, lists)
                for future in settling:
                    future.result()
            except BaseException:  # after an interrupt, do not finish the queue first
                pool.shutdown(wait=False, cancel_futures=True)
                raise


class Answers:
    """The k best targets of each query, settled on the host from what the device kept, and whether that proves them."""

    def __init__(self, queries: Vectors, targets: Vectors, k: int) -> None:
        self.queries, self.targets, self.k = as_rows(queries), as_rows(targets), k
        self.kept = min(k + SPARE_CANDIDATES, len(targets))
        self.slack = error_bound(self.queries, self.targets)
        self.indices, self.scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
        self.proved = np.zeros(len(queries), np.bool_)

    def settle(self, rows: slice, values: Vectors, columns: Indices) -> None:
        """Score in float64 the targets that the device kept, and check that no other can be among the k best."""
        slack = self.slack[rows]
        exact = exact_scores(self.queries[rows], self.targets, columns)
        check_bound(exact, values, slack[:, None])
        order = np.lexsort((columns, -exact))[:, : self.k]
        self.indices[rows] = np.take_along_axis(columns, order, axis=1)
        self.scores[rows] = np.take_along_axis(exact, order, axis=1)
        limit = values.min(axis=1).astype(np.float64) + slack  # with a NaN nothing is proved
        self.proved[rows] = (self.scores[rows, -1] > limit) | (columns.shape[1] == len(self.targets))


def find_device(asked: str | None) -> tuple[Any, Any]:
    """Import torch and choose the device; both are Any, since torch is optional."""
    try:
        import torch
    except ImportError:
        raise BilexError("the torch engine needs torch, which is missing; pip install 'bilex[torch]'") from None
    there: dict[str, Callable[[], bool]] = {
        "cuda": torch.cuda.is_available,
        "mps": torch.backends.mps.is_available,
        "cpu": lambda: True,
    }
    if asked is not None and not there[asked]():
        found = ", ".join(f"torch={name}" for name in DEVICES if there[name]())
        raise BilexError(f"torch finds no {asked.upper()} device on this machine; use --engine {found} or local")
    return torch, torch.device(asked or next(name for name in DEVICES if there[name]()))


@contextmanager
def working(torch: Any, device: Any, threads: int) -> Iterator[None]:
    """Make torch compute in plain float32 on this many threads of the host; restore its settings afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with plain_float32(torch), torch.inference_mode(), torch.autocast(device.type, enabled=False):
            yield
    except RuntimeError as error:
        if "out of memory" not in str(error):
            raise
        raise BilexError(
            f"{device.type} is out of memory; use --engine local, or read fewer words with --limit"
        ) from None
    finally:
        torch.set_num_threads(before)


@contextmanager
def plain_float32(torch: Any) -> Iterator[None]:
    """Switch TF32 and bfloat16 products off: the error bound does not hold for them."""
    places = (
        (torch.backends.cuda.matmul, torch.backends.mkldnn.matmul) if hasattr(torch.backends, "fp32_precision") else ()
    )
    if not places:  # torch before 2.9
        whole = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
    precisions = [place.fp32_precision for place in places]
    for place in places:
        place.fp32_precision = "ieee"
    try:
        yield
    finally:
        for place, precision in zip(places, precisions, strict=True):
            place.fp32_precision = precision
        if not places:
            torch.set_float32_matmul_precision(whole)


def upload(torch: Any, device: Any, vectors: Vectors) -> Any:
    """Copy rows to the device; on the CPU they are shared if torch can use them as they are."""
    return torch.from_numpy(np.require(vectors, np.float32, ["C_CONTIGUOUS", "WRITEABLE"])).to(device)


def no_lists(torch: Any, device: Any, count: int) -> DeviceLists:
    """Return empty lists for each of `count` rows: the scores, and where they were found."""
    return torch.empty((count, 0), device=device), torch.empty((count, 0), dtype=torch.int64, device=device)


def merge_best(torch: Any, lists: DeviceLists, scores: Any, first: int, kept: int) -> DeviceLists:
    """Merge a block of scores into the `kept` largest of each row, in no order; `first` is the block's first column."""
    best, where = torch.topk(scores, min(kept, scores.shape[1]), dim=1, sorted=False)
    values, columns = torch.cat([lists[0], best], dim=1), torch.cat([lists[1], where + first], dim=1)
    if values.shape[1] > kept:
        values, where = torch.topk(values, kept, dim=1, sorted=False)
        columns = columns.gather(1, where)
    return values, columns


def exact_scores(queries: Vectors, targets: Vectors, columns: Indices) -> Floats:
    """Compute in float64 the scores of each query with its own targets."""
    from bilex.numerics.products_kernel import edge_scores

    rows = np.repeat(np.arange(len(queries)), columns.shape[1])
    return np.asarray(edge_scores(queries, targets, rows, columns.ravel()).reshape(columns.shape))


def error_bound(queries: Vectors, targets: Vectors) -> Floats:
    """Bound the error of each query's float32 scores, on a device that may flush subnormal numbers to 0."""
    from bilex.numerics.products_kernel import row_norms

    dimension, norms = queries.shape[1], row_norms(queries)
    longest = float(row_norms(targets).max(initial=0.0))
    slack = slack_factor(dimension) * longest * norms + dimension * 2.0**-125 * (2 + norms + longest)
    slack[norms * longest > 1e38] = np.inf  # sums that may overflow prove nothing
    return np.asarray(slack)


def check_bound(exact: Floats, values: Vectors, slack: Floats) -> None:
    """Raise if the device was less exact than float32 allows: then its answers prove nothing."""
    if (np.abs(exact - values) > slack).any():
        raise BilexError(
            "torch does not compute in float32 on this device, so its answers would not be exact; use --engine local"
        )
