"""Models of the Hugging Face hub: fetched by ``bilex fetch`` into the hub's own cache, and found there later.

The cache keeps the files of a repository under the commit they are of, ``models--OWNER--NAME/snapshots/COMMIT``, and
names of commits under ``refs``; the commit that bilex has fetched has the name ``bilex``. Finding needs no library and
no network, so `bilex.load` never downloads. huggingface-hub (``pip install 'bilex[hub]'``) does the fetching.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bilex.errors import BilexError
from bilex.files.atomic import atomic_write_text
from bilex.vectors.tokens import MATRIX

SCHEME = "hf://"
REFERENCE = "bilex"
PART = r"[A-Za-z0-9][A-Za-z0-9._-]*"
NAME = re.compile(
    rf"(?P<repository>{PART}/{PART})(?:@(?P<revision>[A-Za-z0-9._-]+))?(?:/(?P<file>{PART}(?:/{PART})*))?"
)
COMMIT = re.compile("[0-9a-f]{40}")
FASTTEXT, TOKENS = "model.bin", ("tokenizer.json", "vocab.json")
VECTOR_ENDINGS = (".vec", ".vec.gz", ".bin", ".txt", ".txt.gz")


@dataclass(frozen=True)
class HubName:
    """A repository, perhaps with a revision and a file: ``OWNER/NAME[@REVISION][/FILE]``."""

    repository: str
    revision: str | None
    file: str | None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a name, with or without ``hf://``."""
        match = NAME.fullmatch(text.removeprefix(SCHEME))
        if match is None or ".." in text:
            raise BilexError(
                f"{text!r} is not a name of the hub; write OWNER/NAME, OWNER/NAME@REVISION or OWNER/NAME/FILE"
            )
        return cls(**match.groupdict())

    @property
    def folder(self) -> Path:
        """The repository's place in the cache."""
        return cache_folder() / f"models--{self.repository.replace('/', '--')}"


@dataclass(frozen=True)
class Fetched:
    """What was fetched: the commit, and the file (or the folder of a matrix and its tokens) to load."""

    name: str
    commit: str
    path: Path


def cache_folder() -> Path:
    """Return the hub's cache, by the variables that huggingface-hub reads."""
    if place := os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(place).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.environ.get("HF_HOME") or f"{base}/huggingface").expanduser() / "hub"


def resolve(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Return the place of a model that was fetched, for ``hf://OWNER/NAME``; any other path as it is."""
    if not isinstance(path, str) or not path.startswith(SCHEME):
        return path
    name = HubName.parse(path)
    remedy = f"run `bilex fetch {path.removeprefix(SCHEME)}`"
    commit = _cached_commit(name)
    snapshot = name.folder / "snapshots" / (commit or "")
    if commit is None or not snapshot.is_dir():
        raise BilexError(f"{path}: this was not fetched; {remedy}")
    files = [found.relative_to(snapshot).as_posix() for found in snapshot.rglob("*") if found.is_file()]
    if name.file is not None and name.file not in files:
        raise BilexError(f"{path}: this file was not fetched; {remedy}")
    chosen = name.file or choose_file(name.repository, files)
    return str(snapshot if chosen == MATRIX else snapshot / chosen)


def fetch_model(text: str) -> Fetched:
    """Download the vectors of a repository into the hub's cache, and note their commit."""
    name = HubName.parse(text)
    try:
        import huggingface_hub
    except ImportError:
        raise BilexError("fetching needs huggingface-hub, which is missing; pip install 'bilex[hub]'") from None
    try:
        info: Any = huggingface_hub.HfApi().model_info(name.repository, revision=name.revision)
        files = [sibling.rfilename for sibling in info.siblings]
        chosen = name.file or choose_file(name.repository, files)
        if chosen not in files:
            raise BilexError(f"{text}: the repository has no such file; it has {_some(files)}")
        wanted = [file for file in files if file in (MATRIX, *TOKENS, "config.json")] if chosen == MATRIX else [chosen]
        huggingface_hub.snapshot_download(
            name.repository, revision=info.sha, allow_patterns=wanted, cache_dir=cache_folder()
        )
    except BilexError:
        raise
    except Exception as error:  # of the library that it asks the network with: which one depends on its version
        about = " ".join(str(error).split())[:120]
        problem = f"it cannot be fetched ({about})"
        raise BilexError(f"{text}: {problem}; check the name and the network") from None
    references = name.folder / "refs"
    references.mkdir(parents=True, exist_ok=True)
    atomic_write_text(references / REFERENCE, info.sha)
    place = f"{SCHEME}{name.repository}@{info.sha}" + (f"/{name.file}" if name.file else "")
    return Fetched(place, info.sha, Path(resolve(place)))


def choose_file(repository: str, files: Iterable[str]) -> str:
    """Return the file of vectors in a repository: a fastText model, a matrix that has its tokens, or the only one."""
    files = list(files)
    if FASTTEXT in files:
        return FASTTEXT
    if MATRIX in files and any(tokens in files for tokens in TOKENS):
        return MATRIX
    vectors = [
        file for file in files if file.lower().endswith(VECTOR_ENDINGS) and not file.lower().endswith("readme.txt")
    ]
    if len(vectors) == 1:
        return vectors[0]
    problem = "has no vectors that bilex reads" if not vectors else "has several files of vectors"
    raise BilexError(
        f"{repository}: the repository {problem} ({_some(vectors or files)}); name a file, OWNER/NAME/FILE"
    )


def _cached_commit(name: HubName) -> str | None:
    """Return the commit of a revision; without one, the last that bilex fetched, or that of ``main``."""
    if name.revision and COMMIT.fullmatch(name.revision):
        return name.revision
    for reference in (name.revision,) if name.revision else (REFERENCE, "main"):
        place = name.folder / "refs" / reference
        if place.is_file() and COMMIT.fullmatch(commit := place.read_text("utf-8", "replace").strip()):
            return commit
    return None


def _some(names: list[str]) -> str:
    return ", ".join(sorted(names)[:5]) + (" ..." if len(names) > 5 else "")
