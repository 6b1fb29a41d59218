"""fastText models: the vectors of fastText itself and of gensim, and one line for a file that is not whole."""

from __future__ import annotations

import gzip
import re
import struct
from pathlib import Path

import numpy as np
import pytest

import bilex
from bilex.errors import InputError
from bilex.vectors.fasttext import open_fasttext
from bilex.vectors.readers import peek_shape
from tests.vectors.fasttext_models import family, needs_gensim, train
from tests.vectors.helpers import write

pytestmark = needs_gensim
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


def words_of_many_scripts() -> list[str]:
    rng = np.random.default_rng(2)
    letters = np.array(list("abcdeéß日本ελ😀"))
    return ["".join(rng.choice(letters, size)) for size in rng.integers(1, 10, 300)]


@pytest.mark.parametrize(("shortest", "longest", "kind"), [(3, 6, "skipgram"), (1, 2, "cbow"), (0, 0, "skipgram")])
def test_vectors_are_those_of_fasttext(tmp_path: Path, shortest: int, longest: int, kind: str) -> None:
    reference = pytest.importorskip("fasttext")
    words, rng = words_of_many_scripts(), np.random.default_rng(3)
    lines = [" ".join(rng.choice([*words[:250], "__label__odd"], 12)) for _ in range(200)]
    write(tmp_path, "\n".join(lines).encode(), "corpus.txt")
    trained = reference.train_unsupervised(
        str(tmp_path / "corpus.txt"),
        model=kind,
        minn=shortest,
        maxn=longest,
        dim=10,
        minCount=1,
        bucket=500,
        epoch=1,
        thread=1,
        verbose=0,
    )
    trained.save_model(str(tmp_path / "en.bin"))
    ours, known = open_fasttext(tmp_path / "en.bin"), trained.get_words()
    assert [ours.rows[word] for word in known] == list(range(len(ours.starts))) and known[0] == "</s>"
    vectors = ours.vectors(range(len(known)))
    np.testing.assert_array_equal(vectors, [trained.get_word_vector(word) for word in known])
    assert vectors.any(axis=1).mean() > 0.5
    outside = [*words[250:], *(f"{word}x{word}" for word in words[:50]), "<", ">", "x", "日"]
    for word in (*known[:20], *outside):
        found = ours.vector(word)
        np.testing.assert_array_equal(np.zeros(10) if found is None else found, trained.get_word_vector(word))
        assert (found is not None) or longest == 0 or len(word) < max(shortest, 2)


def test_vectors_are_those_of_gensim(model: Path) -> None:
    from gensim.models.fasttext import load_facebook_vectors

    reference, read = load_facebook_vectors(str(model)), open_fasttext(model)
    for word in (*reference.index_to_key[:10], *family().unseen):
        np.testing.assert_allclose(np.asarray(read.vector(word)), reference.get_vector(word), atol=1e-6)
    assert family().unseen[0] not in read.rows


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
        (48, 5000, "the header makes no sense"),  # longest n-gram
        (64, 2**31 - 1, "the header makes no sense"),  # words and labels
        (72, 7, "the header makes no sense"),  # labels
        (84, 2**40, "ends before the vectors"),  # pruned
    ],
)
def test_false_headers(model: Path, tmp_path: Path, field: int, value: int, pattern: str) -> None:
    refuses(patched(model, tmp_path, field, value, "<q" if field == 84 else "<i"), pattern)


def test_false_counts_of_words(model: Path, tmp_path: Path) -> None:
    data = bytearray(model.read_bytes())
    data[64:72] = struct.pack("<2i", 2**31 - 1, 2**31 - 1)
    refuses(write(tmp_path, bytes(data), "bad.bin"), "promises 2147483647 words, more than the file can hold")
    data[64:72] = struct.pack("<2i", 10_000, 10_000)
    refuses(write(tmp_path, bytes(data), "bad.bin"), r"promises 10000 words but only \d+ follow")


def test_false_matrices(model: Path, tmp_path: Path) -> None:
    data = model.read_bytes()
    place = data.find(struct.pack("<2q", len(bilex.load(model)) + 3000, 16))
    refuses(patched(model, tmp_path, place, 2**50, "<q"), "not as many or as long")
    refuses(patched(model, tmp_path, place - 1, 1, "<b"), r"quantised.*not the \.ftz")


def test_doubled_and_broken_words(model: Path, tmp_path: Path) -> None:
    data = model.read_bytes()
    first, second = bilex.load(model).words[:2]
    one, two = (word.encode() + b"\0" for word in (first, second))
    with pytest.warns(bilex.BilexWarning, match="1 duplicate word left out"):
        assert len(bilex.load(write(tmp_path, data.replace(two, one, 1), "twice.bin"))) == len(bilex.load(model)) - 1
    assert open_fasttext(tmp_path / "twice.bin").rows[first] == 0
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
