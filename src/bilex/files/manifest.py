"""``run.json``: read with a bound on its size, and checked to hold what the rest of bilex takes for granted.

Only what is there is checked, so that a run of an older version, which says less, can still be read.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from bilex.errors import InputError

__all__ = ["parse_manifest"]

LARGEST = 1 << 24
"""Bytes; a review of 200,000 pairs, the longest thing that is ever in there, takes about half."""

NUMBER, COUNT, SOME = "a number", "a count", "a count from 1 up"
TEXT, LINE, FLAG = "a text", "a line of text", "true or false"
FILES = [{"path": TEXT, "sha256": (TEXT, None)}]
SIDE = {"words": COUNT, "dimension": COUNT, "files": FILES}
AGREEMENT = {"words": COUNT, "matched": COUNT, "near": COUNT}
# A list holds any number of its one item; a tuple gives a choice. In a table, other keys may stand beside these; one
# that ends with a question mark may be missing, and ... stands for all.
SHAPE: Any = {
    "format": COUNT,
    "files": {},
    "version": LINE,
    "versions": {},
    "command": ([TEXT], None),
    "configuration": {
        "method": {
            "name": TEXT,
            "prior": TEXT,
            "log_odds": NUMBER,
            "max_rank": (SOME, None),
            "self_learning": FLAG,
        },
        "seed": {
            "name": TEXT,
            "given": COUNT,
            "used": COUNT,
            "sha256?": (TEXT, None),
            "agreement?": (AGREEMENT, None),
        },
        "complete": FLAG,
        "engine": TEXT,
    },
    "inputs": {"source": SIDE, "target": SIDE},
    "threads": COUNT,
    "choices": [{"about": LINE, "chosen": LINE, "why": LINE, "measured": {...: NUMBER}}],
    "stopped": LINE,
    "seconds": NUMBER,
    "pairs": COUNT,
    "iterations": [
        {"pairs": COUNT, "mean_cosine": NUMBER, "log_likelihood": NUMBER, "certificate_gap": (NUMBER, None)}
    ],
    "confidence": {"matched?": NUMBER},
    "verdict": {"level": LINE},
}


def parse_manifest(path: Path) -> dict[str, Any]:
    """Read ``run.json``; what is wrong with it is one line.

    Raises
    ------
    InputError
        If it is not whole, not JSON, or something in it is not what it should be.
    """
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST or not text.endswith(b"}\n"):
            raise ValueError
        info = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        raise InputError(path, "this is not a whole run.json", "run `bilex induce` again") from None
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "check its permissions") from None
    if not isinstance(info, dict) or not {"format", "files"} <= info.keys():
        raise InputError(path, "this is not a run.json of bilex", "run `bilex induce` again")
    wrong = misfit({key: info[key] for key in SHAPE if key in info}, {key: SHAPE[key] for key in SHAPE if key in info})
    if wrong is not None:
        raise InputError(path, f"its entry {wrong}", "run `bilex induce` again")
    return info


def misfit(value: Any, shape: Any, where: str = "") -> str | None:
    """Say where a value has not the shape it should have; None if it has."""
    if isinstance(shape, tuple):
        found = [misfit(value, choice, where) for choice in shape]
        return None if None in found else found[0]
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return f"{where} is not a table"
        if ... in shape:
            shape = dict.fromkeys(value, shape[...])
        else:
            shape = {key.rstrip("?"): part for key, part in shape.items() if key[-1] != "?" or key[:-1] in value}
        items = [(value.get(key, ...), part, f"{where}.{key}".lstrip(".")) for key, part in shape.items()]
    elif isinstance(shape, list):
        if not isinstance(value, list):
            return f"{where} is not a list"
        items = [(item, shape[0], f"{where}[{place}]") for place, item in enumerate(value)]
    else:
        return None if is_a(value, shape) else f"{where} is not {shape or 'empty'}"
    return next((wrong for item in items if (wrong := misfit(*item)) is not None), None)


def is_a(value: Any, kind: str | None) -> bool:
    """Say whether a single value is of a kind."""
    if kind is None:
        return value is None
    if kind == TEXT:
        return isinstance(value, str)
    if kind == LINE:
        return isinstance(value, str) and value.isprintable()
    if kind == FLAG:
        return isinstance(value, bool)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if kind in (COUNT, SOME):
        return isinstance(value, int) and (kind == SOME) <= value < 1 << 63
    return abs(value) < 1e300 if isinstance(value, int) else math.isfinite(value)
