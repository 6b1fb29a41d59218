"""Every engine passes the same tests: the answers of a full sort, and the local engine's to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from numba import config

import bilex
from bilex.errors import BilexError
from bilex.numerics.types import Indices, Vectors
from bilex.search import int8_kernel
from bilex.search.dask import DaskEngine
from bilex.search.engine import Engine
from bilex.search.engines import ENGINE_NAMES, find_engine, open_engine
from bilex.search.local import LocalEngine
from bilex.search.reuse import ReusingEngine
from bilex.search.torch import TorchEngine
from tests import oracles
from tests.languages import make_languages

PLAIN = LocalEngine(threads=1, query_block=10**6, target_block=10**6)
PACKAGES = {"torch": "torch", "dask": "distributed"}


def skip_if_missing(name: str) -> None:
    package = PACKAGES.get(name.partition("=")[0])
    if package is not None:
        pytest.importorskip(package, reason=f"{package} is not installed")


@pytest.fixture(
    scope="module",
    params=["local", "local, float32 filter", "local, 8 bits", "reuse", "torch=cpu", "torch=blocks", "dask"],
)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    name = str(request.param)
    skip_if_missing(name)
    if name == "dask":
        with DaskEngine(threads=2, task_rows=37) as cluster:
            yield cluster
        return
    engines: dict[str, Engine] = {
        "local": LocalEngine(threads=2, query_block=97, target_block=97),
        "local, float32 filter": LocalEngine(threads=2, query_block=1024, target_block=13),
        "local, 8 bits": LocalEngine(threads=3, query_block=97, target_block=97),
        "reuse": ReusingEngine(LocalEngine(threads=2)),
        "torch=cpu": TorchEngine("cpu", threads=2),
        "torch=blocks": TorchEngine("cpu", threads=1, query_block=13, target_block=29),
    }
    with pytest.MonkeyPatch.context() as patch:
        if "float32" in name:
            patch.setenv("BILEX_INT8", "0")
        if "8 bits" in name:  # also on a CPU that has no instruction for it
            patch.setattr(int8_kernel, "available", lambda: not config.DISABLE_JIT)
        yield engines[name]


def rows(seed: int, n: int, dimension: int, scale: float = 1.0) -> Vectors:
    return (scale * np.random.default_rng(seed).normal(size=(n, dimension))).astype(np.float32)


def check_answers(engine: Engine, queries: Vectors, targets: Vectors, k: int) -> None:
    """Compare top_k with the full sort and, to the bit, with the local engine; then rank as well."""
    found, local = engine.top_k(queries, targets, k), PLAIN.top_k(queries, targets, k)
    indices, scores = oracles.full_sort_top_k(queries, targets, k)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.scores, scores, rtol=1e-12, atol=1e-12 * np.abs(scores).max(initial=0))
    assert found.indices.dtype == np.int64
    assert found.scores.dtype == np.float64
    assert found.indices.tobytes() == local.indices.tobytes()
    assert found.scores.tobytes() == local.scores.tobytes()
    for ours, sides in zip(
        engine.top_k_both(queries, targets, k), ((queries, targets), (targets, queries)), strict=True
    ):
        alone = PLAIN.top_k(*sides, min(k, len(sides[1])))
        assert ours.indices.tobytes() == alone.indices.tobytes()
        assert ours.scores.tobytes() == alone.scores.tobytes()
    check_rank(engine, queries, targets, np.random.default_rng(0).integers(0, len(targets), len(queries)))
    check_rank(engine, queries, targets, found.indices[:, -1].copy())


def check_rank(engine: Engine, queries: Vectors, targets: Vectors, chosen: Indices) -> None:
    ranks = engine.rank(queries, targets, chosen)
    assert ranks.dtype == np.int64
    assert list(ranks) == oracles.full_sort_rank(queries, targets, chosen)


@pytest.mark.parametrize(
    ("n_queries", "n_targets", "dimension", "k"),
    [
        (120, 700, 30, 3),
        (90, 61, 8, 61),  # k is the number of targets
        (1, 90, 301, 10),  # one query
        (40, 1, 1, 1),  # one target, one dimension
    ],
)
def test_equals_a_full_sort(engine: Engine, n_queries: int, n_targets: int, dimension: int, k: int) -> None:
    check_answers(engine, rows(1, n_queries, dimension), rows(2, n_targets, dimension), k)


def test_ties_go_to_the_lower_index(engine: Engine) -> None:
    targets = rows(3, 20, 12)[np.random.default_rng(4).integers(0, 20, 900)]  # each row about 45 times, far apart
    for k in (1, 50):
        check_answers(engine, rows(5, 40, 12), targets, k)


def test_whole_numbers_tie_everywhere(engine: Engine) -> None:
    rng = np.random.default_rng(6)
    queries, targets = (rng.integers(-2, 3, (n, 3)).astype(np.float32) for n in (60, 200))
    for k in (3, 200):
        check_answers(engine, queries, targets, k)


def test_zero_vectors(engine: Engine) -> None:
    check_answers(engine, np.zeros((5, 3), np.float32), rows(7, 90, 3), 4)
    check_answers(engine, rows(7, 40, 3), np.zeros((90, 3), np.float32), 4)


def test_nearly_tied_targets_are_told_apart(engine: Engine) -> None:
    rng = np.random.default_rng(8)
    targets = np.tile(rng.normal(size=64).astype(np.float32), (300, 1))
    for row in targets[1:]:  # one float32 step away in one coordinate: no product in float32 can rank them
        column = rng.integers(64)
        row[column] = np.nextafter(row[column], np.float32(rng.choice([-9, 9])))
    queries = rows(9, 60, 64)
    found, local = engine.top_k(queries, targets, 5), PLAIN.top_k(queries, targets, 5)
    assert found.indices.tobytes() == local.indices.tobytes()
    assert found.scores.tobytes() == local.scores.tobytes()
    chosen = found.indices[:, 3].copy()
    assert (engine.rank(queries, targets, chosen) == 4).all()


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")
@pytest.mark.parametrize("scale", [1e-37, 1e-22, 1e20])
def test_any_scale(engine: Engine, scale: float) -> None:
    lengths = 10.0 ** np.random.default_rng(10).uniform(-3, 0, (200, 1))  # far from one another as well
    targets = (rows(11, 200, 16) * lengths * scale).astype(np.float32)
    check_answers(engine, rows(12, 50, 16), targets, 4)
    check_answers(engine, rows(12, 50, 16, scale), targets, 4)  # products that underflow or overflow in float32


def test_rows_that_are_not_contiguous_or_not_writable(engine: Engine) -> None:
    queries, targets = rows(13, 60, 16)[::2, :8], np.asfortranarray(rows(14, 200, 8))
    check_answers(engine, queries, targets, 3)
    queries, targets = rows(13, 60, 8), rows(14, 200, 8)
    queries.setflags(write=False)
    targets.setflags(write=False)
    check_answers(engine, queries, targets, 3)
    check_answers(engine, queries[::-1], targets[::-1], 3)


def test_no_query(engine: Engine) -> None:
    none = np.zeros((0, 4), np.float32)
    found = engine.top_k(none, rows(0, 9, 4), 2)
    assert found.indices.shape == found.scores.shape == (0, 2)
    assert engine.rank(none, rows(0, 9, 4), np.zeros(0, np.int64)).shape == (0,)
    shapes = [each.indices.shape for each in engine.top_k_both(none, rows(0, 9, 4), 2)]
    assert shapes == [(0, 2), (9, 0)]


@pytest.mark.parametrize("k", [0, 8])
def test_k_outside_the_number_of_targets_is_an_error(engine: Engine, k: int) -> None:
    with pytest.raises(ValueError, match=f"k is {k}"):
        engine.top_k(rows(0, 3, 2), rows(1, 7, 2), k)
    with pytest.raises(ValueError, match="k is 0"):
        engine.top_k_both(rows(0, 3, 2), rows(1, 7, 2), 0)


def test_queries_that_move_as_in_em(engine: Engine) -> None:
    queries, targets, rng = rows(15, 70, 10), rows(16, 150, 10), np.random.default_rng(17)
    for step in (0.0, 1e-6, 1e-2, 1.0):
        queries = (queries + step * rng.normal(size=queries.shape)).astype(np.float32)
        check_answers(engine, queries, targets, 3)


@cache
def plainly_induced(changes: tuple[tuple[str, Any], ...]) -> bilex.Run:
    """Learn the lexicon that every engine has to find, once."""
    return induced(PLAIN, changes)


def induced(engine: Engine, changes: tuple[tuple[str, Any], ...]) -> bilex.Run:
    languages = make_languages(100, 12)
    return bilex.induce(languages.source, languages.target, complete=True, engine=engine, **dict(changes))


@pytest.mark.parametrize("changes", [{"prior": "one-to-many"}, {"exact": True}], ids=str)
def test_every_engine_induces_the_same_lexicon(engine: Engine, changes: dict[str, Any]) -> None:
    given = tuple(changes.items())
    expected, ours = plainly_induced(given), induced(engine, given)
    assert ours.lexicon.source == expected.lexicon.source
    assert ours.lexicon.target == expected.lexicon.target
    assert ours.lexicon.score.tobytes() == expected.lexicon.score.tobytes()
    assert ours.lexicon.rank.tobytes() == expected.lexicon.rank.tobytes()
    assert ours.theta.omega.tobytes() == expected.theta.omega.tobytes()


@pytest.mark.parametrize("name", ["local", "torch=cpu", "dask"])
def test_progress_ends_with_all_queries(name: str) -> None:
    skip_if_missing(name)
    seen = list[tuple[int, int]]()
    with open_engine(name, threads=2, progress=lambda done, total: seen.append((done, total))) as engine:
        engine.top_k(rows(0, 2000, 4), rows(1, 50, 4), 2)
    assert seen == sorted(seen)
    assert seen[-1] == (2000, 2000)
    assert len(seen) > 1


@pytest.mark.parametrize("name", ["local", "torch=cpu", "dask"])
def test_an_interrupt_ends_the_search_at_once(name: str) -> None:
    skip_if_missing(name)
    seen = list[int]()

    def interrupt(done: int, total: int) -> None:
        seen.append(done)
        raise KeyboardInterrupt

    with open_engine(name, threads=1, progress=interrupt) as engine, pytest.raises(KeyboardInterrupt):
        engine.top_k(rows(0, 2000, 4), rows(1, 50, 4), 2)
    assert len(seen) == 1


def test_find_engine_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BILEX_THREADS", "3")
    assert find_engine("local") == LocalEngine(threads=3)
    assert find_engine("local", threads=2) == LocalEngine(threads=2)
    torch, cpu, dask, remote = (find_engine(name) for name in ("torch", "torch=cpu", "dask", "dask=tcp://h:8786"))
    assert isinstance(torch, TorchEngine) and torch.device is None and torch.threads == 3
    assert isinstance(cpu, TorchEngine) and cpu.device == "cpu"
    assert isinstance(dask, DaskEngine) and dask.address is None and dask.threads == 3
    assert isinstance(remote, DaskEngine) and remote.address == "tcp://h:8786"


@pytest.mark.parametrize(
    ("wrong", "meant"), [("Torch", "torch"), ("torch=cuba", "torch=cuda"), ("dask=", "dask"), ("local=2", "local")]
)
def test_an_unknown_name_suggests_the_nearest(wrong: str, meant: str) -> None:
    with pytest.raises(BilexError, match=rf"did you mean {meant}\?"):
        find_engine(wrong)


def test_a_name_like_no_other_lists_all_engines() -> None:
    with pytest.raises(BilexError, match=f"'abacus'; choose one of {', '.join(ENGINE_NAMES)}$"):
        find_engine("abacus")
