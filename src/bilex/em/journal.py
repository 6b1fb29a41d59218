"""Which EM runs a method has been through, so that a run that was interrupted can be played again up to that point.

A method may run EM several times, one after the other: on held-out pairs to decide something, then in earnest, then
with what it has learnt. What lies between them is quick and always ends the same, so a run is taken up by doing
everything again, except that each EM starts where it was.
"""

from __future__ import annotations

from collections.abc import Callable

from bilex.em.em import State

__all__ = ["Journal"]


class Journal:
    """The last state of every EM run so far, None for one that left none.

    Parameters
    ----------
    states
        Those of an interrupted run, in their order.
    keep
        Is given all states after each iteration.
    """

    def __init__(
        self,
        states: tuple[State | None, ...] = (),
        keep: Callable[[tuple[State | None, ...]], None] = lambda states: None,
    ) -> None:
        self._before, self._keep = states, keep
        self._states: list[State | None] = []

    def next(self) -> tuple[State | None, Callable[[State], None]]:
        """Begin an EM run: give where it was the last time, if it was begun, and what to tell its states to."""
        place = len(self._states)
        before = self._before[place] if place < len(self._before) else None
        self._states.append(before)

        def note(state: State) -> None:
            self._states[place] = state
            if state.iterations[-1].pairs:  # nothing can come of none
                self._keep(tuple(self._states))

        return before, note
