"""Where the top-k searches run: one small contract, one file per engine."""

from __future__ import annotations

from bilex.engines.base import Engine, Progress
from bilex.errors import BilexError
from bilex.threads import thread_count

__all__ = ["ENGINE_NAMES", "find_engine"]

ENGINE_NAMES = ("local",)


def find_engine(name: str, *, threads: int | None = None, progress: Progress | None = None) -> Engine:
    """Give the engine of that name."""
    from bilex.engines.local import LocalEngine

    if name != "local":
        raise BilexError(f"no engine is called {name!r}; choose one of {', '.join(ENGINE_NAMES)}")
    return LocalEngine(threads=thread_count() if threads is None else threads, progress=progress)
