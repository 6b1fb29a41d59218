"""Helpers for the tests of the readers."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from bilex.errors import BilexWarning, InputError
from bilex.vectors.embeddings import Embeddings, load


def write(folder: Path, content: bytes | str, name: str = "en.vec") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def fails(path: Path, pattern: str, line: int | None = None, limit: int | None = None) -> None:
    with pytest.raises(InputError, match=pattern) as caught:
        load(path, limit=limit)
    assert caught.value.line == line
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def repaired(path: Path, *patterns: str, limit: int | None = None, vocabulary: Path | None = None) -> Embeddings:
    """Load, and check that exactly these repairs are reported, once each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        embeddings = load(path, limit=limit, vocabulary=vocabulary)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == len(patterns), messages
    for pattern, message in zip(patterns, messages, strict=True):
        assert re.search(pattern, message), messages
        assert message.startswith(f"{path}: ")
    assert all(warning.category is BilexWarning and warning.filename == __file__ for warning in caught)
    return embeddings
