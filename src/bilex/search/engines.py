"""The engines by name."""

import difflib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from bilex.errors import BilexError
from bilex.numerics.threads import thread_count
from bilex.search.engine import Engine, Progress

ENGINE_NAMES = ("local", "torch", "torch=cuda", "torch=mps", "torch=cpu", "dask", "dask=ADDRESS")


def find_engine(name: str, *, threads: int | None = None, progress: Progress | None = None) -> Engine:
    """Return the engine of that name, without importing torch or connecting to a cluster yet."""
    kind, equals, argument = name.partition("=")
    threads = thread_count() if threads is None else threads
    if name == "local":
        from bilex.search.local import LocalEngine

        return LocalEngine(threads=threads, progress=progress)
    if kind == "torch":
        from bilex.search.torch import DEVICES, TorchEngine

        if not equals or argument in DEVICES:
            return TorchEngine(argument or None, threads=threads, progress=progress)
    if kind == "dask" and (argument or not equals):
        from bilex.search.dask import DaskEngine

        return DaskEngine(argument or None, threads=threads, progress=progress)
    near = difflib.get_close_matches(name.lower(), ENGINE_NAMES, n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    raise BilexError(f"no engine is called {name!r}; {meant}choose one of {', '.join(ENGINE_NAMES)}")


@contextmanager
def open_engine(name: str, *, threads: int | None = None, progress: Progress | None = None) -> Iterator[Engine]:
    """Open the engine of that name, and close it at the end if it holds anything."""
    engine = find_engine(name, threads=threads, progress=progress)
    with engine if isinstance(engine, AbstractContextManager) else nullcontext(engine) as opened:
        yield opened
