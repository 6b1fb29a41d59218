"""All tests are run, and the lines and branches of bilex that none of them reaches are counted.

A branch is one way out of a condition or a loop: all have to be taken. Processes that tests start are counted too.
Code that numba compiles cannot be traced, so the kernels' tests are run once more as plain Python. Annotations and the
generator of a CPU instruction (`tile` in `search/int8_kernel.py`), which runs when numba compiles, do not count; what
needs packages that `make install` does not install (PyTorch) counts as not reached. At least 95% of lines and branches
together have to be reached. `make coverage` is this part.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["TITLE", "run"]

TITLE = "Lines and branches that tests reach"
ROOT = Path(__file__).parent.parent
MIN_REACHED = 0.95
AS_PYTHON = (
    "tests/matching/test_solver_kernel.py",
    "tests/vectors/test_parse_kernel.py",
    "tests/model/test_rivals_kernel.py",
    "tests/em/test_sinkhorn_kernel.py",
    "tests/search/test_int8_kernel.py",
    "tests/search/test_reuse.py",
    "tests/vectors/test_text.py",
    "tests/model/test_posterior.py",
    "tests/search/test_lists.py",
    "tests/vectors/test_fasttext.py",
    # Compiled code is silent when a number overflows, numpy's is not, and these count the warnings.
    "--deselect=tests/vectors/test_text.py::test_words_with_spaces_keep_them",
    "--deselect=tests/vectors/test_text.py::test_words_with_spaces_in_the_first_line_without_header",
    "--deselect=tests/vectors/test_text.py::test_zero_vectors",
)
# It has a time limit of a second, which is too short while lines are counted.
TOO_SLOW = "--deselect=tests/attacks/test_vectors.py::test_a_gzip_bomb"
COLUMNS = ("package", "lines", "branches", "share")
COUNTS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def run(short: bool) -> dict[str, Any]:
    """Run all tests; if `short`, those of one module, which have to reach all of it."""
    if short:
        with tempfile.TemporaryDirectory() as name:
            measure(Path(name), ["tests/numerics/test_formatting.py"])
            return summary({"numerics/formatting.py": report(Path(name))["src/bilex/numerics/formatting.py"]})
    folder = ROOT / "build" / "coverage"
    shutil.rmtree(folder, ignore_errors=True)
    measure(folder, AS_PYTHON, NUMBA_DISABLE_JIT="1")
    measure(folder, ["tests", TOO_SLOW])
    return summary(report(folder))


def measure(folder: Path, tests: Sequence[str], **environment: str) -> None:
    """Run tests and record what they reach; they have to pass."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "coverage", "run", "-m", "pytest", "-p", "no:cacheprovider", *tests]
    ended = subprocess.run(command, cwd=ROOT, env=variables(folder) | environment, check=False, capture_output=True)
    if ended.returncode:
        raise SystemExit(f"{ended.stdout.decode()[-4000:]}\npytest ended with {ended.returncode}")


def variables(folder: Path) -> dict[str, str]:
    """Return the environment, without that of a coverage run that this one is part of."""
    rest = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    return rest | {"COVERAGE_FILE": str(folder / "data")}


def report(folder: Path) -> dict[str, dict[str, int]]:
    """Combine what was recorded, and return the counts of each file."""
    for command in (["combine", "--quiet"], ["json", "--quiet", "--fail-under=0", "-o", str(folder / "report.json")]):
        subprocess.run([sys.executable, "-m", "coverage", *command], cwd=ROOT, env=variables(folder), check=True)
    files = json.loads((folder / "report.json").read_text("utf-8"))["files"]
    return {name: file["summary"] for name, file in files.items()}


def summary(files: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """Add up the counts, by package."""
    packages: dict[str, Counter[str]] = {}
    for name, counts in files.items():
        package = Path(name).parent.name if name.count("/") > 2 else "bilex"
        packages.setdefault(package, Counter()).update({kind: counts[kind] for kind in COUNTS})
    total = sum(packages.values(), Counter[str]())
    rows = [[package, *figures(counts)] for package, counts in sorted(packages.items())]
    lines, branches, share = figures(total)
    return {
        "ok": reached(total) >= MIN_REACHED,
        "figures": {"lines reached": lines, "branches reached": branches, "share of both": share},
        "tables": [{"title": "Share by package", "shown": 3, "columns": [*COLUMNS], "rows": rows}],
    }


def reached(counts: Mapping[str, int]) -> float:
    """Return the share of lines and branches that was reached."""
    return (counts["covered_lines"] + counts["covered_branches"]) / (counts["num_statements"] + counts["num_branches"])


def figures(counts: Mapping[str, int]) -> list[str]:
    """Return the counts as text."""
    lines = f"{counts['covered_lines']:,} of {counts['num_statements']:,}"
    branches = f"{counts['covered_branches']:,} of {counts['num_branches']:,}"
    return [lines, branches, f"{reached(counts):.1%}"]
