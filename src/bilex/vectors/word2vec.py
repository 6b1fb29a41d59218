"""Read the binary format of the word2vec tool: a line "words dimension", then each word, a space and its floats.

The original tool ends each row with a line feed and gensim does not; both are read.
"""

from __future__ import annotations

import numpy as np

from bilex.errors import InputError
from bilex.files.fields import is_number, split_fields
from bilex.files.streams import BLOCK_BYTES, MAX_WORD_BYTES, ByteStream, Window
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
    count, dimension, header_length = _shape(stream)
    wanted = count if limit is None else min(count, limit)
    expected = 0
    if stream.size is not None:
        expected = min(wanted, stream.size // (4 * dimension + 2) + 1)
    collector = Collector(stream.path, dimension, expected)
    window = Window(stream, BLOCK_BYTES + 4 * dimension + MAX_WORD_BYTES)
    window.refill()
    window.start = header_length
    rows = 0
    while rows < wanted:
        words, offsets = _complete_rows(stream.path, window, dimension, wanted - rows, rows + 1)
        if not words:
            if window.ended:
                raise InputError(
                    stream.path,
                    f"the header promises {count} words but only {rows} follow",
                    "get the file again, it looks cut off",
                )
            window.refill()
            continue
        vectors = collector.reserve(len(words))
        for row, offset in enumerate(offsets):
            vectors[row] = np.frombuffer(window.buffer, dtype="<f4", count=dimension, offset=offset)
        check_finite(stream.path, vectors, rows + 1)
        collector.keep(decode_words(words), rows + 1 + np.arange(len(words)))
        rows += len(words)
    repairs = [*stream.repairs]
    if limit is None or count < limit:
        repairs += _leftovers(window, count)
    return collector.finish((stream.path,), repairs)


def _shape(stream: ByteStream) -> tuple[int, int, int]:
    header = TEXT_HEADER.match(stream.head)
    if header is None:
        raise InputError(
            stream.path,
            "no header with the number of words and dimensions",
            "check that this is a word2vec binary file; text vectors end in .vec or .txt",
            line=1,
        )
    count, dimension = int(header[1]), int(header[2])
    if count == 0 or dimension == 0:
        raise InputError(stream.path, "the header promises no vectors", "get the file again", line=1)
    # Also keeps a false header from claiming memory: a row must fit into one block.
    if 4 * dimension > BLOCK_BYTES or (stream.size is not None and 4 * dimension > stream.size):
        raise InputError(
            stream.path,
            f"the header says {dimension} numbers per word, more than the file can hold",
            "get the file again, it looks cut off or damaged",
            line=1,
        )
    return count, dimension, header.end()


def _complete_rows(
    path: str, window: Window, dimension: int, wanted: int, first_row: int
) -> tuple[list[bytes], list[int]]:
    """Take the rows that are wholly in memory: return their words, and where their numbers begin."""
    words: list[bytes] = []
    offsets: list[int] = []
    buffer, start, end, width = window.buffer, window.start, window.end, 4 * dimension
    while len(words) < wanted:
        space = buffer.find(b" ", start, min(end, start + MAX_WORD_BYTES + 2))
        if space < 0 and end - start > MAX_WORD_BYTES + 1:
            raise InputError(
                path,
                f"a word of more than {MAX_WORD_BYTES:,} bytes",
                "check that this is a word2vec binary file",
                line=first_row + len(words),
            )
        if space < 0 or space + 1 + width > end:
            break
        words.append(bytes(buffer[start:space]).lstrip(b"\r\n"))
        offsets.append(space + 1)
        start = space + 1 + width
    window.start = start
    return words, offsets


def _leftovers(window: Window, count: int) -> list[str]:
    if not window.ended:
        # Also lets gzip reach its checksum.
        window.refill()
    if window.buffer[window.start : window.end].strip(b"\r\n"):
        return [f"the header promises {count} words but more follow; the rest was left out"]
    return []
