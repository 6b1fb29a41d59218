"""What EM runs in: the engine, the reporter, the clock and the checkpoints. None of it changes the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from bilex.matching.graph import Matching
from bilex.model.theta import Theta
from bilex.search.engine import Engine


@dataclass(frozen=True)
class Iteration:
    """What one iteration did: one entry of ``iterations`` in ``run.json``.

    `certificate_gap` is None where the E-step does not solve an optimisation problem.
    """

    pairs: int
    mean_cosine: float
    log_likelihood: float
    certificate_gap: float | None
    seconds: dict[str, float]


@dataclass(frozen=True, eq=False)
class State:
    """Where EM is between two iterations: all it needs to continue as if it had never stopped.

    `matching` is the last E-step's, from whose pairs and duals the next one starts; a soft E-step has none.
    """

    theta: Theta
    matching: Matching | None
    iterations: tuple[Iteration, ...]


class Reporter:
    """Receives progress callbacks; by default it ignores them."""

    def note(self, text: str) -> None:
        """Receive something worth knowing."""

    def expect(self, seconds: Mapping[str, float]) -> None:
        """Receive what each stage of a run should take, by the first words of their names."""

    def stage(self, name: str) -> None:
        """Begin a part of the work, such as "learning"."""

    def rows(self, done: int, total: int) -> None:
        """Advance the search that runs now."""

    def iteration(self, iteration: Iteration) -> None:
        """Finish an iteration of EM."""


class Stopwatch:
    """Measures the seconds spent in each part of an iteration."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin a new iteration."""
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, part: str) -> None:
        """Attribute the time since the last call to `part`."""
        now = time.perf_counter()
        self.seconds[part] = now - self._last
        self._last = now


class EMHistory:
    """The last state of every EM run of a method, so that an interrupted run can be replayed up to that point.

    A method may run EM several times: on held-out pairs to decide something, then in earnest. What lies between them is
    quick and deterministic, so an interrupted run is repeated from the start, except that each EM run resumes from its
    last state.

    Parameters
    ----------
    states
        The states of an interrupted run, in their order; None for an EM run that left none.
    store
        Receives all states after each iteration.
    """

    def __init__(
        self,
        states: tuple[State | None, ...] = (),
        store: Callable[[tuple[State | None, ...]], None] = lambda states: None,
    ) -> None:
        self._previous, self._store = states, store
        self._states: list[State | None] = []

    def begin(self) -> tuple[State | None, Callable[[State], None]]:
        """Begin an EM run: return the state it had reached, if any, and the function that records its states."""
        place = len(self._states)
        previous = self._previous[place] if place < len(self._previous) else None
        self._states.append(previous)

        def record(state: State) -> None:
            self._states[place] = state
            if state.iterations[-1].pairs:  # a run without pairs is not worth resuming
                self._store(tuple(self._states))

        return previous, record


@dataclass(frozen=True, eq=False)
class Context:
    """What every step is given besides the data and the configuration."""

    engine: Engine
    reporter: Reporter = field(default_factory=Reporter)
    history: EMHistory = field(default_factory=EMHistory)
    clock: Stopwatch = field(default_factory=Stopwatch)

    def silent(self) -> Context:
        """Return the same context without a reporter."""
        return replace(self, reporter=Reporter())
