"""Several languages at once: every one is matched with a hub, then with each other by way of it, and cycles checked.

A language that is far from another one may be near a third. So only the pairs with the hub need seeds: the words of
two other languages that have the same partner in the hub are the seed of their own run. Each pair has a run of its own,
so a cycle through three of them can fail to close, and where it does an entry is in doubt
(`bilex.multilingual.cycles`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from bilex.em.progress import Reporter
from bilex.errors import BilexError, BilexWarning, NothingMatchedWarning
from bilex.induction import induce
from bilex.lexicon.lexicon import Lexicon
from bilex.methods import DEFAULT_METHOD, Method
from bilex.model.maps import fit_maps
from bilex.multilingual.cycles import Cycles, Triple, check_entries, check_triple, confirmed, partners, witnessed
from bilex.numerics.rows import apply
from bilex.runs.run import Run
from bilex.search.engine import Engine
from bilex.seeds.seed import IDENTICAL, Guessed, SeedLike
from bilex.vectors.embeddings import Embeddings
from bilex.version import __version__

__all__ = ["Many", "in_hub", "induce_many"]

Pair = tuple[str, str]
LEAST = 3  # languages that make a cycle


@dataclass(frozen=True, eq=False)
class Many:
    """What `induce_many` returns.

    Parameters
    ----------
    hub
        The name of the hub.
    languages
        The names of all languages, the hub first.
    runs
        The run of each pair, unless they were handed over as they came.
    lexicons, cycles
        The lexicon of each pair, and what the other languages say of its entries.
    triples
        How often the lexicons of three languages lead back to where one started.
    left_out
        Pairs that could not be learnt, and why.
    details
        For each pair what ``many.json`` says of its run.
    """

    hub: str
    languages: tuple[str, ...]
    runs: dict[Pair, Run] = field(default_factory=dict)
    lexicons: dict[Pair, Lexicon] = field(default_factory=dict)
    cycles: dict[Pair, Cycles] = field(default_factory=dict)
    triples: list[Triple] = field(default_factory=list)
    left_out: dict[Pair, str] = field(default_factory=dict)
    details: dict[Pair, dict[str, Any]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Many({', '.join(self.languages)}; {len(self.lexicons)} lexicons, hub {self.hub})"

    def summary(self) -> dict[str, Any]:
        """Give what ``many.json`` holds."""
        return {
            "version": __version__,
            "hub": self.hub,
            "languages": list(self.languages),
            "pairs": [
                {"source": pair[0], "target": pair[1], **self.details[pair], **agreement(cycles)}
                for pair, cycles in self.cycles.items()
            ],
            "triples": [{**asdict(triple), "agreement": rounded(triple.agreement)} for triple in self.triples],
            "left_out": [{"source": s, "target": t, "why": why} for (s, t), why in self.left_out.items()],
        }


def induce_many(
    languages: Mapping[str, Embeddings],
    seeds: SeedLike | Mapping[str, SeedLike] = IDENTICAL,
    method: str | Method = DEFAULT_METHOD,
    *,
    hub: str | None = None,
    each: Callable[[Run], None] | None = None,
    engine: Engine | None = None,
    reuse: bool = True,
    reporter: Reporter | None = None,
    **changes: Any,
) -> Many:
    """Learn the lexicons of all pairs of several languages, and check them against each other.

    Parameters
    ----------
    languages
        The vectors of each language by its name; three languages or more.
    seeds
        The seed of the pairs with the hub, or one for each other language by its name (`identical` where there is
        none); see `bilex.induce`. In pairs of words the hub's comes first.
    method
        The name of a method, or a `Method`.
    hub
        The name of the language that the others are learnt through; by default the first.
    each
        Is given the run of each pair as it is learnt; then the result does not hold them, which saves much memory.
    engine, reuse, reporter, **changes
        As in `bilex.induce`.

    Returns
    -------
    Many
        The lexicons, and how they agree. A pair of which nothing was matched is left out, with a warning.
    """
    reporter = reporter or Reporter()
    hub = next(iter(languages), "") if hub is None else hub
    check(languages, hub)
    names = (hub, *(name for name in languages if name != hub))
    sides = {name: replace(languages[name], name=name) for name in names}
    given = seeds if isinstance(seeds, Mapping) else dict.fromkeys(names[1:], seeds)
    if unknown := sorted(set(given) - set(names[1:])):
        raise BilexError(f"there is a seed for {unknown[0]!r}; the languages beside the hub are {', '.join(names[1:])}")
    many = Many(hub, names)
    for pair in combinations(names, 2):
        reporter.note("-".join(pair))
        seed = given.get(pair[1], IDENTICAL) if pair[0] == hub else through_hub(many, pair)
        if seed is None:
            leave_out(many, pair, "no word of the hub has a partner in both")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error", NothingMatchedWarning)
            try:
                run = induce(
                    sides[pair[0]],
                    sides[pair[1]],
                    seed,
                    method,
                    engine=engine,
                    reuse=reuse,
                    reporter=reporter,
                    **changes,
                )
            except NothingMatchedWarning as warning:
                leave_out(many, pair, str(warning))
                continue
            except BilexError as error:
                raise BilexError(f"{'-'.join(pair)}: {error}") from None
        if pair[0] != hub:
            run.info["configuration"]["seed"]["name"] = f"through {hub}"
        many.lexicons[pair] = run.lexicon
        many.details[pair] = details(run)
        if each is None:
            many.runs[pair] = run
        else:
            each(run)
    if not many.lexicons:
        raise BilexError(f"nothing was matched between {hub} and any other language; give dictionaries as seeds")
    check_cycles(many, sides)
    hear_witnesses(many)
    return many


def check(languages: Mapping[str, Embeddings], hub: str) -> None:
    """Raise if the languages cannot be learnt together, before any of them is."""
    if len(languages) < LEAST:
        raise BilexError(f"{len(languages)} languages make no cycle; give {LEAST} or more, or use `bilex induce`")
    if hub not in languages:
        raise BilexError(f"the hub {hub!r} is none of the languages; choose one of {', '.join(languages)}")
    for name, side in languages.items():
        if side.dimension != languages[hub].dimension:
            raise BilexError(
                f"{hub} has {languages[hub].dimension} dimensions and {name} has {side.dimension}; "
                "give vectors of the same dimension"
            )


def leave_out(many: Many, pair: Pair, why: str) -> None:
    """Go on without a pair, and say so."""
    many.left_out[pair] = why
    warnings.warn(f"{'-'.join(pair)} is left out: {why}", BilexWarning, stacklevel=3)


def through_hub(many: Many, pair: Pair) -> Guessed | None:
    """Pair the words of two languages that have the same partner in the hub: mutual neighbours, if there are any."""
    lexicons = [many.lexicons.get((many.hub, name)) for name in pair]
    first, second = lexicons
    if first is None or second is None:
        return None
    for only_mutual in (True, False):
        ways = [
            {
                word: [e.target for e in entries if e.mutual or not only_mutual]
                for word, entries in by_source(one).items()
            }
            for one in (first, second)
        ]
        pairs = Guessed((a, b) for word, ours in ways[0].items() for a in ours for b in ways[1].get(word, ()))
        if pairs:
            return pairs
    return None


def by_source(lexicon: Lexicon) -> dict[str, list[Any]]:
    """Give the entries of each source word."""
    found: dict[str, list[Any]] = {}
    for entry in lexicon:
        found.setdefault(entry.source, []).append(entry)
    return found


def check_cycles(many: Many, sides: Mapping[str, Embeddings]) -> None:
    """Follow all cycles of three languages, and ask about each entry every language that is not in it."""

    @cache
    def way(start: str, end: str) -> dict[str, list[str]] | None:
        lexicon = many.lexicons.get((start, end))
        if lexicon is not None:
            return partners(lexicon)
        mirrored = many.lexicons.get((end, start))
        return None if mirrored is None else partners(mirrored, reverse=True)

    for a, b, c in combinations(many.languages, 3):
        first, second, third = way(a, b), way(b, c), way(c, a)
        if first is not None and second is not None and third is not None:
            many.triples.append(check_triple((a, b, c), (first, second, third)))
    for (a, b), lexicon in many.lexicons.items():
        ways = [(way(a, c), way(b, c), sides[c]) for c in many.languages if c not in (a, b)]
        known = [(ours, theirs, words) for ours, theirs, words in ways if ours is not None and theirs is not None]
        many.cycles[a, b] = check_entries(lexicon, known)


def hear_witnesses(many: Many) -> None:
    """Let what the other languages say of each entry move its confidence."""
    before = dict(many.lexicons)

    @cache
    def way(start: str, end: str) -> dict[str, dict[str, float]] | None:
        return witnesses(before, start, end)

    for (a, b), unheard in before.items():
        ways = [(way(a, c), way(b, c)) for c in many.languages if c not in (a, b)]
        ratios = witnessed(unheard, [(one, other) for one, other in ways if one is not None and other is not None])
        many.lexicons[a, b] = lexicon = confirmed(unheard, ratios)
        if (a, b) in many.runs:
            run = many.runs[a, b]
            many.runs[a, b] = replace(run, lexicon=lexicon, info=with_cycles(run.info, lexicon))


def witnesses(lexicons: Mapping[Pair, Lexicon], start: str, end: str) -> dict[str, dict[str, float]] | None:
    """Give the partners of each word of a language in another one, and how sure they are; None if there is no run."""
    reverse = (start, end) not in lexicons
    lexicon = lexicons.get((end, start) if reverse else (start, end))
    if lexicon is None or lexicon.confidence is None:
        return None
    found: dict[str, dict[str, float]] = {}
    sides = (lexicon.target, lexicon.source) if reverse else (lexicon.source, lexicon.target)
    for word, other, sure in zip(*sides, lexicon.confidence.tolist(), strict=True):
        found.setdefault(word, {})[other] = sure
    return found


def with_cycles(info: dict[str, Any], lexicon: Lexicon) -> dict[str, Any]:
    """Say in ``run.json`` that the confidence has heard the other languages."""
    expected = round(lexicon.expected_precision, 4) if len(lexicon) else None
    return {**info, "confidence": {**info["confidence"], "cycles": True, "expected_precision": expected}}


def in_hub(run: Run) -> Embeddings:
    """Give the target words of a run that starts from the hub in the hub's own space.

    They are turned by the orthogonal map that fits the pairs of the lexicon best, whatever the method's own maps are:
    so all languages meet in one space, and distances within a language stay as they were.
    """
    rows = np.array([run.source.index[word] for word in run.lexicon.source], np.int64)
    columns = np.array([run.target.index[word] for word in run.lexicon.target], np.int64)
    omega, _ = fit_maps("orthogonal", run.target.vectors[columns], run.source.vectors[rows])
    return replace(run.target, vectors=apply(omega, run.target.vectors))


def details(run: Run) -> dict[str, Any]:
    """Say in a few figures what a run is."""
    seed = run.info["configuration"]["seed"]
    return {
        "entries": len(run.lexicon),
        "seed": {name: seed[name] for name in ("name", "given", "used")},
        "verdict": run.info["verdict"]["level"],
        "seconds": run.info["seconds"],
    }


def agreement(cycles: Cycles) -> dict[str, Any]:
    """Say in a few figures how the other languages see a lexicon."""
    tested = cycles.tested > 0
    some = bool(tested.any())
    return {
        "tested": int(tested.sum()),
        "agreement": rounded(float(cycles.agreement[tested].mean())) if some else None,
        "closeness": rounded(float(cycles.closeness[tested].mean())) if some else None,
    }


def rounded(share: float | None) -> float | None:
    """Give six digits of a share, if there is one."""
    return None if share is None else round(share, 6)
