"""The run directory: written whole or not at all, and checked when it is read.

It holds ``lexicon.tsv`` (for people), ``model.safetensors`` (for translating more words later, without the original
vectors), ``candidates.safetensors`` (the candidates of every word with their weights and probabilities) and
``run.json`` (what was done, and the checksums of the others). It is written under another name and then moved into its
place.
"""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilex.errors import BilexError, InputError
from bilex.files.atomic import atomic_write_text
from bilex.files.folders import new_folder, replace_folder
from bilex.files.manifest import parse_manifest
from bilex.files.ownership import (
    CANDIDATES,
    CHECKPOINT,
    LEXICON,
    MANIFEST,
    MODEL,
    check_replaceable,
    file_sha256,
    output_path,
    real_path,
)
from bilex.files.streams import reading_failed, refuse_special_file
from bilex.files.tensors import atomic_write_tensors, map_tensor, safetensors_header, unpack_words, words_are_short

MANIFEST_FORMAT = 1
TENSORS = {  # name: type, and shape: n source words of d dimensions, m target words of e, in a space of k
    "omega": ("float64", "kd"),
    "mu": ("float64", "k"),
    "target_map": ("float64", "ke"),
    "source_vectors": ("float32", "nd"),
    "target_vectors": ("float32", "me"),
    "source_words": ("uint8", ""),  # as many bytes as it takes
    "target_words": ("uint8", ""),
    "source_crowding": ("float64", "n"),
    "target_crowding": ("float64", "m"),
    "source_nearest": ("int64", "n"),
    "target_nearest": ("int64", "m"),
}
OPTIONAL_TENSOR = "target_map"  # only if the target's side is mapped too
CANDIDATE_TENSORS = {"indptr": "int64", "targets": "int32", "weights": "float32", "probability": "float32"}
MEANS = ("source_means", "target_means")
WORDS, WORDS_CHECKSUM = ("source_words", "target_words"), "words_sha256"
LEMMAS = ("source_lemmas", "target_lemmas")  # the lemma of each word, packed like the words; only if they are known


@contextlib.contextmanager
def run_directory(
    path: str | os.PathLike[str], check: Callable[[Path], bool] = check_replaceable, *, force: bool = False
) -> Iterator[Path]:
    """Yield a new folder that takes the place of `path` if the block succeeds, and is removed if not.

    It is made at once, so that a place that cannot be written to is noticed before the work, not after it. `check`
    raises if what is there must be kept, by default everything but a run; a run is replaced only with `force`.
    """
    named = output_path(path)
    with contextlib.ExitStack() as stack:
        try:
            if check(named) and not force:
                existing = "exists already; choose another name with -o, or replace it with --force"
                if (named / CHECKPOINT).is_file() and not (named / MANIFEST).exists():
                    resume = f"go on with `bilex induce --resume {quote(str(named))}`"
                    existing = f"an interrupted run is there; {resume}, or start afresh with --force"
                raise BilexError(f"{named}: {existing} (in Python: force=True)")
            place = real_path(named)  # a link stays, and what it points to is replaced
            folder = stack.enter_context(new_folder(place))
        except OSError as error:
            raise BilexError(f"{named}: cannot be written ({error.strerror}); choose another place with -o") from None
        try:
            yield folder
        except BilexError as error:  # about a file in the new folder: its name would say nothing
            error.args = (str(error).replace(str(folder), str(named)),)
            raise
        try:
            taken = check(place) and {path.name for path in place.iterdir()} != {CHECKPOINT}  # again, hours later
            if taken and not force:
                raise BilexError(f"{named}: another run was put there meanwhile; choose another place with -o")
            replace_folder(folder, place)
        except OSError as error:
            raise BilexError(f"{named}: cannot be written ({error.strerror or error}); check the disk") from error


def write_manifest(folder: Path, info: Mapping[str, Any]) -> None:
    """Write ``run.json``, last of all: it holds the checksums of the other files."""
    written = (name for name in (LEXICON, MODEL, CANDIDATES) if (folder / name).exists())
    files = {name: file_sha256(folder / name) for name in written}
    tensors = map_model(folder)[0]  # a few words can then be looked up without reading all vectors
    entries = {
        "format": MANIFEST_FORMAT,
        **info,
        "files": files,
        WORDS_CHECKSUM: words_checksum(tensors[name] for name in WORDS),
    }
    text = json.dumps(entries, indent=2, ensure_ascii=False, allow_nan=False)
    text = re.sub("[\udc80-\udcff]", lambda byte: rf"\\x{ord(byte[0]) - 0xDC00:x}", text)  # of paths that are not UTF-8
    atomic_write_text(folder / MANIFEST, text + "\n")


