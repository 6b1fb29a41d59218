"""Make hostile files."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bilex.files.ownership import file_sha256
from tests.languages import make_languages

__all__ = [
    "HUGE",
    "Evil",
    "bomb",
    "forge_manifest",
    "forge_model",
    "good_run",
    "heavy",
    "npy",
    "resign",
    "safetensors",
]

HUGE = 10**12


class Evil:
    """Creates a file when it is unpickled."""

    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return (Path.touch, (self.witness,))


def bomb(path: Path, unit: bytes, megabytes: int = 256, start: bytes = b"") -> None:
    """Write a small gzip file that unpacks to a large one: `start`, then `unit` over and over."""
    piece = gzip.compress(unit * ((1 << 20) // len(unit)))
    path.write_bytes(gzip.compress(start) + piece * megabytes)


def heavy(path: Path, start: bytes = b"", end: bytes = b"\n") -> None:
    """Write a word of 100 MB."""
    with path.open("wb") as file:
        file.write(start)
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(end)


def npy(path: Path, header: str, data: bytes = b"") -> None:
    """Write a NumPy file with any header."""
    text = header.encode() + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data)


def safetensors(path: Path, header: object, data: bytes = b"", length: int | None = None) -> None:
    """Write a safetensors file with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)


def good_run(place: Path) -> None:
    """Write a small valid run."""
    import bilex

    languages = make_languages(60, 8, 20)
    bilex.induce(languages.source, languages.target).save(place)


def resign(run: Path) -> None:
    """Correct the checksums in the manifest, as an attacker would."""
    forge_manifest(run, lambda info: info["files"].update({name: file_sha256(run / name) for name in info["files"]}))
    forge_manifest(run, lambda info: info.pop("words_sha256", None))  # as in a run of an older version


def forge_manifest(run: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change ``run.json``."""
    info = json.loads((run / "run.json").read_text())
    change(info)
    (run / "run.json").write_text(json.dumps(info) + "\n")


def forge_model(run: Path, changes: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Change tensors of the model, checksum included."""
    from safetensors.numpy import load_file, save_file

    save_file({**load_file(run / "model.safetensors"), **changes}, run / "model.safetensors", {"names": "{}"})
    resign(run)
