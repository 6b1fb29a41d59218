"""Open a file, plain or gzipped, and read through it with bounded memory.

Plain files are read in blocks rather than mapped: it costs the same, a pipe works too, and a file that
shrinks while it is read causes an error instead of killing the process.
"""

import io
import os
import re
import stat
import tomllib
import zlib
from pathlib import Path
from typing import Any, Self

from bilex.errors import InputError

MAX_WORD_BYTES = 10_000
CUT_OFF, WRONG_FILE = "get the file again, it looks cut off", "check that it is the right file"
UTF8_BOM = b"\xef\xbb\xbf"
GZIP_MAGIC = b"\x1f\x8b"
FASTTEXT_MAGIC = (793712314).to_bytes(4, "little")
HEAD_BYTES = 1 << 16
PACKED_PIECE_BYTES = 1 << 18
MIN_BOMB_BYTES = 1 << 18
MAX_TOML_BYTES = 1 << 18  # a person writes far less, and reading a long one takes long
MAX_GZIP_RATIO = 100  # vectors are packed to about 40%, and a dictionary hardly ever to less than 5%


class _GzipReader:
    """Unpacks gzip data as it is read.

    Unlike `gzip.GzipFile` it knows how many packed bytes it has used, so that a bomb is noticed early, and it accepts
    garbage behind the data, as ``gunzip`` does.
    """

    def __init__(self, path: str, file: io.BufferedReader) -> None:
        self._path, self._file, self._data = path, file, b""
        self._member: zlib._Decompress | None = zlib.decompressobj(wbits=31)
        self._packed_bytes = self._unpacked_bytes = 0
        self.trailing_garbage = False

    def read(self, size: int) -> bytes:
        """Read some bytes, at most `size`; none at the end."""
        while self._member is not None:
            self._data = self._data or self._file.read(PACKED_PIECE_BYTES)
            if not self._data:
                raise InputError(self._path, "the gzip data stops early", CUT_OFF)
            try:
                piece = self._member.decompress(self._data, size)
            except zlib.error as error:
                raise InputError(self._path, f"the gzip data is damaged ({error})", "get the file again") from None
            rest = self._member.unconsumed_tail or self._member.unused_data
            self._packed_bytes += len(self._data) - len(rest)
            self._data = rest
            if self._member.eof:
                self._start_next_member()
            if piece:
                self._unpacked_bytes += len(piece)
                if self._unpacked_bytes > max(MIN_BOMB_BYTES, MAX_GZIP_RATIO * self._packed_bytes):
                    problem = f"it unpacks to more than {MAX_GZIP_RATIO} times its size"
                    raise InputError(self._path, problem, "if you trust it, decompress it with gunzip first")
                return piece
        return b""

    def _start_next_member(self) -> None:
        """Look at what follows the end of gzip data: more of it, zeros, or something else."""
        self._data = self._data.lstrip(b"\0")
        while len(self._data) < len(GZIP_MAGIC) and (more := self._file.read(PACKED_PIECE_BYTES)):
            self._data = (self._data + more).lstrip(b"\0")
        another = self._data.startswith(GZIP_MAGIC)
        self._member = zlib.decompressobj(wbits=31) if another else None
        self.trailing_garbage = bool(self._data) and not another


class ByteStream:
    """An input file opened for reading, decompressed on the fly if it is gzipped.

    `path` is the file as the user named it, `suffix` the ending of its name, in lower case and without ``.gz``, `head`
    the first bytes of the content, and `size` their number in all if it is known before reading. With ``plain_file``, a
    pipe is refused: for files that bilex finds by itself or that another program names.
    """

    def __init__(self, path: str | os.PathLike[str], *, plain_file: bool = False) -> None:
        self.path = os.fspath(path)
        self.suffix = Path(self.path.removesuffix(".gz")).suffix.lower()
        self._file = _open_file(self.path, plain_file)
        self._reader: io.BufferedReader | _GzipReader = self._file
        status = os.fstat(self._file.fileno())
        self.size: int | None = status.st_size if stat.S_ISREG(status.st_mode) else None
        try:
            if self._file.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC):
                self._reader, self.size = _GzipReader(self.path, self._file), None
            self._unread = self.head = b""
            self._unread = self.head = self.read(HEAD_BYTES)
        except OSError as error:
            self._file.close()
            raise reading_failed(self.path, error) from None
        except BaseException:
            self._file.close()
            raise

    def read(self, size: int) -> bytes:
        """Read `size` bytes of the content, or what is left of it."""
        pieces = [self._unread[:size]]
        self._unread = self._unread[size:]
        missing = size - len(pieces[0])
        try:
            while missing and (piece := self._reader.read(missing)):
                pieces.append(piece)
                missing -= len(piece)
        except OSError as error:
            raise reading_failed(self.path, error) from None
        return b"".join(pieces)

    @property
    def repairs(self) -> list[str]:
        """What was repaired while reading, one sentence each."""
        if isinstance(self._reader, _GzipReader) and self._reader.trailing_garbage:
            return ["something that is not gzip follows the gzip data; it was left out"]
        return []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def reading_failed(path: str | os.PathLike[str], error: OSError) -> InputError:
    """Return the error for a file that the system cannot read."""
    return InputError(path, f"reading failed ({error.strerror or error})", "check the disk and try again")


