"""The input files of an experiment, each read once for all its cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from bilex.files.run_directory import file_sha256
from bilex.seeds.dictionaries import read_pairs
from bilex.vectors.embeddings import Embeddings, load

__all__ = ["Sources"]

Dictionary = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Sources:
    """Reads files and remembers them; `limit` is how many words are read of each file of vectors."""

    limit: int | None = 200_000
    _vectors: dict[Path, Embeddings] = field(default_factory=dict)
    _pairs: dict[Path, Dictionary] = field(default_factory=dict)
    _sha256: dict[Path, str] = field(default_factory=dict)

    def vectors(self, path: Path) -> Embeddings:
        """Give the word vectors of a file, as they are there."""
        if path not in self._vectors:
            self._vectors[path] = load(path, self.limit)
        return self._vectors[path]

    def pairs(self, path: Path) -> Dictionary:
        """Give the pairs of a dictionary."""
        if path not in self._pairs:
            self._pairs[path] = tuple(read_pairs(path))
        return self._pairs[path]

    def sha256(self, path: Path) -> str:
        """Give the checksum of a file's content."""
        if path not in self._sha256:
            self._sha256[path] = file_sha256(path)
        return self._sha256[path]
