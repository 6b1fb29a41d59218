"""Dictionaries as people have them: tables, extracts of Wiktionary, FreeDict's TEI, and lexicons of bilex."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bilex.errors import BilexWarning, InputError
from bilex.evaluation.translation import read_gold
from bilex.lexicon.formats import write_book
from bilex.lexicon.formats.book import Book
from bilex.lexicon.lexicon import Entry
from bilex.seeds.dictionaries import read_pairs
from bilex.seeds.seed import check_seed, find_seed
from bilex.vectors.embeddings import Embeddings

TEI = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE TEI SYSTEM "freedict-P5.dtd">
<TEI xmlns="http://www.tei-c.org/ns/1.0" xml:lang="en"><teiHeader><orth>no</orth></teiHeader><text><body>
<entry><form><orth>house</orth><form type="infl"><orth>houses</orth></form></form>
<sense><cit type="trans" xml:lang="fi"><quote>talo</quote></cit><cit type="trans" xml:lang="sv"><quote>hus</quote></cit>
<cit type="example"><quote>my house</quote><cit type="trans" xml:lang="fi"><quote>taloni</quote></cit></cit></sense>
</entry>
<entry><form><orth>ice cream</orth></form><cit type="trans" xml:lang="fi"><quote>jäätelö</quote></cit></entry>
<entry><form><orth>a</orth><orth>an</orth></form>
<cit type="translation" xml:lang="fi"><quote>&lt;eräs&gt;</quote></cit></entry>
</body></text></TEI>
"""
ENGLISH = {
    "word": "house",
    "lang_code": "en",
    "lang": "English",
    "senses": [{"glosses": ["a building"], "translations": [{"lang": "Finnish", "lang_code": "fi", "word": "talo"}]}],
    "translations": [
        {"lang": "Finnish", "code": "fi", "word": "koti", "sense": "home"},
        {"lang": "Finnish", "code": "fi", "word": "oma talo"},
        {"lang": "Finnish", "code": "fi", "note": "no word here"},
        {"lang": "Swedish", "code": "sv", "word": "hus"},
    ],
}
FINNISH = {
    "word": "kissa",
    "lang_code": "fi",
    "lang": "Finnish",
    "senses": [{"glosses": ["cat."]}, {"glosses": ["a cat"]}],
}


def write(folder: Path, name: str, content: str) -> str:
    (folder / name).write_bytes(content.encode("utf-8"))
    return str(folder / name)


def jsonl(*entries: object) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def test_an_extract_of_wiktionary_in_either_direction(tmp_path: Path) -> None:
    path = write(tmp_path, "kaikki.jsonl", jsonl(ENGLISH, {"title": "x", "redirect": "y"}, FINNISH))
    with pytest.warns(BilexWarning, match="2 pairs"):
        assert list(read_pairs(path, ("en", "wiki.fi"))) == [("house", "koti"), ("house", "talo"), ("cat", "kissa")]
    with pytest.warns(BilexWarning):
        assert list(read_pairs(f"{path}:Finnish:English")) == [("koti", "house"), ("talo", "house"), ("kissa", "cat")]
    assert list(read_pairs(path, ("en", "sv"))) == [("house", "hus")]
    with pytest.raises(InputError, match=r"en-fi, en-sv, fi-en.*:en:fi"):
        read_pairs(path)
    with pytest.raises(InputError, match="en-fi"):
        read_pairs(f"{path}:en:de")


def test_freedict_reads_translations_and_nothing_else(tmp_path: Path) -> None:
    path = write(tmp_path, "eng-fin.tei", TEI)
    with pytest.warns(BilexWarning, match="1 pairs.*ice cream"):
        assert list(read_pairs(path, ("en", "fi"))) == [("house", "talo"), ("a", "<eräs>"), ("an", "<eräs>")]
    assert list(read_pairs(path, ("sv", "en"))) == [("hus", "house")]
    one = write(
        tmp_path, "one.tei", TEI.replace('xml:lang="sv"', 'xml:lang="fi"').replace('xml:lang="fi"', 'xml:lang="fin"')
    )
    with pytest.warns(BilexWarning):
        assert len(read_pairs(one, ("en", "vectors"))) == 4  # the file has only one language


