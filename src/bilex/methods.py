"""Every system by name: one nested configuration over the same parts.

The paper's systems and baselines (sections 5 and 6.1), and those it only mentions. Each option is declared once, in
the part of the configuration that it belongs to. From that declaration follow the options of the command line, the
keys of a TOML file, the keyword arguments of `bilex.induce`, ``run.json`` and the report's "how to reproduce" line. All
of these use the option's own name (``max_rank``); the `kind` of a part goes by the name of the part (``prior``).

A user's own method is another `Method`, in Python or in a TOML file such as

    base = "ruder2018"          # the method to start from
    name = "mine"
    prior = "2:2"
    max_rank = 20000
"""

import difflib
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args, get_type_hints

import msgspec

from bilex.errors import BilexError, InputError, printable

MapKind = Literal["orthogonal", "least-squares", "cca"]
EStepKind = Literal["viterbi", "mutual", "posterior", "sinkhorn"]
PriorKind = Literal[
    "1:1", "1:2", "2:1", "2:2", "one-to-many", "one-to-many-no-null", "many-to-one", "many-to-one-no-null"
]
Supervision = Literal["start", "soft", "fixed", "choose"]

Count = Annotated[int, msgspec.Meta(ge=1, le=(1 << 63) - 1)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Probability = Annotated[float, msgspec.Meta(ge=0, le=1)]
MIN_TEMPERATURE = 1e-6  # float32 weights divided by less say nothing
SOFT_E_STEPS = ("posterior", "sinkhorn")
MIN_LISTED = 0.25  # the probability from which the default method lists an entry
SET_THRESHOLD = 0.2
"""How probable the translations in a set are at least. On held-out words of the train files F1 is best at .25 (en-fi,
4,000 words: .549, here .548) and at .1 (en-fr, 25 pairs: .638, here .604)."""
NORMALISATION_STEPS = ("unit", "centre", "iterative", "none")


def option(default: Any, text: str, *, metavar: str | None = None, flag: bool = False) -> Any:
    """Declare an option: its default, what it does, and whether the command line offers it as a flag."""
    return field(default=default, metadata={"help": text, "metavar": metavar, "flag": flag})


class Part:
    """A part of a configuration, whose values are checked against their types when it is made."""

    def __post_init__(self) -> None:
        part: Any = type(self)
        for name, kind in types_of(part).items():
            if not is_dataclass(kind):
                object.__setattr__(self, name, checked(option_name(part, name), getattr(self, name), kind))


@dataclass(frozen=True)
class MapConfig(Part):
    """Which maps the M-step fits; see `bilex.model.maps`."""

    kind: MapKind = option("orthogonal", "The maps: orthogonal (the paper's), least-squares or cca.")
    ridge: NotNegative = option(0.3, "cca: the part of the mean variance that is added before whitening.")
    annealing: NotNegative = option(0.0, "cca: a floor under the ridge, times dimensions / pairs.")
    reweight: NotNegative = option(0.5, "cca: the power of the correlations by which directions count.")
    dewhiten: bool = option(False, "cca: undo the whitening afterwards.")
    dimensions: Count | None = option(None, "cca: how many directions are kept; none for all.")


@dataclass(frozen=True)
class EStepConfig(Part):
    """What the E-step computes, and on which words and edges; see `bilex.em.e_steps`."""

    kind: EStepKind = option("viterbi", "The E-step: viterbi (the paper's), mutual, posterior or sinkhorn.")
    candidates: Count = option(
        3, "How many targets of each source word the matching considers.", metavar="K", flag=True
    )
    max_rank: Count | None = option(
        None, "Match only the N most frequent words of each language.", metavar="N", flag=True
    )
    match_all: bool = option(False, "Match all words at the end, also those beyond max_rank.")
    exact: bool = option(False, "Match among all pairs of words, not only the candidates.", flag=True)
    temperature: float = option(1.0, "How soft a soft E-step is; 1 is the model as stated.")


@dataclass(frozen=True)
class PriorConfig(Part):
    """The prior over edge sets; see `bilex.model.prior`."""

    kind: PriorKind = option("1:1", "How many partners a word may have.", flag=True)
    log_odds: float = option(
        0.0, "Added to the weight of every pair: above 0 more pairs, below 0 fewer.", metavar="X", flag=True
    )


@dataclass(frozen=True)
class StoppingConfig(Part):
    """When EM stops."""

    tolerance: NotNegative = option(1e-6, "Stop when the mean cosine changes by less.", flag=True)
    max_iterations: Count = option(100, "Stop after N iterations at the latest.", metavar="N", flag=True)


@dataclass(frozen=True)
class Method(Part):
    """A complete configuration of the model and of EM; each option says in its declaration what it does.

    `supervision` is the role of the seed after the start: none (``start``, the paper's), pairs that every M-step learns
    from (``soft``), pairs that every matching contains (``fixed``), or whichever of these is best on held-out pairs
    (``choose``); see `bilex.em.held_out`. With `evidence` EM ends with a round on all evidence (`bilex.em.refinement`),
    and the lexicon is the matching on it.
    """

    name: str
    normalise: str = option(
        "unit,centre,unit", "Normalisation steps: unit, centre, iterative, none.", metavar="STEPS", flag=True
    )
    orthography: NotNegative = option(0.0, "Weight of the spelling beside the vectors.")
    self_learning: bool = option(True, "Run EM; otherwise the map of the seed is the result.")
    supervision: Supervision = option(
        "start", "The role of the seed after the start: start (none), soft, fixed or choose."
    )
    certain_seed: bool = option(
        False, "Take the pairs of the seed as certain: every matching contains them.", flag=True
    )
    evidence: bool = option(
        False, "Also use spelling, frequency and endings, in the last iteration and for the lexicon."
    )
    lemmas: str | None = option(
        None, "Group the forms of a word by their lemmas: fi, or en:fi for both sides.", metavar="LANG", flag=True
    )
    min_confidence: Probability = option(
        0.0, "Leave out entries with less confidence; 0 keeps all.", metavar="P", flag=True
    )
    map: MapConfig = field(default_factory=MapConfig)
    e_step: EStepConfig = field(default_factory=EStepConfig)
    prior: PriorConfig = field(default_factory=PriorConfig)
    stopping: StoppingConfig = field(default_factory=StoppingConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        steps = [step.strip().replace("center", "centre") for step in self.normalise.split(",")]
        if unknown := [step for step in steps if step not in NORMALISATION_STEPS]:
            raise BilexError(f"no normalisation step is called {unknown[0]!r}; use {', '.join(NORMALISATION_STEPS)}")
        object.__setattr__(self, "normalise", ",".join(steps))
        if not self.e_step.temperature >= MIN_TEMPERATURE:
            raise BilexError(f"temperature is {self.e_step.temperature}; give a number from {MIN_TEMPERATURE} up")
        if self.self_learning:
            self._check_combination()

    def _check_combination(self) -> None:
        """Raise if EM cannot combine the parts."""
        e_step = self.e_step.kind
        if e_step != "viterbi" and self.supervision != "start":
            raise BilexError(f"the {e_step} E-step takes no other supervision; set e_step = 'viterbi'")
        if e_step in SOFT_E_STEPS and self.map.kind != "orthogonal":
            # Only for orthogonal maps is the expected source of each target enough: others need second moments.
            raise BilexError(f"the {e_step} E-step needs orthogonal maps; set map = 'orthogonal'")
        if e_step == "posterior" and self.prior.kind != "one-to-many":
            raise BilexError("the posterior E-step is exact for one prior only; set prior = 'one-to-many'")
        if e_step == "sinkhorn" and self.prior.kind != "1:1":
            raise BilexError("the sinkhorn E-step is defined for one prior only; set prior = '1:1'")
        if self.prior.kind.startswith("many-to-one") and self.map.kind == "least-squares":
            raise BilexError(f"a least-squares map cannot be reversed for {self.prior.kind}; set map = 'orthogonal'")

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """Replace options by their names; an explicit `max_rank` disables `match_all`."""
        known = {option.name: option.path for option in OPTIONS.values()} | {"name": ("name",)}
        if unknown := sorted(set(changes) - set(known)):
            near = difflib.get_close_matches(unknown[0], known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(known)}"
            raise BilexError(f"a method has no option {unknown[0]!r}; {hint}")
        if "max_rank" in changes:
            changes = {"match_all": False, **changes}
        parts: dict[str, dict[str, Any]] = {}
        own: dict[str, Any] = {}
        for name, value in changes.items():
            *part, leaf = known[name]
            (parts.setdefault(part[0], {}) if part else own)[leaf] = value
        own |= {name: replace(getattr(self, name), **values) for name, values in parts.items()}
        return replace(self, **own)

    @classmethod
    def from_manifest(cls, configuration: Mapping[str, Any]) -> Self:
        """Read the method of a ``run.json`` or a checkpoint."""
        try:
            return msgspec.convert(dict(configuration), cls, strict=True)
        except (msgspec.ValidationError, BilexError, TypeError, ValueError):
            raise BilexError("the method is of another version of bilex; run `bilex induce` again") from None

    def options(self) -> dict[str, Any]:
        """Return the value of every option by its name."""
        return flat_options(asdict(self))


@dataclass(frozen=True)
class Option:
    """One option: its name, where it is in the configuration, its type, and what the command line shows."""

    name: str
    path: tuple[str, ...]
    type: Any
    help: str
    metavar: str | None
    flag: bool

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that a `Literal` option can take; empty for the others."""
        return get_args(self.type) if getattr(self.type, "__origin__", None) is Literal else ()


@cache
def types_of(part: Any) -> dict[str, Any]:
    """Return the annotations of a part, resolved."""
    return get_type_hints(part, include_extras=True)


def option_name(part: type, name: str) -> str:
    """Name an option: the `kind` of a part goes by the part's name."""
    owners = {kind: owner for owner, kind in types_of(Method).items() if isinstance(kind, type)}
    return owners[part] if name == "kind" else name


def declared_options(part: type = Method, path: tuple[str, ...] = ()) -> dict[str, Option]:
    """Collect the options of a configuration and of its parts."""
    found: dict[str, Option] = {}
    for each in fields(part):
        kind = types_of(part)[each.name]
        if is_dataclass(kind):
            found |= declared_options(kind, (*path, each.name))  # type: ignore[arg-type]
        elif each.metadata:
            name = option_name(part, each.name)
            found[name] = Option(name, (*path, each.name), kind, **each.metadata)
    return found


OPTIONS = declared_options()
"""Every option of a method by its name."""


def flat_options(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a nested configuration, as ``run.json`` holds it, by their names."""
    found = {}
    for name, each in OPTIONS.items():
        *part, leaf = each.path
        inner = configuration.get(part[0]) if part else configuration
        found[name] = inner.get(leaf) if isinstance(inner, Mapping) else None
    return found


def checked(name: str, value: Any, kind: Any) -> Any:
    """Return the value as its declared type, or raise an error that says what it may be."""
    if hasattr(value, "item"):  # a number of NumPy's
        value = value.item()
    try:
        converted = msgspec.convert(value, kind, strict=True)
    except (msgspec.ValidationError, OverflowError):
        raise BilexError(f"{name} is {value!r}; {expectation(kind)}") from None
    if isinstance(converted, float) and not (math.isfinite(converted) or (name == "ridge" and converted > 0)):
        raise BilexError(f"{name} is {value!r}; {expectation(kind)}")
    return converted


def expectation(kind: Any) -> str:
    """Describe the values that a type allows, as the remedy of an error."""
    if choices := get_args(kind) if getattr(kind, "__origin__", None) is Literal else ():
        return f"choose one of {', '.join(choices)}"
    text = str(kind)
    names = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "a text in quotes"}
    what = next(words for word, words in names.items() if word in text)
    bounds = {"ge=1": " from 1 up", "le=1)": " from 0 to 1", "ge=0": " from 0 up"}
    return f"give {what}{next((words for bound, words in bounds.items() if bound in text), '')}"


def named(name: str, **options: Any) -> Method:
    """Build a method from the options in which it differs from the paper's model."""
    return Method(name).with_changes(options)


METHODS = {
    method.name: method
    for method in (
        # Maps learnt from the seed alone
        named("mikolov2013", normalise="none", map="least-squares", self_learning=False),
        named("zhang2016", normalise="none", self_learning=False),
        named("xing2015", normalise="unit", self_learning=False),
        named("artetxe2016", normalise="unit,centre", self_learning=False),
        named("artetxe2018", map="cca", ridge=0.0, dewhiten=True, self_learning=False),
        # One-to-many alignments
        # scaled to unit length once more, so that nearest by distance, by product and by cosine are the same
        named("artetxe2017", prior="many-to-one-no-null"),
        named("ibm1", prior="one-to-many"),
        named("ibm1-em", prior="one-to-many", e_step="posterior"),
        # The paper's model
        named("ruder2018"),
        named("ruder2018-freq", max_rank=40_000),
        named("ruder2018-1:2", prior="1:2"),
        named("ruder2018-2:2", prior="2:2"),
        # The default: the paper's model with two-sided maps, and then all evidence; the role of the seed is decided on
        # held-out pairs
        named(
            "bilex",
            map="cca",
            annealing=6.0,
            max_rank=8000,
            match_all=True,
            tolerance=1e-3,  # further iterations gain nothing (docs/accuracy.md)
            supervision="choose",
            evidence=True,
            min_confidence=MIN_LISTED,
        ),
        # Others that the paper mentions
        named("mutual", e_step="mutual"),
        named("sinkhorn", e_step="sinkhorn", temperature=0.1, candidates=10),
        named("haghighi2008", map="cca"),
        named("haghighi2008-orthographic", map="cca", orthography=0.5),
    )
}
DEFAULT_METHOD = "bilex"
PAPER = "ruder2018"


def find_method(method: str | Method) -> Method:
    """Return the method of that name or in that TOML file; a `Method` is returned as it is."""
    if isinstance(method, Method):
        return method
    if not isinstance(method, str):
        raise BilexError(f"{method!r} is no method; give a name or a Method")
    if method in METHODS:
        return METHODS[method]
    if method.endswith(".toml"):
        return read_method(method)
    near = difflib.get_close_matches(method, METHODS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(METHODS)}, or give a .toml file"
    raise BilexError(f"no method is called {method!r}; {hint}")


def read_method(path: str) -> Method:
    """Read a user's own method: the options that differ from its ``base``, by default the paper's model."""
    from bilex.files.streams import read_toml

    options = read_toml(path, "write lines such as prior = '1:1'")
    try:
        base = str(options.pop("base", PAPER))
        if base.endswith(".toml"):  # it could lead back to this one
            raise BilexError(f"the base {base!r} is a file; choose one of {', '.join(METHODS)}")
        return find_method(base).with_changes({"name": printable(Path(path).stem), **options})
    except BilexError as error:
        problem, _, remedy = str(error).rpartition("; ")
        raise InputError(path, problem or remedy, remedy if problem else "correct it") from None
