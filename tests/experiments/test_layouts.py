"""Layouts: the shipped ones, the one that fits is found, and each mistake is one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from bilex.errors import BilexError
from bilex.experiments.layouts import OWN, SHIPPED, find_layout, shipped_layout


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


FILES = {
    "paper": ("embeddings/en.emb.txt", "embeddings/it.emb.txt.gz", "dictionaries/en-it.test.txt"),
    "muse": ("wiki.en.vec", "wiki.es.vec", "crosslingual/dictionaries/en-es.5000-6500.txt"),
    "shared": ("en-books-law.vec.gz", "de-books-law.vec.gz", "dictionaries/en-de.5000-6500.txt"),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_the_layout_that_fits_is_found(name: str, tmp_path: Path) -> None:
    touch(tmp_path, *FILES[name])
    assert find_layout(tmp_path).name == name


@pytest.mark.parametrize("name", SHIPPED)
def test_the_files_are_found(name: str, tmp_path: Path) -> None:
    touch(tmp_path, *FILES[name])
    layout = shipped_layout(name)
    (pair,) = layout.discover(tmp_path)
    found = layout.resolve(tmp_path, pair, train=False)
    assert [found.source, found.target, found.test] == [tmp_path / path for path in FILES[name]]


def test_the_papers_data_as_its_script_lays_it_out(tmp_path: Path) -> None:
    names = ("embeddings/original/en.emb.txt", "embeddings/original/de.emb.txt", "dictionaries/en-de.train.txt")
    touch(tmp_path, *names, "dictionaries/en-de.test.txt", "similarity/en-de.rg65.txt", "similarity/en-de.mws353.txt")
    found = find_layout(tmp_path).resolve(tmp_path, "en-de", similarity=True)
    assert found.source == tmp_path / names[0]
    assert found.train == tmp_path / names[2]
    assert set(found.similarity) == {"RG", "WS"}
    assert found.max_rank == 40_000


def test_pairs_are_discovered_where_none_are_named(tmp_path: Path) -> None:
    touch(tmp_path, *FILES["muse"], "crosslingual/dictionaries/en-fr.5000-6500.txt")
    assert shipped_layout("muse").pairs_of("table1", tmp_path) == ("en-es",)


def test_the_directorys_own_file_comes_first(data: Path) -> None:
    touch(data, *FILES["muse"])
    layout = find_layout(data)
    assert layout.origin == str(data / OWN)
    assert layout.pairs == ("en-it", "en-fi")
    assert find_layout(data, "muse").name == "muse"


def write(folder: Path, text: str) -> Path:
    (folder / OWN).write_text(text, "utf-8")
    return folder


GOOD = 'vectors = "{language}.vec"\ntest = "{source}-{target}.txt"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "max_ranks = 3", "unknown key 'max_ranks'; did you mean 'max_rank'?"),
        (GOOD + "[pair.en-it]\nsurce = 'x'", "unknown key 'surce' in [pair.en-it]; did you mean 'source'?"),
        (GOOD + "[experiments]\ntabel1 = []", "unknown key 'tabel1' in [experiments]; did you mean 'table1'?"),
        (GOOD + "[pair.english]\n", "'english' is not a pair of languages"),
        (GOOD + "pairs = ['en_it']", "'en_it' is not a pair of languages"),
        (GOOD + "pairs = 'en-it'", "give a list of texts"),
        (GOOD + "max_rank = '3'", "give a whole number from 1 up"),
        (GOOD + "held_out = 1", "give a whole number from 2 up"),
        (GOOD + "sizes = [0]", "give a list of whole numbers from 1 up"),
        (GOOD + "similarity = 3", "give a table"),
        (GOOD + "train = '{src}.txt'", "the placeholders are {language}, {source} and {target}"),
        (GOOD + "train = 5", "give a path or a list of paths"),
        (GOOD + "fold = 1", "give true or false"),
        ("test = 'x'", "the key 'vectors' is missing"),
        ("vectors = 'x'", "the key 'test' is missing"),
        ("vectors = ", "this is not TOML"),
    ],
)
def test_a_mistake_in_the_file_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BilexError) as raised:
        find_layout(write(tmp_path, text))
    assert message in str(raised.value)
    assert str(tmp_path / OWN) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_is_not_there_is_said(data: Path, tmp_path: Path) -> None:
    layout = find_layout(data)
    (data / "en-it.test.txt").unlink()
    (data / "fi.vec").unlink()
    with pytest.raises(BilexError, match=r"en-it\.test\.txt: the pair en-it has no test dictionary; "):
        layout.resolve(data, "en-it")
    with pytest.raises(BilexError, match=r"fi\.vec: the target vectors of the pair en-fi are missing; "):
        layout.resolve(data, "en-fi")
    (data / "en-fi.sim.txt").unlink()
    (data / "fi.vec").touch()
    with pytest.raises(BilexError, match=r"en-fi\.sim\.txt: the pair en-fi has no similarity set; "):
        layout.resolve(data, "en-fi", similarity=True)
    with pytest.raises(BilexError, match="none of the layouts paper, muse, shared fits"):
        find_layout(tmp_path)
    with pytest.raises(BilexError, match="this is not a directory"):
        find_layout(tmp_path / "nowhere")
    with pytest.raises(BilexError, match="no layout is called 'mouse'; did you mean 'muse'"):
        find_layout(data, "mouse")
    with pytest.raises(BilexError, match=r"other\.toml: no such file"):
        find_layout(data, "other.toml")


def test_an_experiment_without_pairs_is_explained(tmp_path: Path) -> None:
    with pytest.raises(BilexError, match="no pairs for table4; name some with --pairs"):
        shipped_layout("paper").pairs_of("table4", tmp_path)
