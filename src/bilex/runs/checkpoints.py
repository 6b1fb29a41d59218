"""Checkpoints: where EM is after an iteration, on disk, so that a run that was killed need not start again.

``RUN/checkpoint.safetensors`` holds the states of every EM run of the method (`EMHistory`), the command, and digests of
what is learnt from, since other vectors or another seed would end elsewhere. Its tensor ``checkpoint`` is msgpack, in
which the other tensors stand for the arrays. It is replaced whole after each iteration, carries its own checksum, and
goes when the run is finished.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from bilex.em.context import State
from bilex.errors import BilexError, InputError
from bilex.files.atomic import sync_folder
from bilex.files.ownership import CHECKPOINT, MANIFEST
from bilex.files.run_directory import file_of_run
from bilex.files.tensors import atomic_write_tensors
from bilex.seeds.seed import Seed
from bilex.vectors.embeddings import Embeddings
from bilex.version import __version__

AGAIN = "start again without --resume"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state of every EM run, the digests of what they learn from, and what the command line needs to go on."""

    states: tuple[State | None, ...]
    digests: dict[str, str]
    command: dict[str, Any] = field(default_factory=dict)

    @property
    def iterations(self) -> int:
        """How many iterations of EM are done."""
        return sum(len(state.iterations) for state in self.states if state is not None)

    def check(self, found: Mapping[str, str], shape: tuple[int, int, int, int]) -> None:
        """Raise if there is something else to learn from than when the state was written.

        The `shape`, words and dimensions of EM's two sides, is for files that someone made up.
        """
        changed = [part for part, digest in found.items() if self.digests.get(part) != digest]
        if not changed and not all(state is None or state_fits(state, shape) for state in self.states):
            changed = ["size of the vocabularies"]
        for part in changed:
            raise BilexError(f"the {part} changed since the run was interrupted; bring the old one back, or {AGAIN}")


def state_fits(state: State, shape: tuple[int, int, int, int]) -> bool:
    """Check that a state fits these numbers of words and dimensions."""
    n_source, n_target, source_dimension, target_dimension = shape
    theta, matching = state.theta, state.matching
    shared, target_map = theta.mu.size, theta.target_map
    if theta.omega.shape != (shared, source_dimension) or theta.mu.shape != (shared,) or not state.iterations:
        return False
    if target_map is not None and target_map.shape != (shared, target_dimension):
        return False
    return matching is None or (
        matching.source.shape == matching.target.shape == (matching.source.size,)
        and bool(((matching.source >= 0) & (matching.source < n_source)).all())
        and bool(((matching.target >= 0) & (matching.target < n_target)).all())
        and matching.source_duals.shape in {(0,), (n_source,)}
        and matching.target_duals.shape in {(0,), (n_target,)}
    )


def digests(source: Embeddings, target: Embeddings, seed: Seed, method: object) -> dict[str, str]:
    """Sum up in a few bytes what EM learns from: prepared vectors, seed and settings, with this version of bilex."""
    return {
        "source vectors": digest(source.vectors, text="\n".join(source.words)),
        "target vectors": digest(target.vectors, text="\n".join(target.words)),
        "seed": digest(seed.source, seed.target, text=json.dumps([seed.kept, seed.forbidden])),
        "settings": digest(text=repr(method)),
        "version of bilex": __version__,
    }


def digest(*arrays: NDArray[Any], text: str = "") -> str:
    """Compute the SHA-256 of arrays and a text."""
    total = hashlib.sha256(text.encode("utf-8"))
    for array in arrays:
        total.update(f"{array.dtype} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()


def checksum(tensors: Mapping[str, NDArray[Any]]) -> str:
    """Compute the digest of all that the file holds."""
    return digest(*(tensors[name] for name in sorted(tensors)), text=" ".join(sorted(tensors)))


def write_checkpoint(checkpoint: Checkpoint, run: Path, scratch: Path) -> None:
    """Put it into the run's folder in one step; what a kill could leave is in the `scratch` folder, beside it."""
    tensors: dict[str, NDArray[Any]] = {}

    def store(array: NDArray[Any]) -> tuple[str, bool]:
        tensors[name := str(len(tensors))] = array
        # A product of matrices may differ in its last bits if one is stored the other way round.
        return name, array.flags.c_contiguous

    described = msgspec.msgpack.encode(checkpoint, enc_hook=store)
    tensors["checkpoint"] = np.frombuffer(described, np.uint8)
    atomic_write_tensors(scratch / CHECKPOINT, tensors, {"sha256": checksum(tensors)})
    try:
        run.mkdir(exist_ok=True)
        (scratch / CHECKPOINT).replace(run / CHECKPOINT)
    except OSError as error:
        raise BilexError(f"{run / CHECKPOINT}: cannot be written ({error.strerror}); check the disk") from None
    sync_folder(run)


def read_checkpoint(run: Path) -> Checkpoint:
    """Read and check the checkpoint of a run."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    path = run / CHECKPOINT
    if (run / MANIFEST).is_file() and not path.exists():
        raise InputError(run, "this run is already finished", "leave --resume out")
    if not path.exists():
        raise InputError(run, "there is no checkpoint here", "start a run with `bilex induce SRC TRG -o RUN`")
    file_of_run(run, CHECKPOINT)
    try:
        data = path.read_bytes()
        tensors = load(data)
        about = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
        whole = about["sha256"] == checksum(tensors)
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "check who may read it") from None
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(path, "this is not a whole checkpoint", AGAIN) from None
    if not whole:
        raise InputError(path, "the checkpoint is damaged", AGAIN)

    def fetch(kind: Any, stored: tuple[str, bool]) -> NDArray[Any]:
        name, by_rows = stored
        (dtype,) = get_args(get_args(kind)[1])
        if tensors[name].dtype != dtype:
            raise ValueError(name)
        return np.array(tensors[name], order="C" if by_rows else "F")

    try:
        return msgspec.msgpack.decode(tensors["checkpoint"].tobytes(), type=Checkpoint, dec_hook=fetch)
    except (msgspec.DecodeError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(path, "this is not a checkpoint of this version of bilex", AGAIN) from None
