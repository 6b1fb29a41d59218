"""Open every export of a run by the programs they are for: ``python -m tools.formats RUN FOLDER``.

The lexicon is written in each format as it is, reviewed (a few decisions are made up), only where it is confident, and
grouped by lemma (RUN needs lemmas), and the vectors once; what a program reads has to be what the run holds. It prints
a table of how many source words were read. It needs all that ``.ci/run`` installs.
"""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import io
import shutil
import subprocess
import sys
import types
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bilex.cli import bilex
from bilex.errors import BilexWarning
from bilex.lexicon.reviews import Reviews
from bilex.runs.run import Run

VARIANTS = {
    "plain": (),
    "reviewed": ("--reviewed",),
    "confident": ("--min-confidence", "0.8"),
    "grouped": ("--group-by-lemma",),
}
CORRECTION = "correction"
Words = dict[str, set[str]]


def export(run: Path, path: Path, form: str, *options: str) -> None:
    """Write a run in a format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    bilex.main(["export", str(run), "--format", form, "-o", str(path), "-q", *options], standalone_mode=False)


def by_word(pairs: Iterable[tuple[str, str]]) -> Words:
    """Return the translations of each source word."""
    words: Words = defaultdict(set)
    for source, target in pairs:
        words[source].add(target)
    return dict(words)


def review(run: Path) -> None:
    """Accept the first pair of a run, reject the second and correct the third."""
    lines = (run / "lexicon.tsv").read_text("utf-8").splitlines()[1:4]
    accepted, rejected, corrected = ((cells[0], cells[1]) for cells in (line.split("\t") for line in lines))
    with Reviews(run) as reviews:
        reviews.decide(accepted, "accepted", version=0)
        reviews.decide(rejected, "rejected", version=0)
        reviews.decide(corrected, "corrected", CORRECTION, version=0)


def read_table(path: Path) -> Words:
    """Read a table with pandas."""
    pandas = importlib.import_module("pandas")
    options: dict[str, Any] = {"keep_default_na": False, "dtype": str}
    if path.suffix == ".jsonl":
        frame = pandas.read_json(path, lines=True, dtype=False)
    elif path.suffix == ".csv":
        frame = pandas.read_csv(path, **options)
    else:
        plain = path.suffix == ".muse"
        columns = {"sep": " ", "names": ["source", "target"]} if plain else {"sep": "\t"}
        frame = pandas.read_csv(path, quoting=3, **columns, **options)
    return by_word(zip(frame["source"], frame["target"], strict=True))


def read_glossary(path: Path, form: str, cut: Callable[[str], Iterable[str]]) -> Words:
    """Read a dictionary with pyglossary."""
    glossary = importlib.import_module("pyglossary.glossary_v2").Glossary
    glossary.init()
    opened = glossary()
    opened.directRead(str(path), formatName=form)
    return {entry.l_word[0]: set(cut(entry.defi)) for entry in opened}


def read_tei(path: Path) -> Words:
    """Read TEI with pyglossary, which shows each translation in an element of HTML."""
    html = importlib.import_module("lxml.html")
    return read_glossary(path, "FreeDict", lambda text: filter(str.strip, html.fromstring(text).itertext()))


def read_stardict(path: Path) -> Words:
    """Read StarDict with pyglossary, and look the first and the last word up with sdcv."""
    words = read_glossary(Path(f"{path}.ifo"), "Stardict", lambda text: text.split("\n"))
    for word in (min(words), max(words)):
        command = ["sdcv", "--non-interactive", "--exact-search", "--utf8-output", "--data-dir", str(path.parent), word]
        found = subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8")
        assert all(target in found for target in words[word]), word
    return words


def read_tbx(path: Path) -> Words:
    """Read TBX with termate."""
    if "termate" not in sys.modules:
        found = importlib.util.find_spec("termate")
        assert found, "termate is missing"
        package = types.ModuleType("termate")  # its own imports packages that it does not ask for
        package.__path__ = list(found.submodule_search_locations or [])
        sys.modules["termate"] = package
    concepts = importlib.import_module("termate.termate").TbxDocument().open(str(path)).concepts_list
    terms = [[{term[0]["text"] for term in terms} for terms in concept["lang"].values()] for concept in concepts]
    return {source.pop(): targets for source, targets in terms}


def read_dix(path: Path) -> Words:
    """Compile a dictionary with lt-comp, and list its pairs with lt-expand."""
    subprocess.run(["lt-comp", "lr", str(path), f"{path}.bin"], capture_output=True, check=True)
    listed = subprocess.run(["lt-expand", str(path)], capture_output=True, check=True).stdout.decode("utf-8")
    return by_word((source, target) for source, target in (line.split(":", 1) for line in listed.splitlines()))


def read_anki(path: Path) -> Words:
    """Import a deck with Anki's library."""
    collections, html = importlib.import_module("anki.collection"), importlib.import_module("html")
    place = path.with_suffix(".anki2")
    place.unlink(missing_ok=True)
    collection = collections.Collection(str(place))
    try:
        options = collections.ImportAnkiPackageOptions()
        collection.import_anki_package(collections.ImportAnkiPackageRequest(package_path=str(path), options=options))
        notes = [collection.get_note(each).values() for each in collection.find_notes("")]
    finally:
        collection.close()
    return {html.unescape(note[0]): set(html.unescape(note[1]).split(", ")) for note in notes}


