"""Checkpoints: where EM is after an iteration, on disk, so that a run that was killed need not start again.

``RUN/checkpoint.safetensors`` holds θ, the last matching with its duals and the iterations so far, from which EM ends
as if nothing had happened, for each EM run of the method (`EMHistory`); the command; and digests of what is
learnt
from, since other vectors or another seed would end elsewhere. It is replaced whole after each iteration, carries its
own checksum, and goes when the run is finished.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilex.em.context import Iteration, State
from bilex.errors import BilexError, InputError
from bilex.files.atomic import sync_folder
from bilex.files.run_directory import CHECKPOINT, MANIFEST, file_of_run
from bilex.files.tensors import atomic_write_tensors
from bilex.matching.graph import Matching
from bilex.model.theta import Theta
from bilex.numerics.types import Indices
from bilex.seeds.seed import Seed
from bilex.vectors.embeddings import Embeddings
from bilex.version import __version__

FORMAT = 1
AGAIN = "start again without --resume"
TENSORS = {  # type and number of dimensions
    "omega": ("float64", 2),
    "mu": ("float64", 1),
    "target_map": ("float64", 2),
    "source": ("int64", 1),
    "target": ("int64", 1),
    "source_duals": ("float64", 1),
    "target_duals": ("float64", 1),
    "values": ("float64", 1),  # objective and gap of the matching
}
PAIRS = ("source", "target", "source_duals", "target_duals", "values")


class Changed(BilexError):  # noqa: N818 (the files did nothing wrong)
    """What the run learns from is not what it was; `part` says which."""

    def __init__(self, part: str) -> None:
        self.part = part
        super().__init__(f"the {part} changed since the run was interrupted; bring the old one back, or {AGAIN}")


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

    def check(self, found: Mapping[str, str], shape: tuple[int, int, int]) -> None:
        """Raise if there is something else to learn from than when the state was written.

        The `shape`, words of EM's two sides and dimensions, is for files that someone made up.
        """
        for part, digest in found.items():
            if self.digests.get(part) != digest:
                raise Changed(part)
        if not all(state is None or fits(state, shape) for state in self.states):
            raise Changed("size of the vocabularies")


def fits(state: State, shape: tuple[int, int, int]) -> bool:
    """Say whether a state is about so many words of each side, and dimensions."""
    n_source, n_target, dimension = shape
    theta, matching = state.theta, state.matching
    target_map = theta.omega if theta.target_map is None else theta.target_map
    if not theta.omega.shape[1] == target_map.shape[1] == dimension or len(target_map) != len(theta.omega):
        return False
    return matching is None or (
        within(matching.source, n_source)
        and within(matching.target, n_target)
        and len(matching.source_duals) in {0, n_source}
        and len(matching.target_duals) in {0, n_target}
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


def write_checkpoint(checkpoint: Checkpoint, run: Path, scratch: Path) -> None:
    """Put it into the run's folder in one step; what a kill could leave is in the `scratch` folder, beside it."""
    tensors = {
        f"{place}.{name}": tensor
        for place, state in enumerate(checkpoint.states)
        if state is not None
        for name, tensor in tensors_of(state).items()
    }
    about = json.dumps(
        {
            "format": FORMAT,
            "digests": checkpoint.digests,
            "command": checkpoint.command,
            "iterations": [
                None if state is None else [asdict(iteration) for iteration in state.iterations]
                for state in checkpoint.states
            ],
            # A product of matrices may differ in its last bits if one is stored the other way round.
            "columns_first": [name for name, tensor in tensors.items() if not tensor.flags.c_contiguous],
        }
    )
    whole = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    atomic_write_tensors(scratch / CHECKPOINT, whole, {"checkpoint": about, "sha256": checksum(whole, about)})
    try:
        run.mkdir(exist_ok=True)
        (scratch / CHECKPOINT).replace(run / CHECKPOINT)
    except OSError as error:
        raise BilexError(f"{run / CHECKPOINT}: cannot be written ({error.strerror}); check the disk") from None
    sync_folder(run)


def within(rows: Indices, count: int) -> bool:
    """Say whether these are rows of so many."""
    return bool(((rows >= 0) & (rows < count)).all())


def tensors_of(state: State) -> dict[str, NDArray[Any]]:
    """Give the arrays of a state."""
    theta, matching = state.theta, state.matching
    tensors: dict[str, NDArray[Any]] = {"omega": theta.omega, "mu": theta.mu}
    if theta.target_map is not None:
        tensors["target_map"] = theta.target_map
    if matching is not None:
        tensors |= {name: getattr(matching, name) for name in PAIRS if name != "values"}
        tensors["values"] = np.array([matching.objective, matching.gap])
    return tensors


def checksum(tensors: Mapping[str, NDArray[Any]], about: str) -> str:
    """Sum up all that the file holds."""
    return digest(*(tensors[name] for name in sorted(tensors)), text=" ".join([*sorted(tensors), about]))


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
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
        whole = header["sha256"] == checksum(tensors, header["checkpoint"])
        about = json.loads(header["checkpoint"])
        version = int(about["format"])
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "check who may read it") from None
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(path, "this is not a whole checkpoint", AGAIN) from None
    if not whole:
        raise InputError(path, "the checkpoint is damaged", AGAIN)
    if version > FORMAT:
        raise InputError(path, "this checkpoint was written by a newer bilex", "update bilex")
    try:
        return Checkpoint(states_of(tensors, about), dict(about["digests"]), dict(about["command"]))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise InputError(path, "this is not a checkpoint of this version of bilex", AGAIN) from None


def states_of(tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> tuple[State | None, ...]:
    """Put the states together; whatever cannot be one is an error."""
    parts: list[dict[str, NDArray[Any]]] = [{} for _ in about["iterations"]]
    for full_name, tensor in tensors.items():
        place, _, name = full_name.partition(".")
        kind, dimensions = TENSORS[name]
        if tensor.dtype != kind or tensor.ndim != dimensions:
            raise ValueError(name)
        order: Any = "F" if full_name in about["columns_first"] else "C"
        parts[int(place)][name] = np.array(tensor, order=order)
    if any(arrays and iterations is None for arrays, iterations in zip(parts, about["iterations"], strict=True)):
        raise ValueError("iterations")
    return tuple(
        None if iterations is None else state_of(arrays, iterations)
        for arrays, iterations in zip(parts, about["iterations"], strict=True)
    )


def state_of(arrays: dict[str, NDArray[Any]], described: list[dict[str, Any]]) -> State:
    """Put a state together; whatever cannot be one is an error."""
    theta = Theta(arrays["omega"], arrays["mu"], arrays.get("target_map"))
    iterations = tuple(Iteration(**iteration) for iteration in described)
    if not iterations or len(theta.omega) != len(theta.mu):
        raise ValueError("iterations")
    if "values" not in arrays:
        return State(theta, None, iterations)
    objective, gap = arrays["values"].tolist()
    source, target, u, v = (arrays[name] for name in PAIRS[:-1])
    if len(source) != len(target):
        raise ValueError("pairs")
    return State(theta, Matching(source, target, objective, gap, u, v), iterations)
