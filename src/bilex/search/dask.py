"""The Dask engine: the queries of a search are shared out over the workers of a cluster.

Each worker has all the target vectors and runs the local engine on some of the queries, so the answers are the local
engine's, to the bit. Targets are sent once: as long as the same rows are searched, as in the iterations of EM, only
queries and answers travel. The matching and the M-step stay on the client.

A task carries its queries with it, so Dask gives it to another worker if one dies. The targets are on every worker;
should all that had them die, they are sent again. `docs/engines.md` says how to start a cluster and how much travels.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import math
import threading
import warnings
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bilex.errors import BilexError
from bilex.numerics.threads import thread_count
from bilex.numerics.types import Indices, Vectors
from bilex.search.engine import Neighbours, Progress
from bilex.search.local import LocalEngine
from bilex.version import __version__

__all__ = ["DaskEngine"]

PATIENCE = 5.0  # seconds to wait for the scheduler
WORKER_PATIENCE = 15.0  # seconds to wait for a first worker, and for another after the last has died
BLOCK = 512  # queries that the local engine takes at a time
TASK_BYTES = 4_000_000  # queries in one task at most; Dask warns of tasks above 10 MB
TASKS_EACH = 4  # tasks for each thread of the cluster, so that a slow worker does not keep the others waiting
ATTEMPTS = 3  # how often the targets are sent again after all the workers that had them have died
HELD = 2  # arrays of targets that stay on the workers: some methods search in both directions by turns

ALONE = threading.Lock()
"""On a worker: a task uses all the worker's threads, so one runs at a time."""


@dataclass(eq=False)
class DaskEngine:
    """Exact search on a Dask cluster.

    It connects when it is entered (or first used) and lets go when it is left or closed. An array of targets that is
    passed again must not have been changed in place.

    Parameters
    ----------
    address
        The address of a scheduler, such as ``"tcp://10.0.0.1:8786"``, or None for a cluster in this process.
    threads
        Threads of that cluster; with an address, each worker uses its own. The answers do not depend on it.
    rows
        Queries in one task; by default a few tasks for each thread of the cluster. The answers do not depend on it.
    progress
        Called with (queries done, queries in all) after each task.
    sent
        How many arrays of targets have been sent to the workers; for benchmarks and tests.
    """

    address: str | None = None
    threads: int = field(default_factory=thread_count)
    rows: int | None = None
    progress: Progress | None = None
    sent: int = field(default=0, init=False)
    _client: Any = field(default=None, init=False, repr=False)
    _open: contextlib.ExitStack = field(default_factory=contextlib.ExitStack, init=False, repr=False)
    _last: Vectors | None = field(default=None, init=False, repr=False)
    _held: dict[bytes, Any] = field(default_factory=dict, init=False, repr=False)

    def __enter__(self) -> DaskEngine:
        """Connect now, and not when the vectors have been read."""
        self._connect()
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the cluster."""
        self.close()

    def close(self) -> None:
        """Let go of the cluster, and stop it if it is ours."""
        self._held.clear()
        self._last = self._client = None
        self._open.close()

    def top_k(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        """Find the k targets of largest inner product for each query."""
        if not 1 <= k <= len(targets):
            raise ValueError(f"k is {k}, with {len(targets)} targets")
        found = Neighbours(np.empty((len(queries), k), np.int64), np.empty((len(queries), k)))
        for rows, (indices, scores) in self._shared_out(queries, targets, int(k)):
            found.indices[rows], found.scores[rows] = indices, scores
        return found

    def rank(self, queries: Vectors, targets: Vectors, chosen: Indices) -> Indices:
        """Give the place, from 1, of ``chosen[q]`` among all targets ordered by score for query q."""
        ranks = np.empty(len(queries), np.int64)
        for rows, found in self._shared_out(queries, targets, chosen):
            ranks[rows] = found
        return ranks

    def _shared_out(self, queries: Vectors, targets: Vectors, wanted: int | Indices) -> Iterator[tuple[slice, Any]]:
        """Yield the answers for one block of queries after the other, as they come in."""
        done = 0
        with contextlib.closing(self._answers(queries, targets, wanted)) as answers:
            for rows, answer in answers:
                yield rows, answer
                done += rows.stop - rows.start
                if self.progress is not None:
                    self.progress(done, len(queries))

    def _answers(self, queries: Vectors, targets: Vectors, wanted: int | Indices) -> Generator[tuple[slice, Any]]:
        """Collect the answers, again where workers have died and taken something with them."""
        client = self._connect()
        try:
            threads = sum(client.nthreads().values())
            size = self.rows or task_rows(queries, threads)
            waiting = [slice(start, min(start + size, len(queries))) for start in range(0, len(queries), size)][::-1]
            for _ in range(ATTEMPTS):
                try:
                    with contextlib.closing(self._collect(queries, targets, wanted, waiting, 2 * threads + 2)) as part:
                        yield from part
                    return
                except lost_errors():
                    self._forget()
                    self._wait_for_worker()
        except OSError:
            raise BilexError(f"the Dask scheduler at {self.address} is gone; start it, and then bilex again") from None
        raise BilexError(
            f"the Dask workers died {ATTEMPTS} times during a search; give them more memory, or use --engine local"
        )

    def _collect(
        self, queries: Vectors, targets: Vectors, wanted: int | Indices, waiting: list[slice], most: int
    ) -> Generator[tuple[slice, Any]]:
        """Submit what waits, at most so many tasks at a time, and yield what is done; `waiting` is kept true."""
        from distributed import as_completed

        client, held = self._connect(), self._send(targets)
        running = dict[Any, slice]()
        completed = as_completed(loop=client.loop)

        def submit() -> None:
            rows = waiting.pop()
            asked = wanted if isinstance(wanted, int) else wanted[rows]
            running[future := client.submit(search, queries[rows], held, asked, __version__, pure=False)] = rows
            completed.add(future)

        try:
            while waiting and len(running) < most:
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
        """Put the targets on all workers, if they are not there, and give the future that stands for them."""
        if targets is not self._last:
            key = fingerprint(targets)
            self._held[key] = self._held.pop(key, None) or self._scatter(targets)  # the last used comes last
            while len(self._held) > HELD:
                self._held.pop(next(iter(self._held)))
            self._last = targets
        return next(reversed(self._held.values()))

    def _scatter(self, targets: Vectors) -> Any:
        self.sent += 1
        return self._client.scatter([np.ascontiguousarray(targets)], broadcast=True, hash=False)[0]

    def _forget(self) -> None:
        """Take it that the workers have lost the targets."""
        self._held.clear()
        self._last = None

    def _connect(self) -> Any:
        """Give the client; the first time, connect, and see that somebody can work and knows this version of bilex."""
        if self._client is None:
            distributed = find_distributed()
            with contextlib.ExitStack() as stack:
                stack.enter_context(quiet_logs())
                address = self.address
                if address is None:
                    address = stack.enter_context(own_cluster(distributed, self.threads))
                self._client = stack.enter_context(connection(distributed, address))
                try:
                    self._wait_for_worker()
                    check_versions(self._client)
                except BaseException:
                    self._client = None
                    raise
                self._open = stack.pop_all()
        return self._client

    def _wait_for_worker(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=WORKER_PATIENCE)
        except TimeoutError:
            raise BilexError(
                f"the Dask scheduler at {self.address} has no worker; start one with `dask worker {self.address}`"
            ) from None


def search(queries: Vectors, targets: Vectors, wanted: int | Indices, version: str) -> Any:
    """Run on a worker: the local engine's answer, on all threads of the worker."""
    from distributed import get_worker

    if version != __version__:  # a worker that has come since the client looked
        raise BilexError(f"a Dask worker has bilex {__version__} and this is {version}; install the same on all")
    engine = LocalEngine(threads=get_worker().state.nthreads)
    with ALONE:
        if isinstance(wanted, int):
            found = engine.top_k(queries, targets, wanted)
            return found.indices, found.scores
        return engine.rank(queries, targets, wanted)


