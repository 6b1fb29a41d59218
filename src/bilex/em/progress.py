"""What a long computation tells whoever is watching; by default nobody is."""

from __future__ import annotations

from bilex.em.em import Iteration

__all__ = ["Reporter"]


class Reporter:
    """Receives news of a run. Override what is of interest."""

    def note(self, text: str) -> None:
        """Hear something worth knowing."""

    def stage(self, name: str) -> None:
        """Begin a part of the work, such as "learning"."""

    def rows(self, done: int, total: int) -> None:
        """Advance the search that runs now."""

    def iteration(self, iteration: Iteration) -> None:
        """Finish an iteration of EM."""
