"""Read vectors as a matrix: ``.npy`` and ``.safetensors``, with their words in the file or in one beside it.

Files are mapped, never unpickled, and converted to float32 a block at a time.
"""

import mmap
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilex.errors import InputError
from bilex.files.lines import WordList, is_number, split_fields
from bilex.files.streams import MAX_WORD_BYTES, WRONG_FILE
from bilex.files.tensors import NUMPY_TYPES, map_tensor, one_line, safetensors_header, words_are_short
from bilex.numerics.types import Indices
from bilex.vectors.cleaning import Collector, Loaded, check_finite, decode_words

ROWS_PER_READ = 4096
VOCABULARY_SUFFIXES = (".vocab", ".vocab.txt", ".words", ".txt")
FLOAT_TYPES = ("F16", "BF16", "F32", "F64")
PREFERRED_NAMES = ("vectors", "embeddings")


def read_matrix(path: str, limit: int | None, vocabulary: str | os.PathLike[str] | None) -> Loaded:
    """Read a matrix; its words are in the file (a tensor ``words``) or in a vocabulary file."""
    matrix, packed = open_matrix(path)
    if vocabulary is None and packed is not None:
        if not words_are_short(packed):
            raise InputError(path, f"a word of more than {MAX_WORD_BYTES:,} bytes", WRONG_FILE)
        words_path, words, repairs = path, packed.tobytes().split(b"\n"), list[str]()
    else:
        words_path = find_vocabulary(path, vocabulary)
        words, repairs = read_vocabulary(words_path)
    words = fit_to_rows(words_path, words, len(matrix))
    return collect_matrix(path, matrix, words, limit, dict.fromkeys((path, words_path)), repairs)


def open_matrix(path: str) -> tuple[NDArray[Any], NDArray[np.uint8] | None]:
    """Map the matrix of a file, whose numbers are integers if they are bfloat16, and its words if the file has them."""
    if not path.lower().endswith(".safetensors"):
        return _open_npy(path), None
    header, offset = safetensors_header(path)
    matrices = [name for name, entry in header.items() if entry["dtype"] in FLOAT_TYPES and len(entry["shape"]) == 2]
    if not matrices:
        problem = "no two-dimensional tensor of floats in the file"
        raise InputError(path, problem, "save the vectors as a tensor named vectors")
    entry = header[next((name for name in PREFERRED_NAMES if name in matrices), matrices[0])]
    has_words = header.get("words", {}).get("dtype") == "U8"
    words = map_tensor(path, header["words"], offset).reshape(-1) if has_words else None
    return map_tensor(path, entry, offset), words


def _open_npy(path: str) -> NDArray[Any]:
    try:
        # Unlike numpy.load, this opens nothing but the .npy format and has no way to unpickle.
        with np.errstate(over="ignore"):  # a false shape can overflow; it is an error anyway
            matrix = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:
        # NumPy reads the header with Python's own tokeniser, so a damaged one can raise nearly anything.
        raise InputError(
            path, f"not a readable NumPy matrix ({one_line(error)})", "save it again with numpy.save"
        ) from None
    if matrix.dtype.kind != "f" or matrix.dtype.itemsize > 8 or matrix.ndim != 2:
        problem = f"the array is {matrix.ndim}-dimensional of type {matrix.dtype}"
        raise InputError(path, problem, "save a matrix of float16, float32 or float64, one row per word")
    return matrix


def collect_matrix(
    path: str,
    matrix: NDArray[Any],
    words: Sequence[bytes | str],
    limit: int | None,
    paths: Iterable[str],
    repairs: Sequence[str] = (),
    chosen: Indices | None = None,
) -> Loaded:
    """Turn a matrix, or the `chosen` rows of it, and its words into float32 rows, without the unusable ones."""
    rows, dimension = len(words), matrix.shape[1]
    if dimension == 0:
        raise InputError(path, "the vectors have no dimensions", WRONG_FILE)
    wanted = rows if limit is None else min(rows, limit)
    collector = Collector(path, dimension, wanted)
    for start in range(0, wanted, ROWS_PER_READ):
        stop = min(start + ROWS_PER_READ, wanted)
        block = collector.reserve(stop - start)
        values = matrix[start:stop] if chosen is None else matrix[chosen[start:stop]]
        with np.errstate(over="ignore", invalid="ignore"):
            if matrix.dtype == NUMPY_TYPES["BF16"]:
                # bfloat16, for which NumPy has no type: the upper half of a float32.
                block[:] = (values.astype(np.uint32) << 16).view(np.float32)
            else:
                block[:] = values
        check_finite(path, block, start + 1)
        decoded = [word if isinstance(word, str) else decode_words([word])[0] for word in words[start:stop]]
        collector.keep(decoded, np.arange(start + 1, stop + 1))
        if isinstance(matrix.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            matrix.base.madvise(mmap.MADV_DONTNEED)  # the pages that were read, which would add the file's size
    return collector.finish(tuple(paths), repairs)


def find_vocabulary(path: str, given: str | os.PathLike[str] | None) -> str:
    """Return the vocabulary file of a matrix: the one given, or the one beside it with the same stem."""
    if given is not None:
        return os.fspath(given)
    for suffix in VOCABULARY_SUFFIXES:
        candidate = Path(path).with_suffix(suffix)
        if candidate.is_file():
            return os.fspath(candidate)
    names = ", ".join(Path(path).with_suffix(suffix).name for suffix in VOCABULARY_SUFFIXES)
    remedy = f"put one word per line into a file beside it ({names}), or name the file"
    raise InputError(path, "the matrix has no vocabulary", remedy)


def read_vocabulary(path: str) -> tuple[list[bytes], list[str]]:
    """Return the words, not yet decoded, and what was repaired.

    A line is a word. Behind a tab, or if every line is a word and a whole number, there may be a count, which
    is dropped. An empty line stands for a row without a word, so that the others keep their rows.
    """
    listed = WordList(path, plain_file=True)
    lines = [line for _, line in listed]
    for number, line in enumerate(lines, start=1):
        if len(line) > MAX_WORD_BYTES:
            problem = f"a line of {len(line):,} bytes (a word has at most {MAX_WORD_BYTES:,})"
            raise InputError(path, problem, "check that this is a vocabulary, one word per line", line=number)
    numbers = split_fields(lines[0])[1:] if lines else []
    if len(numbers) > 2 and all(map(is_number, numbers)):
        problem = "this looks like vectors, not a vocabulary"
        raise InputError(path, problem, "name a file with one word per line", line=1)
    words = [line.partition(b"\t")[0] for line in lines]
    if lines and all(len(fields := split_fields(line)) == 2 and fields[1].isdigit() for line in lines):
        words = [split_fields(line)[0] for line in lines]
    return words, [f"{path}: {repair}" for repair in listed.repairs]


def fit_to_rows(path: str, words: list[bytes], rows: int) -> list[bytes]:
    """Check that there is one word per row; empty lines at the end do not count."""
    blanks = 0
    while len(words) - blanks > rows and not words[-1 - blanks].strip(b" "):
        blanks += 1
    words = words[: len(words) - blanks]
    if not words:
        raise InputError(path, "the vocabulary is empty", "put one word per line into it")
    if len(words) != rows:
        problem = f"the vocabulary has {len(words)} words but the matrix has {rows} rows"
        raise InputError(path, problem, "name the vocabulary that belongs to the matrix")
    return words
