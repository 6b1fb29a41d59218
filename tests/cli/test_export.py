"""``bilex export`` as a user runs it; what it writes is read back by our readers and by gensim."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import bilex as package
from bilex.cli.export import names_of_sides
from bilex.lexicon.lexicon import Lexicon
from bilex.lexicon.reviews import Reviews
from bilex.runs.run import Run
from bilex.seeds.dictionaries import read_pairs
from tests.cli.helpers import COMMAND, Bilex, assert_error_line, contents, spawn
from tests.cli.test_process import watch
from tests.languages import make_languages

ENTRY = "{http://www.tei-c.org/ns/1.0}entry"
SPACED = ("new york", "tab\tbed", "=1+1", "\u202eevil", "</script><img src=x onerror=alert(1)>", "nul\x00nul")


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose first words are hostile, and whose languages have names that are paths. Do not change it."""
    languages = make_languages(100)
    source, target = (
        package.Embeddings((*SPACED, *side.words[len(SPACED) :]), side.vectors, name=name)
        for side, name in ((languages.source, "../../up"), (languages.target, "</title>"))
    )
    place = tmp_path_factory.mktemp("hostile") / "run"
    package.induce(source, target, seed=languages.gold[20:60]).save(place)
    return place


def test_the_lexicon_goes_to_stdout_or_into_a_file(bilex: Bilex, work: Path) -> None:
    pairs = [(entry.source, entry.target) for entry in Run.load("run").lexicon]
    assert bilex("export", "run") == (0, (work / "run" / "lexicon.tsv").read_text("utf-8"), "")
    for form in ("tsv", "csv", "jsonl", "muse", "tei", "tbx", "dix"):
        printed = bilex("export", "run", "--format", form)
        found = bilex("export", "run", "--format", form, "-o", f"out.{form}")
        assert (found.code, found.out) == (0, f"out.{form}\n")
        assert found.err.startswith(f"{len(pairs)} ")
        assert (work / f"out.{form}").read_bytes().decode("utf-8") == printed.out
    assert bilex("export", "run", "-o", "again.tsv", "--quiet") == (0, "", "")
    assert bilex("export", "run", "--format", "stardict", "-o", "d.ifo").out == "d.ifo\nd.idx\nd.dict\n"
    assert bilex("export", "run", "--format", "lex", "-o", "l").out == "l.f2e\nl.e2f\nl.priors\n"
    assert [entry[:2] for entry in Lexicon.load("out.tsv")] == pairs
    assert list(read_pairs("out.muse")) == pairs
    lines = (work / "out.jsonl").read_text("utf-8").splitlines()
    assert [(each["source"], each["target"]) for each in map(json.loads, lines)] == pairs
    quotes = ElementTree.parse("out.tei").getroot().iter("{http://www.tei-c.org/ns/1.0}quote")
    assert sorted(quote.text or "" for quote in quotes) == sorted(target for _, target in pairs)


