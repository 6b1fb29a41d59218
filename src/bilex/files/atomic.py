"""Files out, whole or not at all: written beside their place under another name, then moved there."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from bilex.errors import BilexError

__all__ = ["atomic_path", "atomic_write", "atomic_write_tensors", "atomic_write_text", "sync_folder"]


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[Path]:
    """Yield the name of a temporary file that becomes ``path`` if the block succeeds, and is removed if not.

    Without ``replace``, a file that exists by then is kept.

    Raises
    ------
    BilexError
        If the folder does not exist or may not be written to, or the disk is full.
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
    """Open ``path`` for writing bytes; the file appears, or is replaced, only when the block ends well."""
    with atomic_path(path, replace=replace) as temporary, temporary.open("wb") as file:
        yield file


def atomic_write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole text as UTF-8, with line ends as they are."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))


def atomic_write_tensors(
    path: str | os.PathLike[str], tensors: Mapping[str, NDArray[Any]], metadata: dict[str, str] | None = None
) -> None:
    """Write a safetensors file."""
    from safetensors import SafetensorError  # a compiled library, rarely needed
    from safetensors.numpy import save_file

    with atomic_path(path) as temporary:
        try:
            save_file({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, temporary, metadata)
        except SafetensorError as error:  # its way to say what the system said
            code = re.search(r"os error (\d+)", str(error))
            raise OSError(int(code[1]), os.strerror(int(code[1]))) if code else error from None


def sync_folder(folder: Path) -> None:
    """Make the new name itself durable, where the system has a way to."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
