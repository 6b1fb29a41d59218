"""Write files whole or not at all: beside their place under another name, then moved there."""

import contextlib
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from bilex.errors import BilexError
from bilex.files.ownership import ELSEWHERE, check_output, output_path, real_path

OPEN_FILE = re.compile(r"/dev/(fd/\d+|stdout|stderr)|/proc/[^/]+/fd/\d+")
MAX_LINKS = 40  # as many as Linux follows


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[Path]:
    """Yield the name of a temporary file that becomes ``path`` if the block succeeds, and is removed if not.

    A link stays, and what it leads to is replaced. A device or a pipe stays too: the content is written to it. Without
    ``replace``, a file that exists by then is kept.
    """
    named = output_path(path)
    streamed = is_stream(named)
    place = named if streamed else real_path(named)
    if place.is_dir():
        raise BilexError(f"{named}: is a folder; name a file in it")
    if place.is_symlink() and not streamed:
        raise BilexError(f"{named}: the link leads to itself; {ELSEWHERE}")
    if place.is_block_device():
        raise BilexError(f"{named}: is a disk, which would be destroyed; choose a file")
    if replace and not streamed:
        check_output(place)
    folder = Path(tempfile.gettempdir()) if streamed else place.parent
    temporary = folder / f".{place.name[:100]}.{secrets.token_hex(8)}.part"
    try:
        # The system takes the process's mask off these permissions, so the result has those of any new file.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if streamed else 0o666))
    except OSError as error:
        raise BilexError(f"{named}: cannot be written ({error.strerror}); check the folder") from None
    try:
        yield temporary
        move(temporary, place, streamed=streamed, replace=replace)
    except BrokenPipeError:  # the reader went away
        raise
    except OSError as error:
        if error.filename not in (None, str(temporary), str(place)):  # of another file, which the block reads
            raise
        raise BilexError(f"{named}: cannot be written ({error.strerror or error}); check the disk") from error
    finally:
        temporary.unlink(missing_ok=True)


def move(temporary: Path, place: Path, *, streamed: bool, replace: bool) -> None:
    """Put a file in its place with the permissions of the one that was there, or write its content to a stream."""
    if streamed:
        with temporary.open("rb") as content, open(os.open(place, os.O_WRONLY | os.O_APPEND), "wb") as stream:  # noqa: PTH123
            shutil.copyfileobj(content, stream)
        return
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    if replace:
        with contextlib.suppress(OSError):  # there is none, or its system has no permissions
            temporary.chmod(stat.S_IMODE(place.stat().st_mode))
        temporary.replace(place)
    else:
        try:
            place.hardlink_to(temporary)
        except OSError:  # it exists, or its system has no links, as that of a USB stick
            if not place.exists():
                temporary.replace(place)
    sync_folder(place.parent)


def is_stream(path: Path) -> bool:
    """Check whether a path is a device, a pipe or an open file of a process, which are written to and not replaced."""
    for _ in range(MAX_LINKS):
        if OPEN_FILE.fullmatch(os.path.abspath(path)):  # noqa: PTH100 (links are followed one by one)
            return True
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return path.exists() and not path.is_file() and not path.is_dir()


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[BinaryIO]:
    """Open ``path`` for writing bytes; the file appears, or is replaced, only if the block succeeds."""
    with atomic_path(path, replace=replace) as temporary, temporary.open("wb") as file:
        yield file


def atomic_write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole text as UTF-8, with line ends as they are; the bytes of a path that is not UTF-8 are escaped."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def sync_folder(folder: Path) -> None:
    """Make a new name in the folder durable, where the system supports it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
