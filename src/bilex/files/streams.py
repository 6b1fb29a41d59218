"""Bytes in: one way to open a file, plain or gzipped, and to walk through it with bounded memory.

Plain files are read in blocks rather than mapped: it costs the same, a pipe works too, and a file that
shrinks while it is read gives an error instead of killing the process.
"""

from __future__ import annotations

import io
import os
import re
import stat
import zlib
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from bilex.errors import InputError

__all__ = [
    "BLOCK",
    "BOM",
    "FASTTEXT_MODEL",
    "MAXIMUM_WORD",
    "ByteStream",
    "Window",
    "display",
    "refuse_foreign",
    "refuse_special",
]

BLOCK = 1 << 23
"""Bytes of text held at a time; also the longest line that is accepted."""

MAXIMUM_WORD = 10_000
"""Bytes in the longest word that is believed to be a word."""

BOM = b"\xef\xbb\xbf"
_HEAD = 1 << 16
_COMPRESSED_READ = 1 << 18
_BOMB_SIZE = 1 << 18
_BOMB_RATIO = 100  # vectors are packed to about 40%, and a dictionary hardly ever to less than 5%


class _Readable(Protocol):
    def readinto(self, buffer: memoryview, /) -> int | None: ...


class _Gunzip:
    """Decompresses only what is asked for, and tells damage apart from harmless extras at the end."""

    def __init__(self, path: str, raw: io.FileIO, already_read: bytes) -> None:
        self._path, self._raw, self._pending = path, raw, already_read
        self._member: zlib._Decompress | None = zlib.decompressobj(wbits=31)
        self.trailing_garbage = False
        self._packed = self._unpacked = 0

    def readinto(self, buffer: memoryview, /) -> int:
        while self._member is not None:
            if not self._pending and not self._member.unconsumed_tail:
                self._pending = self._raw.read(_COMPRESSED_READ) or b""
                if not self._pending:
                    raise InputError(self._path, "the gzip data stops early", "get the file again, it looks cut off")
            data = self._member.unconsumed_tail or self._pending
            self._pending = b""
            try:
                decoded = self._member.decompress(data, len(buffer))
            except zlib.error as error:
                raise InputError(self._path, f"the gzip data is damaged ({error})", "get the file again") from None
            self._packed += len(data) - len(self._member.unconsumed_tail) - len(self._member.unused_data)
            if self._member.eof:
                self._next_member(self._member.unused_data)
            if decoded:
                self._refuse_bomb(len(decoded))
                buffer[: len(decoded)] = decoded
                return len(decoded)
        return 0

    def _refuse_bomb(self, unpacked: int) -> None:
        """Raise if a small file becomes a huge one, which no honest one does."""
        self._unpacked += unpacked
        if self._unpacked > _BOMB_SIZE and self._unpacked > _BOMB_RATIO * self._packed:
            raise InputError(
                self._path,
                f"it unpacks to more than {_BOMB_RATIO} times its size",
                "if you trust it, decompress it with gunzip first",
            )

    def _next_member(self, rest: bytes) -> None:
        """Look at what follows a finished gzip member: another one, zero padding, or something foreign."""
        self._member = None
        rest = rest.lstrip(b"\0")
        while len(rest) < 2:
            more = self._raw.read(_COMPRESSED_READ)
            if not more:
                break
            rest = (rest + more).lstrip(b"\0")
        if rest.startswith(b"\x1f\x8b"):
            self._member, self._pending = zlib.decompressobj(wbits=31), rest
        elif rest:
            self.trailing_garbage = True


class ByteStream:
    """An input file opened for reading, decompressed on the fly if it is gzipped.

    Attributes
    ----------
    path
        The file as the user named it.
    suffix
        How its name ends, in lower case and without ``.gz``.
    head
        The first bytes of the content, to recognise the format by.
    size
        How many bytes the content has, where that is known before it is read.

    With ``plain_file``, a pipe is refused: for files that bilex finds by itself or that another program names.
    """

    def __init__(self, path: str | os.PathLike[str], *, plain_file: bool = False) -> None:
        self.path = os.fspath(path)
        self.suffix = Path(self.path.removesuffix(".gz")).suffix.lower()
        self._raw = _open(self.path, plain_file)
        status = os.fstat(self._raw.fileno())
        self.size: int | None = status.st_size if stat.S_ISREG(status.st_mode) else None
        self._reader: _Readable = self._raw
        try:
            self.head = self._read_head()
            if self.head.startswith(b"\x1f\x8b"):
                self._start_gunzip()
        except BaseException:
            self._raw.close()
            raise
        self._head_left = memoryview(self.head)

    def _start_gunzip(self) -> None:
        self._reader, self.size = _Gunzip(self.path, self._raw, self.head), None
        self.head = self._read_head()

    def _read_head(self) -> bytes:
        buffer = bytearray(_HEAD)
        filled = self._fill(memoryview(buffer))
        return bytes(buffer[:filled])

    def _fill(self, view: memoryview) -> int:
        filled = 0
        try:
            while filled < len(view):
                count = self._reader.readinto(view[filled:])
                if not count:
                    break
                filled += count
        except OSError as error:
            raise InputError(self.path, f"reading failed ({error.strerror})", "check the disk and try again") from None
        return filled

    def readinto(self, view: memoryview) -> int:
        """Fill ``view`` as far as the content reaches and say how far that was."""
        taken = min(len(view), len(self._head_left))
        view[:taken] = self._head_left[:taken]
        self._head_left = self._head_left[taken:]
        return taken + self._fill(view[taken:])

    @property
    def repairs(self) -> list[str]:
        """What was put right while reading, one sentence each."""
        if isinstance(self._reader, _Gunzip) and self._reader.trailing_garbage:
            return ["something that is not gzip follows the gzip data; it was left out"]
        return []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._raw.close()


