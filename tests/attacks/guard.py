"""A process that opens hostile files, each in a fork of its own, and reports the result.

It reports the CPU time, and the peak memory of the fork, interpreter and libraries included. It is warmed up first, so
that compiling kernels and importing libraries is not counted, and a fork that does not end is killed.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

__all__ = ["Guard", "Verdict"]

MAX_SECONDS = 60  # then the fork is killed


class Verdict(NamedTuple):
    """The result of opening a file."""

    error: str
    message: str
    seconds: float
    megabytes: float


class Guard:
    """The process, asked from outside."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.attacks.guard"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def open(self, reader: str, path: Path) -> Verdict:
        """Open a file with a reader, both by name."""
        print(json.dumps([reader, str(path)]), file=self._pipe(self._process.stdin), flush=True)
        return Verdict(*json.loads(self._pipe(self._process.stdout).readline()))

    def close(self) -> None:
        """End the process."""
        self._pipe(self._process.stdin).close()
        self._process.wait(30)
        self._pipe(self._process.stdout).close()

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe


def readers() -> dict[str, Callable[[str], object]]:
    """Return every function of bilex that reads a file."""
    import bilex
    from bilex.evaluation.similarity import read_similarity_set
    from bilex.files.streams import read_toml
    from bilex.lexicon.lexicon import Lexicon
    from bilex.lexicon.reviews import Reviews
    from bilex.runs.run import Run
    from bilex.seeds.dictionaries import read_pairs

    return {
        "vectors": lambda path: bilex.load(path, limit=None),
        "vocabulary": lambda path: bilex.load(path, vocabulary=Path(path).with_suffix(".vocab")),
        "pairs": read_pairs,
        "similarity": lambda path: sum(1 for _ in read_similarity_set(path)),
        "run": Run.load,
        "lexicon": Lexicon.load,
        "toml": read_toml,
        "review": Reviews,
    }


def attempt(read: Callable[[str], object], path: str) -> Verdict:
    """Open a file in this process."""
    started, error, message = time.process_time(), "", ""
    try:
        read(path)
    except BaseException as caught:
        error, message = type(caught).__name__, str(caught)
    seconds = time.process_time() - started
    return Verdict(error, message, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def in_a_fork(read: Callable[[str], object], path: str) -> Verdict:
    """Open a file in a fork of this process."""
    inlet, outlet = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(MAX_SECONDS)
        with os.fdopen(outlet, "w") as pipe:
            json.dump(attempt(read, path), pipe)
        os._exit(0)
    os.close(outlet)
    with os.fdopen(inlet) as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    return Verdict(*json.loads(answer)) if answer else Verdict("died", f"status {status}", 0, 0)


def warm_up(known: dict[str, Callable[[str], object]]) -> None:
    """Import what the readers import, by reading small valid files."""
    import bilex
    from trust.fuzz_targets import fasttext_model

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "a.vec").write_text("3 2\na 1 2\nb 3 4\nc d 5 6.5e-1\n")
        vectors = bilex.load(folder / "a.vec")
        vectors.save(folder / "a.safetensors")
        bilex.load(folder / "a.safetensors")
        (folder / "a.bin").write_bytes(fasttext_model([b"a", b"b"], bytes(range(1, 17)), 1, 2))
        bilex.load(folder / "a.bin")
        (folder / "pairs").write_text("a b\n")
        known["pairs"](str(folder / "pairs"))
    gc.collect()


def main() -> None:
    """Answer requests until there are no more."""
    warnings.simplefilter("ignore")
    known = readers()
    warm_up(known)
    for line in sys.stdin:
        reader, path = json.loads(line)
        print(json.dumps(in_a_fork(known[reader], path)), flush=True)


if __name__ == "__main__":
    main()
