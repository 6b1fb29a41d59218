"""Setup for all tests, and a table of the processor time that each room's tests take."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections import Counter
from collections.abc import Generator

import pytest
from hypothesis import settings

# No test has to end in time: other work on the machine is no fault of the code.
settings.register_profile("bilex", deadline=None)
settings.load_profile("bilex")

# Each worker of pytest-xdist has one core, and so have the processes that its tests start.
os.environ.setdefault("BILEX_THREADS", "1")
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# Byte code is kept: otherwise each worker, and each process that a test starts, would compile all modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell starts background jobs with Ctrl-C ignored, and their children inherit it: a test that sends one to a process
# of its own would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name binary parameters by their size: the time in compressed ones would give each worker other names."""
    return f"{len(val)}-bytes" if isinstance(val, bytes) and not val.isascii() else None


@pytest.fixture
def short_spellings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spell words in 32 dimensions instead of 256, for tests of all methods, whose maps take most of their time."""
    from bilex.vectors.spelling import spelling_vectors

    monkeypatch.setattr(spelling_vectors, "__defaults__", (32,))


@pytest.fixture
def empty_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write plots without anything in them, for tests of everything else: drawing one takes half a second."""

    def draw(_: object) -> object:
        from matplotlib.figure import Figure

        return Figure()

    monkeypatch.setattr("bilex.experiments.plots.draw", draw)


STARTED = pytest.StashKey[float]()


def cpu_seconds() -> float:
    """Return the processor time of this process and of those it has waited for."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note the processor time at the start of a test."""
    item.stash[STARTED] = cpu_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the processor time since then to the test's last report."""
    report = yield
    if report.when == "teardown":
        report.user_properties.append(("cpu_seconds", cpu_seconds() - item.stash[STARTED]))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the processor time of each room's tests; with `-v` that of each file."""
    rooms: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports(""):
        for name, value in report.user_properties:
            if name == "cpu_seconds" and report.when == "teardown":
                path = report.nodeid.partition("::")[0].removeprefix("tests/")
                rooms[path if config.get_verbosity() > 0 else path.rpartition("/")[0] or "top level"] += value
    listed = ", ".join(f"{room} {seconds:.0f}" for room, seconds in rooms.most_common())
    terminalreporter.write_line(f"processor seconds: {sum(rooms.values()):.0f} in all; {listed}")
