"""Runs: what was saved comes back, whole or not at all, and damage is found."""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

import bilex
from bilex.errors import BilexError, BilexWarning, InputError
from bilex.experiments.grid import run_grid
from bilex.files.ownership import file_sha256
from bilex.files.run_directory import run_directory
from bilex.files.tensors import safetensors_header
from bilex.report.page import write_report
from bilex.search.local import LocalEngine
from tests.languages import make_languages

ODD_WORDS = ['"quoted"', "no\u00a0break", "👩‍👧", "שלום", "مرحبا", "new york", "e\u0301", "\u2028", "\\t", "'", "#"]
FILES = {"lexicon.tsv", "model.safetensors", "candidates.safetensors", "run.json"}


@functools.cache
def make_small_run() -> bilex.Run:
    languages = make_languages(120, 12, 30)
    names = dict(zip(languages.source.words[5:], ODD_WORDS, strict=False))
    words = tuple(names.get(word, word) for word in languages.source.words)
    source = bilex.Embeddings(words, languages.source.vectors, name="eń")
    return bilex.induce(source, languages.target, languages.gold[40:80], "ruder2018", max_rank=100, complete=True)


@pytest.fixture(scope="module")
def run() -> bilex.Run:
    return make_small_run()


@pytest.fixture
def saved(run: bilex.Run, tmp_path: Path) -> Path:
    run.save(tmp_path / "run")
    return tmp_path / "run"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_saved_run_translates_and_scores_exactly_as_before(run: bilex.Run, saved: Path) -> None:
    back = bilex.Run.load(saved)
    for retrieval in ("nn", "csls"):
        for reverse in (False, True):
            words = run.target.words if reverse else run.source.words
            before = run.translate_many(words, 7, retrieval=retrieval, reverse=reverse)
            assert back.translate_many(words, 7, retrieval=retrieval, reverse=reverse) == before
    gold = [(entry.source, entry.target) for entry in run.lexicon]
    assert back.evaluate(gold).figures() == run.evaluate(gold).figures()
    assert (back.source.name, back.target.name, repr(back)) == ("eń", "trg", repr(run))
    assert {name: back.info[name] for name in run.info} == run.info


def test_odd_words_survive_both_files(run: bilex.Run, saved: Path) -> None:
    back = bilex.Run.load(saved)
    assert back.source.words == run.source.words
    assert set(ODD_WORDS) <= set(back.source.words)
    assert back.lexicon.source == run.lexicon.source
    assert back.lexicon.target == run.lexicon.target


def test_saving_again_gives_the_same_bytes(run: bilex.Run, saved: Path, tmp_path: Path) -> None:
    bilex.Run.load(saved).save(tmp_path / "again")
    first, again = contents(saved), contents(tmp_path / "again")
    assert set(first) == FILES
    assert first["model.safetensors"] == again["model.safetensors"]
    assert first["lexicon.tsv"] == again["lexicon.tsv"]


def test_the_manifest_holds_the_checksums(saved: Path) -> None:
    manifest = json.loads((saved / "run.json").read_text("utf-8"))
    assert manifest["format"] == 1
    assert manifest["files"] == {name: file_sha256(saved / name) for name in FILES - {"run.json"}}


def test_a_run_can_be_moved(saved: Path, tmp_path: Path) -> None:
    saved.rename(tmp_path / "elsewhere")
    assert bilex.Run.load(tmp_path / "elsewhere").translate("s0")


def test_translate_gives_k_answers_or_as_many_as_there_are(run: bilex.Run) -> None:
    assert len(run.translate("s0", k=3)) == 3
    everything = run.translate("s0", k=10_000)
    assert len(everything) == len(run.target)
    scores = [answer.score for answer in everything]
    assert scores == sorted(scores, reverse=True)
    with pytest.warns(BilexWarning, match=r"did you mean s0\?"):
        assert run.translate("S0") == []
    with pytest.warns(BilexWarning, match="nonesuch, nope"):
        found = run.translate_many((word for word in ("nonesuch", "s0", "nope", "s0")), 2)
    assert [len(answers) for answers in found] == [0, 2, 0, 2]
    for wrong in (["s0"], 3):
        with pytest.raises(BilexError, match="translate_many"):
            run.translate(wrong)  # type: ignore[arg-type]
    with pytest.raises(BilexError, match="list of words"):
        run.translate_many("s0")
    for count in (0, -1, 2.5):
        with pytest.raises(BilexError):
            run.translate(run.source.words[0], k=count)  # type: ignore[arg-type]
    assert run.translate_many([]) == []


def test_nearest_neighbour_scores_are_cosines(run: bilex.Run) -> None:
    best = run.translate("s0", 1, retrieval="nn")[0]
    mapped = run.theta.omega @ run.source["s0"].astype(np.float64)
    vector = run.target[best.word].astype(np.float64)
    assert best.score == pytest.approx(mapped @ vector / np.linalg.norm(mapped) / np.linalg.norm(vector), abs=1e-6)


