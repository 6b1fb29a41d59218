"""The number of threads: of bilex itself, and of the BLAS library under NumPy.

BLAS always runs on one thread; bilex gives each of its own threads a block of rows instead. That is faster (no
two thread pools wait for each other) and makes every dense product independent of the number of threads.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from bilex.errors import BilexError

Piece = TypeVar("Piece")
BLAS_BUFFER = 33 << 20  # bytes for each thread
MAX_THREAD_DIGITS = 6


def thread_count() -> int:
    """Return the number of worker threads: ``BILEX_THREADS``, or the cores this process may use."""
    requested = os.environ.get("BILEX_THREADS", "")
    if requested:
        if not requested.isdecimal() or len(requested) > MAX_THREAD_DIGITS or int(requested) < 1:
            raise BilexError(f"BILEX_THREADS is {requested[:50]!r}; set it to a whole number from 1 up, or unset it")
        return int(requested)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def blas_controller() -> ThreadpoolController:
    """Find the loaded BLAS libraries once; looking for them takes milliseconds."""
    return ThreadpoolController()


def check_address_space(needed: int) -> None:
    """Raise if ``ulimit -v`` leaves fewer bytes than needed. OpenBLAS would retry to allocate its buffers for ever."""
    if sys.platform != "linux":
        return
    import resource

    most, status = resource.getrlimit(resource.RLIMIT_AS)[0], Path("/proc/self/statm")
    if most == resource.RLIM_INFINITY or not status.exists():
        return
    free = most - int(status.read_bytes().split()[0]) * resource.getpagesize()
    if free < needed:
        raise BilexError(
            f"of the {most >> 20} MB that `ulimit -v` allows, {max(free, 0) >> 20} are left; allow more, "
            "or read fewer words with --limit"
        )


LIMIT_LOCK = threading.Lock()
LIMITS: list[Any] = []  # the process-wide limit, once for each block inside: set by the first, lifted by the last


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Run the block with BLAS on one thread; several threads may be inside at once."""
    with LIMIT_LOCK:
        if not LIMITS:
            check_address_space(BLAS_BUFFER * (thread_count() + 1))
        LIMITS.append(LIMITS[0] if LIMITS else blas_controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with LIMIT_LOCK:
            limit = LIMITS.pop()
            if not LIMITS:
                limit.restore_original_limits()


def for_each(
    work: Callable[[Piece], None],
    parts: Sequence[Piece],
    *,
    threads: int | None = None,
    done: Callable[[int], None] | None = None,
) -> None:
    """Call `work` for each part on all threads, with BLAS on one, and `done` with the number of parts so far.

    A single part is done in the caller's own thread: to start another takes longer than most small parts do.
    """
    with single_threaded_blas(), ThreadPoolExecutor(threads or thread_count()) as pool:
        try:
            for number, _ in enumerate((pool.map if len(parts) > 1 else map)(work, parts), 1):
                if done is not None:
                    done(number)
        except BaseException:  # after an interrupt, do not finish the queue first
            pool.shutdown(wait=False, cancel_futures=True)
            raise
