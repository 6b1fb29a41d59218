"""The Dask engine: the queries of a search are shared out over the workers of a cluster.

Each worker has all the target vectors and runs the local engine on some of the queries, so the answers are the local
engine's, to the bit. Targets are sent once: while the same rows are searched, as in the iterations of EM, only queries
and answers travel. The matching and the M-step stay on the client.

A task carries its queries, so Dask gives it to another worker if one dies. If all workers that had the targets die, the
targets are sent again. `docs/engines.md` explains how to start a cluster and how much travels.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import math
import threading
import warnings
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilex.errors import BilexError
from bilex.numerics.threads import thread_count
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Neighbours, Progress, check_k
from bilex.search.local import QUERY_BLOCK, LocalEngine, empty_lists
from bilex.version import __version__

MAX_TASK_BYTES = 8_000_000  # of queries; Dask warns about tasks above 10 MB
TASKS_PER_THREAD = 4  # so that a slow worker does not keep the others waiting
MAX_ATTEMPTS = 3  # searches are given up after all workers with the targets have died this often
MAX_HELD_TARGETS = 2  # arrays of targets on the workers: some methods search in both directions by turns
MAX_OWN_QUERIES = 2_000  # so few are searched by the client,
MAX_FREE_BYTES = 100_000_000  # if the targets are larger than this: sending them would take longer

ShortIndices = NDArray[np.int32]
Task = Callable[[LocalEngine, Vectors, Vectors], Any]
"""What a worker does with some queries and all targets."""
WORKER_LOCK = threading.Lock()
"""Held on a worker by the running task: it uses all the worker's threads, so one task runs at a time."""