def test_what_bilex_exports_is_read_back(tmp_path: Path) -> None:
    entries = [Entry(s, t, 0.5, 1, True, "matching", 0.5) for s, t in (("a", "x"), ('b"c', "=y"), ("d,e", "z"))]
    for form, name in (("tei", "a.tei"), ("csv", "a.csv"), ("tsv", "lexicon.tsv"), ("muse", "a.txt")):
        write_book(Book(entries, "en", "fi", "bilex"), form, f"{tmp_path}/{name}")
        assert list(read_pairs(tmp_path / name, ("en", "fi"))) == [entry[:2] for entry in entries]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_columns_by_name(tmp_path: Path, separator: str) -> None:
    rows = [["finnish", "n", "english"], ["talo", "1", "house"], ["", "2", "nothing"], [], ["oma talo", "3", "home"]]
    path = write(tmp_path, "a:b.csv", "".join(separator.join(row) + "\r\n" for row in rows))
    with pytest.warns(BilexWarning, match="2 pairs"):
        assert list(read_pairs(f"{path}:english:finnish")) == [("house", "talo")]
    with pytest.raises(InputError, match="source") as caught:
        read_pairs(path)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.csv", "source,target\na,b\na,b,c\n", 3),
        ("a.csv", 'source,target\na,"b\n', 2),
        ("a.csv", 'source,target\n"a"b,c\n', 2),
        ("a.csv", "source,target,source\na,b,c\n", 1),
        ("a.jsonl", jsonl(ENGLISH) + '{"word": "x", ', 2),
        ("a.jsonl", jsonl(ENGLISH) + "[]\n", 2),
        ("a.jsonl", jsonl({"word": ["x"]}), 1),
        ("a.jsonl", '{"x":' + "[" * 20_000, 1),
        ("a.tei", TEI[:-20], 11),
        ("a.tei", "<TEI>\n" + "<a>" * 300, 2),
        ("a.tei", f"<TEI><entry>\n<orth>{'x' * 20_000}", 2),
        ("a.tei", '<!DOCTYPE a [\n<!ENTITY a "b">]><TEI>&a;</TEI>', 2),
        ("a.tei", "<?xml version='1.0' encoding='no-such'?><TEI/>", 1),
    ],
)
def test_broken_files_are_refused_with_their_line(tmp_path: Path, name: str, content: str, line: int) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(InputError) as caught:
        read_pairs(path, ("en", "fi"))
    assert (caught.value.path, caught.value.line) == (path, line)


@pytest.mark.parametrize("content", ["source,target\n", jsonl({"word": "x"}), "<TEI/>"])
def test_files_without_pairs_are_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match="no pair"):
        read_pairs(write(tmp_path, "a.csv", content), ("en", "fi"))


MAKERS: dict[str, Callable[[int], str]] = {
    "csv": lambda n: "source,target\n" + "".join(f"word{i},mot{i}\n" for i in range(n)),
    "jsonl": lambda n: jsonl(
        *(
            {"word": f"w{i}", "lang_code": "en", "translations": [{"code": f"l{i % 400}", "word": "x"}] * 3}
            for i in range(n)
        ),
        ENGLISH | {"translations": [{"code": "fi", "word": "talo"}]},
    ),
    "tei": lambda n: (
        "<TEI>"
        + "".join(f"<entry><orth>w{i}</orth><cit type='trans'><quote>m{i}</quote></cit></entry>\n" for i in range(n))
        + "</TEI>"
    ),
}


@pytest.mark.parametrize("form", MAKERS)
def test_memory_is_at_most_four_times_the_file(tmp_path: Path, form: str) -> None:
    path = write(tmp_path, f"a.{form}", MAKERS[form](6_000))
    read_pairs(write(tmp_path, f"b.{form}", MAKERS[form](5)), ("en", "fi"))  # what is imported does not count
    tracemalloc.start()
    read_pairs(path, ("en", "fi"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * Path(path).stat().st_size + (1 << 20)


def test_seeds_and_gold_dictionaries_take_the_languages_of_the_vectors(tmp_path: Path) -> None:
    path = write(tmp_path, "kaikki.jsonl", jsonl(ENGLISH | {"translations": [{"code": "sv", "word": "hus"}]}))
    source, target = (
        Embeddings(words, np.eye(2, dtype=np.float32), name=name)
        for words, name in ((("house", "b"), "en"), (("hus", "talo"), "fi"))
    )
    seed = find_seed(path, source, target)
    assert (seed.name, seed.source.tolist(), seed.target.tolist()) == (path, [0], [1])
    assert find_seed(f"{path}:en:sv", source, target).target.tolist() == [0]
    assert list(read_gold(path, source, target)[0]) == [("house", "talo")]
    check_seed(f"{path}:en:sv")
    with pytest.raises(InputError):
        check_seed(f"{path}.none:en:sv")
