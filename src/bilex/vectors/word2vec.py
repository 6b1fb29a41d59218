"""Read the binary format of the word2vec tool: a line "words dimension", then each word, a space and its floats.

The original tool ends each row with a line feed and gensim does not; both are read.
"""

import numpy as np

from bilex.errors import InputError
from bilex.files.lines import MAX_VECTOR_BYTES, PIECE_BYTES, is_number, split_fields
from bilex.files.streams import CUT_OFF, MAX_WORD_BYTES, WRONG_FILE, ByteStream
from bilex.vectors.cleaning import TEXT_HEADER, Collector, Loaded, check_finite, decode_words


def looks_like_word2vec(head: bytes, named_binary: bool) -> bool:
    """Check whether a file is word2vec binary, by its first bytes and, in doubt, by its name.

    The first row of a text file ends with numbers in digits; a row of raw floats does not, and rarely goes long
    without a control character.
    """
    header = TEXT_HEADER.match(head)
    if header is None:
        return False
    first_row, line_feed, _ = head[header.end() :].partition(b"\n")
    fields = split_fields(first_row.removesuffix(b"\r"))
    whole = fields if line_feed else fields[:-1]
    if len(whole) > 1 and all(map(is_number, whole[1:][-4:])):
        return False
    begin = head.find(b" ", header.end()) + 1
    floats = head[begin : begin + min(4 * int(header[2]), 400)] if begin else b""
    return named_binary or any(byte < 32 and byte not in b"\t\n\r" for byte in floats)


def read_word2vec(stream: ByteStream, limit: int | None) -> Loaded:
    """Read the first ``limit`` rows of a word2vec binary file."""
    count, dimension, header_length = _header(stream)
    wanted = count if limit is None else min(count, limit)
    expected = 0
    if stream.size is not None:
        expected = min(wanted, stream.size // (4 * dimension + 2) + 1)
    collector = Collector(stream.path, dimension, expected)
    stream.read(header_length)
    data, rows = b"", 0
    while rows < wanted:
        words, offsets = _complete_rows(stream.path, data, dimension, wanted - rows, rows + 1)
        if not words:
            piece = stream.read(PIECE_BYTES)
            if not piece:
                problem = f"the header promises {count} words but only {rows} follow"
                raise InputError(stream.path, problem, CUT_OFF)
            data += piece
            continue
        if not rows:
            refuse_other_numbers(stream.path, data[offsets[0] :], dimension)
        vectors = collector.reserve(len(words))
        for row, offset in enumerate(offsets):
            vectors[row] = np.frombuffer(data, dtype="<f4", count=dimension, offset=offset)
        data = data[offsets[-1] + 4 * dimension :]
        check_finite(stream.path, vectors, rows + 1)
        collector.keep(decode_words(words), rows + 1 + np.arange(len(words)))
        rows += len(words)
    repairs = []
    if (limit is None or count < limit) and (data + stream.read(PIECE_BYTES)).strip(b"\r\n"):  # gzip: with checksum
        repairs.append(f"the header promises {count} words but more follow; the rest was left out")
    return collector.finish((stream.path,), [*stream.repairs, *repairs])


def refuse_other_numbers(path: str, data: bytes, dimension: int) -> None:
    """Raise if the first vector makes sense as other numbers than the format's, little-endian of 32 bits."""

    def plausible(kind: str) -> bool:
        if len(data) < dimension * np.dtype(kind).itemsize:
            return False
        values = np.abs(np.frombuffer(data, kind, dimension))
        return bool(((values == 0) | ((values > 1e-12) & (values < 1e6))).all()) and bool(values.any())

    for kind, what in ((">f4", "big-endian"), ("<f8", "of 64 bits"), (">f8", "big-endian and of 64 bits")):
        if not plausible("<f4") and plausible(kind):
            raise InputError(path, f"its numbers are {what}", "save it with little-endian numbers of 32 bits", line=1)


def _header(stream: ByteStream) -> tuple[int, int, int]:
    header = TEXT_HEADER.match(stream.head)
    if header is None:
        problem = "no header with the number of words and dimensions"
        remedy = "check that this is a word2vec binary file; text vectors end in .vec or .txt"
        raise InputError(stream.path, problem, remedy, line=1)
    count, dimension = int(header[1]), int(header[2])
    if count == 0 or dimension == 0:
        raise InputError(stream.path, "the header promises no vectors", "get the file again", line=1)
    # Also keeps a false header from claiming memory.
    if 4 * dimension > MAX_VECTOR_BYTES or (stream.size is not None and 4 * dimension > stream.size):
        problem = f"the header says {dimension} numbers per word, more than the file can hold"
        raise InputError(stream.path, problem, CUT_OFF, line=1)
    return count, dimension, header.end()


def _complete_rows(
    path: str, data: bytes, dimension: int, wanted: int, first_row: int
) -> tuple[list[bytes], list[int]]:
    """Return the words of the rows that are wholly in memory, and where their numbers begin."""
    words: list[bytes] = []
    offsets: list[int] = []
    start = 0
    while len(words) < wanted:
        space = data.find(b" ", start, start + MAX_WORD_BYTES + 2)
        if space < 0 and len(data) - start > MAX_WORD_BYTES + 1:
            problem = f"a word of more than {MAX_WORD_BYTES:,} bytes"
            raise InputError(path, problem, WRONG_FILE, line=first_row + len(words))
        if space < 0 or space + 1 + 4 * dimension > len(data):
            break
        words.append(data[start:space].lstrip(b"\r\n"))
        offsets.append(space + 1)
        start = space + 1 + 4 * dimension
    return words, offsets
