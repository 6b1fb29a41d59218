"""Try the mutants of some modules: ``python -m trust.mutation_worker RESULTS SHARE MODULE,... [TESTS...]``.

First the tests are run without a fault, to see which lines each of them reaches and how long it takes. Then each mutant
lives in a fork of that process, where everything is imported and compiled: the code of the module's functions is
exchanged, and the tests that reach the fault are run, those that noticed most so far first, until one fails. A fault in
what is run when modules are imported needs a fork of a process that has not imported bilex, and all tests. A test that
takes five times the processor time it takes without a fault, and some seconds, is ended and has noticed. Results are
added to a file, one JSON line each, and what it holds already is not tried again; a mutant that was not noticed is,
where the tests have changed and survivors.toml gives no reason.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.abc
import importlib.util
import inspect
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NoReturn

import pytest

from trust.mutants import Mutant, mutants

ROOT = Path(__file__).parent.parent
MODULES = ("model.theta", "model.prior", "matching.solver", "matching.candidates", "model.maps", "em.em")
TESTS = (
    "matching/test_candidates",
    "runs/test_checkpoints",
    "model/test_constraints",
    "model/test_edge_prior",
    "em/test_em",
    "em/test_em_options",
    "em/test_e_steps",
    "model/test_maps",
    "model/test_maps_two_sided",
    "confidence/test_posterior",
    "matching/test_solver",
    "test_methods",
    "test_methods_toml",
    "model/test_theta",
    "matching/test_dense",
    "model/test_prior",
    "search/test_space",
    "test_values",
    "model/test_weights",
)
LONGEST = 1200  # seconds for a mutant that waits for something and so takes no processor time


@dataclass
class Reach:
    """What the tests do without a fault: the tests that reach each line of a module, and their processor time.

    Lines that are reached while modules are imported have the empty name among those of their tests.
    """

    tests: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def of(self, module: str, mutant: Mutant) -> set[str]:
        """Give the tests that reach a mutant's lines."""
        return {name for line in mutant.lines for name in self.tests[module].get(line, ())}


@dataclass
class Trials:
    """The mutants to try and what came of them, in a file that another process can go on with."""

    path: Path
    modules: Sequence[str]
    share: float
    digest: str

    def todo(self) -> list[tuple[str, Mutant]]:
        """Give what is left to try, with its module."""
        results, left = read(self.path), []
        for module in self.modules:
            found = list(mutants(file_of(module).read_text("utf-8")))
            chosen = random.Random(0).sample(range(len(found)), max(1, round(self.share * len(found))))
            for mutant in (found[number] for number in sorted(chosen)):
                known = results.get((module, mutant.key))
                if known is None or not (known["by"] or known["tests"] == self.digest or reason(known)):
                    left.append((module, mutant))
        return left

    def order(self, names: set[str], seconds: dict[str, float]) -> list[str]:
        """Put the tests that noticed most first, then the quick ones."""
        noticed = Counter(result["by"] for result in read(self.path).values())
        return sorted(names, key=lambda name: (-noticed[name], seconds[name], name))

    def keep(self, module: str, mutant: Mutant, by: str | None, seconds: float) -> None:
        """Write a result down."""
        result = {
            "module": module,
            "key": mutant.key,
            "before": mutant.before,
            "after": mutant.after,
            "by": by,
            "tests": self.digest,
            "seconds": round(seconds, 2),
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result, ensure_ascii=False) + "\n")


def file_of(module: str) -> Path:
    """Give the file of a module."""
    return ROOT.joinpath("src", "bilex", *module.split(".")).with_suffix(".py")


