"""The torch engine's own errors: no torch, no device, a device that is not exact, too little memory."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from bilex.errors import BilexError
from bilex.numerics.types import Vectors
from bilex.search import torch as torch_engine
from bilex.search.engines import find_engine, open_engine
from bilex.search.local import LocalEngine
from bilex.search.torch import TorchEngine


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed: pip install 'bilex[torch]'")


def rows(seed: int, n: int, dimension: int = 24) -> Vectors:
    return np.random.default_rng(seed).normal(size=(n, dimension)).astype(np.float32)


def test_without_torch_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    find_engine("torch")  # the name is right
    with (
        pytest.raises(BilexError, match=r"needs torch, which is missing; pip install 'bilex\[torch\]'"),
        open_engine("torch"),
    ):
        pass


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_device_that_is_not_there(torch: Any, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(BilexError, match=f"no {device.upper()} device .*; use --engine torch=cpu or local"):
        TorchEngine(device).__enter__()


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"), [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")]
)
def test_the_best_device_is_chosen(
    torch: Any, cuda: bool, mps: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert torch_engine.find_device(None)[1].type == expected


def test_most_queries_are_proved_on_the_device(torch: Any) -> None:
    engine = TorchEngine("cpu", threads=1)
    engine.top_k(rows(0, 200), rows(1, 2000), 3)
    assert engine.doubtful == 0


def test_ties_at_the_edge_are_left_to_the_local_engine(torch: Any) -> None:
    engine, targets = TorchEngine("cpu", threads=1), np.tile(rows(1, 1), (3000, 1))
    found = engine.top_k(rows(0, 20), targets, 3)
    assert engine.doubtful == 20
    assert (found.indices == [0, 1, 2]).all()
    assert (engine.rank(rows(0, 20), targets, np.full(20, 2000)) == 2001).all()
    assert engine.doubtful == 20


def test_a_device_that_rounds_more_is_refused(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    upload = torch_engine.upload

    def coarse(torch: Any, device: Any, vectors: Vectors) -> Any:
        return upload(torch, device, vectors).bfloat16().float()  # what TF32 or half precision would do

    monkeypatch.setattr(torch_engine, "upload", coarse)
    with pytest.raises(BilexError, match=r"does not compute in float32 on this device.*use --engine local"):
        TorchEngine("cpu").top_k(rows(0, 200), rows(1, 2000), 3)


@pytest.mark.parametrize("precision", ["highest", "medium"])
def test_low_precision_of_the_caller_is_off_while_it_works(torch: Any, precision: str) -> None:
    queries, targets = rows(0, 100, 100), rows(1, 1000, 100)
    before, threads = torch.get_float32_matmul_precision(), torch.get_num_threads()
    torch.set_float32_matmul_precision(precision)
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = TorchEngine("cpu", threads=threads + 1).top_k(queries, targets, 3)
        assert torch.get_float32_matmul_precision() == precision
        assert torch.get_num_threads() == threads
    finally:
        torch.set_float32_matmul_precision(before)
    assert found.scores.tobytes() == LocalEngine().top_k(queries, targets, 3).scores.tobytes()


def test_out_of_memory_is_one_line(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> Any:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB.")

    monkeypatch.setattr(torch_engine, "upload", full)
    with pytest.raises(BilexError, match="out of memory; use --engine local, or read fewer words with --limit"):
        TorchEngine("cpu").top_k(rows(0, 5), rows(1, 9), 2)