def task_rows(queries: Vectors, threads: int) -> int:
    """Choose how many queries go into a task: whole blocks, and enough tasks to keep all workers busy."""
    fair = math.ceil(len(queries) / max(1, TASKS_EACH * threads) / BLOCK) * BLOCK
    return max(1, min(fair, TASK_BYTES // max(1, 4 * int(queries.shape[1]))))


def fingerprint(vectors: Vectors) -> bytes:
    """Give a hash of the rows, so that equal rows are known again."""
    digest = hashlib.blake2b(repr(vectors.shape).encode(), digest_size=32)
    digest.update(np.ascontiguousarray(vectors).data if vectors.size else b"")
    return digest.digest()


def find_distributed() -> Any:
    """Import Dask's distributed."""
    try:
        import distributed
    except ImportError:
        raise BilexError("the dask engine needs distributed, which is missing; pip install 'bilex[dask]'") from None
    return distributed


def lost_errors() -> tuple[type[BaseException], ...]:
    """Name the ways in which Dask says that workers died and took something with them."""
    from concurrent.futures import CancelledError

    from distributed import scheduler

    return CancelledError, scheduler.KilledWorker, TimeoutError


@contextlib.contextmanager
def own_cluster(distributed: Any, threads: int) -> Iterator[str]:
    """Run a cluster of one worker in this process: it shares our memory, and starts at once."""
    here = "127.0.0.1:0"  # any free port, for nobody but this machine
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
def connection(distributed: Any, address: str) -> Iterator[Any]:
    """Connect to a scheduler."""
    # Made in two steps, to have hold of a client that does not get there and close it. Left to the garbage collector
    # it closes itself while another one starts, and both wait for one lock.
    client = object.__new__(distributed.Client)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # versions: we look ourselves, at the one that matters
            client.__init__(address, timeout=PATIENCE, set_as_default=False)
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


def check_versions(client: Any) -> None:
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
    """Keep Dask's log off stderr: what a user has to know, the engine says itself."""
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
