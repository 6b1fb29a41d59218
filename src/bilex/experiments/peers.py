"""Other programs on the same files: a checkout that the user has, run as a program of its own.

Only their documented command lines are used. They get plain word2vec text and the pairs of the seed that both
vocabularies know, and write mapped vectors, which are then measured like ours.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from bilex.errors import BilexError, InputError
from bilex.vectors.embeddings import Embeddings, load


class PeerFiles(NamedTuple):
    """What a peer reads and writes."""

    seed: Path
    test: Path
    source: Path
    target: Path
    mapped_source: Path
    mapped_target: Path


def vecmap_command(files: PeerFiles) -> list[str]:
    """Return the arguments of vecmap, semi-supervised as its documentation recommends for a seed."""
    paths = (files.source, files.target, files.mapped_source, files.mapped_target)
    return ["--semi_supervised", str(files.seed), *map(str, paths)]


def rcsls_command(files: PeerFiles) -> list[str]:
    """Return the arguments of fastText's alignment, with the settings of its example."""
    named = {
        "--src_emb": files.source,
        "--tgt_emb": files.target,
        "--dico_train": files.seed,
        "--dico_test": files.test,
        "--output": files.mapped_source,
    }
    return [*(str(part) for pair in named.items() for part in pair), "--lr", "25", "--niter", "10"]


PEERS: dict[str, tuple[str, Callable[[PeerFiles], list[str]]]] = {
    "vecmap": ("map_embeddings.py", vecmap_command),
    "rcsls": ("align.py", rcsls_command),
}


def peer_script(name: str, folder: Path) -> Path:
    """Return the script of a peer in its checkout; raise if it is not there."""
    if name not in PEERS:
        raise BilexError(f"no peer is called {name!r}; choose one of {', '.join(PEERS)}")
    for place in (folder / PEERS[name][0], folder / "alignment" / PEERS[name][0]):
        if place.is_file():
            return place.resolve()
    raise InputError(folder, f"there is no {PEERS[name][0]} of {name}", "give the folder of its checkout")


def run_peer(
    name: str, script: Path, source: Embeddings, target: Embeddings, seed: Sequence[tuple[str, str]]
) -> tuple[Embeddings, Embeddings, float]:
    """Run a peer; return the mapped vectors of both languages, and the seconds that it took."""
    with tempfile.TemporaryDirectory(prefix="bilex-") as folder:
        place = Path(folder)
        files = PeerFiles(*(place / part for part in ("seed.txt", "test.txt", "a.vec", "b.vec", "x.vec", "y.vec")))
        source.save(files.source)
        target.save(files.target)
        for path in (files.seed, files.test):  # the test words are none of its business: it gets the seed again
            path.write_text("".join(f"{one} {other}\n" for one, other in seed), "utf-8", newline="\n")
        started = time.perf_counter()
        command = [sys.executable, str(script), *PEERS[name][1](files)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=script.parent, errors="replace")
        seconds = time.perf_counter() - started
        if done.returncode or not files.mapped_source.is_file():
            said = " ".join((done.stderr or done.stdout).split())[-150:]
            raise InputError(script, f"{name} ended with code {done.returncode} ({said})", "run it by itself first")
        mapped = load(files.mapped_source, None)
        return mapped, load(files.mapped_target, None) if files.mapped_target.is_file() else target, seconds