def write_model(folder: Path, tensors: Mapping[str, NDArray[Any]], names: Mapping[str, str]) -> None:
    """Write the tensors of a run, and the names of its languages."""
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise BilexError(
                f"{folder / MODEL}: {name} holds NaN or infinity, so nothing is written; scale the vectors"
            )
    # All in one entry: safetensors writes several in random order, and the same run would have other bytes.
    atomic_write_tensors(folder / MODEL, tensors, {"names": json.dumps(names)})


def write_candidates(folder: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    """Write the candidates of a run: the edges of each source word, by ascending target.

    Beside them, the means that were subtracted from the vectors, one row for each time that they were centred, and the
    lemmas of the words.
    """
    kinds = CANDIDATE_TENSORS | dict.fromkeys(MEANS, "float64") | dict.fromkeys(LEMMAS, "uint8")
    typed = {name: tensor.astype(kinds[name]) for name, tensor in tensors.items()}
    atomic_write_tensors(folder / CANDIDATES, typed)


def read_candidates(folder: Path, info: dict[str, Any], words: tuple[int, int]) -> dict[str, NDArray[Any]]:
    """Read and check the candidates of a run with these numbers of words."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = verified_file(folder, CANDIDATES, info)
    safetensors_header(path)  # for its bounds
    try:
        tensors = load_file(path)
        means = [tensors[name] for name in MEANS if name in tensors]
        beside = (*MEANS, *LEMMAS)
        kinds = {name: str(tensor.dtype) for name, tensor in tensors.items() if name not in beside and tensor.ndim == 1}
        pointers, targets = tensors["indptr"], tensors["targets"]
        valid = (
            kinds == CANDIDATE_TENSORS
            and len(pointers) == words[0] + 1
            and pointers[0] == 0
            and pointers[-1] == len(targets) == len(tensors["weights"]) == len(tensors["probability"])
            and bool(((pointers >= 0) & (pointers <= len(targets))).all())  # else the differences could overflow
            and bool((np.diff(pointers) >= 0).all())
            and bool(((targets >= 0) & (targets < words[1])).all())
            and bool(np.isfinite(tensors["weights"]).all())
            and all(each.dtype == "float64" and each.ndim == 2 and np.isfinite(each).all() for each in means)
            and all(
                hold_words(tensors[name], count) for name, count in zip(LEMMAS, words, strict=True) if name in tensors
            )
            and bool(((tensors["probability"] >= 0) & (tensors["probability"] <= 1)).all())
        )
        rows = np.repeat(np.arange(words[0]), np.diff(pointers)) if valid else pointers
        valid = valid and bool((np.diff(rows * np.int64(words[1]) + targets) > 0).all())
    except OSError as error:
        raise reading_failed(path, error) from None
    except (SafetensorError, ValueError, KeyError, IndexError):
        valid = False
    if not valid:
        raise InputError(path, "these are not the candidates of this run", "run `bilex induce` again")
    return tensors


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read ``run.json`` and check that this version of bilex understands it."""
    if (folder / CHECKPOINT).is_file() and not (folder / MANIFEST).exists():
        raise InputError(folder, "this run is not finished", f"go on with `bilex induce --resume {quote(str(folder))}`")
    if not folder.is_dir() or not (folder / MANIFEST).exists():
        raise InputError(folder, "this is not a run directory", "give one that `bilex induce -o` has written")
    path = file_of_run(folder, MANIFEST)
    info = parse_manifest(path)
    if info["format"] > MANIFEST_FORMAT:
        raise InputError(path, f"this run was written by a newer bilex ({info.get('version')})", "update bilex")
    return info


def file_of_run(folder: Path, name: str) -> Path:
    """Return the path of a file of the run, which may not be a device, a pipe or a link that leads out of it."""
    path = folder / name
    try:
        refuse_special_file(path, path.stat().st_mode, pipes=False)
        if path.is_symlink() and folder.resolve() not in path.resolve().parents:
            raise InputError(path, "the link leads out of the run directory", "copy the file to its place")
    except (OSError, RuntimeError):  # RuntimeError: links that lead to each other
        raise InputError(path, "the file is missing", "run `bilex induce` again") from None
    if not path.is_file():
        raise InputError(path, "this is not a file", "run `bilex induce` again")
    return path


def map_model(folder: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Map the tensors of a run into memory, and check their types and shapes; return the languages' names as well."""
    from safetensors import SafetensorError, safe_open

    path = file_of_run(folder, MODEL)
    header, offset = safetensors_header(path)
    try:
        with safe_open(path, framework="numpy") as file:
            names = dict(json.loads((file.metadata() or {}).get("names", "{}")))
        wanted = [name for name in TENSORS if name in header or name != OPTIONAL_TENSOR]
        tensors = {name: np.require(map_tensor(path, header[name], offset), requirements="A") for name in wanted}
    except OSError as error:
        raise reading_failed(path, error) from None
    except (SafetensorError, ValueError, TypeError, KeyError, RecursionError):
        raise InputError(path, "this is not a model of bilex", "run `bilex induce` again") from None
    for name in tensors:
        if not fits(name, tensors):
            raise wrong_tensor(path, name)
    return tensors, names


def check_numbers(folder: Path, tensors: dict[str, NDArray[Any]]) -> None:
    """Check that all numbers of a model are finite, and that its rows are those of words that exist."""
    words = {"source_nearest": tensors["target_crowding"].size, "target_nearest": tensors["source_crowding"].size}
    for name, tensor in tensors.items():
        inside = (tensor >= 0) & (tensor < words[name]) if name in words else np.isfinite(tensor)
        if not inside.all():
            raise wrong_tensor(folder / MODEL, name)


def wrong_tensor(path: Path, name: str) -> InputError:
    """Return the error for a tensor that cannot be right."""
    return InputError(path, f"the tensor {name} does not fit the others", "run `bilex induce` again")


def fits(name: str, tensors: dict[str, NDArray[Any]]) -> bool:
    """Check that a tensor has its type and shape."""
    counts = {"k": tensors["mu"].size, "n": tensors["source_crowding"].size, "m": tensors["target_crowding"].size}
    counts |= {"d": sum(tensors["omega"].shape[-1:]), "e": sum(tensors.get(OPTIONAL_TENSOR, tensors["mu"]).shape[-1:])}
    tensor, (kind, shape) = tensors[name], TENSORS[name]
    if tensor.dtype != kind or counts["k"] > min(counts["d"], counts["e"]):  # the space is no larger than a language
        return False
    return name.endswith("words") or tensor.shape == tuple(counts[count] for count in shape)


def read_words(folder: Path, info: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> list[tuple[str, ...]]:
    """Return the words of both languages, after comparing them with their own checksum; older runs have only one."""
    packed = {name: tensors[name] for name in WORDS}
    if WORDS_CHECKSUM not in info:
        verified_file(folder, MODEL, info)
    elif words_checksum(packed.values()) != info[WORDS_CHECKSUM]:
        raise damaged(folder, MODEL, info)
    for name, each in packed.items():
        if not hold_words(each, tensors[name.replace("words", "crowding")].size):
            raise wrong_tensor(folder / MODEL, name)
    return [unpack_words(each) for each in packed.values()]


def words_checksum(packed: Iterable[NDArray[Any]]) -> str:
    """Return the SHA-256 of the words of both languages."""
    total = hashlib.sha256()
    for each in packed:
        total.update(hashlib.sha256(each.data).digest())
    return total.hexdigest()


def hold_words(packed: NDArray[Any], count: int) -> bool:
    """Check that a tensor holds that many packed words."""
    try:
        plain = packed.dtype == "uint8" and packed.ndim == 1
        return plain and words_are_short(packed) and len(unpack_words(packed)) == count
    except UnicodeDecodeError:
        return False


def verified_file(folder: Path, name: str, info: dict[str, Any]) -> Path:
    """Return the path of a file after comparing it with its checksum in ``run.json``."""
    path = file_of_run(folder, name)
    if file_sha256(path) != info["files"].get(name):
        raise damaged(folder, name, info)
    return path


def damaged(folder: Path, name: str, info: dict[str, Any]) -> InputError:
    """Return the error for a file that is not what the run wrote."""
    check_same_run(folder, info)
    return InputError(folder / name, "the file is damaged or was changed after the run", "run `bilex induce` again")


def check_same_run(folder: Path, info: dict[str, Any]) -> None:
    """Raise if another run has taken the place of the one that is being read."""
    if read_manifest(folder) != info:
        raise InputError(folder, "another run took its place while it was read", "try again")
