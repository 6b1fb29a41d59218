"""The Dask engine's own errors: no scheduler, another version, workers that die; and how often targets are sent."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bilex import cli
from bilex.errors import BilexError
from bilex.numerics.types import Vectors
from bilex.search.dask import (
    DaskEngine,
    best_both_ways,
    check_cluster_versions,
    choose_task_rows,
    fingerprint,
    round_down,
    search_on_worker,
)
from bilex.search.engines import find_engine, open_engine
from bilex.search.local import LocalEngine
from bilex.version import __version__
from tests.cli.helpers import Outcome, assert_error_line, spawn
from tests.languages import make_languages, write_vec

LOCAL = LocalEngine(threads=1)


@pytest.fixture(autouse=True)
def distributed(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip("distributed", reason="distributed is not installed: pip install 'bilex[dask]'")


def rows(seed: int, n: int, dimension: int = 20) -> Vectors:
    return np.random.default_rng(seed).normal(size=(n, dimension)).astype(np.float32)


@contextmanager
def running_cluster(distributed: Any, workers: int, processes: bool = False, **options: Any) -> Iterator[Any]:
    """Run a cluster that the engine did not start."""
    options |= {"dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
    with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=processes, **options) as cluster:
        yield cluster


def test_without_distributed_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    find_engine("dask")  # imports nothing yet
    with pytest.raises(BilexError, match=r"needs distributed, which is missing; pip install 'bilex\[dask\]'"):
        DaskEngine().__enter__()


def test_a_running_scheduler_with_two_workers(distributed: Any) -> None:
    queries, targets = rows(0, 300), rows(1, 200)
    with running_cluster(distributed, 2) as cluster, open_engine(f"dask={cluster.scheduler_address}") as engine:
        assert isinstance(engine, DaskEngine)
        engine.task_rows = 20
        found, expected = engine.top_k(queries, targets, 4), LOCAL.top_k(queries, targets, 4)
        assert found.indices.tobytes() == expected.indices.tobytes()
        assert found.scores.tobytes() == expected.scores.tobytes()


def test_large_targets_are_not_sent_for_a_few_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    queries, targets = rows(0, 40), rows(1, 100)
    monkeypatch.setattr("bilex.search.dask.MAX_FREE_BYTES", targets.nbytes - 1)
    engine = DaskEngine("tcp://127.0.0.1:1")  # nobody answers there
    found, expected = engine.top_k(queries, targets, 4), LOCAL.top_k(queries, targets, 4)
    assert found.indices.tobytes() == expected.indices.tobytes()
    assert found.scores.tobytes() == expected.scores.tobytes()
    assert engine.sent == 0
    for name, limit in (("MAX_OWN_QUERIES", 39), ("MAX_FREE_BYTES", targets.nbytes)):
        monkeypatch.setattr(f"bilex.search.dask.{name}", limit)
        with pytest.raises(BilexError, match="no Dask scheduler answers"):
            engine.top_k(queries, targets, 4)
        monkeypatch.setattr("bilex.search.dask.MAX_OWN_QUERIES", 40)


def test_targets_are_sent_once(distributed: Any) -> None:
    one, two, three = rows(1, 100), rows(2, 100), rows(3, 100)
    with DaskEngine(threads=1) as engine:
        for number in range(3):
            engine.top_k(rows(number, 40), one, 2)
        engine.rank(rows(0, 40), one.copy(), np.arange(40))  # equal rows are recognised
        assert engine.sent == 1
        for targets in (two, one, two, one):  # by turns
            np.testing.assert_array_equal(
                engine.top_k(rows(4, 40), targets, 2).indices, LOCAL.top_k(rows(4, 40), targets, 2).indices
            )
        assert engine.sent == 2
        engine.top_k(rows(5, 40), three, 2)
        engine.top_k(rows(5, 40), two, 2)  # one more than is held: the workers' memory is bounded
        assert engine.sent == 4
        assert len(engine._held) == 2


def test_the_fingerprint_depends_on_shape_and_content() -> None:
    assert fingerprint(rows(0, 10, 6)) == fingerprint(rows(0, 10, 6))
    assert fingerprint(rows(0, 10, 6)) != fingerprint(rows(0, 10, 6).reshape(6, 10))
    assert fingerprint(rows(0, 10, 6)) != fingerprint(rows(1, 10, 6))
    assert fingerprint(np.asfortranarray(rows(0, 10, 6))) == fingerprint(rows(0, 10, 6))


@pytest.mark.parametrize(("n", "threads", "expected"), [(1, 4, 1024), (100_000, 2, 13_312)])
def test_tasks_keep_all_threads_busy(n: int, threads: int, expected: int) -> None:
    narrow = np.zeros((n, 1), np.float32)
    assert choose_task_rows(narrow, threads) == expected
    wide = np.broadcast_to(np.float32(0), (n, 300))
    assert choose_task_rows(wide, threads) == min(expected, 6666)  # 8 MB


def test_the_first_search_connects_also_after_closing() -> None:
    engine, queries, targets = DaskEngine(threads=1), rows(0, 20), rows(1, 30)
    for _ in range(2):
        np.testing.assert_array_equal(
            engine.top_k(queries, targets, 3).indices, LOCAL.top_k(queries, targets, 3).indices
        )
        engine.close()
    engine.close()


@pytest.mark.parametrize("address", ["gopher://h:1", "tcp://127.0.0.1:none", "closed port"])
def test_no_scheduler_at_the_address(address: str) -> None:
    if address == "closed port":
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(BilexError, match=f"no Dask scheduler answers at {address} "):
        DaskEngine(address, connect_timeout=0.5).__enter__()
    assert not [thread for thread in threading.enumerate() if thread.name == "IO loop"]


def test_the_command_line_connects_before_it_reads_or_writes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = cli.run(["induce", "no.vec", "no.vec", "-o", str(tmp_path / "run"), "--engine", "dask=gopher://h:1"])
    assert_error_line(
        Outcome(code, *capfd.readouterr()), "no Dask scheduler answers at gopher://h:1 ", "`dask scheduler`"
    )
    assert not list(tmp_path.iterdir())


def test_a_scheduler_without_workers(distributed: Any) -> None:
    with running_cluster(distributed, 0) as cluster:
        address = cluster.scheduler_address
        with pytest.raises(BilexError, match=f"at {address} has no worker"):
            DaskEngine(address, worker_timeout=0.3).__enter__()


@pytest.mark.parametrize(
    ("scheduler", "worker", "part"),
    [("9.9", __version__, "the scheduler"), (__version__, None, "the worker tcp://a:1")],
)
def test_another_version_of_bilex_on_the_cluster(scheduler: str, worker: str | None, part: str) -> None:
    class Client:
        def get_versions(self, packages: list[str]) -> Any:
            return {
                "scheduler": {"packages": {"bilex": scheduler}},
                "workers": {"tcp://a:1": {"packages": {"bilex": worker}}},
            }

    with pytest.raises(BilexError, match=f"^{part} has "):
        check_cluster_versions(Client())


def test_a_worker_of_another_version_that_joins_later() -> None:
    with pytest.raises(BilexError, match=r"a Dask worker has bilex .* and this is 9.9"):
        search_on_worker(rows(0, 2), rows(1, 2), partial(LocalEngine.top_k, k=1), "9.9")


def test_targets_are_sent_again_after_the_only_worker_was_killed_on_the_way(distributed: Any) -> None:
    """What was found before is kept, in both directions."""
    queries, targets, killed = rows(0, 1000), rows(1, 300), list[int]()
    with running_cluster(distributed, 1, processes=True) as cluster:

        def kill(done: int, total: int) -> None:
            if done > 200 and not killed:
                killed.append(cluster.workers[0].pid)
                os.kill(killed[0], signal.SIGKILL)

        with DaskEngine(cluster.scheduler_address, task_rows=50, progress=kill, worker_timeout=60) as engine:
            both = engine.top_k_both(queries, targets, 4)
    assert killed
    assert engine.sent == 2
    for found, expected in zip(both, LOCAL.top_k_both(queries, targets, 4), strict=True):
        assert found.indices.tobytes() == expected.indices.tobytes()
        assert found.scores.tobytes() == expected.scores.tobytes()


def test_what_others_have_beaten_does_not_travel() -> None:
    queries, targets = rows(0, 60), rows(1, 30)
    best = LOCAL.top_k(targets, queries, 3).scores
    everything = best_both_ways(LOCAL, queries, targets, 3, np.full(30, -np.inf, np.float32))
    assert len(everything[3]) == 90
    reached = round_down(best[:, 1])
    assert (reached <= best[:, 1]).all()
    of_queries, _, columns, _ = best_both_ways(LOCAL, queries, targets, 3, reached)
    assert np.bincount(columns).tolist() == [2] * 30
    assert of_queries.indices.tobytes() == everything[0].indices.tobytes()


@pytest.mark.parametrize("failure", [ValueError("Can not use replicate to delete data"), KeyError("tcp://127.0.0.1:1")])
def test_targets_are_sent_again_if_the_last_worker_died_before_it_had_them(
    monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    with DaskEngine(threads=1) as engine:
        scatter, failures = engine._connect().scatter, [failure]

        def send(*arguments: Any, **options: Any) -> Any:
            if failures:
                raise failures.pop()
            return scatter(*arguments, **options)

        monkeypatch.setattr(engine._client, "scatter", send)
        found, expected = (each.top_k(rows(0, 5), rows(1, 5), 2) for each in (engine, LOCAL))
    assert found.indices.tobytes() == expected.indices.tobytes()
    assert engine.sent == 2


def test_a_search_whose_workers_always_die_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from concurrent.futures import CancelledError

    def lose(*_: object, **__: object) -> Iterator[Any]:
        raise CancelledError
        yield

    with DaskEngine(threads=1) as engine:
        monkeypatch.setattr(engine, "_run_tasks", lose)
        with pytest.raises(BilexError, match="the Dask workers died 3 times"):
            engine.top_k(rows(0, 5), rows(1, 5), 1)


def test_it_leaves_no_default_client_and_the_logs_as_they_were(distributed: Any) -> None:
    logger = logging.getLogger("distributed.scheduler")
    before = logger.level, logging.getLogger("distributed").level
    with DaskEngine(threads=1) as engine:
        engine.top_k(rows(0, 5), rows(1, 5), 1)
        with pytest.raises(ValueError, match="No clients found"):
            distributed.default_client()
    assert (logger.level, logging.getLogger("distributed").level) == before


def test_the_command_line_is_silent_and_ends_cleanly(tmp_path: Path) -> None:
    languages = make_languages(60, 10)
    source, target = write_vec(tmp_path / "a.vec", languages.source), write_vec(tmp_path / "b.vec", languages.target)
    assert spawn("induce", source, target, "--quiet", "-o", tmp_path / "run", "--engine", "dask") == (0, "", "")
