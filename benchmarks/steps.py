"""Run a command of bilex, and write the CPU seconds of its steps: ``python -m benchmarks.steps FILE COMMAND...``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.results import cpu_time
from bilex.cli import main
from bilex.em.context import Reporter
from bilex.runs import progress

__all__ = ["StepReporter"]


class StepReporter(Reporter):
    """Adds up the CPU seconds of the steps by the first word of their names."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._step, self._since = "starting", 0.0

    def stage(self, name: str) -> None:
        """End the last step and begin another one."""
        now = cpu_time()
        self.seconds[self._step] = self.seconds.get(self._step, 0.0) + now - self._since
        self._step, self._since = name.split(maxsplit=1)[0], now


if __name__ == "__main__":
    file, reporter = Path(sys.argv.pop(1)), StepReporter()

    @contextmanager
    def show_steps(*_: Any, **__: Any) -> Iterator[Reporter]:
        """Take the place of the bar."""
        yield reporter

    progress.show_progress = show_steps
    try:
        main()
    finally:
        reporter.stage("end")
        file.write_text(json.dumps(reporter.seconds))
