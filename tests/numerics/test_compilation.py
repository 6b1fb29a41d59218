"""Kernels work where nothing can be kept, with damaged files, and for the CPU that numba is told to compile for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bilex.errors import BilexWarning
from bilex.numerics import compilation
from bilex.numerics.compilation import njit


def triple(number: int) -> int:
    return 3 * number


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    compilation.warn_about_cache.cache_clear()


def test_without_a_place_kernels_are_compiled_in_each_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for the user ``nobody`` of a container, who has no home."""
    monkeypatch.setattr("numba.core.caching.CompileResultCacheImpl._locator_classes", [])
    with pytest.warns(BilexWarning) as warned:
        kernel = njit(cache=True)(triple)
        njit(cache=True)(triple)
    assert len(warned) == 1
    assert kernel(2) == 6


def test_a_full_disk_is_no_reason_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", fail)
    with pytest.warns(BilexWarning):
        assert njit(cache=True)(triple)(2) == 6


def test_a_damaged_file_is_made_again(tmp_path: Path) -> None:
    assert njit(cache=True)(triple)(2) == 6
    kept = [path for path in tmp_path.rglob("*.nb*") if path.is_file()]
    assert len(kept) == 2
    for path in kept:
        path.write_bytes(path.read_bytes()[:-40])
    assert njit(cache=True)(triple)(2) == 6


@pytest.mark.parametrize("setting", [{"NUMBA_CPU_NAME": "generic"}, {"NUMBA_ENABLE_AVX": "0"}])
def test_the_8_bit_kernel_asks_for_the_cpu_that_numba_compiles_for(setting: dict[str, str]) -> None:
    """Or else LLVM ends the process at an instruction that it may not use."""
    code = "from bilex.search import int8_kernel; print(int8_kernel.available())"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **setting}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_a_setting_that_numba_refuses_is_an_error_of_the_user() -> None:
    code = "from bilex.errors import BilexError\ntry:\n import bilex.search.int8_kernel\nexcept BilexError:\n print(1)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_NUM_THREADS": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1\n"


@pytest.mark.parametrize(("content", "printed"), [("cache_dir: of-a-stranger", "''"), ("a: [", "numba cannot start")])
def test_settings_in_the_current_folder_are_not_used(tmp_path: Path, content: str, printed: str) -> None:
    """They could name a cache, and to read one runs code."""
    pytest.importorskip("yaml")
    (tmp_path / ".numba_config.yaml").write_text(content)
    code = (
        "from bilex.errors import BilexError\ntry:\n from bilex.numerics.compilation import config\n"
        " print(repr(config.CACHE_DIR))\nexcept BilexError as error:\n print(error)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(printed)


def test_a_kept_kernel_needs_none_of_what_numba_compiles_with() -> None:
    """Half a second in every process; numba's functions of arrays, such as ``max()``, would need it."""
    use = (
        "import numpy as np\nfrom bilex.numerics.products_kernel import edge_scores\nrow = np.zeros(1, np.int64)\n"
        "edge_scores(np.ones((1, 9), np.float32), np.ones((1, 9), np.float32), row, row)\n"
    )
    exec(use, {})  # from now on it is kept
    command = [sys.executable, "-c", f"import sys\n{use}print('scipy.linalg' in sys.modules)"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"
