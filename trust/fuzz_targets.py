"""The targets of the fuzzer: every reader of bilex, on a file made of the fuzzer's bytes.

A target may end with `BilexError` and with nothing else. Buffers are made tiny, so that small inputs meet the edges
of blocks; some targets complete the bytes (a length, a checksum, a neighbour file) to get past the first check.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

import bilex
from bilex.errors import BilexError
from bilex.vectors.embeddings import Embeddings

__all__ = ["LONGEST", "TARGETS", "Reader", "examples", "fasttext_model", "shrink_buffers"]

VEC = b"3 2\nthe 0.25 -0.5\nof 1e-3 2\nNew York +.5 4.\n"
HEADER = b"source\ttarget\tscore\trank\tmutual\torigin\n"
WIKTEXTRACT = b'{"word":"talo","lang_code":"fi","lang":"Finnish","senses":[{"glosses":["house"]}]}\n'
LAYOUT = b"vectors = '{language}.vec'\ntest = '{source}-{target}.txt'\n"
SWEEP = b"""data = "d"
pairs = ["en-fr"]
seeds = ["identical"]
methods = ["ruder2018"]
"""


class Inline:
    """Replaces a pool of threads and does the work at once."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, work: Callable[..., object], *arguments: object) -> Inline:
        """Run the work."""
        work(*arguments)
        return self

    def map(self, work: Callable[[Any], object], items: Iterable[Any]) -> Iterator[object]:
        """Run the work for each item, one after the other."""
        return map(work, items)

    def result(self) -> None:
        """Return None, as the kernels do."""

    def shutdown(self, **_: bool) -> None:
        """Do nothing: no work is left."""


def shrink_buffers(change: Callable[[Any, str, Any], None] = setattr) -> None:
    """Make the readers' buffers and limits tiny."""
    from bilex.files import lines, streams
    from bilex.numerics import threads
    from bilex.seeds import freedict, wiktextract
    from bilex.vectors import text, word2vec

    changes: dict[Any, dict[str, Any]] = {
        streams: {
            "HEAD_BYTES": 100,
            "PACKED_PIECE_BYTES": 50,
            "MIN_BOMB_BYTES": 200,
            "MAX_GZIP_RATIO": 10,
        },
        word2vec: {"PIECE_BYTES": 120, "MAX_VECTOR_BYTES": 120, "MAX_WORD_BYTES": 20},
        lines: {
            "PIECE_BYTES": 100,
            "LIST_PIECE_BYTES": 150,
            "MAX_VECTOR_BYTES": 150,
            "MAX_LINE_BYTES": 80,
            "MAX_LIST_BYTES": 300,
        },
        freedict: {"XML_PIECE_BYTES": 50, "MAX_WORD_BYTES": 20, "MAX_XML_DEPTH": 8},
        wiktextract: {"MAX_VECTOR_BYTES": 120, "MAX_EXTRACT_BYTES": 500},
        text: {"MAX_WORD_BYTES": 20, "ThreadPoolExecutor": Inline},
        threads: {"ThreadPoolExecutor": Inline},
    }
    for module, values in changes.items():
        for name, value in values.items():
            change(module, name, value)


