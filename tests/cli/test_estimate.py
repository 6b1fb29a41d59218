"""What a run needs is estimated roughly right, and a run for which there is too little free memory is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bilex.cli.estimate import (
    Estimate,
    Memory,
    check_memory,
    estimate_memory,
    estimate_run,
    measure_memory,
    measure_search,
)
from bilex.errors import BilexError
from bilex.methods import find_method
from bilex.numerics.types import Vectors
from bilex.runs.costs import stage_seconds
from bilex.search.engine import Neighbours
from bilex.search.local import LocalEngine

METHOD = find_method("ruder2018")
MEMINFO = "MemTotal:       16000000 kB\nMemFree:         1000000 kB\nMemAvailable:    4000000 kB\n"
GIB = 2**30


def test_more_words_need_more() -> None:
    small, large = (10_000, 10_000), (100_000, 200_000)
    limited = METHOD.with_changes({"max_rank": 5_000})
    few, many, seen = (
        sum(stage_seconds(words, 20, method, 1e-9).values())
        for words, method in ((small, METHOD), (large, METHOD), (large, limited))
    )
    assert many > 20 * few
    assert seen < many
    assert estimate_memory(large, 20, METHOD).memory > 4 * (100_000 + 200_000) * 20 * 4
    assert 0 < measure_search(LocalEngine(), 20, small) < 1e-3


def test_the_better_of_two_samples_counts_and_a_long_search_has_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first may load the kernels, and preparing the vectors hardly counts where each meets many others."""
    clock, calls = [0.0], 0

    class TimedEngine(LocalEngine):
        def top_k(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
            nonlocal calls
            calls += 1
            clock[0] += 1e-2 + 1e-9 * len(queries) * len(targets) + calls % 2  # a second more for the first
            return super().top_k(queries[:64], targets[:64], 1)

    monkeypatch.setattr("time.process_time", lambda: clock[0])
    monkeypatch.setenv("BILEX_THREADS", "1")
    small, large = (measure_search(TimedEngine(), 2, (words, words)) for words in (1_000, 10**9))
    assert small == pytest.approx(1e-9 + 1e-2 / 10**6)
    assert large == pytest.approx(1e-9 + 1e-2 / 2**27)


@pytest.mark.parametrize(
    ("stages", "ending"),
    [
        (None, "memory"),
        ({"a": 3}, "a few seconds"),
        ({"a": 20, "b": 7}, "15 to 40 seconds"),
        ({"a": 300}, "2 to 7 minutes"),
        ({"a": 20000}, "3 to 8 hours"),
    ],
)
def test_estimate_in_words(stages: dict[str, float] | None, ending: str) -> None:
    assert str(Estimate(2.34e9, stages)).endswith(ending)


def test_other_programs_make_the_estimate_longer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "a.vec"
    path.write_text("3 2\na 1 0\nb 0 1\nc 1 1\n")

    def seconds(load: float) -> float:
        monkeypatch.setattr("bilex.cli.estimate.measure_search", lambda *_: 1e-9)
        monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0), raising=False)
        found = estimate_run((str(path), str(path)), 100, METHOD, LocalEngine())
        assert found is not None
        assert ("other programs" in str(found)) == (load > 0)
        return found.seconds or 0.0

    assert seconds(3.0 * (os.cpu_count() or 1)) == pytest.approx(4 * seconds(0.0))


def test_too_little_free_memory_is_an_error_that_names_what_would_fit() -> None:
    words = (200_000, 200_000)
    needed = estimate_memory(words, 300, METHOD)
    with pytest.raises(BilexError) as raised:
        check_memory(needed, words, 300, Memory(total=64 * GIB, available=GIB))
    fewer = int(str(raised.value).split()[-1])
    assert 1000 <= fewer < 200_000
    fitting = estimate_memory((fewer, fewer), 300, METHOD)
    check_memory(fitting, (fewer, fewer), 300, Memory(total=64 * GIB, available=GIB))


@pytest.mark.parametrize("memory", [Memory(64 * GIB, None), Memory(None, None)])
def test_unknown_free_memory_is_no_error(memory: Memory) -> None:
    words = (200_000, 200_000)
    check_memory(estimate_memory(words, 300, METHOD), words, 300, memory)


def test_a_run_is_refused_by_the_size_of_its_files(tmp_path: Path) -> None:
    path = str(tmp_path / "large.vec")
    Path(path).write_text("90000000 300\n")
    os.truncate(path, 10**11)  # without a byte on the disk
    with pytest.raises(BilexError):
        estimate_run((path, path), 10**10, METHOD, None)
    assert estimate_run((path, path), 100, METHOD, None)
    assert estimate_run((path, str(tmp_path / "missing.vec")), 100, METHOD, None) is None


def write_files(root: Path, files: dict[str, str]) -> Path:
    """Write what stands for the files of a system."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_free_memory_is_what_is_available(tmp_path: Path) -> None:
    memory = measure_memory(write_files(tmp_path, {"proc/meminfo": MEMINFO}))
    assert memory == Memory(16_000_000 * 1024, 4_000_000 * 1024)


@pytest.mark.parametrize(
    ("cgroup", "group", "limit", "usage", "cached"),
    [
        ("0::/job/inner\n", "sys/fs/cgroup/job", "memory.max", "memory.current", "inactive_file"),
        ("0::/\n", "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
        (
            "7:pids:/\n4:memory:/docker/1f\n0::/\n",
            "sys/fs/cgroup/memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    ],
    ids=["outer-group", "version-2", "version-1"],
)
def test_free_memory_under_a_limit_is_the_limit_minus_the_usage(
    tmp_path: Path, cgroup: str, group: str, limit: str, usage: str, cached: str
) -> None:
    """Files that the kernel only caches do not count as used."""
    counts = {f"{group}/{limit}": "2000", f"{group}/{usage}": "1700", f"{group}/memory.stat": f"{cached} 200\n"}
    files = {"proc/meminfo": MEMINFO, "proc/self/cgroup": cgroup, **counts}
    assert measure_memory(write_files(tmp_path, files)) == Memory(2000, 500)


def test_a_group_without_a_limit_changes_nothing(tmp_path: Path) -> None:
    counts = {"sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory.current": "1700"}
    files = {"proc/meminfo": MEMINFO, "proc/self/cgroup": "0::/\n", **counts}
    assert measure_memory(write_files(tmp_path, files)) == Memory(16_000_000 * 1024, 4_000_000 * 1024)


def test_the_address_space_may_be_limited(tmp_path: Path) -> None:
    limits = "Max data size             unlimited            unlimited            bytes\nMax address space         "
    files = {"proc/meminfo": MEMINFO, "proc/self/status": "Name:\tbilex\nVmSize:\t    1000 kB\n"}
    for limit, free in (("3024000", 2_000_000), ("unlimited", 4_000_000 * 1024), ("1", 0)):
        root = write_files(tmp_path / limit, {**files, "proc/self/limits": f"{limits}{limit}  unlimited  bytes\n"})
        assert measure_memory(root).available == free


def test_memory_of_this_machine() -> None:
    memory = measure_memory()
    assert memory.total is None or memory.total > 1e8
    assert memory.available is None or memory.total is None or memory.available <= memory.total