def _open_file(path: str, plain_file: bool) -> io.BufferedReader:
    try:
        refuse_special_file(path, Path(path).stat().st_mode, pipes=not plain_file)  # first: opening can already block
        return open(path, "rb")  # noqa: PTH123 (a path as the user gave it; closed by the stream)
    except FileNotFoundError:
        raise InputError(path, "no such file", "check the name and the folder") from None
    except IsADirectoryError:
        raise InputError(path, "this is a folder, not a file", "name a file in it") from None
    except PermissionError:
        raise InputError(path, "the file may not be read", "check its permissions") from None
    except (OSError, ValueError) as error:
        raise InputError(path, f"the file cannot be opened ({error})", "check the name") from None


def refuse_special_file(path: str | os.PathLike[str], mode: int, *, pipes: bool) -> None:
    """Raise if this is a device, which may never end, or (unless `pipes`) a pipe, which may never begin."""
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise InputError(path, "this is a device, not a file", "name a file")
    if stat.S_ISFIFO(mode) and not pipes:
        raise InputError(path, "this is a pipe, not a file", "save it to a file first")


_PICKLE_SUFFIXES = {".kv", ".pkl", ".pickle"}
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_ARCHIVES = {
    b"PK\x03\x04": ("a zip archive (or a NumPy .npz or PyTorch file)", "unpack it and name the file inside"),
    b"BZh": ("compressed with bzip2", "decompress it with bunzip2, or use gzip"),
    b"\xfd7zXZ\x00": ("compressed with xz", "decompress it with unxz, or use gzip"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "decompress it with unzstd, or use gzip"),
    b"\x89HDF": ("an HDF5 file", "export the vectors as word2vec text"),
    b"\xff\xfe": ("in UTF-16, not UTF-8", "convert it, e.g. with iconv -f UTF-16 -t UTF-8"),
    b"\xfe\xff": ("in UTF-16, not UTF-8", "convert it, e.g. with iconv -f UTF-16 -t UTF-8"),
}


def refuse_unreadable_format(stream: ByteStream) -> None:
    """Raise if the content is in a format that no reader accepts: a pickle, a fastText model, an archive."""
    if not stream.head:
        raise InputError(stream.path, "the file is empty", "get the file again")
    if _PICKLE.match(stream.head) or stream.suffix in _PICKLE_SUFFIXES:
        raise InputError(
            stream.path,
            "this is a pickle (gensim or Python), which could run any code and is never read",
            "save the vectors in gensim with kv.save_word2vec_format('vectors.vec') and use that file",
        )
    if stream.head.startswith(FASTTEXT_MAGIC):
        raise InputError(stream.path, "this is a fastText model", "give a text file")
    if b"\r" in stream.head and b"\n" not in stream.head and b"\0" not in stream.head:
        raise InputError(stream.path, "its lines end in CR alone", r"convert them, e.g. with tr '\r' '\n'")
    for magic, (kind, remedy) in _ARCHIVES.items():
        if stream.head.startswith(magic):
            raise InputError(stream.path, f"the file is {kind}", remedy)


def read_toml(path: str | os.PathLike[str], remedy: str = "correct it") -> dict[str, Any]:
    """Read a TOML file that a user has written; `remedy` is what the error advises if it is not TOML."""
    with ByteStream(path) as stream:
        content = stream.read(MAX_TOML_BYTES + 1)
    if len(content) > MAX_TOML_BYTES:
        raise InputError(path, f"it is longer than {MAX_TOML_BYTES:,} bytes", WRONG_FILE)
    try:
        table = tomllib.loads(content.decode("utf-8-sig"))
        repr(table)  # fails at a hexadecimal number that is too long for an error to name it
        return table
    except UnicodeDecodeError:
        raise InputError(path, "this is not UTF-8", "convert it, e.g. with iconv") from None
    except (ValueError, RecursionError) as error:  # also a number with thousands of digits
        reason = " ".join(str(error).split())
        raise InputError(path, f"this is not TOML ({reason})", remedy) from None
