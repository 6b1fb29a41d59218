"""Exported lexicons, opened by the programs they are for; each test is skipped where its program is missing."""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import io
import math
import shutil
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from bilex.errors import BilexWarning
from bilex.lexicon.formats import write_book
from bilex.lexicon.formats.book import Book, Translations, grouped_by_lemma
from bilex.lexicon.lexicon import Entry

PAIRS = [
    ("house", "talo", 0.75),
    ("Zebra", "seepra", 1.0),
    ("house", "<b>koti</b> & co", 0.5),
    ("new york", "new york", 0.0),
    ("über", "yli", 0.25),
    ("apple", "omena", 0.5),
]
TABLE = {"house": [("talo", 0.5), ("koti", 0.25)], "cat": [("kissa", 1.0)], "new york": [("new york", 1.0)]}
REVERSED = {"talo": [("house", 0.75)], "koti": [], "kissa": [("cat", 0.5)]}


def translations(reverse: bool) -> Iterator[Translations]:
    return iter((REVERSED if reverse else TABLE).items())


@pytest.fixture
def book() -> Book:
    entries = [Entry(source, target, 0.5, 1, True, "matching", right) for source, target, right in PAIRS]
    return Book(entries, "cc.en", "fi", "bilex", translations)


def by_word() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for source, target, _ in PAIRS:
        found.setdefault(source, []).append(target)
    return found


def test_pyglossary_reads_stardict_and_tei(book: Book, tmp_path: Path) -> None:
    glossary = pytest.importorskip("pyglossary.glossary_v2").Glossary
    glossary.init()
    assert write_book(book, "stardict", f"{tmp_path}/a") == [f"{tmp_path}/a{end}" for end in (".ifo", ".idx", ".dict")]
    write_book(book, "tei", f"{tmp_path}/a.tei")
    stardict, tei = glossary(), glossary()
    stardict.directRead(f"{tmp_path}/a.ifo", formatName="Stardict")
    assert {entry.l_word[0]: entry.defi.split("\n") for entry in stardict} == by_word()
    assert stardict.getInfo("name") == "cc.en-fi bilingual lexicon"
    tei.directRead(f"{tmp_path}/a.tei", formatName="FreeDict")
    found = {entry.l_word[0]: entry.defi for entry in tei}
    assert found.keys() == by_word().keys()
    assert "talo" in found["house"] and "&lt;b&gt;koti" in found["house"]


def test_pyglossary_reads_grouped_dictionaries(tmp_path: Path) -> None:
    """Forms lead to their lemma."""
    glossary = pytest.importorskip("pyglossary.glossary_v2").Glossary
    glossary.init()
    forms = [("houses", "talot", 0.4), ("house", "talo", 0.9), ("car", "auto", 0.5)]
    entries = [Entry(source, target, 0.5, 1, True, "matching", right) for source, target, right in forms]
    grouped = grouped_by_lemma(Book(entries, "en", "fi", "bilex"), {"houses": "house"}, {"talot": "talo"})
    for form, name, reader in (("stardict", "a.ifo", "Stardict"), ("tei", "a.tei", "FreeDict")):
        write_book(grouped, form, f"{tmp_path}/{name}")
        found = glossary()
        found.directRead(f"{tmp_path}/{name}", formatName=reader)
        words = {entry.l_word[0]: (set(entry.l_word), entry.defi) for entry in found}
        assert {word: forms for word, (forms, _) in words.items()} == {"house": {"house", "houses"}, "car": {"car"}}
        assert "talo" in words["house"][1] and "talot" not in words["house"][1]


def test_bicleaner_reads_the_tables_of_moses(book: Book, tmp_path: Path) -> None:
    dictionaries = pytest.importorskip("bicleaner.prob_dict")
    with pytest.warns(BilexWarning, match="1 word"):
        write_book(book, "lex", f"{tmp_path}/a")
    tables = {}
    for ending in (".f2e", ".e2f"):
        with gzip.open(f"{tmp_path}/a{ending}.gz", "wb") as packed:
            packed.write((tmp_path / f"a{ending}").read_bytes())
        tables[ending] = dictionaries.ProbabilisticDictionary(f"{tmp_path}/a{ending}.gz")
    assert tables[".f2e"].get_prob("house", "talo") == 0.5
    assert tables[".e2f"].get_prob("talo", "house") == 0.75


