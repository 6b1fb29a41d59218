"""Try the mutants of some modules: ``python -m trust.mutation_worker RESULTS SHARE DRAW MODULE,... [TESTS...]``.

First the tests are run without a fault, to see which lines each of them reaches and how long it takes. Then each mutant
lives in a fork of that process, where everything is imported and compiled: the code of the module's functions is
exchanged, and the tests that reach the fault are run, those that noticed most so far first, then the quick ones, until
one fails or they would take more than a minute. A test that takes five times the processor time it takes without a
fault, and some seconds, is ended and counts as failed. Faults for which survivors.toml has a reason are not tried, and
count as not noticed. Mutants of all modules come in random order, so that a run that is ended early is a fair sample.
Results are added to a file, one JSON line each. What it holds is not tried again, apart from mutants that were not
noticed, where the tests have changed since.
"""

from __future__ import annotations

import ast
import hashlib
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
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NoReturn

import pytest

from trust.mutants import Mutant, around, mutants

ROOT = Path(__file__).parent.parent
MODULES = (
    "model.theta",
    "model.prior",
    "model.maps",
    "model.evidence",
    "model.counting",
    "model.listwise",
    "model.forms",
    "model.pair_weights",
    "model.posterior",
    "model.candidates",
    "matching.graph",
    "matching.solver",
    "matching.candidates",
    "em.em",
    "em.e_steps",
    "em.held_out",
    "em.edges",
    "em.refinement",
    "confidence.assessment",
    "confidence.calibration",
    "confidence.figures",
    "confidence.signs",
    "confidence.verdict",
    "search.lists",
    "search.index",
    "search.space",
    "numerics.rows",
)
TESTS = (
    "tests/model",
    "tests/matching",
    "tests/em",
    "tests/confidence",
    "tests/numerics",
    "tests/runs/test_checkpoints.py",
    "tests/search/test_lists.py",
    "tests/search/test_index.py",
    "tests/search/test_space.py",
    "tests/test_methods.py",
)
MAX_TEST_SECONDS = 60.0  # of the processor, for all tests of a mutant
MAX_SECONDS = 1200  # for a mutant that waits for something and so takes no processor time


@dataclass
class Trials:
    """The mutants to try and their results, in a file that another process can continue."""

    path: Path
    modules: Sequence[str]
    share: float
    digest: str
    draw: int = 0

    def todo(self) -> list[tuple[str, Mutant]]:
        """Return what is left to try, with its module."""
        results, left = read_results(self.path), []
        for module in self.modules:
            found = list(mutants(file_of(module).read_text("utf-8")))
            chosen = random.Random(self.draw).sample(range(len(found)), max(1, round(self.share * len(found))))
            for mutant in (found[number] for number in sorted(chosen)):
                known = results.get((module, mutant.key))
                if known is None or not (known["by"] or known["tests"] == self.digest or reason(known)):
                    left.append((module, mutant))
        return sorted(left, key=lambda each: each[1].key)  # a hash

    def order(self, names: set[str], seconds: dict[str, float]) -> list[str]:
        """Sort tests: those that noticed most first, then the quick ones, as many as there is time for."""
        noticed = Counter(result["by"] for result in read_results(self.path).values())
        names_in_order = sorted(names, key=lambda name: (-noticed[name], seconds[name], name))
        spent = accumulate(seconds[name] for name in names_in_order)
        return [name for name, total in zip(names_in_order, spent, strict=True) if total <= MAX_TEST_SECONDS]

    def keep(self, module: str, mutant: Mutant, by: str | None, seconds: float) -> None:
        """Write a result: the test that noticed the mutant, or None."""
        about = {"module": module, "key": mutant.key, "before": mutant.before, "after": mutant.after}
        result = {**about, "by": by, "tests": self.digest, "seconds": round(seconds, 2)}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result, ensure_ascii=False) + "\n")


def file_of(module: str) -> Path:
    """Return the file of a module."""
    return ROOT.joinpath("src", "bilex", *module.split(".")).with_suffix(".py")


