"""Folders are moved into their place in one step; what killed processes left behind is removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bilex.errors import BilexError
from bilex.files import folders
from bilex.files.folders import exchange, new_folder, replace_folder

KILLED = """
import os, signal, sys
from pathlib import Path
from bilex.files.folders import new_folder
with new_folder(Path(sys.argv[1])) as folder:
    (folder / "large").write_text("half")
    print(folder, flush=True)
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.read()
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "old").touch()
    return tmp_path / "run"


@pytest.mark.parametrize("in_one_step", [True, False])
def test_a_folder_takes_the_place_of_another(place: Path, monkeypatch: pytest.MonkeyPatch, in_one_step: bool) -> None:
    if not in_one_step:
        monkeypatch.setattr(folders, "exchange", lambda *_: False)
    with new_folder(place) as folder:
        (folder / "new").touch()
        replace_folder(folder, place)
        assert names(place) == ["new"]
    assert names(place.parent) == ["run"]
    with new_folder(place.parent / "another") as folder:
        replace_folder(folder, place.parent / "another")
    assert names(place.parent) == ["another", "run"]


def test_without_renameat2_locks_and_moves_onto_folders(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""
    rename = Path.rename

    def rename_to_new_name(path: Path, target: Path) -> Path:
        if target.exists():
            raise FileExistsError(17, "File exists", str(target))
        return rename(path, target)

    monkeypatch.setattr("ctypes.CDLL", lambda _: object())
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(Path, "rename", rename_to_new_name)
    with new_folder(place) as folder:
        (folder / "new").touch()
        replace_folder(folder, place)
    assert (names(place), names(place.parent)) == (["new"], ["run"])


@pytest.mark.skipif(sys.platform != "linux", reason="Linux can exchange two folders")
def test_linux_exchanges_in_one_step(place: Path) -> None:
    (place.parent / "new").mkdir()
    assert exchange(place.parent / "new", place)
    assert names(place.parent / "new") == ["old"]
    assert names(place) == []
    assert not exchange(place.parent / "nowhere", place)


def test_a_move_that_fails_brings_the_old_folder_back(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename

    def fail(path: Path, target: Path) -> Path:
        if path.suffix == ".part":
            raise OSError(28, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(folders, "exchange", lambda *_: False)
    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(OSError, match="No space"), new_folder(place) as folder:
        replace_folder(folder, place)
    assert names(place.parent) == ["run"]
    assert names(place) == ["old"]


def test_the_folder_of_a_killed_process_is_removed(place: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, place, "killed"], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert Path(done.stdout.strip()).is_dir()
    with new_folder(place) as folder:
        assert names(place.parent) == sorted([folder.name, "run"])


def test_the_folder_of_a_running_process_is_kept(place: Path) -> None:
    living = subprocess.Popen(
        [sys.executable, "-c", KILLED, place, "living"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert living.stdout is not None
    theirs = Path(living.stdout.readline().strip())
    with pytest.raises(BilexError, match="another bilex"), new_folder(place):
        pytest.fail("both would write checkpoints there")
    assert names(theirs) == ["large"]
    living.communicate()
    assert names(place.parent) == ["run"]


def test_folders_with_similar_names_are_kept(place: Path) -> None:
    alike = [
        ".run.part",
        ".run.old",
        ".run.mine.part",
        "run.abcdefgh.part",
        ".other.abcdefgh.part",
        ".run.abcdefgh.old.x",
    ]
    for name in alike:
        (place.parent / name).mkdir()
    (place.parent / ".run.abcdefgh.part").write_text("a file")
    before = names(place.parent)
    with new_folder(place):
        pass
    assert names(place.parent) == before


def test_a_move_that_was_killed_half_way_is_undone(place: Path) -> None:
    place.rename(place.parent / ".run.abcdefgh.old")
    with new_folder(place):
        assert names(place) == ["old"]
    assert names(place.parent) == ["run"]


def test_without_locks_nothing_is_removed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    (place.parent / ".run.abcdefgh.part").mkdir()
    with new_folder(place) as folder:
        assert folder.is_dir()
    assert names(place.parent) == [".run.abcdefgh.part", "run"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError), new_folder(tmp_path / "no" / "run"):
        pytest.fail("where should it be?")
    assert os.listdir(tmp_path) == []  # noqa: PTH208


@pytest.mark.parametrize("masked", [0o077, 0o027])
def test_permissions_are_those_of_any_new_folder_or_of_the_old_one(place: Path, masked: int) -> None:
    mask = os.umask(masked)
    try:
        with new_folder(place.parent / "new") as folder:
            replace_folder(folder, place.parent / "new")
    finally:
        os.umask(mask)
    assert (place.parent / "new").stat().st_mode & 0o777 == 0o777 & ~masked
    place.chmod(0o750)
    with new_folder(place) as folder:
        replace_folder(folder, place)
    assert place.stat().st_mode & 0o777 == 0o750
