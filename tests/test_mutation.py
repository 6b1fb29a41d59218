"""Mutation testing: which faults it puts into a module, and that tests notice them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from trust.mutants import around, mutants
from trust.mutation import UNKNOWN_REASON, run, summary
from trust.mutation_worker import MODULES, Trials, file_of, put_in, reasons

SOURCE = '''"""A docstring with 1 number."""
__all__ = ["f"]
LIMIT = 10
def f(x: int = 3) -> int:
    """Return 2 things."""
    if x < 1 and not x == 5:
        raise ValueError(f"{x + 1} is wrong")
    return max(x, -2) * 2
'''


def test_each_mutant_has_one_fault_in_code_that_runs() -> None:
    found = [(mutant.line, mutant.after) for mutant in mutants(SOURCE)]
    assert (3, "LIMIT = 11") in found
    assert (6, "if x <= 1 and (not x == 5):") in found
    assert (6, "if x < 1 or not x == 5:") in found
    assert (6, "if False:") in found
    assert (8, "return min(x, -2) * 2") in found
    assert (8, "return max(x, -2) / 2") in found
    assert (8, "return None") in found
    assert all(line in (3, 6, 8) for line, _ in found)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("module", MODULES[:1])
def test_mutants_compile(module: str) -> None:
    source = file_of(module).read_text("utf-8")
    whole = ast.unparse(ast.parse(source))
    for number, mutant in enumerate(mutants(source)):
        if number % 10 == 0:
            compile(mutant.tree, module, "exec")
            assert ast.unparse(mutant.tree) != whole


def test_survivors_are_listed() -> None:
    known = {"module": "em", "seconds": 1.0}
    noticed = {**known, "line": 1, "before": "a < b", "after": "a <= b", "by": "a test"}
    result = summary([noticed, {**known, "line": 2, "before": "c", "after": "d", "by": None}])
    assert not result["ok"]
    assert result["figures"]["noticed"] == 1
    assert result["tables"][1]["rows"] == [["em:2", "`c`", "`d`", UNKNOWN_REASON]]
    assert summary([noticed])["ok"]


def test_long_lines_are_cut_down_to_the_fault() -> None:
    assert around("a < b", "a <= b") == ("a < b", "a <= b")
    head, tail = "x" * 100, "y" * 100
    before, after = around(f"{head} < {tail}", f"{head} <= {tail}")
    assert before == f"…{'x' * 28} < {'y' * 29}…"
    assert after == f"…{'x' * 28} <= {'y' * 29}…"


def test_faults_are_noticed_in_forks() -> None:
    """A short version of the long trial."""
    result = run(short=True)
    assert result["ok"] and result["figures"]["faults tried"] == result["figures"]["noticed"] == 2


def test_results_are_kept_and_tried_again_only_where_that_can_help(tmp_path: Path) -> None:
    path = tmp_path / "results"
    trials = Trials(path, ("matching.candidates",), 1.0, "tests of today")
    first, second, *others = trials.todo()
    trials.keep(*first, "a test", 0.1)
    trials.keep(*second, None, 0.1)
    assert [mutant.key for _, mutant in trials.todo()] == [mutant.key for _, mutant in others]
    later = Trials(path, ("matching.candidates",), 1.0, "tests of tomorrow")
    assert [mutant.key for _, mutant in later.todo()] == [mutant.key for _, mutant in (second, *others)]


def test_a_mutant_is_known_again_as_long_as_its_function_is_the_same() -> None:
    one, other = "def f(x):\n    return x + 1 + 1\n", "LIMIT = 3\ndef g(x):\n    return x * 2\n"
    known = {mutant.key for mutant in mutants(one)}
    assert len(known) == len(list(mutants(one)))
    both = {mutant.key: mutant for mutant in mutants(other + one)}
    assert known < set(both)
    assert min(both[key].line for key in known) == 5
    assert not known & {mutant.key for mutant in mutants(one.replace("+ 1 + 1", "+ 1 + 2"))}


def test_every_reason_belongs_to_a_fault_that_there_is() -> None:
    for module, known in reasons().items():
        assert module in MODULES
        there_are = mutants(file_of(module).read_text("utf-8"))
        found = {" -> ".join(around(mutant.before, mutant.after)) for mutant in there_are}
        assert set(known) - found == set()


def imported(source: str) -> ModuleType:
    module = ModuleType("imported")
    module.__file__ = "imported.py"
    exec(compile(source, module.__file__, "exec"), module.__dict__)
    return module


def test_a_fault_goes_into_the_functions_that_are_there() -> None:
    source = "class Box:\n    @classmethod\n    def named(cls, name):\n        return cls()\n"
    module = imported(source)
    named = module.Box.named
    (mutant,) = mutants(source)
    assert mutant.function
    put_in(module, mutant)
    assert named("small") is None


def test_a_fault_goes_into_properties_and_what_was_decorated() -> None:
    source = """from functools import cache, cached_property
class Box:
    @property
    def size(self):
        return 1 + 1
    @cached_property
    def weight(self):
        return 2 + 2
@cache
def count():
    return 3 + 3
"""
    asked: list[tuple[int, int, Callable[[ModuleType], int]]] = [
        (5, 2, lambda module: module.Box().size),
        (8, 4, lambda module: module.Box().weight),
        (11, 6, lambda module: module.count()),
    ]
    for line, value, ask in asked:
        for mutant in mutants(source):
            module = imported(source)
            put_in(module, mutant)
            assert (ask(module) == value) == (mutant.line != line)


def test_a_fault_in_a_constant_is_assigned() -> None:
    source = "LIMIT = 3\ndef limit():\n    return LIMIT\n"
    module = imported(source)
    put_in(module, next(mutant for mutant in mutants(source) if not mutant.function))
    assert module.limit() == 4
