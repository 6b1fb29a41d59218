"""A run that goes on from a checkpoint ends as if nothing had happened; a checkpoint that is not right is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load, save

import bilex
from bilex.errors import BilexError, InputError
from bilex.files.ownership import CHECKPOINT
from bilex.runs.checkpoints import Checkpoint, checksum, read_checkpoint, write_checkpoint
from bilex.search.local import LocalEngine
from bilex.vectors.embeddings import Embeddings
from tests.languages import Languages, make_languages

LEARNING = sorted(name for name, method in bilex.METHODS.items() if method.self_learning)
Tensors = dict[str, NDArray[Any]]


@pytest.fixture(scope="module")
def languages() -> Languages:
    return make_languages(120, 12, 40)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "scratch").mkdir()
    return tmp_path


def induce(languages: Languages, folder: Path, **options: Any) -> tuple[bilex.Run, list[Checkpoint]]:
    """Learn, and give all its checkpoints as they are read back."""
    kept: list[Checkpoint] = []

    def keep(checkpoint: Checkpoint) -> None:
        write_checkpoint(checkpoint, folder / "run", folder / "scratch")
        kept.append(read_checkpoint(folder / "run"))

    options = {"tolerance": 0.0, "max_iterations": 4, "max_rank": 100, "method": "ruder2018", **options}
    return bilex.induce(languages.source, languages.target, checkpoint=keep, **options), kept


@pytest.fixture(scope="module")
def written(languages: Languages, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a checkpoint after three of four iterations. Do not change it."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "scratch").mkdir()
    write_checkpoint(induce(languages, folder)[1][2], folder / "run", folder / "scratch")
    return folder / "run" / CHECKPOINT


@pytest.fixture
def checkpoint(written: Path, folder: Path) -> Checkpoint:
    (folder / "run").mkdir()
    shutil.copy(written, folder / "run")
    return read_checkpoint(folder / "run")


def same(one: bilex.Run, other: bilex.Run) -> None:
    """Check that two runs are the same to the bit, but for their times."""
    assert one.lexicon.to_tsv() == other.lexicon.to_tsv()
    assert one.theta.omega.tobytes() == other.theta.omega.tobytes()
    assert one.theta.mu.tobytes() == other.theta.mu.tobytes()
    assert one.info["stopped"] == other.info["stopped"]
    for mine, theirs in zip(one.info["iterations"], other.info["iterations"], strict=True):
        assert {**mine, "seconds": 0} == {**theirs, "seconds": 0}


@pytest.mark.parametrize("method", LEARNING)
@pytest.mark.usefixtures("short_spellings")
def test_every_method_goes_on(languages: Languages, folder: Path, method: str) -> None:
    whole, kept = induce(languages, folder, method=method)
    assert [one.iterations for one in kept] == list(range(1, len(kept) + 1))
    assert len(kept) + (method == "bilex") == len(whole.info["iterations"]) >= 2  # and a round on all evidence
    for checkpoint in kept if method == "ruder2018" else kept[:1]:
        resumed, rest = induce(languages, folder, method=method, resume=checkpoint)
        same(whole, resumed)
        assert len(rest) == len(kept) - checkpoint.iterations
        assert resumed.info["resumed_after"] == checkpoint.iterations
    assert "resumed_after" not in whole.info


def test_a_method_that_decides_goes_on_from_any_iteration(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs EM several times: on held-out pairs, then in earnest."""
    monkeypatch.setattr("bilex.em.held_out.MIN_WORDS_TO_SPLIT", 25)
    languages = make_languages(300, 16, 40, noise=0.5)
    options: dict[str, Any] = {
        "method": "bilex",
        "seed": languages.gold[:40],
        "max_iterations": 2,
        "max_rank": 250,
        "match_all": True,
    }
    whole, kept = induce(languages, folder, **options)
    assert [choice["about"] for choice in whole.info["choices"]] == ["supervision"]
    runs = [len(checkpoint.states) for checkpoint in kept]
    assert runs == sorted(runs)
    assert runs[-1] >= 3  # two ways to use the seed are tried by EM, and then it is learnt in earnest
    for checkpoint in kept[::2]:
        resumed, rest = induce(languages, folder, **options, resume=checkpoint)
        same(whole, resumed)
        assert resumed.info["choices"] == whole.info["choices"]
        assert len(rest) == len(kept) - checkpoint.iterations


