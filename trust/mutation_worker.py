"""Try the mutants of one module: ``python -m trust.mutation_worker MODULE SHARE``; results as JSON lines.

Each mutant lives in a fork, where the module is imported with the fault in it and the tests of the module are run
until one fails. numpy, numba and pytest are imported before, bilex is not. A fork that takes far longer than the tests
without a fault is ended, and the mutant counts as killed.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from types import ModuleType

from trust.mutants import mutants

ROOT = Path(__file__).parent.parent
TESTS = {
    "model": ("test_model", "test_em"),
    "priors": ("test_priors", "test_matching", "test_model"),
    "matching": ("test_matching", "test_pricing"),
    "candidates": ("test_candidates", "test_em"),
    "mapping": ("test_mapping", "test_mapping_others", "test_model"),
    "em": ("test_em", "test_em_options", "test_systems"),
}


class Loader(importlib.abc.Loader, importlib.abc.MetaPathFinder):
    """Imports one module from a syntax tree."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self.name, self.path, self.tree = name, path, tree

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answer for the one module."""
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed code."""
        exec(compile(self.tree, str(self.path), "exec"), module.__dict__)


def is_killed(module: str, tree: ast.Module, patience: int) -> bool:
    """Run the tests with a module in the place of the real one; say whether they notice."""
    child = os.fork()
    if not child:
        signal.alarm(patience)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        import pytest

        sys.meta_path.insert(0, Loader(f"bilex.{module}", ROOT / "src" / "bilex" / f"{module}.py", tree))
        names = [str(ROOT / "tests" / f"{name}.py") for name in TESTS[module]]
        code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "--hypothesis-seed=0", *names])
        os._exit(0 if code == 0 else 1)
    _, status = os.waitpid(child, 0)
    return status != 0


def main(module: str, share: float) -> None:
    """Try a share of the mutants, chosen by lot with a fixed seed."""
    import hypothesis
    import numba
    import pytest
    import scipy.optimize  # noqa: F401

    del hypothesis, numba, pytest
    source = (ROOT / "src" / "bilex" / f"{module}.py").read_text("utf-8")
    started = time.perf_counter()
    if is_killed(module, ast.parse(source), 600):
        sys.exit(f"the tests of {module} fail without a fault")
    patience = round(60 + 4 * (time.perf_counter() - started))
    found = list(mutants(source))
    chosen = sorted(random.Random(0).sample(range(len(found)), max(1, round(share * len(found)))))
    print(json.dumps({"mutants": len(found), "tried": len(chosen)}), flush=True)
    for place in chosen:
        mutant = found[place]
        killed = is_killed(module, mutant.tree, patience)
        print(json.dumps([mutant.line, mutant.before, mutant.after, killed]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