def test_a_gold_file_without_a_known_word_is_named(run: bilex.Run, tmp_path: Path) -> None:
    (tmp_path / "gold.txt").write_text("x y\n")
    with pytest.raises(BilexError, match=r"gold\.txt: none of its 1 words"):
        run.evaluate(tmp_path / "gold.txt")


# Writing, whole or not at all


def test_an_existing_run_is_replaced(run: bilex.Run, saved: Path) -> None:
    write_report(run, saved / "report.html")
    with pytest.raises(BilexError, match=r"exists already.*force=True"):
        run.save(saved)
    run.save(saved, force=True)
    assert set(contents(saved)) == FILES
    assert [path.name for path in saved.parent.iterdir()] == ["run"]


def test_an_empty_folder_and_a_link_to_a_run_are_filled(run: bilex.Run, saved: Path) -> None:
    (saved.parent / "empty").mkdir()
    run.save(saved.parent / "empty")
    assert set(contents(saved.parent / "empty")) == FILES
    write_report(run, saved / "report.html")
    (saved.parent / "link").symlink_to("run")
    run.save(saved.parent / "link", force=True)
    assert (saved.parent / "link").is_symlink()
    assert set(contents(saved)) == FILES
    assert {path.name for path in saved.parent.iterdir()} == {"run", "link", "empty"}


def test_a_failure_leaves_the_old_run_and_nothing_else(run: bilex.Run, saved: Path) -> None:
    before = contents(saved.parent)
    for error in (RuntimeError("boom"), KeyboardInterrupt(), BilexError("no")):
        with pytest.raises(type(error)), run_directory(saved, force=True) as folder:
            run.write(folder)
            raise error
        assert contents(saved.parent) == before
        assert [path.name for path in saved.parent.iterdir()] == ["run"]


def test_a_move_that_fails_brings_the_old_run_back(
    run: bilex.Run, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(saved.parent)
    rename = Path.rename

    def fail(path: Path, place: Path) -> Path:
        if path.suffix == ".part":
            raise OSError(28, "No space left on device")
        return rename(path, place)

    monkeypatch.setattr("bilex.files.folders.exchange", lambda *_: False)
    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(BilexError, match=r"run: cannot be written \(No space left on device\); check the disk"):
        run.save(saved, force=True)
    assert contents(saved.parent) == before
    assert [path.name for path in saved.parent.iterdir()] == ["run"]


def place_file(folder: Path) -> Path:
    (folder / "file").write_text("mine")
    return folder / "file"


def place_other_folder(folder: Path) -> Path:
    (folder / "project").mkdir()
    (folder / "project" / "thesis.tex").write_text("years of work")
    return folder / "project"


def place_foreign_file_in_a_run(folder: Path) -> Path:
    (folder / "other").mkdir()
    (folder / "other" / "run.json").write_text("{}")
    (folder / "other" / "notes.txt").write_text("mine")
    return folder / "other"


def place_somebodys_lexicon(folder: Path) -> Path:
    (folder / "theirs").mkdir()
    (folder / "theirs" / "run.json").write_text("{}\n")
    (folder / "theirs" / "lexicon.tsv").write_text("mine")
    return folder / "theirs"


def place_somebodys_checkpoint(folder: Path) -> Path:
    (folder / "theirs").mkdir()
    save_file({"weights": np.zeros(3)}, folder / "theirs" / "checkpoint.safetensors")
    return folder / "theirs"


def place_changed(name: str) -> Callable[[Path], Path]:
    def place(folder: Path) -> Path:
        make_small_run().save(folder / "run")
        with (folder / "run" / name).open("a") as file:
            file.write("a note of mine")
        return folder / "run"

    return place


def place_inside_a_run(folder: Path) -> Path:
    make_small_run().save(folder / "run")
    return folder / "run" / "inside"


def place_current_folder(folder: Path) -> Path:
    return Path()


def place_no_parent(folder: Path) -> Path:
    return folder / "a" / "b"


def place_under_a_file(folder: Path) -> Path:
    return place_file(folder) / "run"


def place_dangling_link(folder: Path) -> Path:
    (folder / "dangling").symlink_to("nowhere")
    return folder / "dangling"


@pytest.mark.parametrize(
    "place",
    [
        place_file,
        place_other_folder,
        place_foreign_file_in_a_run,
        place_somebodys_lexicon,
        place_somebodys_checkpoint,
        *map(place_changed, ("lexicon.tsv", "model.safetensors", "run.json", "report.html", "cycles.tsv")),
        place_inside_a_run,
        place_current_folder,
        place_no_parent,
        place_under_a_file,
        place_dangling_link,
    ],
)
def test_what_is_not_ours_is_never_replaced(
    run: bilex.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Callable[[Path], Path]
) -> None:
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    path = place(tmp_path)
    before, entries = contents(tmp_path), sorted(tmp_path.rglob("*"))
    with pytest.raises(BilexError, match="choose another place with -o"), run_directory(path):
        pytest.fail("the work was begun all the same")
    assert contents(tmp_path) == before
    assert sorted(tmp_path.rglob("*")) == entries


def test_what_appears_in_the_place_during_the_run_is_kept(run: bilex.Run, tmp_path: Path) -> None:
    with pytest.raises(BilexError, match="not a run"), run_directory(tmp_path / "new") as folder:
        run.write(folder)
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "thesis.tex").write_text("years of work")
    assert contents(tmp_path) == {"new/thesis.tex": b"years of work"}