@pytest.mark.parametrize(
    "options",
    [
        {"prior": "2:2"},
        {"prior": "2:1"},
        {"prior": "many-to-one"},
        {"exact": True},
        {"max_rank": None},
        {"kept": [("s3", "t4")], "forbidden": [("s2", "t2")]},
    ],
)
def test_priors_constraints_and_exactness_go_on(languages: Languages, folder: Path, options: dict[str, Any]) -> None:
    whole, kept = induce(languages, folder, **options)
    same(whole, induce(languages, folder, **options, resume=kept[1])[0])


def test_it_goes_on_with_other_threads_and_blocks(languages: Languages, folder: Path) -> None:
    whole, kept = induce(languages, folder, engine=LocalEngine(threads=1))
    same(whole, induce(languages, folder, resume=kept[1], engine=LocalEngine(threads=3, query_block=7))[0])


def test_the_duals_are_what_the_next_matching_starts_from(checkpoint: Checkpoint) -> None:
    state = checkpoint.states[-1]
    assert state is not None
    assert state.matching is not None
    assert state.matching.target_duals.any()
    assert len(state.matching) == state.iterations[-1].pairs


def test_a_run_without_a_single_pair_leaves_no_checkpoint(languages: Languages, folder: Path) -> None:
    with pytest.warns(bilex.BilexWarning, match="nothing was matched"):
        induce(languages, folder, log_odds=-10.0)
    assert not (folder / "run").exists()


# What has changed


def other_words(languages: Languages) -> Languages:
    return replace(languages, source=replace(languages.source, words=("new", *languages.source.words[1:])))


def other_vectors(languages: Languages) -> Languages:
    vectors = languages.target.vectors.copy()
    vectors[3, 2] = np.nextafter(vectors[3, 2], np.float32(9))
    return replace(languages, target=Embeddings(languages.target.words, vectors))


@pytest.mark.parametrize(
    ("change", "options", "part"),
    [
        (other_words, {}, "source vectors"),
        (other_vectors, {}, "target vectors"),
        (lambda languages: languages, {"seed": "numerals"}, "seed"),
        (lambda languages: languages, {"forbidden": [("s3", "t3")]}, "seed"),
        (lambda languages: languages, {"prior": "1:2"}, "settings"),
        (lambda languages: languages, {"max_iterations": 5}, "settings"),
    ],
)
def test_other_input_is_refused(
    languages: Languages,
    folder: Path,
    checkpoint: Checkpoint,
    change: Callable[[Languages], Languages],
    options: dict[str, Any],
    part: str,
) -> None:
    with pytest.raises(BilexError, match=f"the {part} changed since the run was interrupted"):
        induce(change(languages), folder, resume=checkpoint, **options)