@dataclass(eq=False)
class DaskEngine:
    """Exact search on a Dask cluster.

    It connects when it is entered (or first used) and disconnects when it is left or closed. Threads and rows of a task
    do not change the answers.
    """

    address: str | None = None  # of a scheduler, such as "tcp://10.0.0.1:8786"; None for a cluster in this process
    threads: int = field(default_factory=thread_count)  # of that cluster; with an address, each worker uses its own
    task_rows: int | None = None  # queries in one task; by default a few tasks for each thread of the cluster
    progress: Progress | None = None
    connect_timeout: float = 5.0  # seconds
    worker_timeout: float = 15.0  # for a first worker, or another one after the last has died
    sent: int = field(default=0, init=False)  # how often targets were sent to the workers
    _client: Any = field(default=None, init=False, repr=False)
    _open: contextlib.ExitStack = field(default_factory=contextlib.ExitStack, init=False, repr=False)
    _held: dict[bytes, Any] = field(default_factory=dict, init=False, repr=False)

    def __enter__(self) -> DaskEngine:
        """Connect now, so that a wrong address is an error before the vectors are read."""
        self._connect()
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect."""
        self.close()

    def close(self) -> None:
        """Disconnect from the cluster, and stop it if this engine started it."""
        self._held.clear()
        self._client = None
        self._open.close()

    def top_k(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        """Find the k targets of largest inner product for each query."""
        check_k(k, targets)
        if len(queries) <= MAX_OWN_QUERIES and targets.nbytes > MAX_FREE_BYTES:
            return LocalEngine(self.threads).top_k(queries, targets, k)
        indices, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))

        def fill(rows: slice, part: Neighbours) -> None:
            indices[rows], scores[rows] = part.indices, part.scores

        self._search(queries, targets, lambda _: partial(LocalEngine.top_k, k=k), fill)
        return Neighbours(indices, scores)

    def top_k_both(self, queries: Vectors, targets: Vectors, k: int) -> tuple[Neighbours, Neighbours]:
        """Find the k best targets of each query and the k best queries of each target, in one pass.

        A task says which of its queries are among the best of a target; those that others have beaten do not travel.
        """
        from bilex.search.topk_kernel import insert_edges

        check_k(k)
        best, where = empty_lists(len(queries), min(k, len(targets)))
        of_targets = empty_lists(len(targets), min(k, len(queries)))

        def task(_: slice) -> Task:
            return partial(best_both_ways, k=k, least=round_down(of_targets[0][:, -1]))

        def fill(rows: slice, part: tuple[Neighbours, ShortIndices, ShortIndices, Floats]) -> None:
            of_queries, own, columns, scores = part
            best[rows], where[rows] = of_queries.scores, of_queries.indices
            insert_edges(scores, own.astype(np.int64) + rows.start, columns.astype(np.int64), *of_targets)

        if len(queries) and len(targets):
            self._search(queries, targets, task, fill)
        return Neighbours(where, best), Neighbours(*of_targets[::-1])

    def rank(self, queries: Vectors, targets: Vectors, chosen: Indices) -> Indices:
        """Compute the rank, from 1, of ``chosen[q]`` among all targets ordered by score for query q."""
        ranks = np.empty(len(queries), np.int64)

        def fill(rows: slice, part: Indices) -> None:
            ranks[rows] = part

        self._search(queries, targets, lambda rows: partial(LocalEngine.rank, chosen=chosen[rows]), fill)
        return ranks

    def _search(
        self, queries: Vectors, targets: Vectors, task: Callable[[slice], Task], fill: Callable[[slice, Any], None]
    ) -> None:
        """Call `fill` with the workers' answers as they come in."""
        done = 0
        with contextlib.closing(self._answers(queries, targets, task)) as answers:
            for rows, part in answers:
                fill(rows, part)
                done += rows.stop - rows.start
                if self.progress is not None:
                    self.progress(done, len(queries))

    def _answers(
        self, queries: Vectors, targets: Vectors, task: Callable[[slice], Task]
    ) -> Generator[tuple[slice, Any]]:
        """Yield the answers for each block of queries; ask again for those that died with their workers."""
        from distributed.scheduler import KilledWorker

        client = self._connect()
        try:
            threads = sum(client.nthreads().values())
            size = self.task_rows or choose_task_rows(queries, threads)
            waiting = [slice(start, min(start + size, len(queries))) for start in range(0, len(queries), size)][::-1]
            for _ in range(MAX_ATTEMPTS):
                try:
                    with contextlib.closing(self._run_tasks(queries, targets, task, waiting, threads)) as part:
                        yield from part
                    return
                except (CancelledError, KilledWorker, TimeoutError):  # workers took tasks or targets with them
                    self._held.clear()
                    wait_for_worker(client, self.address, self.worker_timeout)
        except OSError:
            raise BilexError(f"the Dask scheduler at {self.address} is gone; start it, and then bilex again") from None
        raise BilexError(
            f"the Dask workers died {MAX_ATTEMPTS} times during a search; give them more memory, or use --engine local"
        )

    def _run_tasks(
        self,
        queries: Vectors,
        targets: Vectors,
        task: Callable[[slice], Task],
        waiting: list[slice],
        threads: int,
    ) -> Generator[tuple[slice, Any]]:
        """Run a task for each slice in `waiting`, a few at a time; afterwards it holds those that are not done."""
        from distributed import as_completed

        client, held = self._connect(), self._send(targets)
        running = dict[Any, slice]()
        completed = as_completed(loop=client.loop)

        def submit() -> None:
            rows = waiting.pop()
            future = client.submit(search_on_worker, queries[rows], held, task(rows), __version__, pure=False)
            running[future] = rows
            completed.add(future)

        try:
            while waiting and len(running) < 2 * threads + 2:
                submit()
            for future in completed:
                answer = future.result()
                yield running.pop(future), answer
                if waiting:
                    submit()
        finally:
            waiting.extend(running.values())
            if running:
                client.cancel(list(running), force=True)

    def _send(self, targets: Vectors) -> Any:
        """Return the future of the targets on the workers; send them if they are not there."""
        key = fingerprint(targets)
        held = self._held.pop(key, None)
        if held is None:
            self.sent += 1
            try:
                held = self._client.scatter([np.ascontiguousarray(targets)], broadcast=True, hash=False)[0]
            except (ValueError, KeyError) as error:  # the worker died before or while it took them
                raise TimeoutError("no Dask worker is left to take the targets") from error
        self._held[key] = held  # the last used comes last
        while len(self._held) > MAX_HELD_TARGETS:
            self._held.pop(next(iter(self._held)))
        return held

    def _connect(self) -> Any:
        """Return the client; the first time, connect and check the workers."""
        if self._client is None:
            try:
                import distributed
            except ImportError:
                problem = "the dask engine needs distributed, which is missing"
                raise BilexError(f"{problem}; pip install 'bilex[dask]'") from None
            with contextlib.ExitStack() as stack:
                stack.enter_context(quiet_logs())
                address = self.address or stack.enter_context(own_cluster(distributed, self.threads))
                client = stack.enter_context(connection(distributed, address, self.connect_timeout))
                wait_for_worker(client, self.address, self.worker_timeout)
                check_cluster_versions(client)
                self._client, self._open = client, stack.pop_all()
        return self._client


