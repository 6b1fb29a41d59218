"""Every system by name, each a few lines of configuration over the same parts.

The paper's systems and baselines (sections 5 and 6.1), and those it only mentions. A user's own method is another
`Method`, in Python or in a TOML file such as

    base = "ruder2018"          # a method to start from
    name = "mine"
    prior = "2:2"
    max_rank = 20000
"""

from __future__ import annotations

import contextlib
import difflib
import math
import numbers
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from bilex.em.e_steps import E_STEPS
from bilex.em.em import Settings
from bilex.errors import BilexError, InputError
from bilex.files.toml import read_toml
from bilex.model.maps import MAPS, Steps
from bilex.model.prior import Prior
from bilex.model.weights import WEIGHTS
from bilex.vectors.embeddings import Embeddings
from bilex.vectors.spelling import spelling_vectors

__all__ = ["DEFAULT_METHOD", "METHODS", "Method", "find_method", "read_method"]

CHOOSE = "choose"
EDGE_PRIORS = ("uniform", "learned")
COLDEST = 1e-6  # a temperature below which float32 weights, divided by it, say nothing
KINDS: dict[str, tuple[type, type, str]] = {  # what it becomes, what it may be, and what that is called
    "str": (str, str, "a text in quotes"),
    "int": (int, numbers.Integral, "a whole number"),
    "float": (float, numbers.Real, "a number"),
    "bool": (bool, bool, "true or false"),
}


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
        The name of the prior over edge sets; see `bilex.model.prior`.
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
    e_step
        ``viterbi`` (the paper's), ``mutual``, ``posterior`` or ``sinkhorn``; see `bilex.em.e_steps`.
    maps
        ``orthogonal`` (the paper's), ``least-squares`` or ``cca``; see `bilex.model.maps`.
    ridge, annealing, reweight, dewhiten, dimensions
        The steps of the ``cca`` maps; see `bilex.model.maps.Steps`.
    temperature
        How soft a soft E-step is: edges count ``exp(w / temperature)``. 1 is the model as stated.
    self_learning
        Whether EM is run at all; if not, the map fitted to the seed is the result.
    orthography
        Weight of the spelling (hashed character n-grams) beside the vectors; 0 leaves it out.
    exact
        Whether the matching is optimal among all pairs of words, not only among the candidates.
    weights
        What an edge weighs in the E-step: ``likelihood`` (the paper's) or ``margin``; see `bilex.model.weights`.
    slack, tightening
        Added to every weight at first, and how much less of it there is with each iteration.
    supervision
        What the seed is after the start: nothing more (``start``, the paper's), pairs that every M-step learns from
        (``soft``), pairs that every matching holds (``fixed``), or which of these is best on held-out pairs
        (``choose``); see `bilex.em.held_out`.
    edge_prior
        ``uniform`` (the paper's) or ``learned``, if it proves its worth on held-out pairs; see
    `bilex.model.edge_prior`. match_all
        Whether the last matching takes in all words, also beyond `max_rank`. Who sets `max_rank` means it, and
        unsets this unless they set it too.
    """

    name: str
    normalise: str = "unit,center,unit"
    prior: str = "1:1"
    log_odds: float = 0.0
    candidates: int = 3
    max_rank: int | None = None
    tolerance: float = 1e-6
    max_iterations: int = 100
    e_step: str = "viterbi"
    maps: str = "orthogonal"
    ridge: float = 0.3
    annealing: float = 0.0
    reweight: float = 0.5
    dewhiten: bool = False
    dimensions: int | None = None
    temperature: float = 1.0
    self_learning: bool = True
    orthography: float = 0.0
    exact: bool = False
    weights: str = "likelihood"
    slack: float = 0.0
    tightening: float = 0.02
    supervision: str = "start"
    edge_prior: str = "uniform"
    match_all: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, of_kind(str(field.type), field.name, getattr(self, field.name)))
        Embeddings((), np.empty((0, 1), np.float32)).normalise(self.normalise)  # only to check the steps
        for name, least in (("candidates", 1), ("max_iterations", 1), ("max_rank", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise BilexError(f"{name.replace('_', '-')} is {value}; give at least {least}")
        for name, known in (
            ("e_step", tuple(E_STEPS)),
            ("maps", MAPS),
            ("weights", tuple(WEIGHTS)),
            ("edge_prior", EDGE_PRIORS),
        ):
            if getattr(self, name) not in known:
                raise BilexError(f"no {name} is called {getattr(self, name)!r}; choose one of {', '.join(known)}")
        for name, lowest in (("tolerance", 0), ("temperature", COLDEST), ("orthography", 0)):
            if not lowest <= getattr(self, name) < math.inf:
                raise BilexError(f"{name} is {getattr(self, name)}; give a number from {lowest} up")
        self.settings()  # only to check the prior, and whether the steps fit together

    def settings(self) -> Settings:
        """Give the part of it that EM needs."""
        prior = Prior.named(self.prior, self.log_odds)
        steps = Steps(**{field.name: getattr(self, field.name) for field in fields(Steps)})
        own = {field.name for field in fields(self)} - {"prior", "steps", "supervision"}
        names = own & {field.name for field in fields(Settings)}  # how fast it goes is no part of a method
        supervision = "start" if self.supervision == CHOOSE else self.supervision
        return Settings(prior, steps=steps, supervision=supervision, **{name: getattr(self, name) for name in names})

    def prepare(self, vectors: Embeddings) -> Embeddings:
        """Normalise a language's vectors, and put their spelling beside them if asked to."""
        prepared = vectors.normalise(self.normalise)
        if not self.orthography:
            return prepared
        spelling = np.float32(self.orthography) * spelling_vectors(prepared.words)
        return replace(prepared, vectors=np.hstack([prepared.vectors, spelling])).normalise("unit")

    def with_changes(self, changes: dict[str, Any]) -> Method:
        """Replace some of its parts; a change to None is none."""
        unknown = set(changes) - {field.name for field in fields(self)}
        if unknown:
            known = ", ".join(field.name for field in fields(self))
            raise BilexError(f"a method has no {sorted(unknown)[0]!r}; it has {known}")
        given = {name: value for name, value in changes.items() if value is not None}
        if "max_rank" in given:
            given = {"match_all": False, **given}
        return replace(self, **given)


def of_kind(kind: str, name: str, value: Any) -> Any:
    """Give the value as the kind of thing that its part of a method is, or say what that would be."""
    if value is None and "None" in kind:
        return None
    cast, number, what = KINDS[kind.partition(" ")[0]]
    if isinstance(value, number) and isinstance(value, bool) == (cast is bool):
        with contextlib.suppress(OverflowError):  # a whole number may be too large for a float
            return cast(value)
    raise BilexError(f"{name} is {value!r}; give {what}")


METHODS = {
    method.name: method
    for method in (
        # Maps learnt from the seed alone
        Method("mikolov2013", normalise="none", maps="least-squares", self_learning=False),
        Method("zhang2016", normalise="none", self_learning=False),
        Method("xing2015", normalise="unit", self_learning=False),
        Method("artetxe2016", normalise="unit,center", self_learning=False),
        Method("artetxe2018", maps="cca", ridge=0.0, dewhiten=True, self_learning=False),
        # One-to-many alignments
        # scaled to unit length once more, so that nearest by distance, by product and by cosine are the same
        Method("artetxe2017", prior="many-to-one-no-null"),
        Method("ibm1", prior="one-to-many"),
        Method("ibm1-em", prior="one-to-many", e_step="posterior"),
        # The paper's model
        Method("ruder2018"),
        Method("ruder2018-freq", max_rank=40_000),
        Method("ruder2018-1:2", prior="1:2"),
        Method("ruder2018-2:2", prior="2:2"),
        # The default: the paper's model with maps in steps, and what is left open decided on held-out pairs
        Method(
            "bilex",
            maps="cca",
            annealing=6.0,
            max_rank=8000,
            match_all=True,
            tolerance=1e-4,
            supervision=CHOOSE,
        ),
        # Others that the paper speaks of
        Method("mutual", e_step="mutual"),
        Method("sinkhorn", e_step="sinkhorn", temperature=0.1, candidates=10),
        Method("haghighi2008", maps="cca"),
        Method("haghighi2008-orthographic", maps="cca", orthography=0.5),
    )
}
DEFAULT_METHOD = "bilex"
PAPER = "ruder2018"


def find_method(name: str) -> Method:
    """Give the method of that name, or the one in the TOML file of that name; or say which name is nearest."""
    if name in METHODS:
        return METHODS[name]
    if name.endswith(".toml"):
        return read_method(name)
    near = difflib.get_close_matches(name, METHODS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(METHODS)}, or give a .toml file"
    raise BilexError(f"no method is called {name!r}; {hint}")


def read_method(path: str) -> Method:
    """Read a user's own method: the parts that differ from its ``base``, by default the paper's model."""
    parts = read_toml(path, "write lines such as prior = '1:1'")
    try:
        base = str(parts.pop("base", PAPER))
        if base.endswith(".toml"):  # it could lead back to this one
            raise BilexError(f"the base {base!r} is a file; choose one of {', '.join(METHODS)}")
        return find_method(base).with_changes({"name": Path(path).stem, **parts})
    except BilexError as error:
        problem, _, remedy = str(error).rpartition("; ")
        raise InputError(path, problem or remedy, remedy if problem else "correct it") from None
