"""The number of threads: from the environment, or from the machine."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext

import pytest
from threadpoolctl import threadpool_limits

from bilex.errors import BilexError
from bilex.numerics.threads import blas_controller, single_threaded_blas, thread_count
from bilex.search.local import LocalEngine


@pytest.mark.parametrize(("asked", "threads"), [("1", 1), ("2", 2), ("016", 16)])
def test_asked_for(asked: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BILEX_THREADS", asked)
    assert thread_count() == threads
    assert LocalEngine().threads == threads


@pytest.mark.parametrize("asked", ["0", "-1", "two", "1.5", "²", " ", "9" * 5000])
def test_bad_values_are_named(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BILEX_THREADS", asked)
    with pytest.raises(BilexError, match="BILEX_THREADS") as caught:
        thread_count()
    assert repr(asked[:50]) in str(caught.value)
    assert "whole number" in str(caught.value)


@pytest.mark.parametrize("empty", [True, False])
def test_by_default_the_cores_of_this_process(empty: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BILEX_THREADS", raising=False)
    if empty:
        monkeypatch.setenv("BILEX_THREADS", "")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 6}, raising=False)
    assert thread_count() == 3


@pytest.mark.parametrize(("cores", "threads"), [(6, 6), (None, 1)])
def test_without_affinity_the_cores_of_the_machine(
    cores: int | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BILEX_THREADS", raising=False)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert thread_count() == threads


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in blas_controller().info() if pool["user_api"] == "blas"}


def test_blas_is_single_threaded_inside_and_as_before_outside() -> None:
    before = blas_threads()
    with single_threaded_blas():
        assert blas_threads() <= {1}
        with single_threaded_blas():
            assert blas_threads() <= {1}
        assert blas_threads() <= {1}
    assert blas_threads() == before
    with pytest.raises(RuntimeError), single_threaded_blas():
        raise RuntimeError
    assert blas_threads() == before


def test_threads_that_overlap_leave_blas_as_it_was() -> None:
    first, second = single_threaded_blas(), single_threaded_blas()
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() <= {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before


@pytest.mark.skipif(sys.platform != "linux", reason="only there is it enforced")
def test_blas_is_not_called_where_it_would_wait_for_memory_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, enough in ((1 << 20, False), (1 << 50, True), (-1, True)):
        monkeypatch.setattr("resource.getrlimit", lambda _, most=most: (most, most))
        with nullcontext() if enough else pytest.raises(BilexError), single_threaded_blas():
            pass