class Reader:
    """A target with a folder of its own."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = Path(
            tempfile.mkdtemp(prefix="bilex-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        )
        self._read = TARGETS[name]
        if name == "run":
            self.files = run_files(self.folder)
            self.written: dict[str, bytes] = {}
            self.entries = entries_of(json.loads(self.files["run.json"]))
        if name == "toml":
            (self.folder / "d").mkdir()
            for file in ("en.vec", "fr.vec", "en-fr.txt"):
                self.write(f"d/{file}", b"")
            self.write("d/bilex.toml", LAYOUT)

    def __call__(self, data: bytes) -> bool:
        """Read the bytes; return whether they were accepted."""
        try:
            self._read(self, data)
        except BilexError as error:
            if not str(error).isprintable():
                raise AssertionError("the message has more than one line, or control characters") from error
            return False
        return True

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, name: str, data: bytes) -> str:
        """Write a file."""
        path = f"{self.folder}/{name}"
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.write(file, data)
        os.close(file)
        return path


def load(path: str) -> None:
    """Read vectors, and check that they are complete."""
    loaded = bilex.load(path)
    assert len(loaded.words) == len(loaded.vectors) == len(set(loaded.words)) > 0
    assert np.isfinite(loaded.vectors).all()
    assert all(loaded.words)


def read_text(reader: Reader, data: bytes) -> None:
    load(reader.write("a.vec", data))


def read_gzip(reader: Reader, data: bytes) -> None:
    """Pack the bytes if the first one is odd, and damage the packed ones at the place of the second one."""
    choice, content = data[:2], data[2:]
    if len(choice) == 2 and choice[0] & 1:
        content = gzip.compress(content, 1, mtime=0)
        if choice[0] & 2:
            content = content[: choice[1]]
        if choice[0] & 4:
            content += content
    load(reader.write("a.vec.gz", content))


def read_word2vec(reader: Reader, data: bytes) -> None:
    load(reader.write("a.bin", data))


def fasttext_model(words: Iterable[bytes], matrix: bytes, dimension: int, bucket: int) -> bytes:
    """Return a fastText model with n-grams of one to three characters."""
    entries = [word + b"\0" + struct.pack("<qb", 1, 0) for word in words]
    size = len(entries)
    header = struct.pack("<2i12id", 793712314, 12, dimension, 5, 5, 1, 5, 1, 2, 2, bucket, 1, 3, 100, 1e-4)
    dictionary = struct.pack("<3i2q", size, size, 0, size, -1) + b"".join(entries)
    return header + dictionary + struct.pack("<?2q", False, size + bucket, dimension) + matrix


def read_fasttext(reader: Reader, data: bytes) -> None:
    """Read a whole file, or if the first byte is even one of which only the words and numbers are made up."""
    from bilex.vectors.fasttext import open_fasttext

    content = data[1:]
    if data and not data[0] & 1:
        words, _, matrix = content.partition(b"\n")
        listed = words.split(b" ")
        content = fasttext_model(listed, matrix, 2, max(len(matrix) // 8 - len(listed), 0))
    path = reader.write("b.bin", content)
    load(path)
    vector = open_fasttext(path).vector("aéb")
    assert vector is None or np.isfinite(vector).all()


def read_tokens(reader: Reader, data: bytes) -> None:
    """Read the tokens of a matrix of three rows, in the one format or the other by the first byte."""
    from safetensors.numpy import save_file

    folder = reader.folder / "model"
    if not folder.exists():
        folder.mkdir()
        save_file({"embeddings": np.ones((3, 2), np.float32)}, folder / "model.safetensors")
    names = ["tokenizer.json", "vocab.json"][:: -1 if data[:1] > b"\x7f" else 1]
    (folder / names[1]).unlink(missing_ok=True)
    reader.write(f"model/{names[0]}", data[1:])
    load(str(folder))


def read_npy(reader: Reader, data: bytes) -> None:
    """Take the number of words from the first byte; put the magic and the header's length before the rest, if even."""
    reader.write("a.vocab", b"".join(b"%d\n" % word for word in range(data[0] % 5 if data else 0)))
    content = data[1:]
    if data and not data[0] & 128:
        header, _, rest = content.partition(b"\n")
        content = b"\x93NUMPY\x01\x00" + struct.pack("<H", min(len(header) + 1, 65535)) + header + b"\n" + rest
    load(reader.write("a.npy", content))


def read_vocabulary(reader: Reader, data: bytes) -> None:
    if not (reader.folder / "b.npy").exists():
        np.save(reader.folder / "b.npy", np.ones((3, 2), np.float32))
    reader.write("b.vocab", data)
    load(f"{reader.folder}/b.npy")


def with_length(content: bytes) -> bytes:
    """Make a safetensors file of a header that ends with a line end, and what follows it."""
    header, _, rest = content.partition(b"\n")
    return struct.pack("<Q", len(header)) + header + rest


def without_length(content: bytes) -> bytes:
    """Do the reverse: put a line end behind the header instead of its length before it."""
    length = 8 + int.from_bytes(content[:8], "little")
    return content[8:length] + b"\n" + content[length:]


def read_safetensors(reader: Reader, data: bytes) -> None:
    """Put the header's length before it, unless the first byte says otherwise; the header ends with a line end."""
    content = data[1:]
    if data and not data[0] & 1:
        content = with_length(content)
    load(reader.write("a.safetensors", content))


def read_dictionary(reader: Reader, data: bytes) -> None:
    from bilex.seeds.dictionaries import read_pairs

    pairs = read_pairs(reader.write("a.txt", data))
    assert pairs and all(source and target for source, target in pairs)


def read_table(reader: Reader, data: bytes) -> None:
    """Read a table; the columns are named unless the first byte is odd."""
    from bilex.seeds.dictionaries import read_pairs

    path = reader.write("a.csv", data[1:])
    pairs = read_pairs(path if data and data[0] & 1 else f"{path}:en:fi")
    assert pairs and all(source and target for source, target in pairs)


def read_wiktextract(reader: Reader, data: bytes) -> None:
    """Read an extract of Wiktionary; each line is completed to an object with a language unless it starts with one."""
    from bilex.seeds.dictionaries import read_pairs

    lines = (line if line[:1] in b"{" else b'{"lang_code":"en",' + line + b"}" for line in data.split(b"\n"))
    pairs = read_pairs(reader.write("a.jsonl", b"\n".join(lines)), ("en", "fi"))
    assert pairs and all(source and target for source, target in pairs)


