"""Vectors from text: words by the Unicode rules, in order of frequency, the same each time."""

from __future__ import annotations

import errno
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from bilex.errors import BilexError, InputError
from bilex.vectors.corpora import CorpusTraining, train_vectors, words_of
from bilex.vectors.embeddings import load
from tests.cli.conftest import bilex  # noqa: F401 (a fixture)
from tests.cli.helpers import Bilex, assert_error_line
from tests.vectors.fasttext_models import needs_gensim

pytest.importorskip("regex")
pytestmark = needs_gensim


def write_corpus(path: Path) -> Path:
    """Write sentences about one of four things, each with words of its own; frequent words first in their group."""
    rng = np.random.default_rng(0)
    groups = [[f"{letter}{place}" for place in range(12)] for letter in "abcd"]
    chances = np.linspace(2, 1, 12) / np.linspace(2, 1, 12).sum()
    lines = [" ".join(rng.choice(groups[number % 4], 10, p=chances)) for number in range(800)]
    path.write_text("\n".join([*lines, "Once only."]), "utf-8")
    return path


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("The U.S. can't; l'été well-known 3.14!", ["the", "u.s", "can't", "l'été", "well", "known", "3.14"]),
        ("हिन्दी में لغة שלום", ["हिन्दी", "में", "لغة", "שלום"]),
        ("cafe\u0301 ... \U0001f600", ["caf\u00e9"]),
        ("", []),
    ],
)
def test_words_are_cut_by_the_unicode_rules(line: str, words: list[str]) -> None:
    assert words_of(line, CorpusTraining()) == words


def test_words_that_are_cut_already() -> None:
    assert words_of(" 日本 語,  Ab ", CorpusTraining(at_spaces=True, keep_case=True)) == ["日本", "語,", "Ab"]


def test_words_of_a_sentence_are_near_and_the_frequent_ones_first(tmp_path: Path) -> None:
    trained = train_vectors([write_corpus(tmp_path / "c.txt")], CorpusTraining(dimension=12, epochs=150))
    words, units = trained.vectors.words, trained.vectors.normalise("unit").vectors
    assert len(words) == 48 and trained.tokens == 8002 and trained.types == 50
    text = (tmp_path / "c.txt").read_text().split()
    counts = [text.count(word) for word in words]
    assert counts == sorted(counts, reverse=True)
    nearest = np.argsort(-(units @ units.T), axis=1)[:, 1]
    same = [words[row][0] == words[near][0] for row, near in enumerate(nearest)]
    assert np.mean(same) > 0.9


def test_settings_follow_the_size_unless_given() -> None:
    small, large = CorpusTraining().for_corpus(10_000), CorpusTraining().for_corpus(10**9)
    assert (small.dimension, small.min_count) == (100, 2) and (large.dimension, large.min_count) == (300, 5)
    assert CorpusTraining(dimension=50).for_corpus(10**9).dimension == 50


def test_the_command_writes_the_same_bytes_each_time(tmp_path: Path, bilex: Bilex) -> None:  # noqa: F811
    write_corpus(tmp_path / "c.txt")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress((tmp_path / "c.txt").read_bytes()))
    settings = ("--dimension", 8, "--epochs", 2, "--json")
    first = bilex("vectors", tmp_path / "c.txt", "-o", tmp_path / "a.vec", *settings)
    second = bilex("vectors", tmp_path / "c.txt.gz", "-o", tmp_path / "b.vec", *settings)
    assert (first.code, first.err, second.code) == (0, "", 0)
    assert json.loads(first.out)["words"] == len(load(tmp_path / "a.vec")) == 48
    assert (tmp_path / "a.vec").read_bytes() == (tmp_path / "b.vec").read_bytes()
    assert_error_line(bilex("vectors", tmp_path / "c.txt", "-o", tmp_path / "a.csv"), "a.csv", code=2)
    assert_error_line(bilex("vectors", tmp_path / "none.txt", "-o", tmp_path / "a.vec"), "none.txt")


def test_what_is_too_large_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that no reader accepts, a window that gensim cannot count, and a temporary folder without space."""
    text = tmp_path / "c.txt"
    text.write_text("and then the cat sat on the mat " * 200 + "x" * 20_000 + " " + "x" * 20_000)
    trained = train_vectors([text], CorpusTraining(dimension=4, epochs=1, window=10**11)).vectors
    trained.save(tmp_path / "c.vec")
    assert load(tmp_path / "c.vec").words == trained.words

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("bilex.vectors.corpora._write_sentences", fail)
    with pytest.raises(BilexError, match=str(tmp_path)):
        train_vectors([text])


def test_bad_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "latin.txt").write_bytes("eins\nzwei\nfünf\n".encode("latin-1"))
    with pytest.raises(InputError) as caught:
        train_vectors([tmp_path / "latin.txt"])
    assert caught.value.line == 3
    (tmp_path / "short.txt").write_text("one two three")
    with pytest.raises(InputError, match="3 words"):
        train_vectors([tmp_path / "short.txt"])
    (tmp_path / "rare.txt").write_text(" ".join(f"w{number}" for number in range(2000)))
    with pytest.raises(InputError, match="no word occurs 2 times"):
        train_vectors([tmp_path / "rare.txt"])
    monkeypatch.setitem(__import__("sys").modules, "gensim.models", None)
    with pytest.raises(BilexError, match=r"bilex\[corpora\]"):
        train_vectors([tmp_path / "short.txt"])
