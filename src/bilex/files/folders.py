"""Write folders whole or not at all: filled under another name, then exchanged with what is in their place.

A process that is killed leaves its folder behind, but not the lock on it; the next process that writes to the same
place finds the folder unlocked and removes it.
"""

import contextlib
import ctypes
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from bilex.errors import BilexError
from bilex.files.atomic import sync_folder

AT_FDCWD, RENAME_EXCHANGE = -100, 2  # constants of Linux


@contextlib.contextmanager
def new_folder(place: Path) -> Iterator[Path]:
    """Yield an empty folder beside `place`, which is removed when the block ends unless it was moved."""
    with contextlib.ExitStack() as stack:
        with locked(place.parent):  # so that no other process finds the folder before it is locked
            if remove_abandoned(place):
                raise BilexError(f"{place}: another bilex is writing to it; wait for it, or choose another -o")
            folder = place.parent / f".{place.name}.{secrets.token_hex(4)}.part"
            folder.mkdir()  # with the permissions that the process's mask leaves
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            stack.enter_context(locked(folder))
        yield folder


def replace_folder(new: Path, place: Path) -> None:
    """Move a folder to its place; what was there is then in the place of the new one, or removed."""
    with contextlib.suppress(OSError):  # there is nothing, or its system has no permissions
        new.chmod(stat.S_IMODE(place.stat().st_mode))
    if not place.exists():
        new.rename(place)
    elif not exchange(new, place):
        with locked(place.parent):  # for a moment there is neither; `remove_abandoned` must not undo it
            old = place.parent / f".{place.name}.{secrets.token_hex(4)}.old"  # new: Windows replaces no folder
            place.rename(old)
            try:
                new.rename(place)
            except OSError:
                old.rename(place)
                raise
        shutil.rmtree(old, ignore_errors=True)
    sync_folder(place.parent)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; return False if the system cannot."""
    sys.audit("os.rename", str(one), str(other), -1, -1)
    try:
        rename = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    return bool(rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0)


def remove_abandoned(place: Path) -> bool:
    """Remove what killed processes left beside `place`, and undo an unfinished move.

    Returns whether a running process is writing to the place.
    """
    is_busy = False
    temporary_name = re.compile(rf"\.{re.escape(place.name)}\.[a-z0-9_]{{8}}\.(?:part|old)")
    for folder in [path for path in place.parent.iterdir() if temporary_name.fullmatch(path.name) and path.is_dir()]:
        if folder.suffix == ".old" and not place.exists():
            folder.rename(place)
            continue
        with contextlib.suppress(OSError), locked(folder, only_if_free=True) as free:
            if free:
                shutil.rmtree(folder, ignore_errors=True)
            is_busy = is_busy or free is False
    return is_busy


@contextlib.contextmanager
def locked(folder: Path, *, only_if_free: bool = False) -> Iterator[bool | None]:
    """Hold the lock on a folder, which ends with the process; yield whether it is held, None without locks."""
    if sys.platform == "win32":  # which cannot open a folder
        yield None
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield take_lock(descriptor, only_if_free=only_if_free)
    finally:
        os.close(descriptor)


def take_lock(descriptor: int, *, only_if_free: bool) -> bool | None:
    """Lock an open file or folder; return whether it is held, None where there are no locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (fcntl.LOCK_NB if only_if_free else 0))
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True