def test_a_run_that_appears_in_the_place_is_replaced_only_with_force(run: bilex.Run, tmp_path: Path) -> None:
    """Another may be moved there, or be written where the system has no locks."""
    make_small_run().save(tmp_path / "other")
    other = contents(tmp_path / "other")
    with pytest.raises(BilexError, match="meanwhile"), run_directory(tmp_path / "new") as folder:
        run.write(folder)
        (tmp_path / "other").rename(tmp_path / "new")
    assert contents(tmp_path) == {f"new/{name}": content for name, content in other.items()}
    with run_directory(tmp_path / "new", force=True):
        pass
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("name", ["lexicon.tsv", "run.json", "review.sqlite", "checkpoint.safetensors", "new.tsv"])
def test_nothing_else_is_written_into_a_run(run: bilex.Run, saved: Path, name: str) -> None:
    """Not by the report, an export or a sweep, and not through a link."""
    (saved / "review.sqlite").write_bytes(b"a person's work")
    before = contents(saved)
    (saved.parent / "link").symlink_to(saved / name)
    for path in (saved / name, saved.parent / "link"):
        with pytest.raises(BilexError, match="only its own files"):
            write_report(run, path)
        with pytest.raises(BilexError, match="only its own files"):
            run.lexicon.save(path)
    with pytest.raises(BilexError, match="only its own files"):
        run_grid([], lambda _: {}, saved / name)
    assert contents(saved) == before


# Damage


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize("damage", ["missing", "truncated", "changed", "empty", "folder"])
def test_a_damaged_file_is_found_and_named(saved: Path, name: str, damage: str) -> None:
    path = saved / name
    data = bytearray(path.read_bytes())
    path.unlink()
    if damage == "truncated":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "changed":
        data[len(data) // 2 if name != "run.json" else 0] ^= 1
        path.write_bytes(data)
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "folder":
        path.mkdir()
    with pytest.raises(InputError) as caught:
        bilex.Run.load(saved)
    assert str(caught.value).startswith(str(saved if name == "run.json" and damage in ("missing", "folder") else path))
    assert "induce" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["[]", "null", "7", '{"format": 1}', '{"format": "x", "files": {}}', "[" * 100_000])
def test_json_that_is_no_manifest_is_explained(saved: Path, text: str) -> None:
    (saved / "run.json").write_text(text)
    with pytest.raises(InputError, match=r"run\.json: this is not a whole run\.json; run `bilex induce` again"):
        bilex.Run.load(saved)


def test_a_run_of_a_newer_bilex_is_not_misread(saved: Path) -> None:
    manifest = json.loads((saved / "run.json").read_text("utf-8"))
    (saved / "run.json").write_text(json.dumps({**manifest, "format": 2, "version": "9.1"}) + "\n")
    with pytest.raises(InputError, match=r"run\.json: .*newer bilex \(9\.1\); update bilex"):
        bilex.Run.load(saved)


def test_a_run_without_candidates_is_of_an_older_version(saved: Path) -> None:
    manifest = json.loads((saved / "run.json").read_text("utf-8"))
    del manifest["files"]["candidates.safetensors"]
    (saved / "run.json").write_text(json.dumps(manifest) + "\n", "utf-8")
    with pytest.raises(InputError, match=r"before 0\.2"):
        bilex.Run.load(saved, lazy=True)


