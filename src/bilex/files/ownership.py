"""What bilex may write over: a run that it wrote itself and can verify; and nothing inside a run but its own files."""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bilex.errors import BilexError, InputError
from bilex.files.manifest import parse_manifest

LEXICON, MODEL, MANIFEST = "lexicon.tsv", "model.safetensors", "run.json"
CANDIDATES = "candidates.safetensors"  # runs before version 0.2 have none
REPORT = "report.html"
CHECKPOINT = "checkpoint.safetensors"  # of a run that is not finished; see bilex.runs.checkpoints
CYCLES = "cycles.tsv"  # what `bilex induce-many` adds
REVIEWS = "review.sqlite"  # a person's work: never deleted
SQLITE_SUFFIXES = ("", "-journal", "-wal", "-shm")
MARKS = {  # what is near the start of each file that has no checksum in run.json
    REPORT: b'<meta name="generator" content="bilex',
    CHECKPOINT: b'"sha256":"',  # in its metadata
    CYCLES: b"source\ttarget\ttested\tagreed\t",
}
MARK_END = 4096
ELSEWHERE = "choose another place with -o"


def output_path(named: str | os.PathLike[str]) -> Path:
    """Return the path of what is to be written; raise if no file can have that name."""
    if not isinstance(named, str | os.PathLike) or isinstance(path := os.fspath(named), bytes):
        raise BilexError(f"a place to write to is text or a path, not {type(named).__name__}")
    try:
        allowed = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        allowed = False
    if not allowed:
        raise BilexError(f"{path}: no file can have this name; {ELSEWHERE}")
    return Path(path)


def real_path(path: str | os.PathLike[str]) -> Path:
    """Follow all links; unlike `Path.resolve`, which raises before Python 3.13 if they lead to each other."""
    return Path(os.path.realpath(path))


def check_replaceable(place: Path) -> bool:
    """Decide whether a run may be written to a place: return whether it replaces a run, or raise if it may not.

    Only a run that bilex wrote may be replaced, if no file was added or changed since and nobody reviewed it.
    """
    if place.is_symlink() and not place.exists():
        raise BilexError(f"{place}: the link leads nowhere; {ELSEWHERE}")
    if outer := next((folder for folder in real_path(place).parents if is_run(folder)), None):
        raise BilexError(f"{place}: is inside the run {outer}, which holds only its own files; {ELSEWHERE}")
    if not place.exists():
        return False
    if not place.is_dir():
        raise BilexError(f"{place}: exists and is not a run of bilex; {ELSEWHERE}")
    check_not_current(place)
    names = {entry.name for entry in place.iterdir()}
    if names & {REVIEWS + ending for ending in SQLITE_SUFFIXES}:
        raise BilexError(f"{place}: holds {REVIEWS}, a person's review, which would be lost; {ELSEWHERE}")
    if names and not names & {MANIFEST, CHECKPOINT}:
        raise BilexError(f"{place}: exists and is not a run of bilex; {ELSEWHERE}")
    for name in sorted(names):
        if not is_own_file(place, name):
            raise BilexError(
                f"{place}: holds {name!r}, which bilex did not write or somebody changed; move that, or {ELSEWHERE}"
            )
    return bool(names)


def check_listed_replaceable(summary: str, command: str, place: Path) -> bool:
    """Decide the same for what another command writes, whose `summary` lists its runs, and its files by checksum."""
    if not place.is_dir() or not any(place.iterdir()):
        return check_replaceable(place)
    try:
        listed = json.loads((place / summary).read_text("utf-8"))
        checksums, names = dict(listed["checksums"]), set(listed.get("files", ()))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise BilexError(f"{place}: exists and was not written by `bilex {command}`; {ELSEWHERE}") from None
    check_not_current(place)
    for path in sorted(place.iterdir()):
        is_ours = path.is_file() and (path.name == summary or checksums.get(path.name) == file_sha256(path))
        if not is_ours and not (path.is_dir() and path.name in names and check_replaceable(path)):
            raise BilexError(f"{place}: holds {path.name!r}, which bilex did not write; move it, or {ELSEWHERE}")
    return True


def check_not_current(place: Path) -> None:
    """Raise if the place is the current folder, or one that it is in."""
    if real_path(place) in (Path.cwd(), *Path.cwd().parents):
        raise BilexError(f"{place}: the current folder cannot be replaced; {ELSEWHERE}")


def is_own_file(run: Path, name: str) -> bool:
    """Check that a file of a run is as bilex wrote it: by its checksum in ``run.json``, or by its mark."""
    path = run / name
    try:
        if not path.is_file():
            return False
        if name in MARKS:
            with path.open("rb") as file:
                return MARKS[name] in file.read(MARK_END)
        files = parse_manifest(run / MANIFEST)["files"]
        return name == MANIFEST or (name in (LEXICON, MODEL, CANDIDATES) and files.get(name) == file_sha256(path))
    except (InputError, OSError):
        return False


def is_run(folder: Path) -> bool:
    """Check whether a folder is a run, finished or interrupted, or holds a person's review of one."""
    reviewed = (folder / REVIEWS).is_file()
    return reviewed or is_own_file(folder, MANIFEST) or is_own_file(folder, CHECKPOINT)


def check_output(path: Path) -> None:
    """Raise if a file would be written into a run, unless it is the report or the new table of cycles."""
    may_be_new = path.name == CYCLES and not path.exists()
    if path.name != REPORT and not may_be_new and is_run(path.parent):
        raise BilexError(f"{path}: a run holds only its own files; choose a place outside {path.parent}")


def check_not_input(info: dict[str, Any], *paths: str) -> None:
    """Raise if a file to be written is, by its checksum, one that the run was made from."""
    read = {file["sha256"] for side in info.get("inputs", {}).values() for file in side["files"]}
    read |= {info.get("configuration", {}).get("seed", {}).get("sha256")}
    if path := next((path for path in paths if Path(path).is_file() and file_sha256(path) in read), None):
        raise BilexError(f"{path}: holds the vectors or the seed that this run was made from; {ELSEWHERE}")


def check_not_read(path: str | os.PathLike[str], read: Iterable[str | os.PathLike[str]]) -> None:
    """Raise if a file to be written is one of those that the command reads."""
    if Path(path).exists() and any(Path(other).exists() and Path(other).samefile(path) for other in read):
        raise BilexError(f"{path}: is read by this command, and would be lost; {ELSEWHERE}")


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Compute the SHA-256 of a file's content."""
    with open(path, "rb") as file:  # noqa: PTH123 (a path as the user gave it)
        return hashlib.file_digest(file, "sha256").hexdigest()