class Window:
    """The part of a stream that is in memory: ``buffer[start:end]`` has been read and not yet consumed."""

    def __init__(self, stream: ByteStream, capacity: int | None = None) -> None:
        self._stream = stream
        self.buffer = bytearray(capacity or BLOCK)
        self.array: NDArray[np.uint8] = np.frombuffer(self.buffer, dtype=np.uint8)
        self.start = self.end = 0
        self.ended = False

    def refill(self) -> None:
        """Move what is left to the front and read on until the buffer is full or the content ends."""
        left = self.end - self.start
        self.buffer[:left] = self.buffer[self.start : self.end]
        with memoryview(self.buffer) as view:
            count = self._stream.readinto(view[left:])
        self.start, self.end = 0, left + count
        self.ended = self.end < len(self.buffer)


def _open(path: str, plain_file: bool) -> io.FileIO:
    try:
        refuse_special(path, Path(path).stat().st_mode, pipes=not plain_file)  # first: opening can already block
        return io.FileIO(path, "rb")
    except FileNotFoundError:
        raise InputError(path, "no such file", "check the name and the folder") from None
    except IsADirectoryError:
        raise InputError(path, "this is a folder, not a file", "name a file in it") from None
    except PermissionError:
        raise InputError(path, "the file may not be read", "check its permissions") from None
    except (OSError, ValueError) as error:
        raise InputError(path, f"the file cannot be opened ({error})", "check the name") from None


def refuse_special(path: str | os.PathLike[str], mode: int, *, pipes: bool) -> None:
    """Raise if this is a device, which may never end, or (unless `pipes`) a pipe, which may never begin."""
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise InputError(path, "this is a device, not a file", "name a file")
    if stat.S_ISFIFO(mode) and not pipes:
        raise InputError(path, "this is a pipe, not a file", "save it to a file first")


_PICKLE_SUFFIXES = {".kv", ".pkl", ".pickle"}
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
FASTTEXT_MODEL = (793712314).to_bytes(4, "little")
_ARCHIVES = {
    b"PK\x03\x04": ("a zip archive (or a NumPy .npz or PyTorch file)", "unpack it and name the file inside"),
    b"BZh": ("compressed with bzip2", "decompress it with bunzip2, or use gzip"),
    b"\xfd7zXZ\x00": ("compressed with xz", "decompress it with unxz, or use gzip"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "decompress it with unzstd, or use gzip"),
    b"\x89HDF": ("an HDF5 file", "export the vectors as word2vec text"),
    b"\xff\xfe": ("in UTF-16, not UTF-8", "convert it, e.g. with iconv -f UTF-16 -t UTF-8"),
    b"\xfe\xff": ("in UTF-16, not UTF-8", "convert it, e.g. with iconv -f UTF-16 -t UTF-8"),
}


def refuse_foreign(stream: ByteStream) -> None:
    """Raise if the content is of a kind that is not read: a pickle, a fastText model, an archive."""
    if not stream.head:
        raise InputError(stream.path, "the file is empty", "get the file again")
    if _PICKLE.match(stream.head) or stream.suffix in _PICKLE_SUFFIXES:
        raise InputError(
            stream.path,
            "this is a pickle (gensim or Python), which could run any code and is never read",
            "save the vectors in gensim with kv.save_word2vec_format('vectors.vec') and use that file",
        )
    if stream.head.startswith(FASTTEXT_MODEL):
        raise InputError(stream.path, "this is a fastText model", "give a text file")
    for magic, (kind, remedy) in _ARCHIVES.items():
        if stream.head.startswith(magic):
            raise InputError(stream.path, f"the file is {kind}", remedy)


def display(text: bytes | str) -> str:
    """Quote a piece of the input for a message: one line, printable, not too long."""
    decoded = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    quoted = repr(decoded)
    return quoted if len(quoted) <= 42 else quoted[:38] + "...'"