def test_pandas_reads_the_columns_of_muse_tsv_and_jsonl(book: Book, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.warns(BilexWarning, match="2 pairs"):
        write_book(book, "muse", f"{tmp_path}/a.txt")
    found = pandas.read_csv(tmp_path / "a.txt", sep=" ", header=None, quoting=3, keep_default_na=False)
    assert found.to_numpy().tolist() == [[a, b] for a, b, _ in PAIRS if " " not in a + b]
    for form, read in (("tsv", {"sep": "\t", "quoting": 3, "keep_default_na": False}), ("jsonl", {"lines": True})):
        write_book(book, form, f"{tmp_path}/a.{form}")
        found = (pandas.read_csv if form == "tsv" else pandas.read_json)(tmp_path / f"a.{form}", **read)
        assert found[["source", "target", "confidence"]].to_numpy().tolist() == [list(pair) for pair in PAIRS]


def test_sdcv_finds_words_in_the_index(book: Book, tmp_path: Path) -> None:
    program = shutil.which("sdcv") or pytest.skip("sdcv is missing")
    write_book(book, "stardict", f"{tmp_path}/a.ifo")
    for word, (first, *_) in by_word().items():
        command = [program, "--non-interactive", "--exact-search", "--utf8-output", "--data-dir", str(tmp_path), word]
        done = subprocess.run(command, capture_output=True, check=True, timeout=20)
        assert first in done.stdout.decode("utf-8"), word


def test_stardict_leaves_out_what_its_index_cannot_hold(book: Book, tmp_path: Path) -> None:
    long = Entry("x" * 256, "y", 0.5, 1, True, "matching", 0.5)
    with pytest.warns(BilexWarning, match="1 word"):
        write_book(Book([long, *book.entries], "en", "fi", "x"), "stardict", f"{tmp_path}/a.ifo")
    assert b"wordcount=5\n" in (tmp_path / "a.ifo").read_bytes()
    assert (tmp_path / "a.idx").stat().st_size == sum(len(word.encode()) + 9 for word in by_word())


def test_anki_imports_the_deck_and_updates_it(book: Book, tmp_path: Path) -> None:
    collections = pytest.importorskip("anki.collection")
    write_book(book, "anki", f"{tmp_path}/a.apkg")
    collection = collections.Collection(f"{tmp_path}/c.anki2")
    options = collections.ImportAnkiPackageOptions()
    request = collections.ImportAnkiPackageRequest(package_path=f"{tmp_path}/a.apkg", options=options)
    try:
        for _ in range(2):  # the second time, the same notes
            collection.import_anki_package(request)
            assert (collection.note_count(), collection.card_count()) == (5, 5)
        assert "cc.en-fi bilingual lexicon" in [deck.name for deck in collection.decks.all_names_and_ids()]
        note = collection.get_note(collection.find_notes("Source:house")[0])
        assert note.values() == ["house", "talo, &lt;b&gt;koti&lt;/b&gt; &amp; co", "75%, 50%"]
        assert "talo" in note.cards()[0].answer() and "talo" not in note.cards()[0].question()
        assert collection.fix_integrity()[1]
    finally:
        collection.close()


def test_apertium_compiles_the_dictionary_and_translates(book: Book, tmp_path: Path) -> None:
    if not (shutil.which("lt-comp") and shutil.which("lt-proc")):
        pytest.skip("lttoolbox is missing")
    write_book(book, "dix", f"{tmp_path}/a.dix")
    subprocess.run(["lt-comp", "lr", "a.dix", "a.bin"], cwd=tmp_path, capture_output=True, check=True, timeout=20)
    asked = "^house$ ^new york$ ^über$ ^nothing$".encode()
    done = subprocess.run(
        ["lt-proc", "-b", "a.bin"], cwd=tmp_path, input=asked, capture_output=True, check=True, timeout=20
    )
    house, york, over, nothing = done.stdout.decode("utf-8").split("$")[:4]
    assert house.startswith("^house/talo/")  # the most confident first
    assert york.endswith("/new york") and over.endswith("/yli") and "@" in nothing


def test_termate_reads_tbx(book: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec("termate") or pytest.skip("termate is missing")
    package = types.ModuleType("termate")  # its own imports packages that it does not ask for
    package.__path__ = list(found.submodule_search_locations or [])
    monkeypatch.setitem(sys.modules, "termate", package)
    write_book(book, "tbx", f"{tmp_path}/a.tbx")
    concepts = importlib.import_module("termate.termate").TbxDocument().open(f"{tmp_path}/a.tbx").concepts_list
    house = next(concept["lang"] for concept in concepts if concept["lang"]["en"][0][0]["text"] == "house")
    terms = [[(item["type"], item["text"]) for item in term] for term in house["fi"]]
    first, second = (
        (("term", "talo"), ("note", "confidence 0.7500")),
        (("term", "<b>koti</b> & co"), ("note", "confidence 0.5000")),
    )
    assert terms == [list(first), list(second)] and len(concepts) == len(by_word())


def test_eflomal_aligns_with_the_priors(book: Book, tmp_path: Path) -> None:
    eflomal = pytest.importorskip("eflomal")
    with pytest.warns(BilexWarning, match="1 word"):
        write_book(book, "lex", f"{tmp_path}/a.f2e")
    links = tmp_path / "forward"
    with (tmp_path / "a.priors").open(encoding="utf-8") as priors:
        texts = io.StringIO("house cat\ncat house\n" * 20), io.StringIO("kissa koti\nkoti kissa\n" * 20)
        names = {"links_filename_fwd": str(links), "links_filename_rev": str(tmp_path / "reverse")}
        eflomal.Aligner().align(*texts, **names, priors_input=priors)
    assert set(links.read_text().split()) == {"0-1", "1-0"}  # the texts alone would allow 0-0 and 1-1 as well


def test_the_probabilities_of_a_word_sum_to_one_in_both_tables(book: Book, tmp_path: Path) -> None:
    with pytest.warns(BilexWarning, match="1 word"):
        write_book(book, "lex", f"{tmp_path}/a")
    for ending, expected in ((".f2e", {"house": 2, "cat": 1}), (".e2f", {"talo": 1, "koti": 0, "kissa": 1})):
        totals: dict[str, list[float]] = {}
        for line in (tmp_path / f"a{ending}").read_text("utf-8").splitlines():
            _, given, probability = line.split(" ")
            totals.setdefault(given, []).append(float(probability))
        assert {word: len(found) - 1 for word, found in totals.items()} == expected  # and NULL
        assert all(math.isclose(sum(found), 1) for found in totals.values())
    assert "talo house 0.5000000\n" in (tmp_path / "a.f2e").read_text("utf-8")
    assert "LEX\thouse\ttalo\t0.5000000\n" in (tmp_path / "a.priors").read_text("utf-8")
