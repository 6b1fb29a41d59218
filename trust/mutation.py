"""Small faults are put into the modules of the model, one at a time, and the module's tests have to notice.

A fault is an operator, a comparison, a constant or a condition exchanged for another, or a result left out; messages
and annotations are left alone. At least 85% have to be noticed. Those that were not are listed with the reason, where
somebody has found it; a fault that changes no result (a bound that is never met, a faster way out) cannot be noticed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from trust.mutation_worker import TESTS

__all__ = ["TITLE", "run"]

TITLE = "Faults that the tests notice"
ENOUGH = 0.85
REASONS = Path(__file__).parent / "survivors.toml"
UNKNOWN = "not looked into yet"


def run(quick: bool) -> dict[str, Any]:
    """Try every mutant, or in a hurry a few of the smallest module."""
    modules = ("candidates",) if quick else tuple(TESTS)
    tried = {module: try_module(module, 0.15 if quick else 1.0) for module in modules}
    return summary(tried)


def try_module(module: str, share: float) -> list[list[Any]]:
    """Try the mutants of a module in a process that has not imported it."""
    command = [sys.executable, "-m", "trust.mutation_worker", module, str(share)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(ended.stderr[-2000:])
    return [json.loads(line) for line in ended.stdout.splitlines()[1:]]


def summary(tried: dict[str, list[list[Any]]]) -> dict[str, Any]:
    """Count what was noticed, and list what was not."""
    reasons: dict[str, dict[str, str]] = tomllib.loads(REASONS.read_text("utf-8"))
    rows, survivors = [], []
    for module, mutants in tried.items():
        killed = sum(mutant[3] for mutant in mutants)
        rows.append([module, len(mutants), killed, f"{killed / len(mutants):.1%}"])
        for line, before, after, noticed in mutants:
            if not noticed:
                reason = reasons.get(module, {}).get(f"{before} -> {after}", UNKNOWN)
                survivors.append([f"{module}:{line}", f"`{before}`", f"`{after}`", reason])
    total, killed = (sum(row[column] for row in rows) for column in (1, 2))
    return {
        "ok": killed >= ENOUGH * total,
        "figures": {
            "faults": total,
            "noticed": killed,
            "share": f"{killed / total:.1%}",
            "not noticed, with a reason": sum(row[3] != UNKNOWN for row in survivors),
            "not noticed, not looked into": sum(row[3] == UNKNOWN for row in survivors),
        },
        "tables": [
            {"title": "Faults by module", "columns": ["module", "faults", "noticed", "share"], "rows": rows},
            {"title": "Not noticed", "columns": ["where", "before", "after", "reason"], "rows": survivors},
        ],
    }
