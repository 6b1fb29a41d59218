"""How many threads the numerical libraries use, decided here and nowhere else.

BLAS always runs on one thread; bilex gives each of its own threads a block of rows instead. That is faster (no
two thread pools wait for each other) and makes every dense product independent of the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

from bilex.errors import BilexError

__all__ = ["single_threaded_blas", "thread_count"]


def thread_count() -> int:
    """Give the number of worker threads: ``BILEX_THREADS``, or the cores this process may use."""
    asked = os.environ.get("BILEX_THREADS", "")
    if asked:
        if not asked.isdecimal() or int(asked) < 1:
            raise BilexError(f"BILEX_THREADS is {asked!r}; set it to a whole number from 1 up, or unset it")
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def controller() -> ThreadpoolController:
    """Find the loaded BLAS libraries once; looking for them takes milliseconds."""
    return ThreadpoolController()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Run the block with BLAS on one thread, for this process."""
    with controller().limit(limits=1, user_api="blas"):
        yield
