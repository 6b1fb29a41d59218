"""fastText models: read as gensim reads them, and refused in one line where they are not whole."""

from __future__ import annotations

import gzip
import re
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

import bilex
from bilex.errors import BilexError, InputError
from bilex.vectors.fasttext import open_fasttext
from bilex.vectors.readers import peek_shape
from tests.vectors.fasttext_models import family, train
from tests.vectors.helpers import write

pytest.importorskip("gensim")
HEADER = 92


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fasttext") / "en.bin"
    train(path)
    return path


def patched(model: Path, folder: Path, field: int, value: int, kind: str = "<i") -> Path:
    data = bytearray(model.read_bytes())
    data[field : field + struct.calcsize(kind)] = struct.pack(kind, value)
    return write(folder, bytes(data), "bad.bin")


def refuses(path: Path, pattern: str) -> None:
    for read in (bilex.load, open_fasttext):
        with pytest.raises(InputError) as caught:
            read(path)
        assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)
        assert re.search(pattern, str(caught.value)), caught.value


def test_words_and_vectors_are_those_that_were_trained(tmp_path: Path) -> None:
    trained = train(tmp_path / "en.bin")
    loaded = bilex.load(tmp_path / "en.bin")
    assert loaded.words == trained.words and loaded.name == "en"
    np.testing.assert_allclose(loaded.vectors, trained.vectors, atol=1e-6)
    assert bilex.load(tmp_path / "en.bin", limit=20).words == trained.words[:20]
    assert peek_shape(tmp_path / "en.bin") == trained.vectors.shape


def test_a_word_outside_has_the_mean_of_its_ngrams(model: Path) -> None:
    from gensim.models.fasttext import ft_ngram_hashes

    read = open_fasttext(model)
    word = family().unseen[0]
    assert word not in read.rows
    rows = ft_ngram_hashes(word, 3, 5, 3000)
    np.testing.assert_allclose(np.asarray(read.vector(word)), read.model.vectors_ngrams[rows].mean(axis=0), atol=1e-6)
    known = read.model.index_to_key[3]
    np.testing.assert_array_equal(read.vector(known), read.vectors[3])


def test_what_has_no_ngrams_has_no_vector(model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert open_fasttext(model).vector("") is None
    assert open_fasttext(model).vector("\udcff") is None
    train(tmp_path / "long.bin", min_n=5, max_n=6)
    assert open_fasttext(tmp_path / "long.bin").vector("x") is None
    assert capfd.readouterr() == ("", "")


def test_every_way_of_being_cut_off_is_refused(model: Path, tmp_path: Path) -> None:
    data = model.read_bytes()
    words = len(bilex.load(model))
    rows = (words + 3000) * 16 * 4
    matrix = data.find(struct.pack("<2q", words + 3000, 16))
    places = [4, 5, 8, HEADER - 1, HEADER, HEADER + 1, matrix // 2, matrix - 1, matrix + 15, matrix + 16 + rows - 1]
    for place in places:
        refuses(write(tmp_path, data[:place], "cut.bin"), "cut off or damaged")
    write(tmp_path, data[: matrix + 16 + rows], "cut.bin")  # what follows is only for training
    assert len(bilex.load(tmp_path / "cut.bin")) == words


@pytest.mark.parametrize(
    ("field", "value", "pattern"),
    [
        (8, 0, "the header makes no sense"),  # dimension
        (8, 2**31 - 1, "not as many or as long"),
        (36, 3, "supervised"),  # kind of model
        (40, -5, "the header makes no sense"),  # bucket
        (44, -3, "the header makes no sense"),  # shortest n-gram
        (64, 2**31 - 1, "the header makes no sense"),  # words and labels
        (72, 7, "supervised"),  # labels
        (84, 2**40, "ends before the vectors"),  # pruned
    ],
)
def test_false_headers(model: Path, tmp_path: Path, field: int, value: int, pattern: str) -> None:
    refuses(patched(model, tmp_path, field, value, "<q" if field == 84 else "<i"), pattern)


def test_false_counts_of_words(model: Path, tmp_path: Path) -> None:
    data = bytearray(model.read_bytes())
    data[64:72] = struct.pack("<2i", 2**31 - 1, 2**31 - 1)
    refuses(write(tmp_path, bytes(data), "bad.bin"), r"promises 2147483647 words but only \d+ follow")


def test_false_matrices(model: Path, tmp_path: Path) -> None:
    data = model.read_bytes()
    place = data.find(struct.pack("<2q", len(bilex.load(model)) + 3000, 16))
    refuses(patched(model, tmp_path, place, 2**50, "<q"), "not as many or as long")
    refuses(patched(model, tmp_path, place - 1, 1, "<b"), r"quantised.*not the \.ftz")


def test_doubled_and_broken_words(model: Path, tmp_path: Path) -> None:
    data = model.read_bytes()
    first, second = bilex.load(model).words[:2]
    one, two = (word.encode() + b"\0" for word in (first, second))
    refuses(write(tmp_path, data.replace(two, one, 1), "bad.bin"), "a word stands twice")
    broken = data.replace(one, b"\xff" + one[1:], 1)
    with pytest.warns(bilex.BilexWarning, match="1 word not UTF-8 left out"):
        assert len(bilex.load(write(tmp_path, broken, "odd.bin"))) == len(bilex.load(model)) - 1


def test_numbers_that_are_none(model: Path, tmp_path: Path) -> None:
    place = model.read_bytes().find(struct.pack("<2q", len(bilex.load(model)) + 3000, 16)) + 16
    bad = bytearray(model.read_bytes())
    bad[place : place + 4] = struct.pack("<f", np.nan)
    with pytest.raises(InputError, match="NaN, infinite"):
        bilex.load(write(tmp_path, bytes(bad), "bad.bin"))


def test_other_files_and_compressed_ones(model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this is not a fastText model; give"):
        open_fasttext(write(tmp_path, b"2 2\na 1 2\nb 3 4\n", "en.vec"))
    refuses(write(tmp_path, gzip.compress(model.read_bytes()), "en.bin.gz"), "only read from a plain file; decompress")
    with pytest.raises(InputError, match="fastText model"):
        bilex.load(model, vocabulary=write(tmp_path, b"a\n", "a.vocab"))


def test_a_missing_library_is_named_with_the_remedy(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim.models.fasttext", None)
    with pytest.raises(BilexError, match=r"^\S+en\.bin: .* needs gensim, which is missing; pip install 'bilex\[fastt"):
        bilex.load(model)


def test_names_that_look_like_addresses_stay_files(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    odd = tmp_path / "http:" / "127.0.0.1:9"
    odd.mkdir(parents=True)
    (odd / "en.bin").write_bytes(model.read_bytes())
    assert len(bilex.load("http://127.0.0.1:9/en.bin")) == len(bilex.load(model))
