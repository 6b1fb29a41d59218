"""Cut the demo's word vectors out of two full text files.

Usage::

    python tools/make_demo_data.py en.vec.gz fr.vec.gz src/bilex/data

Each input is a gzip-compressed text file in the word2vec format, most frequent word first: a header line
with the number of words and the dimension, then one line per word. The first 6,000 words of each are
written to ``en.safetensors`` and ``fr.safetensors`` in the output directory, with two tensors,

* ``vectors``: float16, one row per word;
* ``words``: uint8, the words in UTF-8 joined by newlines, in the order of the rows,

and the source and the licence as metadata. Half precision halves the package. Every vector is scaled by one
power of two per language, so that the largest value lies between 16 and 32: far below the largest float16
(65,504), and high enough that ordinary values do not lose digits to float16's subnormal range. The common
scale does not matter to the method, which works on vectors of unit length. The output depends on the input
alone, so running the script again gives the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

WORDS = 6000
TOP_EXPONENT = 5  # after scaling, the largest absolute value is in [2**4, 2**5)
LICENCE = "CC0-1.0"
SOURCES = {
    "en": (
        "Explosion Vectors (OSCAR, Wikipedia, OpenSubtitles, WMT News Crawl), "
        "from spaCy's en_core_web_md 3.7.1; the 6,000 most frequent words"
    ),
    "fr": (
        "Explosion fastText Vectors (CBOW, OSCAR Common Crawl, Wikipedia), "
        "from spaCy's fr_core_news_md 3.8.0; the 6,000 most frequent words"
    ),
}


def read_top(path: Path, count: int) -> tuple[list[str], npt.NDArray[np.float64]]:
    """Return the first `count` words of a gzip-compressed text file of vectors, and their vectors."""
    words: list[str] = []
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        available, dimension = (int(field) for field in file.readline().split())
        if available < count:
            raise SystemExit(f"{path}: {available} words, but the demo needs {count}")
        vectors = np.empty((count, dimension), dtype=np.float64)
        for row in range(count):
            word, *values = file.readline().rstrip("\n").split(" ")
            vectors[row] = [float(value) for value in values]
            words.append(word)
    if len(set(words)) != count or not all(words):
        raise SystemExit(f"{path}: an empty or a repeated word among the first {count}")
    return words, vectors


def to_half(vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float16]:
    """Return the vectors in half precision, scaled by one power of two; stop if that loses anything real."""
    largest = float(np.abs(vectors).max())
    if not (math.isfinite(largest) and largest > 0):
        raise SystemExit("the vectors are all zero, or not all finite")
    scaled = vectors * 2.0 ** (TOP_EXPONENT - math.frexp(largest)[1])
    half = scaled.astype(np.float16)
    back = half.astype(np.float64)
    lengths = np.linalg.norm(scaled, axis=1) * np.linalg.norm(back, axis=1)
    if not lengths.all():
        raise SystemExit("a word has a zero vector")
    cosines = (scaled * back).sum(axis=1) / lengths
    if cosines.min() < 1 - 1e-6:
        raise SystemExit(f"half precision turns a vector too far: cosine {cosines.min()}")
    return half


def with_sorted_header(content: bytes) -> bytes:
    """Return the same safetensors content with its header's keys in order.

    The library writes the metadata in an order that changes from one run to the next. The format is the
    header's length in eight bytes, little-endian, the header as JSON padded with spaces to a multiple of
    eight bytes, and the data, at offsets counted from the header's end.
    """
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.dumps(json.loads(content[8:end]), sort_keys=True, separators=(",", ":")).encode("utf-8")
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + content[end:]


def write_demo(source: Path, language: str, directory: Path) -> Path:
    """Cut one language's demo file and return its path."""
    words, vectors = read_top(source, WORDS)
    target = directory / f"{language}.safetensors"
    tensors: dict[str, npt.NDArray[Any]] = {
        "vectors": to_half(vectors),
        "words": np.frombuffer("\n".join(words).encode("utf-8"), dtype=np.uint8),
    }
    metadata = {"source": SOURCES[language], "licence": LICENCE}
    target.write_bytes(with_sorted_header(save(tensors, metadata=metadata)))
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description="Cut the demo's word vectors out of two full text files.")
    parser.add_argument("english", type=Path, help="English vectors, .vec.gz, by frequency")
    parser.add_argument("french", type=Path, help="French vectors, .vec.gz, by frequency")
    parser.add_argument("directory", type=Path, help="where to write en.safetensors and fr.safetensors")
    arguments = parser.parse_args()
    for language, source in (("en", arguments.english), ("fr", arguments.french)):
        target = write_demo(source, language, arguments.directory)
        print(f"{target}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