def test_a_place_without_a_run_is_explained(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nonesuch", place_file(tmp_path)):
        with pytest.raises(InputError, match="not a run directory; give one that `bilex induce -o` has written"):
            bilex.Run.load(path)


Tensors = dict[str, NDArray[Any]]


def doctor(saved: Path, change: Callable[[Tensors], object]) -> None:
    """Change the model and its checksum: not an accident, so the tensors themselves must be checked."""
    tensors = load_file(saved / "model.safetensors")
    change(tensors)
    save_file({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, saved / "model.safetensors")
    manifest = json.loads((saved / "run.json").read_text("utf-8"))
    manifest["files"]["model.safetensors"] = file_sha256(saved / "model.safetensors")
    manifest.pop("words_sha256")  # as in a run of an older version
    (saved / "run.json").write_text(json.dumps(manifest) + "\n")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("omega", lambda t: t[:-1]),
        ("omega", lambda t: t.astype(np.float32)),
        ("omega", lambda t: t * np.nan),
        ("omega", lambda t: t[0, 0]),
        ("mu", lambda t: t[None]),
        ("mu", lambda t: t[0]),
        ("source_vectors", lambda t: t[:, :-1]),
        ("source_vectors", lambda t: t[:-1]),
        ("target_vectors", lambda t: t.astype(np.float64)),
        ("source_words", lambda t: t[:-30]),
        ("target_words", lambda t: np.append(t, np.frombuffer(b"\nmore", np.uint8))),
        ("target_words", lambda t: np.where(t == ord("t"), np.uint8(255), t)),
        ("source_crowding", lambda t: t[1:]),
        ("source_nearest", lambda t: t + 1_000),
        ("target_nearest", lambda t: t - 1_000),
        ("target_nearest", lambda t: t.astype(np.int32)),
    ],
)
def test_tensors_that_do_not_fit_together_are_refused(
    saved: Path, name: str, change: Callable[[NDArray[Any]], NDArray[Any]]
) -> None:
    doctor(saved, lambda tensors: tensors.update({name: change(tensors[name])}))
    with pytest.raises(InputError, match=r"model\.safetensors: .*; run `bilex induce` again"):
        bilex.Run.load(saved)


def test_a_tensor_that_is_not_there_is_an_error(saved: Path) -> None:
    doctor(saved, lambda tensors: tensors.pop("mu"))
    with pytest.raises(InputError, match=r"model\.safetensors: this is not a model of bilex"):
        bilex.Run.load(saved)


def spoil(saved: Path, name: str) -> None:
    """Change the first byte of a tensor of the model."""
    header, offset = safetensors_header(saved / "model.safetensors")
    with (saved / "model.safetensors").open("r+b") as file:
        file.seek(offset + header[name]["data_offsets"][0])
        file.write(b"?")


@pytest.mark.parametrize("reverse", [False, True])
def test_words_are_looked_up_without_reading_the_vectors(run: bilex.Run, saved: Path, reverse: bool) -> None:
    words = (run.target if reverse else run.source).words[10:20]
    expected = run.translate_many(words, 3, reverse=reverse)
    searched = run.direction(reverse)[0].search(np.arange(10, 20), 3, "model", LocalEngine())
    assert [[answer.score for answer in found] for found in expected] == searched.scores.tolist()
    spoil(saved, "source_vectors")
    lazy = bilex.Run.load(saved, lazy=True)
    assert lazy.translate_many(words, 3, reverse=reverse) == expected
    for read in (lambda: lazy.translate(words[0], retrieval="csls", reverse=reverse), lambda: bilex.Run.load(saved)):
        with pytest.raises(InputError, match="damaged"):
            read()


@pytest.mark.parametrize("old", [False, True])
def test_damaged_words_are_noticed_before_they_are_looked_up(saved: Path, old: bool) -> None:
    if old:
        doctor(saved, lambda tensors: tensors)
    spoil(saved, "target_words")
    with pytest.raises(InputError, match="damaged"):
        bilex.Run.load(saved, lazy=True).translate("new york")


@pytest.mark.parametrize("part", ["lexicon.tsv", "model.safetensors", "candidates.safetensors"])
def test_a_run_that_is_replaced_while_it_is_read_is_not_called_damaged(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """Nor are files of two runs taken for one."""
    languages, other = make_languages(60), tmp_path / "other"
    bilex.induce(languages.source, languages.target, method="ruder2018").save(other)

    def replace_first(path: Path) -> str:
        if path.name == part and other.exists():
            saved.rename(tmp_path / "old")
            other.rename(saved)
        return file_sha256(path)

    monkeypatch.setattr("bilex.files.run_directory.file_sha256", replace_first)
    with pytest.raises(InputError) as caught:
        bilex.Run.load(saved)
    assert Path(caught.value.path) == saved
    assert bilex.Run.load(saved).source.words == languages.source.words


def test_a_copy_is_as_good(saved: Path, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "copy")
    assert bilex.Run.load(tmp_path / "copy").lexicon.source == bilex.Run.load(saved).lexicon.source


def test_a_file_that_shrinks_later_does_no_harm(saved: Path) -> None:
    """A page of it that is mapped, and no longer there, would end the process."""
    run = bilex.Run.load(saved)
    vectors = run.source.vectors
    assert not isinstance(vectors, np.memmap) and vectors.flags.owndata
    before = vectors.sum()
    os.truncate(saved / "model.safetensors", 100)
    assert vectors.sum() == before
    assert run.translate(run.source.words[0], retrieval="csls")