def read_lex(path: Path) -> Words:
    """Read Moses' tables with bicleaner, and align two words with eflomal, which only the priors can tell apart."""
    tables = importlib.import_module("bicleaner.prob_dict")
    with gzip.open(f"{path}.f2e.gz", "wb") as packed:
        packed.write(Path(f"{path}.f2e").read_bytes())
    words: dict[str, dict[str, float]] = tables.ProbabilisticDictionary(f"{path}.f2e.gz").d
    pairs = [(right, each, word) for each in words for word, right in words[each].items() if word != "NULL"]
    _, first, one = max(pairs)
    _, second, two = max(pair for pair in pairs if pair[1] != first and pair[2] != one)
    texts = (io.StringIO(f"{a} {b}\n{b} {a}\n" * 20) for a, b in ((first, second), (two, one)))
    names = {"links_filename_fwd": f"{path}.forward", "links_filename_rev": f"{path}.reverse"}
    with Path(f"{path}.priors").open(encoding="utf-8") as priors:
        importlib.import_module("eflomal").Aligner().align(*texts, **names, priors_input=priors)
    assert set(Path(f"{path}.forward").read_text().split()) == {"0-1", "1-0"}
    return {word: {target for target in targets if target != "NULL"} for word, targets in words.items()}


def read_vectors(run: Path, folder: Path) -> Iterable[tuple[str, str, int]]:
    """Read the source's vectors with gensim and safetensors: formats, programs and numbers of words."""
    gensim, tensors = importlib.import_module("gensim.models"), importlib.import_module("safetensors.numpy")
    held = Run.load(run)
    for form, program in (("vec", "gensim"), ("bin", "gensim"), ("safetensors", "safetensors")):
        path = folder / f"source.{form}"
        export(run, path, form, "--side", "source")
        if program == "gensim":
            read = gensim.KeyedVectors.load_word2vec_format(str(path), binary=form == "bin")
            assert read.index_to_key == list(held.source.words)
            vectors = read.vectors
        else:
            vectors = tensors.load_file(path)["vectors"]
        np.testing.assert_allclose(vectors, held.space.source, atol=1e-5)
        yield form, program, len(vectors)


READERS: dict[str, tuple[str, Callable[[Path], Words]]] = {
    **dict.fromkeys(("tsv", "csv", "jsonl", "muse"), ("pandas", read_table)),
    "tei": ("pyglossary", read_tei),
    "tbx": ("termate", read_tbx),
    "dix": ("lt-comp, lt-expand", read_dix),
    "stardict": ("pyglossary, sdcv", read_stardict),
    "anki": ("anki", read_anki),
    "lex": ("bicleaner, eflomal", read_lex),
}


def main(run: Path, folder: Path) -> None:
    """Write the exports of a copy of the run, read them, and print the table."""
    copy = folder / "run"
    shutil.copytree(run, copy)
    review(copy)
    print(f"| format | opened by | {' | '.join(VARIANTS)} |\n|---|---|{'---:|' * len(VARIANTS)}")
    expected: dict[str, Words] = {}
    for form, (program, read) in READERS.items():
        counts = []
        for variant, options in VARIANTS.items():
            path = folder / variant / form / f"lexicon.{form}"
            export(copy, path, form, *options)
            found = read(path)
            if form == "tsv":
                expected[variant] = found
            elif form != "lex":  # which has the candidates of every word
                assert found == expected[variant], (form, variant)
            counts.append(f"{len(found):,}")
        print(f"| `{form}` | {program} | {' | '.join(counts)} |", flush=True)
    for form, program, count in read_vectors(copy, folder):
        print(f"| `{form}` | {program} | {count:,} |{' |' * (len(VARIANTS) - 1)}", flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BilexWarning)
        main(Path(sys.argv[1]), Path(sys.argv[2]))