def tests_digest(tests: Sequence[str]) -> str:
    """Return a digest of the tests' code."""
    paths = [path for name in tests for path in (sorted((ROOT / name).rglob("*.py")) or [ROOT / name])]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def read_results(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Read the last result of each mutant, by module and key."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    results = (json.loads(line) for line in lines)
    return {(result["module"], result["key"]): result for result in results}


@cache
def reasons() -> dict[str, dict[str, str]]:
    """Read why some mutants cannot be noticed, by module and change."""
    return tomllib.loads((Path(__file__).parent / "survivors.toml").read_text("utf-8"))


def reason(result: dict[str, Any]) -> str:
    """Return why a mutant cannot be noticed, or an empty text if the reason is not known."""
    return reasons().get(result["module"], {}).get(" -> ".join(around(result["before"], result["after"])), "")


def put_in(module: ModuleType, mutant: Mutant) -> None:
    """Put a fault into an imported module: exchange the code of its functions, or assign its constants again."""
    file = str(module.__file__)
    if not mutant.function:
        changed = [statement for statement in mutant.tree.body if statement.lineno in mutant.lines]
        exec(compile(ast.Module(changed, []), file, "exec"), module.__dict__)
        return
    codes = {code.co_qualname: code for code in codes_in(compile(mutant.tree, file, "exec"))}
    for function in functions_of(module):
        if function.__code__.co_filename == file:
            function.__code__ = codes[function.__qualname__]


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Return a code object and those in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def functions_of(module: ModuleType) -> Iterator[FunctionType]:
    """Return the functions and methods that a module defines."""
    for value in vars(module).values():
        members = vars(value).values() if inspect.isclass(value) and value.__module__ == module.__name__ else (value,)
        for member in members:
            inner = getattr(member, "__func__", member)
            if isinstance(member, property | cached_property):
                inner = member.fget if isinstance(member, property) else member.func
            inner = inspect.unwrap(inner) if callable(inner) else inner  # the fault goes into what was decorated
            if isinstance(inner, FunctionType) and inner.__module__ == module.__name__:
                yield inner


def in_a_fork(work: Callable[[int], object]) -> str | None:
    """Do something in a fork; return the test it was at if it ended badly, or None."""
    with tempfile.TemporaryFile() as current:
        child = os.fork()
        if not child:
            os.setsid()
            try:
                work(current.fileno())
            finally:
                os._exit(1)
        deadline, status = time.monotonic() + MAX_SECONDS, 1
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
    return (name or "putting the fault in") if status else None


class Plugin:
    """Runs the tests without a fault and then, in forks, those that reach each mutant."""

    def __init__(self, trials: Trials) -> None:
        import coverage

        self.trials = trials
        self.seconds: dict[str, float] = {}
        self.failure: pytest.TestReport | None = None
        files = [str(file_of(module)) for module in trials.modules]
        self.coverage = coverage.Coverage(data_file=None, config_file=False, include=files)
        self.coverage.start()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a failure."""
        if report.failed:
            self.failure = report

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run everything."""
        if session.testsfailed:
            pytest.exit("the tests cannot be imported", 1)
        self.measure(session.items)
        items = {item.nodeid: item for item in session.items}
        data = self.coverage.get_data()
        reached = {module: data.contexts_by_lineno(str(file_of(module))) for module in self.trials.modules}
        for module, mutant in self.trials.todo():
            if reason({"module": module, "before": mutant.before, "after": mutant.after}):
                self.trials.keep(module, mutant, None, 0.0)
                continue
            lines = mutant.lines if mutant.function else reached[module]  # a constant: all tests of the module
            names = {name for line in lines for name in reached[module].get(line, ()) if name}
            self.attempt(module, mutant, [items[name] for name in self.trials.order(names, self.seconds)])
        return True

    def measure(self, items: Sequence[pytest.Item]) -> None:
        """Run the tests without a fault, and record what each of them reaches and how long it takes."""
        for item, following in zip(items, [*items[1:], None], strict=True):
            self.coverage.switch_context(item.nodeid)
            started = time.process_time()
            if self.fails(item, following) and self.failure:
                pytest.exit(f"{item.nodeid} fails without a fault\n{self.failure.longreprtext}", 1)
            self.seconds[item.nodeid] = time.process_time() - started
        self.coverage.stop()

    def attempt(self, module: str, mutant: Mutant, chosen: Sequence[pytest.Item]) -> None:
        """Put a fault in, run the tests and keep the result."""

        def work(file: int) -> None:
            put_in(sys.modules[f"bilex.{module}"], mutant)
            self.run_until_one_fails(chosen, file)

        started = time.perf_counter()
        by = in_a_fork(work)
        self.trials.keep(module, mutant, by, time.perf_counter() - started)

    def run_until_one_fails(self, items: Sequence[pytest.Item], current: int) -> NoReturn:
        """Run tests and end the process, with status 1 when one fails; write the test's name to the file `current`."""
        for item, following in zip(items, [*items[1:], None], strict=True):
            used = resource.getrusage(resource.RUSAGE_SELF)
            limit = used.ru_utime + used.ru_stime + 5 + 5 * self.seconds[item.nodeid]
            resource.setrlimit(resource.RLIMIT_CPU, (round(limit) + 1, resource.RLIM_INFINITY))
            os.pwrite(current, item.nodeid.ljust(1000).encode(), 0)
            if self.fails(item, following):
                os._exit(1)
        os._exit(0)

    def fails(self, item: pytest.Item, following: pytest.Item | None) -> bool:
        """Run a test as pytest would, and tell whether it fails."""
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return self.failure is not None


def make_hypothesis_repeatable() -> None:
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


def main(path: Path, share: float, draw: int, modules: Sequence[str], tests: Sequence[str]) -> int:
    """Try a share of the mutants, drawn with that seed."""
    import scipy.optimize  # noqa: F401 (imported before coverage starts, which would slow it down)

    make_hypothesis_repeatable()
    plugin = Plugin(Trials(path, modules, share, tests_digest(tests), draw))
    names = [str(ROOT / name) for name in tests]
    return int(pytest.main(["-q", "--tb=native", "-p", "no:cacheprovider", f"--rootdir={ROOT}", *names], [plugin]))


if __name__ == "__main__":
    path, share, draw, modules, *tests = sys.argv[1:]
    sys.exit(main(Path(path), float(share), int(draw), modules.split(","), tests or TESTS))