def test_only_confident_entries_are_written(bilex: Bilex, work: Path) -> None:
    entries = list(Run.load("run").lexicon)
    limit = sorted(entry.confidence or 0.0 for entry in entries)[len(entries) // 2]
    confident = [entry for entry in entries if (entry.confidence or 0.0) >= limit]
    assert 0 < len(confident) < len(entries)
    assert bilex("export", "run", "--min-confidence", limit, "-o", "out.tsv").code == 0
    assert list(Lexicon.load("out.tsv")) == confident
    lines = bilex("export", "run", "--min-confidence", limit, "--format", "jsonl").out.splitlines()
    assert [json.loads(line)["confidence"] for line in lines] == [entry.confidence for entry in confident]
    page = ElementTree.fromstring(bilex("export", "run", "--min-confidence", limit, "--format", "tei").out.encode())
    degrees = [float(cit.attrib["cert"]) for cit in page.iter("{http://www.tei-c.org/ns/1.0}cit")]
    assert sorted(degrees) == sorted(entry.confidence or 0.0 for entry in confident)
    assert_error_line(
        bilex("export", "run", "--format", "vec", "-o", "out.vec", "--min-confidence", 0.5), "--min-confidence", code=2
    )
    assert_error_line(bilex("export", "run", "--min-confidence", 1.5), "1.5", code=2)


def test_sets_are_written_in_every_format(bilex: Bilex, work: Path) -> None:
    run = Run.load("run")
    words = {row: word for word, row in run.source.index.items()}
    assert run.candidates is not None
    likely = run.candidates.above(0.001)
    expected = {(words[s], run.target.words[t]) for s, t in zip(likely.source, likely.target, strict=True)}
    assert bilex("export", "run", "--min-probability", 0.001, "-o", "out.tsv").code == 0
    entries = list(Lexicon.load("out.tsv"))
    assert {entry[:2] for entry in entries} == expected and len(entries) == len(expected)
    listed = {entry[:2]: entry for entry in run.lexicon}
    assert all(entry == listed.get(entry[:2], entry._replace(origin="candidate")) for entry in entries)
    rows = [run.source.index[entry.source] for entry in entries]
    assert rows == sorted(rows)
    for form in ("csv", "jsonl", "muse", "tei", "tbx", "dix"):
        few, many = (bilex("export", "run", "--format", form, "--min-probability", each) for each in (0.9999, 0.001))
        assert few.code == many.code == 0 and len(many.out) > len(few.out)
    assert bilex("export", "run", "--format", "lex", "--min-probability", 0.001, "-o", "l").code == 0
    pairs = {tuple(line.split()[1::-1]) for line in (work / "l.f2e").read_text("utf-8").splitlines()}
    assert {pair for pair in pairs if pair[1] != "NULL"} == expected
    for other in (("--min-confidence", 0.5), ("--format", "vec", "-o", "x.vec")):
        assert_error_line(bilex("export", "run", "--min-probability", 0.1, *other), "--min-probability", code=2)


@pytest.mark.parametrize("ending", ["vec", "bin", "safetensors", "vec.gz"])
def test_our_own_readers_read_the_vectors_back(bilex: Bilex, work: Path, ending: str) -> None:
    done = bilex("export", "run", "--format", ending.removesuffix(".gz"), "-o", f"mapped.{ending}")
    assert done.code == 0 and "300" in done.err and "293" in done.err
    assert done.out == f"mapped.src.{ending}\nmapped.trg.{ending}\n"
    run = Run.load("run")
    for name, words, vectors in (
        ("src", run.source.words, run.space.source),
        ("trg", run.target.words, run.space.target),
    ):
        back = package.load(f"mapped.{name}.{ending}")
        assert back.words == words
        assert np.array_equal(back.vectors, vectors)


def test_gensim_reads_the_vectors_back(bilex: Bilex, work: Path) -> None:
    models = pytest.importorskip("gensim.models")
    run = Run.load("run")
    for form in ("vec", "bin"):
        bilex("export", "run", "--format", form, "-o", f"mapped.{form}")
        source, target = (
            models.KeyedVectors.load_word2vec_format(f"mapped.{name}.{form}", binary=form == "bin")
            for name in ("src", "trg")
        )
        assert tuple(source.index_to_key) == run.source.words
        assert np.array_equal(source.vectors, run.space.source)
    word = run.lexicon.source[0]  # a source word's neighbours among the target words
    assert target.similar_by_vector(source[word], topn=1)[0][0] == run.translate(word, 1, retrieval="nn")[0].word


def test_one_side_is_one_file_of_that_name(bilex: Bilex, work: Path) -> None:
    done = bilex("export", "run", "--format", "bin", "--side", "target", "-o", "t.bin")
    assert done.out == "t.bin\n"
    assert package.load("t.bin").words == Run.load("run").target.words
    assert not list(work.glob("t.*.bin"))


def test_a_reviewed_lexicon_has_the_decisions_applied(bilex: Bilex, work: Path) -> None:
    assert_error_line(bilex("export", "run", "--format", "tei", "--reviewed"), "bilex explore")
    first, second, third, *_ = [(entry.source, entry.target) for entry in Run.load(work / "run").lexicon]
    with Reviews(work / "run") as reviews:
        reviews.decide(first, "rejected", version=0)
        reviews.decide(second, "corrected", "a better <word>", version=0)
        reviews.decide(third, "accepted", version=0)
    tei = bilex("export", "run", "--format", "tei", "--reviewed").out
    found = {
        entry.findtext(".//{*}orth"): entry.findtext(".//{*}quote") for entry in ElementTree.fromstring(tei).iter(ENTRY)
    }
    assert first[0] not in found
    assert found[second[0]] == "a better <word>"
    assert found[third[0]] == third[1]
    assert list(found)[:2] == [second[0], third[0]]
    outcome = bilex("export", "run", "--format", "muse", "--reviewed")
    assert outcome.err.count("warning") == 1
    muse = outcome.out
    assert f"{third[0]} {third[1]}\n" in muse
    assert not any(line.startswith(f"{first[0]} ") for line in muse.splitlines())
    with (work / "out.csv").open("wb") as file:
        file.write(bilex("export", "run", "--format", "csv", "--reviewed").out.encode())
    bilex("export", "run", "--reviewed", "-o", "out.tsv")
    entries = {entry.source: entry for entry in Lexicon.load("out.tsv")}
    assert first[0] not in entries
    assert entries[third[0]][:2] == third and entries[third[0]].rank > 0
    for word, target in ((second[0], "a better <word>"), third):
        assert (entries[word].target, entries[word].origin, entries[word].confidence) == (target, "review", 1.0)
    with (work / "out.csv").open(encoding="utf-8", newline="") as file:
        assert [row["target"] for row in csv.DictReader(file)] == [entry.target for entry in entries.values()]
    bilex("export", "run", "--reviewed", "--min-confidence", 1, "-o", "sure.tsv")
    assert {entry.source for entry in Lexicon.load("sure.tsv")} >= {second[0], third[0]}
    bilex("export", "run", "--reviewed", "--format", "lex", "-o", "out")
    table = [line.split(" ") for line in (work / "out.f2e").read_text("utf-8").splitlines()]
    given = {
        word: [(target, float(p)) for target, source, p in table if source == word] for word in (first[0], third[0])
    }
    assert given[third[0]] == [(third[1], 1.0), ("NULL", 0.0)]
    assert first[1] not in dict(given[first[0]])
    for form, name in (
        ("jsonl", "a.jsonl"),
        ("tbx", "a.tbx"),
        ("dix", "a.dix"),
        ("stardict", "a.dict"),
        ("anki", "a.zip"),
    ):
        bilex("export", "run", "--reviewed", "--min-confidence", 1, "--format", form, "-o", name.replace("dict", "ifo"))
        written = (work / name).read_bytes()
        content = zipfile.ZipFile(work / name).read("collection.anki2") if form == "anki" else written
        assert b"better" in content and third[1].encode() in content, form
    assert_error_line(bilex("export", "run", "--reviewed", "--format", "vec", "-o", "m.vec"), "--reviewed", code=2)


def test_what_a_format_cannot_hold_is_left_out_and_counted(bilex: Bilex, hostile: Path, tmp_path: Path) -> None:
    run = Run.load(hostile)
    done = bilex("export", hostile, "--format", "vec", "-o", tmp_path / "m.vec")
    assert done.code == 0
    assert done.err.count("warning") == 2
    assert "m.source.vec: 3 words" in done.err and "'new york'" in done.err
    kept = tuple(word for word in run.source.words if " " not in word and "\t" not in word)
    assert package.load(tmp_path / "m.source.vec").words == kept
    assert "warning" not in bilex("export", hostile, "--format", "safetensors", "-o", tmp_path / "m.safetensors").err
    assert package.load(tmp_path / "m.source.safetensors").words == run.source.words
    muse = bilex("export", hostile, "--format", "muse")
    spaced = sum(" " in entry.source or " " in entry.target for entry in run.lexicon)
    assert f"bilex: warning: {spaced} pairs" in muse.err
    assert len(muse.out.splitlines()) == len(run.lexicon) - spaced
    tei = bilex("export", hostile, "--format", "tei")
    assert "XML" in tei.err
    assert "=1+1" in [each.text for each in ElementTree.fromstring(tei.out).iter("{http://www.tei-c.org/ns/1.0}orth")]
    assert "<img" not in tei.out


def test_names_of_languages_never_become_paths(bilex: Bilex, hostile: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    bilex("export", hostile, "--format", "bin", "-o", folder / "m.bin")
    assert sorted(contents(tmp_path)) == ["a", "a/b", "a/b/m.source.bin", "a/b/m.target.bin"]
    assert names_of_sides("m.vec.gz", "cc.en", "fr") == {"source": "m.en.vec.gz", "target": "m.fr.vec.gz"}
    assert names_of_sides("m.vec", "en", "EN") == {"source": "m.source.vec", "target": "m.target.vec"}


@pytest.mark.parametrize(("form", "name"), [("stardict", "a.dict"), ("lex", "a.e2f")])
def test_what_the_run_was_made_from_stays_also_under_the_name_of_a_second_file(
    form: str, name: str, bilex: Bilex, work: Path
) -> None:
    shutil.copy("src.vec", name)
    assert_error_line(bilex("export", "run", "--format", form, "-o", "a"), name)
    assert (work / name).read_bytes() == (work / "src.vec").read_bytes()


def test_wrong_usage_is_refused(bilex: Bilex, work: Path) -> None:
    before = contents(work)
    assert_error_line(bilex("export", "run", "--format", "vec"), "-o", code=2)
    assert_error_line(bilex("export", "run", "--format", "bin", "-o", "m.vec"), "m.vec", ".bin", code=2)
    assert_error_line(bilex("export", "run", "--format", "vec", "-o", ".vec"), ".vec, .txt", code=2)
    assert_error_line(bilex("export", "run", "--side", "both"), "--side", code=2)
    assert_error_line(bilex("export", "run", "--format", "doc"), "'doc'", code=2)
    for form in ("lex", "anki", "stardict"):
        assert_error_line(bilex("export", "run", "--format", form), "-o", code=2)
    assert_error_line(bilex("export", "run", "-o", "run/mine.tsv"), "run/mine.tsv", code=2)
    assert_error_line(bilex("export", "none"), "none")
    assert_error_line(bilex("export", "run", "-o", "no/such/folder.tsv"), "no/such/folder.tsv")
    assert contents(work) == before


def test_a_damaged_run_is_refused(bilex: Bilex, work: Path) -> None:
    with (work / "run" / "lexicon.tsv").open("a") as file:
        file.write("x\ty\t1\t1\t1\tseed\n")
    assert_error_line(bilex("export", "run", "-o", "out.tsv"), "lexicon.tsv")
    assert not (work / "out.tsv").exists()


def test_output_is_utf8_in_any_locale(hostile: Path) -> None:
    done = spawn("export", hostile, LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="latin-1")
    assert done.code == 0
    assert "\u202eevil" in done.out


def test_progress_is_visible_on_a_terminal(work: Path) -> None:
    code, out, screen = watch(["export", "run", "--format", "vec", "-o", "m.vec"], work)
    assert (code, out) == (0, "m.src.vec\nm.trg.vec\n")
    assert "writing" in screen or "reading" in screen


def test_help_is_quick() -> None:
    heavy = "{'numba', 'rich', 'safetensors'} & set(sys.modules)"
    calls = "; ".join(f"run(['{command}', '--help'])" for command in ("export", "doctor"))
    code = f"import sys; from bilex.cli import run; {calls}; sys.exit(str({heavy} or ''))"
    done = subprocess.run([COMMAND[0], "-c", code], capture_output=True, check=False, text=True)
    assert done.stderr.strip() == ""
    assert done.stdout.count("--quiet") == 2


def test_the_vectors_of_a_run_are_not_written_over(bilex: Bilex, work: Path) -> None:
    before = contents(work)
    (work / "link.vec").symlink_to("src.vec")
    for command in (
        ["report", "run", "-o", "src.vec"],
        ["export", "run", "-o", work / "trg.vec"],
        ["export", "run", "--format", "vec", "--side", "source", "-o", "link.vec"],
    ):
        assert_error_line(bilex(*command))
    (work / "link.vec").unlink()
    assert contents(work) == before


def test_other_files_that_are_read_are_not_written_over(bilex: Bilex, work: Path) -> None:
    """fastText's names, wiki.en.vec, are those that two files of one name get; other vectors, and texts."""
    for name, old in (("wiki.en.vec", "src.vec"), ("wiki.fr.vec", "trg.vec"), ("more.vec", "src.vec")):
        shutil.copy(work / old, work / name)
    (work / "text.txt").write_text("one two three four\n" * 500)
    (work / "link.txt").symlink_to("text.txt")
    made = ("induce", "wiki.en.vec", "wiki.fr.vec", "--seed", "gold.txt", "--method", "ruder2018", "--max-rank", "200")
    assert bilex(*made, "-q", "-o", "wiki").code == 0
    before = contents(work)
    for command in (
        ["export", "wiki", "--format", "vec", "-o", "wiki.vec"],
        ["export", "wiki", "--format", "vec", "--vectors", "more.vec", "--side", "source", "-o", "more.vec"],
        ["export", "wiki", "--format", "muse", "-o", "gold.txt"],
        ["vectors", "text.txt", "-o", "link.txt"],
    ):
        assert_error_line(bilex(*command), "-o")
    assert contents(work) == before
    assert bilex("export", "wiki", "--format", "vec", "-o", "mapped.vec").code == 0
