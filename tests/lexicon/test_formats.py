"""Other programs' formats: each can be read back, whatever the words hold."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilex.errors import BilexWarning
from bilex.lexicon.formats import FORMATS, write_book
from bilex.lexicon.formats.book import Book, grouped_by_lemma, language_tag
from bilex.lexicon.lexicon import Entry
from bilex.lexicon.text import tsv_cell, xml_safe
from bilex.seeds.dictionaries import read_pairs
from tests.hostile import HOSTILE, hostile_lexicon

TEI = "{http://www.tei-c.org/ns/1.0}"
TBX = "{urn:iso:std:iso:30042:ed-2}"
LANG = "{http://www.w3.org/XML/1998/namespace}lang"
WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def entries_of(*pairs: tuple[str, str]) -> list[Entry]:
    return [Entry(source, target, 0.5, 1, True, "matching", 0.5) for source, target in pairs]


def tei_pairs(text: str) -> list[tuple[str, str]]:
    root = ElementTree.fromstring(text.encode("utf-8"))
    return [
        (entry.findtext(f"{TEI}form/{TEI}orth") or "", quote.text or "")
        for entry in root.iter(f"{TEI}entry")
        for quote in entry.findall(f"{TEI}sense/{TEI}cit[@type='trans']/{TEI}quote")
    ]


def text_of(form: str, entries: Iterable[Entry], source: str = "en", target: str = "fr", creator: str = "x") -> str:
    files = FORMATS[form].files(Book(list(entries), source, target, creator))
    return b"".join(piece for pieces in files.values() for piece in pieces).decode("utf-8")


def quietly(form: str, entries: Iterable[Entry], *names: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BilexWarning)
        return text_of(form, entries, *names)


def test_jsonl_is_one_object_on_each_line_for_every_reader() -> None:
    text = text_of("jsonl", [*hostile_lexicon(), *entries_of(("a\tb", "c\r\nd"))])
    lines = text.splitlines()  # also splits at U+2028 and the like
    assert [json.loads(line)["source"] for line in lines] == [*HOSTILE, "a\tb"]
    assert json.loads(lines[-1]) == {
        "source": "a\tb",
        "target": "c\r\nd",
        "score": 0.5,
        "rank": 1,
        "mutual": True,
        "origin": "matching",
        "confidence": 0.5,
    }
    assert "שלום" in text  # readable, not escaped


def test_muse_leaves_out_words_with_spaces_and_counts_them(tmp_path: Path) -> None:
    rows = entries_of(("house", "maison"), ("new york", "ville"), ("city", "nouvelle\u00a0ville"), ("=1+1", "@x"))
    with pytest.warns(BilexWarning, match="2 pairs.*'new york'"):
        text = text_of("muse", rows)
    assert text == "house maison\n=1+1 @x\n"
    (tmp_path / "pairs.txt").write_text(text, "utf-8")
    assert list(read_pairs(tmp_path / "pairs.txt")) == [("house", "maison"), ("=1+1", "@x")]


@settings(max_examples=50)
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5, unique=True))
def test_any_words_survive(pairs: list[tuple[str, str]]) -> None:
    rows = entries_of(*pairs)
    table = [line.split("\t")[:2] for line in text_of("tsv", rows).split("\n")[1:-1]]
    assert table == [[tsv_cell(source), tsv_cell(target)] for source, target in pairs]
    objects = [json.loads(line) for line in text_of("jsonl", rows).splitlines()]
    assert [(each["source"], each["target"]) for each in objects] == pairs
    found = tei_pairs(quietly("tei", rows))
    assert sorted(found) == sorted((xml_safe(source), xml_safe(target)) for source, target in pairs)
    for line in quietly("muse", rows).split("\n")[:-1]:
        assert tuple(line.split()) in pairs


def test_tei_is_a_dictionary_in_freedicts_flavour() -> None:
    rows = entries_of(("house", "maison"), ("tree", "arbre"), ("house", "domicile"))
    root = ElementTree.fromstring(text_of("tei", rows, "wiki.en", "fr", "bilex & co"))
    assert root.tag == f"{TEI}TEI"
    described = root.find(f"{TEI}teiHeader/{TEI}fileDesc")
    assert described is not None
    assert [child.tag.removeprefix(TEI) for child in described] == [  # the order that TEI prescribes
        "titleStmt",
        "extent",
        "publicationStmt",
        "sourceDesc",
    ]
    assert described.findtext(f"{TEI}titleStmt/{TEI}title") == "wiki.en-fr bilingual lexicon"
    assert described.findtext(f"{TEI}titleStmt/{TEI}respStmt/{TEI}name") == "bilex & co"
    assert described.findtext(f"{TEI}extent") == "2 headwords"
    assert described.findtext(f"{TEI}publicationStmt/{TEI}availability/{TEI}licence/{TEI}p")
    assert [each.get("ident") for each in root.iter(f"{TEI}language")] == ["en", "fr"]
    body = root.find(f"{TEI}text/{TEI}body")
    assert body is not None and body.get(LANG) == "en"
    assert {each.get(LANG) for each in root.iter(f"{TEI}cit")} == {"fr"}
    assert [entry.findtext(f"{TEI}form/{TEI}orth") for entry in body] == ["house", "tree"]
    assert [quote.text for quote in body[0].iter(f"{TEI}quote")] == ["maison", "domicile"]


def test_tei_shows_hostile_words_as_text_and_counts_what_xml_cannot_hold() -> None:
    with pytest.warns(BilexWarning, match=r"6 words.*'a\\x00b'"):
        text = text_of("tei", hostile_lexicon(), "</title>", "]]>")
    assert tei_pairs(text) == [(xml_safe(e.source), xml_safe(e.target)) for e in hostile_lexicon()]
    assert "<img" not in text
    assert xml_safe("a\x00b") == "a\ufffdb"


def test_language_tags() -> None:
    names = {
        "en": "en",
        "wiki.en": "en",
        "cc.zh-Hant": "zh-Hant",
        "cc.de.300": "de",
        "pt_BR": "pt-BR",
        "": "und",
        "vectors": "und",
    }
    assert {name: language_tag(name) for name in names} == names


def test_an_empty_lexicon() -> None:
    assert text_of("jsonl", []) == text_of("muse", []) == ""
    assert tei_pairs(text_of("tei", [])) == []


def test_csv_is_read_back_to_the_letter(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    rows = [*hostile_lexicon(), *entries_of(("a\tb", 'c"\r\nd'), ("null", "nan"), ("a,b", "=1+1"))]
    rows = [entry._replace(confidence=place / len(rows)) for place, entry in enumerate(rows)]
    (tmp_path / "a.csv").write_bytes(text_of("csv", rows).encode("utf-8"))
    frame = pandas.read_csv(tmp_path / "a.csv", keep_default_na=False, encoding_errors="strict", lineterminator=None)
    assert len(frame) == len(rows)
    whole = [
        place for place, entry in enumerate(rows) if "\0" not in entry.source + entry.target
    ]  # old pandas cut there
    expected, found = (
        [table[place] for place in whole] for table in (rows, [*frame.itertuples(index=False, name=None)])
    )
    assert [(row[0], row[1], bool(row[4]), row[5]) for row in found] == [(e[0], e[1], e[4], e[5]) for e in expected]
    assert [row[6] for row in found] == pytest.approx([e.confidence for e in expected], abs=1e-6)


def test_tbx_has_a_concept_for_each_source_word_and_each_language_once() -> None:
    rows = [entry._replace(confidence=0.25) for entry in entries_of(("house", "maison"), ("house", "domicile"))]
    for names, tags in ((("wiki.en", "fr"), ["en", "fr"]), (("vectors", ""), ["und-x-source", "und-x-target"])):
        root = ElementTree.fromstring(text_of("tbx", [*rows, *entries_of(("<&>", "]]>"))], *names))
        assert root.attrib["type"] == "TBX-Core"
        concepts = list(root.iter(f"{TBX}conceptEntry"))
        assert [[each.get(LANG) for each in concept] for concept in concepts] == [tags, tags]
        assert [term.text for term in concepts[0].iter(f"{TBX}term")] == ["house", "maison", "domicile"]
        assert [note.text for note in concepts[0].iter(f"{TBX}note")] == ["confidence 0.2500"] * 2
        assert [term.text for term in concepts[1].iter(f"{TBX}term")] == ["<&>", "]]>"]
        assert len({concept.get("id") for concept in concepts}) == 2


FORMS = [
    Entry("houses", "talot", 0.5, 2, True, "matching", 0.4, "house", "talo"),
    Entry("house", "talo", 0.6, 1, True, "matching", 0.9, "house", "talo"),
    Entry("house", "koti", 0.5, 3, False, "candidate", 0.3, "house", "koti"),
    Entry("run", "ajot", 0.5, 1, True, "matching", 0.8, "", "ajo"),
]


@pytest.fixture(scope="module")
def grouped() -> Book:
    lemmas = {"houses": "house", "house": "house"}, {"talot": "talo", "ajot": "ajo"}
    found = {"houses": [("talot", 0.4), ("talo", 0.4)], "house": [("talo", 0.6), ("koti", 0.2)]}
    return grouped_by_lemma(
        Book(FORMS, "en", "fi", "x", lambda reverse: iter({} if reverse else found.items())), *lemmas
    )


def test_forms_become_one_entry_of_their_lemmas(grouped: Book) -> None:
    assert [(e.source, e.target, e.confidence, e.rank) for e in grouped.entries] == [
        ("house", "talo", 0.9, 1),  # the figures of the surest pair
        ("house", "koti", 0.3, 3),
        ("run", "ajo", 0.8, 1),
    ]
    assert grouped.forms == {"house": ("houses",)}
    assert grouped.translations is not None
    [(word, found)] = grouped.translations(False)
    assert word == "house"
    assert dict(found) == pytest.approx({"talo": 0.7, "koti": 0.1})


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_holds_a_grouped_lexicon(grouped: Book, form: str, tmp_path: Path) -> None:
    written = write_book(grouped, form, f"{tmp_path}/out")
    content = b"".join(Path(name).read_bytes() for name in written)
    if form != "anki":  # which is compressed
        assert content.count(b"talo") == (2 if form == "lex" else 1) and b"talot" not in content
        assert b"lemma" not in content
    assert (b"houses" in content) == (form in ("tei", "stardict"))  # where a reader may look for a form
    if form == "tei":
        assert tei_pairs(content.decode())[:2] == [("house", "talo"), ("house", "koti")]
    if form == "stardict":
        assert (tmp_path / "out.syn").read_bytes() == b"houses\0" + bytes(4)
        assert b"synwordcount=1\n" in (tmp_path / "out.ifo").read_bytes()
