"""Compile the kernels once, in one process: ``python -m tests.compile_kernels``, before tests run in several.

Numba keeps what it has compiled beside the sources. Without this step each worker of pytest-xdist, and each process
that a test starts, would compile the same kernels at the same time.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from pathlib import Path

import bilex
from bilex import cli
from tests.languages import make_languages, write_vec


def drop_outdated() -> None:
    """Delete what was compiled before a kernel changed: numba looks at a kernel's own file, not at those it calls."""
    package = Path(bilex.__file__).parent
    changed = max(path.stat().st_mtime for path in package.rglob("*_kernel.py"))
    for path in package.rglob("*.nbi"):
        if path.stat().st_mtime < changed:
            path.unlink()


def main() -> int:
    """Run what uses every kernel that takes long to compile."""
    drop_outdated()
    languages = make_languages(60, 8, 20)
    with tempfile.TemporaryDirectory() as name:
        source, target = (
            str(write_vec(Path(name, f"{side.name}.vec"), side)) for side in (languages.source, languages.target)
        )
        gold = Path(name, "gold.txt")
        gold.write_text("".join(f"{one}\t{other}\n" for one, other in languages.gold), "utf-8")
        runs = {method: str(Path(name, method)) for method in ("ruder2018", "sinkhorn", "bilex")}
        codes = {cli.run(["induce", source, target, "-q", "-o", run, "--method", each]) for each, run in runs.items()}
        codes.add(cli.run(["induce", source, target, "-q", "-o", runs["bilex"], "--force", "--seed", str(gold)]))
        with contextlib.redirect_stdout(io.StringIO()):
            codes.add(cli.run(["evaluate", runs["bilex"], str(gold), "--retrieval", "csls"]))
        return 0 if codes <= {0, 3} else 1  # so few words may well fail


if __name__ == "__main__":
    sys.exit(main())
