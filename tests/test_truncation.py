"""Every file that bilex writes and reads again is cut at fifty places: a clear error, never a partial result."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import bilex
from bilex.errors import BilexError
from bilex.lexicon.reviews import ACCEPTED, Reviews
from bilex.runs.run import Run
from tests.languages import make_languages
from trust.truncation import cut_file, cuts

WRITTEN = ["run.json", "lexicon.tsv", "model.safetensors", "candidates.safetensors"]
VECTORS = ["a.vec", "a.vec.gz", "a.bin", "a.safetensors"]


def refused(read: Callable[[], object]) -> None:
    """Check that reading ends in one line."""
    with pytest.raises(BilexError) as caught:
        read()
    assert re.fullmatch(r"[^\n]+; [^\n]+", str(caught.value))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    languages = make_languages(60, 8, 20)
    place = tmp_path_factory.mktemp("truncation") / "run"
    bilex.induce(languages.source, languages.target).save(place)
    return place


@pytest.mark.parametrize("name", WRITTEN)
def test_a_run_is_whole_or_refused(run: Path, tmp_path: Path, name: str) -> None:
    place = shutil.copytree(run, tmp_path / "run")
    whole = (place / name).read_bytes()
    assert len(Run.load(place).lexicon) > 30
    for length in cuts(len(whole)):
        cut_file(place / name, whole, length)
        refused(lambda: Run.load(place))


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.filterwarnings("ignore::bilex.errors.BilexWarning")
def test_vectors_are_whole_or_refused(tmp_path: Path, name: str) -> None:
    """The last line end of word2vec's binary format may go: gensim writes none at all."""
    path = tmp_path / name
    languages = make_languages(40, 5, 20)
    languages.source.save(path)
    whole = path.read_bytes()
    for length in cuts(len(whole)):
        cut_file(path, whole, length)
        if length == len(whole) - 1 and name == "a.bin":
            assert bilex.load(path).words == languages.source.words
        else:
            refused(lambda: bilex.load(path))


def test_a_review_is_whole_or_refused(tmp_path: Path) -> None:
    with Reviews(tmp_path) as reviews:
        for number in range(60):
            reviews.decide((f"source{number}", f"target{number}"), ACCEPTED, version=0)
    whole = (tmp_path / "review.sqlite").read_bytes()
    for length in cuts(len(whole)):
        cut_file(tmp_path / "review.sqlite", whole, length)
        refused(lambda: Reviews(tmp_path).current())


def test_checksums_are_verified(run: Path, tmp_path: Path) -> None:
    """One byte that is changed without changing the length, anywhere in the file."""
    place = shutil.copytree(run, tmp_path / "run")
    for name in WRITTEN[1:]:
        whole = (place / name).read_bytes()
        for position in cuts(len(whole)):
            (place / name).write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
            refused(lambda: Run.load(place))
        (place / name).write_bytes(whole)
    assert Run.load(place).info["files"].keys() == set(WRITTEN[1:])