def best_both_ways(
    engine: LocalEngine, queries: Vectors, targets: Vectors, k: int, least: Vectors
) -> tuple[Neighbours, ShortIndices, ShortIndices, Floats]:
    """Find the k best targets of each query, and the edges to queries that may be among the k best of a target.

    `least` is for each target a score that k other queries have reached. The edges travel, so their ends have 32 bits.
    """
    of_queries, of_targets = engine.top_k_both(queries, targets, k, least.astype(np.float64))
    columns, places = np.nonzero(of_targets.indices < len(queries))
    own, scores = of_targets.indices[columns, places], of_targets.scores[columns, places]
    return of_queries, own.astype(np.int32), columns.astype(np.int32), scores


def search_on_worker(queries: Vectors, targets: Vectors, task: Task, version: str) -> Any:
    """Run the local engine on all threads of the worker."""
    from distributed import get_worker

    if version != __version__:  # a worker that joined after the check
        raise BilexError(f"a Dask worker has bilex {__version__} and this is {version}; install the same on all")
    with WORKER_LOCK:
        return task(LocalEngine(threads=get_worker().state.nthreads), queries, targets)


def round_down(scores: Floats) -> Vectors:
    """Round to float32, but never up."""
    return np.nextafter(scores.astype(np.float32), np.float32(-np.inf))


def choose_task_rows(queries: Vectors, threads: int) -> int:
    """Choose how many queries go into a task: whole blocks, and enough tasks to keep all workers busy."""
    fair = math.ceil(len(queries) / max(1, TASKS_PER_THREAD * threads) / QUERY_BLOCK) * QUERY_BLOCK
    return max(1, min(fair, MAX_TASK_BYTES // max(1, 4 * int(queries.shape[1]))))


def fingerprint(vectors: Vectors) -> bytes:
    """Return a hash of the rows, by which equal targets are recognised."""
    digest = hashlib.blake2b(repr(vectors.shape).encode(), digest_size=32)
    digest.update(np.ascontiguousarray(vectors).data if vectors.size else b"")
    return digest.digest()


def wait_for_worker(client: Any, address: str | None, timeout: float) -> None:
    """Wait until the cluster has at least one worker."""
    try:
        client.wait_for_workers(1, timeout=timeout)
    except TimeoutError:
        raise BilexError(
            f"the Dask scheduler at {address} has no worker; start one with `dask worker {address}`"
        ) from None


@contextlib.contextmanager
def own_cluster(distributed: Any, threads: int) -> Iterator[str]:
    """Run a cluster of one worker in this process: it shares our memory, and starts at once."""
    here = "127.0.0.1:0"  # any free port, for this machine only
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=threads,
        processes=False,
        memory_limit=0,
        dashboard_address=here,
        worker_dashboard_address=here,
    ) as cluster:
        # A worker watches the garbage collector, and a Ctrl-C that arrives in its callback would be lost.
        distributed.worker.disable_gc_diagnosis(force=True)
        yield cluster.scheduler_address


@contextlib.contextmanager
def connection(distributed: Any, address: str, timeout: float) -> Iterator[Any]:
    """Connect to a scheduler."""
    # Built in two steps so that a client that fails to connect can be closed. Left to the garbage collector, it closes
    # itself while another one starts, and both wait for one lock.
    client = object.__new__(distributed.Client)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions: `check_cluster_versions` checks the one that matters
            client.__init__(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:  # a TimeoutError is an OSError
        with contextlib.suppress(Exception):
            client.close()
            client._loop_runner.stop()  # which close() leaves running if there never was a connection
        raise BilexError(
            f"no Dask scheduler answers at {address} ({type(error).__name__}); start one with `dask scheduler`, or use "
            "--engine dask for a cluster of this machine"
        ) from None
    try:
        yield client
    finally:
        client.close()


def check_cluster_versions(client: Any) -> None:
    """Raise unless the scheduler and all workers have this version of bilex."""
    versions = client.get_versions(packages=["bilex"])
    parts = {"the scheduler": versions["scheduler"]}
    parts |= {f"the worker {address}": found for address, found in versions["workers"].items()}
    for part, found in parts.items():
        version = found["packages"].get("bilex")
        if version != __version__:
            has = f"bilex {version}" if version else "no bilex"
            raise BilexError(f"{part} has {has}; run `pip install 'bilex[dask]=={__version__}'` there")


@contextlib.contextmanager
def quiet_logs() -> Iterator[None]:
    """Keep Dask's log off stderr: the engine reports itself what a user has to know."""
    names = ["distributed", "tornado", "tornado.application"]
    names += [name for name in logging.root.manager.loggerDict if name.startswith("distributed.")]
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