def test_another_version_of_bilex_is_refused(
    languages: Languages, folder: Path, checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bilex.runs.checkpoints.__version__", "9.9")
    with pytest.raises(BilexError, match="the version of bilex changed"):
        induce(languages, folder, resume=checkpoint)


# Damage


def test_a_cut_file_is_never_taken_for_whole(folder: Path, checkpoint: Checkpoint) -> None:
    path = folder / "run" / CHECKPOINT
    data = path.read_bytes()
    for length in np.linspace(0, len(data) - 1, 50).astype(int).tolist():
        path.write_bytes(data[:length])
        with pytest.raises(InputError, match=r"checkpoint\.safetensors: this is not a whole checkpoint"):
            read_checkpoint(folder / "run")


def test_every_changed_byte_is_found(folder: Path, checkpoint: Checkpoint) -> None:
    path = folder / "run" / CHECKPOINT
    data = bytearray(path.read_bytes())
    for place in [*range(0, 200, 7), *range(200, len(data), len(data) // 200)]:
        data[place] ^= 4
        path.write_bytes(data)
        with pytest.raises(InputError):
            read_checkpoint(folder / "run")
        data[place] ^= 4


def forge(folder: Path, change: Callable[[Tensors, dict[str, Any], dict[str, Any]], object]) -> None:
    """Change a checkpoint, of which `theta` and `matching` are put together, and its checksum."""
    data = (folder / "run" / CHECKPOINT).read_bytes()
    tensors = dict(load(data))
    described = msgspec.msgpack.decode(tensors["checkpoint"].tobytes())
    state = described["states"][0]
    arrays = {**state["theta"], **state["matching"]}
    names = {name: stored[0] for name, stored in arrays.items() if isinstance(stored, list)}
    named = {name: tensors[number] for name, number in names.items()}
    change(named, state, described)
    changed = {names[name]: array for name, array in named.items()}
    changed["checkpoint"] = np.frombuffer(msgspec.msgpack.encode(described), np.uint8)
    about = {"sha256": checksum(changed)}
    (folder / "run" / CHECKPOINT).write_bytes(save(changed, about))


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays, state, about: arrays.update(omega=arrays["omega"][:-1]),
        lambda arrays, state, about: arrays.update(omega=arrays["omega"].astype(np.float32)),
        lambda arrays, state, about: arrays.update(omega=np.ascontiguousarray(arrays["omega"][:, :-1])),
        lambda arrays, state, about: arrays.update(omega=np.eye(3), mu=np.zeros(3)),
        lambda arrays, state, about: arrays.update(mu=arrays["mu"][None]),
        lambda arrays, state, about: arrays.pop("mu"),
        lambda arrays, state, about: arrays.pop("target_duals"),
        lambda arrays, state, about: arrays.update(source=arrays["source"] + 1000),
        lambda arrays, state, about: arrays.update(target=arrays["target"] - 1000),
        lambda arrays, state, about: arrays.update(target=arrays["target"][1:].copy()),
        lambda arrays, state, about: arrays.update(target_duals=arrays["target_duals"][1:].copy()),
        lambda arrays, state, about: state.update(iterations=[]),
        lambda arrays, state, about: state.update(iterations=[{"pairs": 3}]),
        lambda arrays, state, about: state.update(iterations=7),
        lambda arrays, state, about: state["theta"].update(mu=7),
        lambda arrays, state, about: state["theta"].update(mu=["0", True, 1]),
        lambda arrays, state, about: state["theta"].update(mu=[["0"], True]),
        lambda arrays, state, about: state["theta"].update(target_map=state["theta"]["mu"]),
        lambda arrays, state, about: state["matching"].update(gap="x"),
        lambda arrays, state, about: about.update(states=[7]),
        lambda arrays, state, about: about.update(digests=[1]),
        lambda arrays, state, about: about.update(command=7),
    ],
)
def test_a_made_up_checkpoint_is_refused(
    languages: Languages,
    folder: Path,
    checkpoint: Checkpoint,
    change: Callable[[Tensors, dict[str, Any], dict[str, Any]], object],
) -> None:
    forge(folder, change)
    with pytest.raises(BilexError) as caught:
        induce(languages, folder, resume=read_checkpoint(folder / "run"))
    assert "\n" not in str(caught.value)


def test_what_is_no_file_is_not_read(folder: Path) -> None:
    for place in (folder / "nowhere", folder):
        with pytest.raises(InputError):
            read_checkpoint(place)
    (folder / CHECKPOINT).mkdir()
    with pytest.raises(InputError):
        read_checkpoint(folder)
    (folder / CHECKPOINT).rmdir()
    (folder / CHECKPOINT).symlink_to("/dev/zero")
    with pytest.raises(InputError):
        read_checkpoint(folder)


def test_iterations_come_back_as_they_were(languages: Languages, folder: Path) -> None:
    run, kept = induce(languages, folder)
    state = kept[-1].states[-1]
    assert state is not None
    assert [asdict(iteration) for iteration in state.iterations] == run.info["iterations"]
