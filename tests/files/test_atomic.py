"""A file is written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bilex.errors import BilexError
from bilex.files.atomic import atomic_write, atomic_write_text


def test_appears_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "out.bin"
    with atomic_write(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out.bin"
    atomic_write_text(path, "old é\n")
    with pytest.raises(RuntimeError), atomic_write(path) as file:
        file.write(b"new")
        raise RuntimeError
    assert path.read_bytes() == "old é\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    atomic_write_text(tmp_path / "a", "")
    (tmp_path / "b").write_text("")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_the_mask_of_the_process_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could only be read by setting it, and another thread that did so at the same time would find a false one."""
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the mask was set"))
    atomic_write_text(tmp_path / "a", "")


def test_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(BilexError, match="cannot be written"):
        atomic_write_text(tmp_path / "none" / "a", "")


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(BilexError, match="cannot be written"):
        atomic_write_text(tmp_path / "a", "")
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]
