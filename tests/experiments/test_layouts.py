"""Layouts: the shipped ones, finding the one that fits, and mistakes in a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bilex.errors import BilexError
from bilex.experiments.layouts import LAYOUT_FILE, SHIPPED_LAYOUTS, find_layout, read_layout


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


FILES = {
    "paper": ("embeddings/en.emb.txt", "embeddings/it.emb.txt.gz", "dictionaries/en-it.test.txt"),
    "muse": ("wiki.en.vec", "wiki.es.vec", "crosslingual/dictionaries/en-es.5000-6500.txt"),
    "xling": ("wiki.en.vec", "wiki.de.vec", "bli_datasets/en-de/yacle.test.freq.2k.en-de.tsv"),
    "panlex": ("cc.bg.300.vec", "cc.ca.300.vec", "all/bg-ca/bg-ca.test.2000.cc.trans"),
    "shared": ("en-books-law.vec.gz", "de-books-law.vec.gz", "dictionaries/en-de.5000-6500.txt"),
}


@pytest.mark.parametrize("name", SHIPPED_LAYOUTS)
def test_the_layout_that_fits_and_its_files_are_found(name: str, tmp_path: Path) -> None:
    touch(tmp_path, *FILES[name])
    layout = find_layout(tmp_path)
    assert layout.name == name
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
    assert read_layout("muse").pairs_of("table1", tmp_path) == ("en-es",)


def test_the_directorys_own_file_comes_first(data: Path) -> None:
    touch(data, *FILES["muse"])
    layout = find_layout(data)
    assert layout.origin == str(data / LAYOUT_FILE)
    assert layout.pairs_of("table1", data) == ("en-it", "en-fi")
    assert find_layout(data, "muse").name == "muse"


def write(folder: Path, text: str) -> Path:
    (folder / LAYOUT_FILE).write_text(text, "utf-8")
    return folder


GOOD = 'vectors = "{language}.vec"\ntest = "{source}-{target}.txt"\n'


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        (GOOD + "max_ranks = 3", ("max_ranks", "did you mean 'max_rank'?")),
        (GOOD + "[pair.en-it]\nsurce = 'x'", ("pair", "surce", "did you mean 'source'?")),
        (GOOD + "[experiments]\ntabel1 = []", ("experiments", "tabel1", "did you mean 'table1'?")),
        (GOOD + "[pair.english]\n", ("pair: ", "like en-it")),
        (GOOD + "pairs = ['en_it']", ("pairs[0]: ", "like en-it")),
        (GOOD + "pairs = 'en-it'", ("pairs", "list")),
        (GOOD + "max_rank = '3'", ("max_rank", "int")),
        (GOOD + "held_out = 1", ("held_out", ">= 2")),
        (GOOD + "similarity = 3", ("similarity", "table")),
        (GOOD + "train = '{src}.txt'", ("train: ", "{language}")),
        (GOOD + "train = ['a', '{src}']", ("train", "{language}")),
        (GOOD + "[similarity]\nx = '{src}'", ("similarity", "{language}")),
        (GOOD + "[pair.en-fr]\ntest = '{src}'", ("pair", "test", "{language}")),
        (GOOD + "train = ''", ("train", "length")),
        ("test = 'x'", ("vectors",)),
        ("vectors = ", ("this is not TOML",)),
    ],
)
def test_a_mistake_in_the_file_is_one_line(text: str, mentions: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(BilexError) as raised:
        find_layout(write(tmp_path, text))
    message = str(raised.value)
    assert message.startswith(str(tmp_path / LAYOUT_FILE)) and "\n" not in message
    for mention in mentions:
        assert mention in message


def test_vectors_by_language_and_repeated_placeholders(tmp_path: Path) -> None:
    vectors = '[vectors]\nen = "english.vec"\ndefault = ["a.vec", "{language}.vec"]\n'
    text = 'test = "{source}-{target}/{source}.txt"\n' + vectors
    touch(write(tmp_path, text), "en-it/en.txt", "en-fr/it.txt", "english.vec", "it.vec.gz", "fr.vec")
    layout = find_layout(tmp_path)
    assert layout.discover(tmp_path) == ("en-it",)
    found = layout.resolve(tmp_path, "en-it", train=False)
    assert (found.source.name, found.target.name) == ("english.vec", "it.vec.gz")


def test_missing_files_are_named(data: Path, tmp_path: Path) -> None:
    layout = find_layout(data)
    (data / "en-it.test.txt").unlink()
    (data / "fi.vec").unlink()
    with pytest.raises(BilexError, match=r"en-it\.test\.txt: "):
        layout.resolve(data, "en-it")
    with pytest.raises(BilexError, match=r"fi\.vec: "):
        layout.resolve(data, "en-fi")
    (data / "en-fi.sim.txt").unlink()
    (data / "fi.vec").touch()
    with pytest.raises(BilexError, match=r"en-fi\.sim\.txt: "):
        layout.resolve(data, "en-fi", similarity=True)
    with pytest.raises(BilexError):
        find_layout(tmp_path)
    with pytest.raises(BilexError):
        find_layout(tmp_path / "nowhere")
    with pytest.raises(BilexError, match="did you mean 'muse'"):
        find_layout(data, "mouse")
    with pytest.raises(BilexError, match=r"other\.toml: no such file"):
        find_layout(data, "other.toml")


def test_an_experiment_without_pairs_is_explained(tmp_path: Path) -> None:
    with pytest.raises(BilexError, match="no pairs for table4"):
        read_layout("paper").pairs_of("table4", tmp_path)


def test_what_was_read_is_freed_without_a_crash() -> None:
    """As when Python ends: msgspec 0.22 crashed where a text with a pattern could also be a list."""
    use = (
        "import gc, importlib\n"
        "from bilex.experiments import layouts\n"
        "table = {'vectors': 'a', 'test': 'b', 'pair': {'en-fr': {'source': ['c']}}}\n"
        "for _ in range(30):\n"
        "    importlib.reload(layouts).convert_table(table, layouts.LayoutTable, 'x', ())\n"
        "    gc.collect()\n"
    )
    assert subprocess.run([sys.executable, "-c", use], check=False, capture_output=True).returncode == 0