def read_freedict(reader: Reader, data: bytes) -> None:
    """Read TEI; the bytes are the content of the body unless the first one is odd."""
    from bilex.seeds.dictionaries import read_pairs

    content = data[1:]
    if data and not data[0] & 1:
        content = b"<TEI><text><body>" + content + b"</body></text></TEI>"
    pairs = read_pairs(reader.write("a.tei", content), ("en", "fi"))
    assert pairs and all(source and target for source, target in pairs)


def read_similarity(reader: Reader, data: bytes) -> None:
    from bilex.evaluation.similarity import read_similarity_set

    pairs = list(read_similarity_set(reader.write("a.txt", data)))
    assert pairs and all(np.isfinite(score) for _, _, score in pairs)


def read_toml(reader: Reader, data: bytes) -> None:
    """Read a method, a sweep or a layout, chosen by the first byte."""
    from bilex.experiments.layouts import find_layout
    from bilex.experiments.sweep import read_sweep
    from bilex.methods import find_method

    kind = (data[0] if data else 0) % 3
    path = reader.write(("own.toml", "sweep.toml", "bilex.toml")[kind], data[1:])
    if kind == 0:
        find_method(str(path))
    elif kind == 1:
        read_sweep(path)
    else:
        find_layout(reader.folder, str(path))


def read_run(reader: Reader, data: bytes) -> None:
    """Put the bytes into a run, with the right checksums, and use it.

    The first byte chooses the place: a whole file, an entry of ``run.json``, or tensors behind their header's length.
    """
    from bilex.confidence.verdict import judge
    from bilex.files.ownership import CANDIDATES, LEXICON, MANIFEST, MODEL
    from bilex.report.reproduce import circumstances, inputs, repeating_command, settings
    from bilex.runs.run import Run

    kind = (data[0] if data else 0) % 7
    name, content = (MANIFEST, LEXICON, MODEL, MANIFEST, MODEL, CANDIDATES, CANDIDATES)[kind], data[1:]
    if kind == 3:
        before, after = reader.entries[(content[0] if content else 0) % len(reader.entries)]
        content = before + content[1:] + after
    elif kind in (4, 6):
        content = with_length(content)
    files = {**reader.files, name: content}
    if name != MANIFEST:
        old, new = (hashlib.sha256(content[name]).hexdigest().encode() for content in (reader.files, files))
        files[MANIFEST] = files[MANIFEST].replace(old, new)
    for file, content in files.items():
        if reader.written.get(file) != content:
            reader.write(f"run/{file}", content)
            reader.written[file] = content
    run = Run.load(reader.folder / "run")
    if {"version", "configuration", "inputs", "threads", "stopped", "seconds", "iterations"} <= run.info.keys():
        judge(run)
        (
            repr(run),
            run._repr_html_(),
            [write(run.info) for write in (repeating_command, inputs, settings, circumstances)],
        )
    run.translate(run.source.words[0])
    run.sets(0.5)


TARGETS: dict[str, Callable[[Reader, bytes], None]] = {
    "text": read_text,
    "gzip": read_gzip,
    "word2vec": read_word2vec,
    "fasttext": read_fasttext,
    "tokens": read_tokens,
    "npy": read_npy,
    "vocabulary": read_vocabulary,
    "safetensors": read_safetensors,
    "dictionary": read_dictionary,
    "table": read_table,
    "wiktextract": read_wiktextract,
    "freedict": read_freedict,
    "similarity": read_similarity,
    "toml": read_toml,
    "run": read_run,
}
LONGEST = {"run": 2500}


def run_files(folder: Path) -> dict[str, bytes]:
    """Make a small run and return its files."""
    rng = np.random.default_rng(0)
    words = tuple("abcdef")
    vectors = Embeddings(words, rng.normal(size=(6, 3)).astype(np.float32), name="x")
    bilex.induce(vectors, vectors, max_iterations=2).save(folder / "run")
    names = ("run.json", "lexicon.tsv", "model.safetensors", "candidates.safetensors")
    files = {name: (folder / "run" / name).read_bytes() for name in names}
    info = json.loads(files["run.json"])
    info = {name: entry for name, entry in info.items() if name not in ("versions", "verdict")}
    info["choices"][0] |= {"why": "x", "measured": {"x": 0.5}}
    return files | {"run.json": json.dumps(info, separators=(",", ":")).encode() + b"\n"}


def entries_of(info: Any) -> list[tuple[bytes, bytes]]:
    """Return the text before and after each entry of ``run.json``, to put anything in its place."""
    found: list[tuple[bytes, bytes]] = []

    def visit(table: Any) -> None:
        for key, value in list(table.items() if isinstance(table, dict) else enumerate(table)):
            table[key] = "HERE"
            before, _, after = (json.dumps(info, separators=(",", ":")).encode() + b"\n").partition(b'"HERE"')
            found.append((before, after))
            table[key] = value
            if isinstance(value, dict | list):
                visit(value)

    visit(info)
    return found


