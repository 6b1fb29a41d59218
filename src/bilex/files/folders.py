"""Folders out, whole or not at all: filled under another name, then exchanged with what is in their place.

A process that is killed leaves its folder behind. Nobody holds the lock on it any more, so the next one that writes
to the same place finds it out and throws it away.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bilex.files.atomic import sync_folder

__all__ = ["new_folder", "replace_folder"]

HERE, EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


@contextlib.contextmanager
def new_folder(place: Path) -> Iterator[Path]:
    """Give an empty folder beside `place`, which vanishes when the block ends unless it was moved."""
    with contextlib.ExitStack() as stack:
        with locked(place.parent):  # so that nobody finds the folder before it is locked
            throw_away_abandoned(place)
            folder = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".part", dir=place.parent))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            stack.enter_context(locked(folder))
        folder.chmod(0o755)
        yield folder


def replace_folder(new: Path, place: Path) -> None:
    """Move a folder to its place; what was there is then where the new one was, or gone."""
    if not place.exists():
        new.rename(place)
    elif not exchange(new, place):
        with locked(place.parent):  # there is a moment without either, which `throw_away_abandoned` could put right
            old = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".old", dir=place.parent))
            try:
                place.rename(old)
            except OSError:
                old.rmdir()
                raise
            try:
                new.rename(place)
            except OSError:
                old.rename(place)
                raise
        shutil.rmtree(old, ignore_errors=True)
    sync_folder(place.parent)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step, and say whether the system can."""
    sys.audit("os.rename", str(one), str(other), -1, -1)
    try:
        rename = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    return bool(rename(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE) == 0)


def throw_away_abandoned(place: Path) -> None:
    """Remove what killed processes left beside `place`; if one was killed in the middle of a move, undo that."""
    ours = re.compile(rf"\.{re.escape(place.name)}\.[a-z0-9_]{{8}}\.(?:part|old)")
    for folder in [path for path in place.parent.iterdir() if ours.fullmatch(path.name) and path.is_dir()]:
        if folder.suffix == ".old" and not place.exists():
            folder.rename(place)
            continue
        with contextlib.suppress(OSError), locked(folder, only_if_free=True) as free:
            if free:
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def locked(folder: Path, *, only_if_free: bool = False) -> Iterator[bool]:
    """Hold the lock on a folder, which ends with the process; say whether we do. Not every system has such locks."""
    try:
        import fcntl
    except ImportError:
        yield False
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        held = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (fcntl.LOCK_NB if only_if_free else 0))
        except OSError:
            held = False
        yield held
    finally:
        os.close(descriptor)
