"""Every file that bilex writes and reads again is cut at many places, and bytes of it are changed.

The files of a run (``run.json``, ``lexicon.tsv``, ``model.safetensors``), its review, and vectors in each format that
can be written. Each cut must end in one line that says what to do, and a changed byte of a run's lexicon or model must
be noticed by its checksum. Lexicons and dictionaries that are exported as lines of text carry no count: a cut between
two lines cannot be seen there, and they are not tried.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bilex
from bilex.errors import BilexError
from bilex.lexicon.reviews import ACCEPTED, Reviews
from bilex.runs.run import Run
from bilex.vectors.embeddings import Embeddings

__all__ = ["TITLE", "cut_file", "cuts", "run"]

TITLE = "Truncated files"
PLACES = 50
MANY_PLACES = 1000
VECTORS = ("a.vec", "a.vec.gz", "a.bin", "a.safetensors")


def cuts(size: int, places: int = PLACES) -> list[int]:
    """Return lengths from 0 to one byte less than the whole, more of them near both ends."""
    near = min(5, places // 4)
    chosen = {*range(near), *range(size - near, size), *np.linspace(0, size - 1, places).astype(int).tolist()}
    return sorted(length for length in chosen if 0 <= length < size)


def cut_file(path: Path, whole: bytes, length: int) -> None:
    """Write only the first bytes of a file."""
    path.write_bytes(whole[:length])


def run(short: bool) -> dict[str, Any]:
    """Cut and change files, and count what was refused."""
    places = PLACES if short else MANY_PLACES
    rows = []
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        vectors = some_vectors()
        bilex.induce(vectors, vectors).save(folder / "run")
        for file in ("run.json", "lexicon.tsv", "model.safetensors"):
            rows.append(try_cuts(f"run/{file}", folder / "run" / file, places, lambda: Run.load(folder / "run")))
        for file in VECTORS:
            vectors.save(folder / file)
            rows.append(try_cuts(file, folder / file, places, lambda path=folder / file: bilex.load(path)))  # type: ignore[misc]
        with Reviews(folder) as reviews:
            for number in range(60):
                reviews.decide((f"source{number}", f"target{number}"), ACCEPTED, version=0)
        rows.append(try_cuts("review.sqlite", folder / "review.sqlite", places, lambda: Reviews(folder).current()))
        changed, noticed = try_changes(folder / "run", places)
    cut, refused, harmless = (sum(row[column] for row in rows) for column in (1, 2, 3))
    return {
        "ok": cut == refused + harmless and changed == noticed,
        "figures": {
            "cuts": cut,
            "refused in one line": refused,
            "only the last byte lost, which says nothing (word2vec binary)": harmless,
            "taken for whole": cut - refused - harmless,
            "bytes changed in a run": changed,
            "noticed": noticed,
        },
        "tables": [
            {
                "title": "Cuts by file",
                "shown": 1,
                "columns": ["file", "cuts", "refused", "last byte only"],
                "rows": rows,
            }
        ],
    }


def some_vectors() -> Embeddings:
    """Make vectors of 200 words."""
    rng = np.random.default_rng(0)
    return Embeddings(tuple(f"w{row}" for row in range(200)), rng.normal(size=(200, 16)).astype(np.float32), name="a")


def try_cuts(name: str, path: Path, places: int, read: Callable[[], object]) -> list[Any]:
    """Cut a file at many places; count the cuts, those refused, and those that only removed a line end."""
    whole = path.read_bytes()
    refused = harmless = 0
    lengths = cuts(len(whole), places)
    for length in lengths:
        cut_file(path, whole, length)
        if is_refused(read):
            refused += 1
        elif length == len(whole) - 1 and name == "a.bin":
            harmless += 1
    path.write_bytes(whole)
    return [name, len(lengths), refused, harmless]


def try_changes(folder: Path, places: int) -> tuple[int, int]:
    """Change single bytes of the lexicon and the model; count them and how often it was noticed."""
    changed = noticed = 0
    for name in ("lexicon.tsv", "model.safetensors"):
        whole = (folder / name).read_bytes()
        for position in cuts(len(whole), places):
            (folder / name).write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
            changed += 1
            noticed += is_refused(lambda: Run.load(folder))
        (folder / name).write_bytes(whole)
    shutil.rmtree(folder)
    return changed, noticed


def is_refused(read: Callable[[], object]) -> bool:
    """Check that reading ends in a BilexError of one line."""
    try:
        read()
    except BilexError as error:
        return "\n" not in str(error) and "; " in str(error)
    return False