def examples(name: str, folder: Path) -> list[bytes]:
    """Return inputs that a target accepts, or nearly, to start from."""
    binary = b"2 2\na " + struct.pack("<2f", 1, 2) + b"\nbc " + struct.pack("<2f", 3, -4) + b"\n"
    model = fasttext_model([b"a", b"</s>"], struct.pack("<8f", *range(8)), 2, 2)
    npy = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n" + struct.pack("<4f", 1, 2, 3, 4)
    tensors = {
        "vectors": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "words": {"dtype": "U8", "shape": [3], "data_offsets": [16, 19]},
    }
    packed = json.dumps(tensors).encode() + b"\n" + struct.pack("<4f", 1, 2, 3, 4) + b"a\nb"
    if name == "run":
        files = run_files(folder)
        shutil.rmtree(folder / "run")
        names = [*files]
        whole = [place + content for place, content in zip((b"\0", b"\1", b"\2", b"\5"), files.values(), strict=True)]
        headers = [place + without_length(files[name]) for place, name in ((b"\4", names[2]), (b"\6", names[3]))]
        entries = [b"\3" + bytes([place, sign]) for place, sign in enumerate(b"00000000[]{}")]
        return [*whole, *headers, *entries]
    return {
        "text": [
            VEC,
            VEC[4:],
            b"\xef\xbb\xbf2 1\r\na 1\r\n\r\nb nan\r\n",
            b"a -1.5E+10 .5e-320 1234567890123456789012\n",
        ],
        "gzip": [b"\1\0" + VEC, b"\3\x30" + VEC, b"\5\0" + VEC, b"\0\0" + gzip.compress(VEC, mtime=0)],
        "word2vec": [binary, b"2 2\na " + struct.pack("<2f", 1, 2) + b"b " + struct.pack("<2f", 3, -4)],
        "fasttext": [b"\1" + model, b"\0a b\xc3\xa9\n" + struct.pack("<10f", *range(10))],
        "tokens": [
            b'\0{"model":{"vocab":{"[PAD]":0,"##a":1,"b":2}}}',
            '\0{"model":{"vocab":[["▁a",-1.5],["b",0]]},"added_tokens":[{"id":2,"content":"<s>","special":true}]}'.encode(),
            '\0{"model":{"vocab":{"Ġa":0,"ĠÃ©":1,"b":2}}}'.encode(),
            b'\xff["a","b","c"]',
            b'\xff{"a":0,"b":2,"c":1}',
        ],
        "npy": [b"\2" + npy, b"\2" + npy.replace(b"<f4", b">f2").replace(b"False", b"True")],
        "vocabulary": [b"a\nb\nc\n", b"a 10\nb 9\nc 8\n", b"a\t10\r\nb\t9\r\n\r\n\r\n"],
        "safetensors": [b"\0" + packed, b"\0" + packed.replace(b"F32", b"BF16").replace(b"[2, 2]", b"[2, 4]")],
        "dictionary": [b"house maison\ncat chat\n", b"new york\tnew york\r\n\r\n", b"\xef\xbb\xbfa b\n"],
        "table": [b"\1source,target\na,b\n", b'\0"en";fi;x\r\n"a ""b";c;\r\n', b"\1source\ttarget\tscore\na\tb\t1\n"],
        "wiktextract": [
            WIKTEXTRACT,
            b'"word":"a","translations":[{"code":"fi","word":"b"},{"code":"sv","word":"c d"}]\n',
        ],
        "freedict": [
            b"\0<entry><orth>a</orth><sense><cit type='trans' xml:lang='fi'><quote>b</quote></cit></sense></entry>",
            b"\1<?xml version='1.0'?><!DOCTYPE TEI><TEI><entry><orth>a</orth>"
            b"<cit type='trans'><quote>b</quote></cit></entry></TEI>",
        ],
        "similarity": [b"house\tmaison\t3.5\n", b"word1\tword2\tscore\na b\tc d\t1e-1\r\n"],
        "toml": [
            b"\0base = 'ruder2018'\nprior = '2:2'\nmax_rank = 20000\nlog_odds = -0.5\nexact = true\n",
            b"\1" + SWEEP,
            b"\1" + SWEEP + b"sizes = [10, 20]\npriors = ['1:1']\nretrieval = 'csls'\n",
            b"\2" + LAYOUT,
            b"\2" + LAYOUT + b"train = ['a', 'b']\nfold = true\nsizes = [5]\n[similarity]\nx = 'y'\n",
            b"\2" + LAYOUT + b"[pair.en-fr]\nmax_rank = 5\n[experiments]\ntable1 = ['en-fr']\n",
        ],
    }[name]
