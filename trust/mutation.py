"""Small faults are put into the modules of the model, one at a time, and the tests have to notice.

A fault is an operator, a comparison, a constant or a condition exchanged for another, or a result left out; messages,
annotations and the checks of lengths in `zip` are left alone. The modules are those of the maths that are written in
Python (the table below); the kernels that numba compiles have oracles instead. For each fault those tests are run that
reach it, until one fails. Those that were not noticed are listed with the reason, where it is known: most of these
change no result (a bound that is never met, a faster way out). In every module at least 95% of the others have to be
noticed.

The tool is our own, after a trial of others: mutmut 3.8 leaves out constants and properties, takes reasons only as
comments in the source and does not run with pytest 9, and cosmic-ray runs all tests in a new process for each fault.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trust.mutants import around, mutants
from trust.mutation_worker import MODULES, ROOT, file_of, read_results, reason

__all__ = ["TITLE", "run"]

TITLE = "Faults that the tests notice"
MIN_NOTICED = 0.95  # of the faults without a reason not to be
RESULTS = ROOT / "build" / "mutation.jsonl"
UNKNOWN_REASON = "not examined yet"


def run(short: bool, share: float = 1.0, draw: int = 0) -> dict[str, Any]:
    """Try a share of the mutants, continuing where the last run stopped; if `short`, a few of the smallest module.

    Each `draw` is another sample, kept apart, so that tests can be written for one and judged by the next.
    """
    if short:
        with tempfile.TemporaryDirectory() as folder:
            tests = ("tests/matching/test_candidates.py",)
            return summary(attempt(Path(folder) / "results", 0.15, ("matching.candidates",), tests))
    result = summary(attempt(RESULTS.with_suffix(f".{draw}.jsonl"), share, MODULES, draw=draw))
    result["figures"]["faults in all"] = sum(len([*mutants(file_of(name).read_text("utf-8"))]) for name in MODULES)
    return result


def attempt(
    path: Path, share: float, modules: Sequence[str], tests: Sequence[str] = (), draw: int = 0
) -> list[dict[str, Any]]:
    """Try mutants in another process, and return all results, by module and place."""
    path.parent.mkdir(exist_ok=True)
    chosen = [str(path), str(share), str(draw), ",".join(modules)]
    command = [sys.executable, "-m", "trust.mutation_worker", *chosen, *tests]
    # From Python 3.14 on, another way to count lines is the default, which cannot tell the tests apart.
    settings = {"BILEX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "COVERAGE_CORE": "ctrace"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=os.environ | settings)
    if ended.returncode:
        raise SystemExit(f"{ended.stdout[-2000:]}\n{ended.stderr[-2000:]}")
    results = read_results(path)
    found = ((module, mutant) for module in modules for mutant in mutants(file_of(module).read_text("utf-8")))
    return [
        {**results[module, mutant.key], "line": mutant.line}
        for module, mutant in sorted(found, key=lambda each: (modules.index(each[0]), each[1].line))
        if (module, mutant.key) in results
    ]


def summary(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Count what was noticed, and list what was not."""
    rows, survivors = [], []
    for module in dict.fromkeys(result["module"] for result in results):
        tried = [result for result in results if result["module"] == module]
        left = [result for result in tried if not result["by"]]
        noticed, explained = len(tried) - len(left), sum(bool(reason(result)) for result in left)
        share = f"{noticed / max(len(tried) - explained, 1):.1%}"
        rows.append([module, len(tried), noticed, explained, share])
        for result in left:
            before, after = (f"`{part}`" for part in around(result["before"], result["after"]))
            survivors.append([f"{module}:{result['line']}", before, after, reason(result) or UNKNOWN_REASON])
    total, noticed, explained = (sum(row[column] for row in rows) for column in (1, 2, 3))
    return {
        "ok": all(row[2] >= MIN_NOTICED * (row[1] - row[3]) for row in rows),
        "figures": {
            "faults tried": total,
            "noticed": noticed,
            "share of all": f"{noticed / total:.1%}",
            "not noticed, with a reason": explained,
            "share of the others": f"{noticed / max(total - explained, 1):.1%}",
        },
        "tables": [
            {
                "title": "Share of the others by module",
                "shown": 4,
                "columns": ["module", "faults", "noticed", "with a reason", "share of the others"],
                "rows": rows,
            },
            {"title": "Not noticed", "columns": ["where", "before", "after", "reason"], "rows": survivors},
        ],
    }
