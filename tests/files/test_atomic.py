"""A file is written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bilex.errors import BilexError
from bilex.files.atomic import atomic_write, atomic_write_text
from bilex.files.run_directory import run_directory
from bilex.files.tensors import atomic_write_tensors


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
    atomic_write_tensors(tmp_path / "c", {"ones": np.ones(3)})
    assert len({path.stat().st_mode for path in tmp_path.iterdir()}) == 1


def test_the_mask_of_the_process_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could only be read by setting it, and another thread that did so at the same time would find a false one."""
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the mask was set"))
    atomic_write_text(tmp_path / "a", "")


def test_a_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", fail)
    for content in (b"first", b"second"):
        with atomic_write(tmp_path / "a", replace=False) as file:
            file.write(content)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"first"}


def test_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(BilexError):
        atomic_write_text(tmp_path / "none" / "a", "")


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(BilexError, match="is a folder"):
        atomic_write_text(tmp_path / "a", "")
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for old in ("old", None):
        if old:
            (tmp_path / "there" / "file").write_text(old)
        (tmp_path / "link").symlink_to("there/file")
        atomic_write_text(tmp_path / "link", "new")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "there" / "file").read_text() == "new"
        for path in (tmp_path / "link", tmp_path / "there" / "file"):
            path.unlink()


def test_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("secret")
    (tmp_path / "a").chmod(0o600)
    atomic_write_text(tmp_path / "a", "also secret")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with a name")
def test_a_pipe_and_a_device_are_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        atomic_write_text(tmp_path / name, "new")
        assert os.read(reading, 10) == b"new"
        os.close(reading)
        assert (tmp_path / "pipe").is_fifo()
    reading, writing = os.pipe()
    atomic_write_text(f"/dev/fd/{writing}", "new")  # as a shell's >(command)
    assert os.read(reading, 10) == b"new"
    with (tmp_path / "log").open("ab") as log:
        log.write(b"old ")
        log.flush()
        atomic_write_text(f"/dev/fd/{log.fileno()}", "new")  # as -o /dev/stdout >> log
    assert (tmp_path / "log").read_bytes() == b"old new"
    (tmp_path / "null").symlink_to(os.devnull)
    atomic_write_text(tmp_path / "null", "new")
    assert (tmp_path / "null").is_char_device()
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "link", "log", "null"}


def test_a_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "disk").write_text("a file system")
    monkeypatch.setattr(Path, "is_block_device", lambda path: path.name == "disk")
    with pytest.raises(BilexError, match="disk"):
        atomic_write_text(tmp_path / "disk", "new")
    assert (tmp_path / "disk").read_text() == "a file system"


def test_an_error_of_a_file_that_is_read_is_not_blamed_on_the_one_that_is_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="input"), atomic_write(tmp_path / "a") as file:
        file.write((tmp_path / "input").read_bytes())


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b", b"bytes", 5])
def test_a_name_that_no_file_can_have(name: Any) -> None:
    with pytest.raises(BilexError), atomic_write(name):
        pass
    with pytest.raises(BilexError), run_directory(name):
        pass