def tests_digest(tests: Sequence[str]) -> str:
    """Give a digest of the tests' code."""
    parts = [(ROOT / "tests" / f"{name}.py").read_bytes() for name in tests]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def read(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Read the last result of each mutant, by module and key."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    results = (json.loads(line) for line in lines)
    return {(result["module"], result["key"]): result for result in results}


@cache
def reasons() -> dict[str, dict[str, str]]:
    """Read why some mutants cannot be noticed, by module and change."""
    return tomllib.loads((Path(__file__).parent / "survivors.toml").read_text("utf-8"))


def reason(result: dict[str, Any]) -> str:
    """Say why a mutant cannot be noticed, or nothing if nobody has looked."""
    return reasons().get(result["module"], {}).get(f"{result['before']} -> {result['after']}", "")


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


def exchange(module: ModuleType, tree: ast.Module) -> None:
    """Give the functions and methods of a module the code they have in a syntax tree."""
    codes = {code.co_qualname: code for code in codes_in(compile(tree, str(module.__file__), "exec"))}
    for function in functions_of(module):
        if function.__code__.co_filename == module.__file__:
            function.__code__ = codes[function.__qualname__]


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Give a code object and those in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def functions_of(module: ModuleType) -> Iterator[FunctionType]:
    """Give the functions and methods that a module defines."""
    for value in vars(module).values():
        members = vars(value).values() if inspect.isclass(value) and value.__module__ == module.__name__ else (value,)
        for member in members:
            inner = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if isinstance(inner, FunctionType) and inner.__module__ == module.__name__:
                yield inner


def in_a_fork(work: Callable[[int], object]) -> str | None:
    """Do something in a fork; give the test it was at, if it did not end well."""
    with tempfile.TemporaryFile() as current:
        child = os.fork()
        if not child:
            os.setsid()
            try:
                work(current.fileno())
            finally:
                os._exit(1)
        deadline, status = time.monotonic() + LONGEST, 1
        while time.monotonic() < deadline:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            time.sleep(0.01)
        else:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        current.seek(0)
        name = current.read().decode().strip()
    return (name or "importing the module") if status else None


def settle() -> None:
    """Keep hypothesis from drawing other examples each time, and from looking for simpler ones."""
    from hypothesis import HealthCheck, Phase, settings

    settings.register_profile(
        "mutation",
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )
    settings.load_profile("mutation")


def run_tests(tests: Sequence[str], plugin: object) -> int:
    """Run pytest with a plugin that runs the tests."""
    names = [str(ROOT / "tests" / f"{name}.py") for name in tests]
    return int(pytest.main(["-q", "--tb=native", "-p", "no:cacheprovider", f"--rootdir={ROOT}", *names], [plugin]))


class Runner:
    """Runs tests in its own order: a plugin for pytest."""

    failure: pytest.TestReport | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of a failure."""
        if report.failed:
            self.failure = report

    def fails(self, item: pytest.Item, following: pytest.Item | None) -> bool:
        """Run a test as pytest would."""
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return self.failure is not None

    def run_until_one_fails(self, items: Sequence[pytest.Item], seconds: dict[str, float], current: int) -> NoReturn:
        """Run tests and end the process, with status 1 when one fails; the file `current` says where it is."""
        for item, following in zip(items, [*items[1:], None], strict=True):
            used = resource.getrusage(resource.RUSAGE_SELF)
            limit = used.ru_utime + used.ru_stime + 5 + 5 * seconds[item.nodeid]
            resource.setrlimit(resource.RLIMIT_CPU, (round(limit) + 1, resource.RLIM_INFINITY))
            os.pwrite(current, item.nodeid.ljust(1000).encode(), 0)
            if self.fails(item, following):
                os._exit(1)
        os._exit(0)


class Warm(Runner):
    """Runs the tests without a fault and then, forked from there, the mutants in the bodies of functions."""

    def __init__(self, trials: Trials, reach: Reach) -> None:
        import coverage

        self.trials, self.reach = trials, reach
        files = [str(file_of(module)) for module in trials.modules]
        self.coverage = coverage.Coverage(data_file=None, config_file=False, include=files)
        self.coverage.start()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all that there is to run."""
        if session.testsfailed:
            pytest.exit("the tests cannot be imported", 1)
        self.measure(session.items)
        items = {item.nodeid: item for item in session.items}
        for module, mutant in self.trials.todo():
            names = self.reach.of(module, mutant)
            if not mutant.inside or "" in names:
                continue
            chosen = [items[name] for name in self.trials.order(names, self.reach.seconds)]
            self.attempt(module, mutant, chosen)
        return True

    def measure(self, items: Sequence[pytest.Item]) -> None:
        """Run the tests without a fault."""
        for item, following in zip(items, [*items[1:], None], strict=True):
            self.coverage.switch_context(item.nodeid)
            started = time.process_time()
            if self.fails(item, following) and self.failure:
                pytest.exit(f"{item.nodeid} fails without a fault\n{self.failure.longreprtext}", 1)
            self.reach.seconds[item.nodeid] = time.process_time() - started
        self.coverage.stop()
        data = self.coverage.get_data()
        for module in self.trials.modules:
            self.reach.tests[module] = data.contexts_by_lineno(str(file_of(module)))

    def attempt(self, module: str, mutant: Mutant, chosen: Sequence[pytest.Item]) -> None:
        """Put a fault in, run the tests and keep what came of it."""

        def work(file: int) -> None:
            exchange(sys.modules[f"bilex.{module}"], mutant.tree)
            self.run_until_one_fails(chosen, self.reach.seconds, file)

        started = time.perf_counter()
        by = in_a_fork(work)
        self.trials.keep(module, mutant, by, time.perf_counter() - started)


class Cold(Runner):
    """Runs some of the tests in an order."""

    def __init__(self, names: Sequence[str], seconds: dict[str, float], file: int) -> None:
        self.names, self.seconds, self.file = names, seconds, file

    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Run them, unless the fault kept the tests from being imported."""
        if session.testsfailed:
            os._exit(1)
        items = {item.nodeid: item for item in session.items}
        self.run_until_one_fails([items[name] for name in self.names if name in items], self.seconds, self.file)


def try_warm(trials: Trials, tests: Sequence[str]) -> Reach:
    """Try what can be tried in a process that has imported everything, and learn there what the tests reach."""
    with tempfile.TemporaryFile("w+") as answer:
        child = os.fork()
        if not child:
            code, reach = 1, Reach()
            try:
                code = run_tests(tests, Warm(trials, reach))
                json.dump([reach.tests, reach.seconds], answer)
                answer.flush()
            finally:
                os._exit(code)
        if os.waitpid(child, 0)[1]:
            sys.exit("the tests fail without a fault")
        answer.seek(0)
        reached, seconds = json.load(answer)
    return Reach({name: {int(line): of for line, of in lines.items()} for name, lines in reached.items()}, seconds)


def try_cold(trials: Trials, tests: Sequence[str], reach: Reach) -> None:
    """Try what is left, each in a process that imports the module with the fault in it."""
    for module, mutant in trials.todo():
        names, started = trials.order(set(reach.seconds), reach.seconds), time.perf_counter()

        def work(file: int, module: str = module, mutant: Mutant = mutant, names: list[str] = names) -> None:
            sys.meta_path.insert(0, Loader(f"bilex.{module}", file_of(module), mutant.tree))
            run_tests(tests, Cold(names, reach.seconds, file))

        trials.keep(module, mutant, in_a_fork(work), time.perf_counter() - started)


def main(path: Path, share: float, modules: Sequence[str], tests: Sequence[str]) -> None:
    """Try a share of the mutants, chosen by lot with a fixed seed."""
    import numba
    import scipy.optimize  # noqa: F401

    del numba
    settle()
    trials = Trials(path, modules, share, tests_digest(tests))
    try_cold(trials, tests, try_warm(trials, tests))


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3].split(","), sys.argv[4:] or TESTS)
