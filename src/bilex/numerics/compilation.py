"""Compile kernels with numba, and keep them on the disk where that is possible."""

import contextlib
import sys
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from bilex.errors import BilexError, BilexWarning
from bilex.numerics.threads import check_address_space

# kernels take numba from here, for its errors
__all__ = ["cgutils", "config", "intrinsic", "njit", "target_features", "types"]

is_first = "numba" not in sys.modules
check_address_space(400 << 20)  # numba with LLVM, and SciPy's BLAS where it is installed
try:
    import numba
    from numba import config, types
    from numba.core import cgutils
    from numba.core.registry import cpu_target
    from numba.core.runtime import rtsys
    from numba.extending import intrinsic
except Exception as error:  # it reads its settings when it is imported; or ulimit -v
    problem = f"numba cannot start ({' '.join(str(error).split())[:100]})"
    remedy = "correct its settings (NUMBA_... in the environment, .numba_config.yaml), or allow more memory"
    raise BilexError(f"{problem}; {remedy}") from None
if is_first:  # a .numba_config.yaml of the current folder may name a cache, and to read one runs code
    config._config_fname = ""
    config.reload_config()

compiled: list[Any] = []  # the caches of the kernels that this process had to compile


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return numba's decorator of that name; a kernel that cannot be kept on the disk is compiled in each process.

    That happens if neither the folder of the package nor the user's home can be written to (a container's ``nobody``),
    or if the disk is full.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            kernel = numba.njit(**options)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            warn_about_cache()
            return numba.njit(**{**options, "cache": False})(function)
        if hasattr(kernel, "_cache"):  # none if numba is switched off
            tolerate_damage(kernel._cache)
        return kernel

    return decorate


def tolerate_damage(kept: Any) -> None:
    """Let a kernel be compiled again if its file is damaged, and used if the file cannot be written.

    A kernel that is on the disk needs only numba's runtime. By itself numba would first import all that it compiles
    with, SciPy included, which takes longer than everything else before the first kernel runs.
    """
    load, save = kept.load_overload, kept.save_overload

    def load_if_whole(signature: Any, target: Any) -> Any:
        with contextlib.suppress(Exception):  # what goes wrong here is not numba's fault, perhaps
            rtsys.initialize(target)
            return kept._load_overload(signature, target)
        try:
            return load(signature, target)
        except Exception:  # it is a pickle: anything can go wrong
            with contextlib.suppress(OSError):
                kept.flush()
            return None

    def save_if_possible(*arguments: Any) -> None:
        compiled.append(kept)
        try:
            save(*arguments)
        except OSError:
            warn_about_cache()

    kept.load_overload, kept.save_overload = load_if_whole, save_if_possible


@cache  # once in a process
def warn_about_cache() -> None:
    """Warn that the next process has to compile again."""
    warnings.warn(
        "compiled code cannot be kept, so every start takes up to a minute longer; "
        "set NUMBA_CACHE_DIR to a folder that you may write to",
        BilexWarning,
        stacklevel=1,
    )


@cache
def target_features() -> frozenset[str]:
    """Return the features of the CPU that numba compiles for; its settings may leave out some of this machine's."""
    *_, features = cpu_target.target_context.codegen().magic_tuple()
    return frozenset(name[1:] for name in features.split(",") if name.startswith("+"))
