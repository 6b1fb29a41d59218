"""The faults that mutation testing puts into a module: what they are, and that the tests of a module notice some."""

from __future__ import annotations

import ast

import pytest

from trust.mutants import mutants
from trust.mutation import UNKNOWN, summary
from trust.mutation_worker import ROOT, TESTS

SOURCE = '''"""A docstring with 1 number."""
__all__ = ["f"]
def f(x: int = 3) -> int:
    """Say 2 things."""
    if x < 1 and not x == 5:
        raise ValueError(f"{x + 1} is wrong")
    return max(x, -2) * 2
'''


def test_each_mutant_has_one_fault_in_code_that_runs() -> None:
    found = [(mutant.line, mutant.after) for mutant in mutants(SOURCE)]
    assert (3, "def f(x: int=4) -> int:") in found
    assert (5, "if x <= 1 and (not x == 5):") in found
    assert (5, "if x < 1 or not x == 5:") in found
    assert (5, "if False:") in found
    assert (7, "return min(x, -2) * 2") in found
    assert (7, "return max(x, -2) / 2") in found
    assert (7, "return None") in found
    assert all(line in (3, 5, 7) for line, _ in found)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("module", ["priors", "candidates"])
def test_every_module_gives_mutants_that_compile(module: str) -> None:
    source = (ROOT / "src" / "bilex" / f"{module}.py").read_text("utf-8")
    whole = ast.unparse(ast.parse(source))
    for number, mutant in enumerate(mutants(source)):
        if number % 10 == 0:
            compile(mutant.tree, module, "exec")
            assert ast.unparse(mutant.tree) != whole
    assert all((ROOT / "tests" / f"{name}.py").exists() for name in TESTS[module])


def test_survivors_are_listed() -> None:
    result = summary({"em": [[1, "a < b", "a <= b", True], [2, "c", "d", False]]})
    assert not result["ok"]
    assert result["figures"]["noticed"] == 1
    assert result["tables"][1]["rows"] == [["em:2", "`c`", "`d`", UNKNOWN]]
