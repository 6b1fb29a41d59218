"""Write files whole or not at all: beside their place under another name, then moved there."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from bilex.errors import BilexError


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[Path]:
    """Yield the name of a temporary file that becomes ``path`` if the block succeeds, and is removed if not.

    Without ``replace``, a file that exists by then is kept.
    """
    place = Path(path)
    temporary = place.parent / f".{place.name[:100]}.{secrets.token_hex(8)}.part"
    try:
        # The system takes the process's mask off these permissions, so the result has those of any new file.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        raise BilexError(f"{place}: cannot be written ({error.strerror}); check the folder") from None
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if replace:
            temporary.replace(place)
        else:
            with contextlib.suppress(FileExistsError):
                place.hardlink_to(temporary)
    except OSError as error:
        raise BilexError(f"{place}: cannot be written ({error.strerror or error}); check the disk") from error
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(place.parent)


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[BinaryIO]:
    """Open ``path`` for writing bytes; the file appears, or is replaced, only if the block succeeds."""
    with atomic_path(path, replace=replace) as temporary, temporary.open("wb") as file:
        yield file


def atomic_write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole text as UTF-8, with line ends as they are."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))


def sync_folder(folder: Path) -> None:
    """Make a new name in the folder durable, where the system supports it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
