"""Files out, whole or not at all: written beside their place under another name, then moved there."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from bilex.errors import BilexError

__all__ = ["atomic_path", "atomic_write", "atomic_write_tensors", "atomic_write_text", "sync_folder"]


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[Path]:
    """Give the name of a temporary file that becomes ``path`` if the block ends well, and vanishes if not.

    Without ``replace``, a file that is there by then stays as it is.

    Raises
    ------
    BilexError
        If the folder does not exist or may not be written to, or the disk is full.
    """
    place = Path(path)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{place.name[:100]}.", suffix=".part", dir=place.parent)
        os.close(descriptor)
    except OSError as error:
        raise BilexError(f"{place}: cannot be written ({error.strerror}); check the folder") from None
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes the file private; the result gets the permissions any new file would have.
        temporary.chmod(0o666 & ~_umask())
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


def _umask() -> int:
    """Read the process's mask, which can only be read by setting it."""
    current = os.umask(0o077)
    os.umask(current)
    return current


def sync_folder(folder: Path) -> None:
    """Make the new name itself durable, where the system has a way to."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
