"""Every system by name, each a few lines of configuration over the same parts."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from bilex.em import Settings
from bilex.embeddings import Embeddings
from bilex.errors import BilexError
from bilex.priors import Prior

__all__ = ["DEFAULT_METHOD", "METHODS", "Method", "find_method"]


@dataclass(frozen=True)
class Method:
    """A complete configuration of the model and of EM.

    Parameters
    ----------
    name
        What it is called on the command line and in ``run.json``.
    normalise
        Normalisation steps for both languages, in order.
    prior
        The name of the prior over edge sets; see `bilex.priors`.
    log_odds
        Added to every edge's weight; 0 is the paper's uniform prior.
    candidates
        How many targets each source word is compared with in the matching (the paper's k).
    max_rank
        The frequency constraint: the E-step sees only so many words of each language. None for all.
    tolerance
        EM stops when the mean cosine of the induced pairs changes by less.
    max_iterations
        EM stops after so many iterations at the latest.
    """

    name: str
    normalise: str = "unit,center,unit"
    prior: str = "1:1"
    log_odds: float = 0.0
    candidates: int = 3
    max_rank: int | None = None
    tolerance: float = 1e-6
    max_iterations: int = 100

    def __post_init__(self) -> None:
        Prior.named(self.prior, self.log_odds)
        Embeddings((), np.empty((0, 1), np.float32)).normalise(self.normalise)  # only to check the steps
        for name, least in (("candidates", 1), ("max_iterations", 1), ("max_rank", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise BilexError(f"{name.replace('_', '-')} is {value}; give at least {least}")
        if not 0 <= self.tolerance < math.inf:
            raise BilexError(f"tolerance is {self.tolerance}; give a number from 0 up")

    def settings(self) -> Settings:
        """Give the part of it that EM needs."""
        prior = Prior.named(self.prior, self.log_odds)
        return Settings(prior, self.candidates, self.max_rank, self.tolerance, self.max_iterations)

    def with_changes(self, changes: dict[str, Any]) -> Method:
        """Replace some of its parts; a change to None is none."""
        unknown = set(changes) - {field.name for field in fields(self)}
        if unknown:
            known = ", ".join(field.name for field in fields(self))
            raise BilexError(f"a method has no {sorted(unknown)[0]!r}; it has {known}")
        return replace(self, **{name: value for name, value in changes.items() if value is not None})


METHODS = {
    method.name: method
    for method in (
        Method("ruder2018"),
        Method("ruder2018-freq", max_rank=40_000),
        Method("ruder2018-1:2", prior="1:2"),
        Method("ruder2018-2:2", prior="2:2"),
    )
}
DEFAULT_METHOD = "ruder2018"


def find_method(name: str) -> Method:
    """Give the method of that name, or say which name is nearest."""
    if name in METHODS:
        return METHODS[name]
    near = difflib.get_close_matches(name, METHODS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(METHODS)}"
    raise BilexError(f"no method is called {name!r}; {hint}")
