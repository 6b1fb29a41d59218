"""``run.json``: read with a bound on its size, and checked to hold what the rest of bilex relies on.

Only entries that are present are checked, so that a run of an older version, which says less, can still be read.
"""

from pathlib import Path
from typing import Annotated, Any, NotRequired, Required, TypedDict

import msgspec
from msgspec import Meta

from bilex.errors import InputError

MAX_MANIFEST_BYTES = 1 << 24
"""A review of 200,000 pairs, the longest entry there can be, takes about half."""

PRINTABLE = r"\A[^\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]*\Z"
PrintableLine = Annotated[str, Meta(pattern=PRINTABLE)]
"""A text that is shown in the terminal: one line without control characters."""

MAX_COUNT = (1 << 63) - 1
Natural = Annotated[int, Meta(ge=0, le=MAX_COUNT)]
PositiveCount = Annotated[int, Meta(ge=1, le=MAX_COUNT)]


class _Prior(TypedDict, total=False):
    kind: str
    log_odds: float


class _EStep(TypedDict, total=False):
    max_rank: PositiveCount | None


class _Method(TypedDict):  # older runs have all options side by side, newer ones group them
    name: str
    prior: NotRequired[str | _Prior]
    e_step: NotRequired[str | _EStep]
    log_odds: NotRequired[float]
    max_rank: NotRequired[PositiveCount | None]
    self_learning: NotRequired[bool]


class _Agreement(TypedDict):
    words: Natural
    matched: Natural
    near: Natural


class _Seed(TypedDict):
    name: str
    given: Natural
    used: Natural
    sha256: NotRequired[str | None]
    agreement: NotRequired[_Agreement | None]


class _Configuration(TypedDict):
    method: _Method
    seed: _Seed
    complete: bool
    engine: str


class _File(TypedDict):
    path: str
    sha256: str | None


class _Language(TypedDict):
    words: Natural
    dimension: Natural
    files: list[_File]


class _Inputs(TypedDict):
    source: _Language
    target: _Language


class _Choice(TypedDict):
    about: PrintableLine
    chosen: PrintableLine
    why: PrintableLine
    measured: dict[str, float]


class _Iteration(TypedDict):
    pairs: Natural
    mean_cosine: float
    log_likelihood: float
    certificate_gap: float | None


class _Slopes(TypedDict):  # of all evidence that has one
    csls: float


class _Weights(TypedDict):
    purity: float
    deviation: float
    log_odds: float
    slopes: _Slopes


class _Confidence(TypedDict, total=False):
    examples: Natural
    listed_of: Natural
    calibrated_on: PrintableLine


class _Verdict(TypedDict):
    level: PrintableLine


class Manifest(TypedDict, total=False):
    """The entries of ``run.json`` that are checked; there may be others."""

    format: Required[Natural]
    files: Required[dict[str, str]]
    version: PrintableLine
    versions: dict[str, Any]
    command: list[str] | None
    configuration: _Configuration
    inputs: _Inputs
    threads: Natural
    choices: list[_Choice]
    stopped: PrintableLine
    seconds: float
    pairs: Natural
    iterations: list[_Iteration]
    confidence: _Confidence
    weights: _Weights
    verdict: _Verdict


def parse_manifest(path: Path) -> dict[str, Any]:
    """Read ``run.json``, and check that it is whole and each entry of its type."""
    again = "run `bilex induce` again"
    try:
        with path.open("rb") as file:
            text = file.read(MAX_MANIFEST_BYTES + 1)
        if len(text) > MAX_MANIFEST_BYTES or not text.endswith(b"}\n"):
            raise ValueError
        info: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
        msgspec.convert(info, Manifest)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        problem = problem.replace(f" matching regex {PRINTABLE!r}", " that is one line of printable text")
        entry = f"its entry {place.strip('.`')}" if place else "it"
        raise InputError(path, f"{entry} is not as bilex writes it ({problem})", again) from None
    except (ValueError, msgspec.DecodeError, RecursionError):
        raise InputError(path, "this is not a whole run.json", again) from None
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "check its permissions") from None
    return info
