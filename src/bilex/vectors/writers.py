"""Write vectors in formats that can be read back exactly."""

import gzip
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from bilex.errors import BilexError
from bilex.files.atomic import atomic_write
from bilex.files.lines import is_number, quoted, split_fields
from bilex.files.tensors import atomic_write_tensors, pack_words

ROWS_PER_REPORT = 1000


def write_vectors(
    path: str | os.PathLike[str],
    words: Sequence[str],
    vectors: NDArray[np.float32],
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write words and vectors in the format of the name's ending; see `Embeddings.save`.

    `progress` is called from time to time with (rows written, rows in all).
    """
    name = os.fspath(path)
    if not np.isfinite(vectors).all():
        raise BilexError(f"{name}: a vector holds NaN or infinity, so nothing is written; leave it out")
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    zipped = name.lower().endswith(".gz")
    if suffix == ".safetensors" and not zipped:
        atomic_write_tensors(path, {"vectors": vectors, "words": pack_words(words)})
        return
    if suffix not in (".vec", ".txt") and (suffix != ".bin" or zipped):
        remedy = "use .vec, .txt, .vec.gz, .txt.gz, .bin or .safetensors"
        raise BilexError(f"{name}: the name's ending is not that of a format; {remedy}")
    format_row = _word2vec_row if suffix == ".bin" else _text_row
    with ExitStack() as stack:
        file = stack.enter_context(atomic_write(path))
        if zipped:  # no name and no time in the gzip header: the same vectors make the same bytes
            file = cast(BinaryIO, stack.enter_context(gzip.GzipFile("", "wb", 6, file, mtime=0)))
        file.write(f"{vectors.shape[0]} {vectors.shape[1]}\n".encode())
        for done, (word, vector) in enumerate(zip(words, vectors, strict=True), 1):
            row = format_row(word.encode("utf-8"), vector)
            if row is None:
                problem = f"the word {quoted(word)} cannot be told from its numbers in this format"
                raise BilexError(f"{name}: {problem}; save as .safetensors")
            file.write(row)
            if progress is not None and (done % ROWS_PER_REPORT == 0 or done == len(words)):
                progress(done, len(words))


def _text_row(word: bytes, vector: NDArray[np.float32]) -> bytes | None:
    fields = split_fields(word)
    splits_wrongly = len(fields) > 1 and is_number(fields[1])
    if b"\n" in word or word.strip(b" \t") != word or splits_wrongly:
        return None
    # Nine digits are enough to get every float32 back exactly.
    return word + (" %.9g" * len(vector) % tuple(vector.tolist())).encode() + b"\n"


def _word2vec_row(word: bytes, vector: NDArray[np.float32]) -> bytes | None:
    if b" " in word or word.lstrip(b"\r\n") != word:
        return None
    return word + b" " + vector.astype("<f4").tobytes() + b"\n"
