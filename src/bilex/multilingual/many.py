"""Several languages at once: each is matched with a hub, then with the others by way of it; then cycles are checked.

A language that is far from another one may be near a third. So only the pairs with the hub need seeds: the words of
two other languages that have the same partner in the hub are the seed of their own run. Each pair has a run of its own,
so a cycle through three of them can fail to close, which puts an entry in doubt (`bilex.multilingual.cycles`).
"""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import combinations
from typing import Any

from bilex.em.context import Reporter
from bilex.errors import BilexError, BilexWarning, NothingMatchedWarning
from bilex.induction import induce
from bilex.lexicon.lexicon import Lexicon
from bilex.methods import DEFAULT_METHOD, MapConfig, Method
from bilex.model.maps import fit_maps
from bilex.multilingual.cycles import Cycles, Triple, check_entries, check_triple, partners_of
from bilex.numerics.rows import apply
from bilex.runs.run import Run
from bilex.search.engine import Engine
from bilex.seeds.seed import IDENTICAL, GuessedPairs, SeedLike
from bilex.vectors.embeddings import Embeddings, load
from bilex.version import __version__

LanguagePair = tuple[str, str]
MIN_LANGUAGES = 3  # two make no cycle


@dataclass(frozen=True, eq=False)
class Many:
    """The result of `induce_many`."""

    hub: str
    languages: tuple[str, ...]  # the hub first
    runs: dict[LanguagePair, Run] = field(default_factory=dict)  # empty if they were passed to `each`
    lexicons: dict[LanguagePair, Lexicon] = field(default_factory=dict)
    cycles: dict[LanguagePair, Cycles] = field(default_factory=dict)  # how far the other languages agree with entries
    triples: list[Triple] = field(default_factory=list)
    left_out: dict[LanguagePair, str] = field(default_factory=dict)  # pairs that could not be learnt, and why
    details: dict[LanguagePair, dict[str, Any]] = field(default_factory=dict)  # figures of each run in ``many.json``

    def __repr__(self) -> str:
        return f"Many({', '.join(self.languages)}; {len(self.lexicons)} lexicons, hub {self.hub})"

    def add(self, run: Run, each: Callable[[Run], None] | None) -> None:
        """Add the run of a pair, or pass it to `each` and keep only its lexicon and figures."""
        pair = (run.source.name, run.target.name)
        if pair[0] != self.hub:
            run.info["configuration"]["seed"]["name"] = f"through {self.hub}"
        seed, level = run.info["configuration"]["seed"], run.info["verdict"]["level"]
        used = {name: seed[name] for name in ("name", "given", "used")}
        figures = {"entries": len(run.lexicon), "seed": used, "verdict": level, "seconds": run.info["seconds"]}
        self.lexicons[pair], self.details[pair] = run.lexicon, figures
        if each is None:
            self.runs[pair] = run
        else:
            each(run)

    def summary(self) -> dict[str, Any]:
        """Return the content of ``many.json``."""
        return {
            "version": __version__,
            "hub": self.hub,
            "languages": list(self.languages),
            "pairs": [
                {"source": pair[0], "target": pair[1], **self.details[pair], **cycle_figures(cycles)}
                for pair, cycles in self.cycles.items()
            ],
            "triples": [{**asdict(triple), "agreement": triple.agreement} for triple in self.triples],
            "left_out": [{"source": s, "target": t, "why": why} for (s, t), why in self.left_out.items()],
        }


def induce_many(
    languages: Mapping[str, Embeddings | str | os.PathLike[str]],
    seeds: SeedLike | Mapping[str, SeedLike] = IDENTICAL,
    method: str | Method = DEFAULT_METHOD,
    *,
    hub: str | None = None,
    each: Callable[[Run], None] | None = None,
    engine: Engine | None = None,
    reporter: Reporter | None = None,
    **changes: Any,
) -> Many:
    """Learn the lexicons of all pairs of several languages, and check them against each other.

    Parameters
    ----------
    languages
        The vectors of each language, or their file, by its name; three languages or more.
    seeds
        The seed of the pairs with the hub, or one for each other language by its name (`identical` where there is
        none); see `bilex.induce`. In pairs of words the hub's comes first.
    method
        The name of a method, or a `Method`.
    hub
        The name of the language that the others are learnt through; by default the first.
    each
        Called with the run of each pair as it is learnt; the result then does not hold the runs, which saves memory.
    engine, reporter, **changes
        As in `bilex.induce`.

    Returns
    -------
    Many
        The lexicons, and how they agree. A pair without any match is left out, with a warning.
    """
    if not isinstance(languages, Mapping):
        raise BilexError("give the vectors of each language by its name, as in {'en': 'en.vec', ...}")
    hub = next(iter(languages), "") if hub is None else hub
    loaded = {name: load(vectors) for name, vectors in languages.items()}
    check_languages(loaded, hub)
    many = Many(hub, (hub, *(name for name in loaded if name != hub)))
    sides = {name: replace(loaded[name], name=name) for name in many.languages}
    given = seeds_by_name(seeds, many.languages[1:])
    for pair in combinations(many.languages, 2):
        if reporter is not None:
            reporter.note("-".join(pair))
        try:
            seed = given.get(pair[1], IDENTICAL) if pair[0] == hub else seed_through_hub(many, pair)
            run = induce_pair(sides, pair, seed, method, engine=engine, reporter=reporter, **changes)
        except NothingMatchedWarning as warning:
            many.left_out[pair] = str(warning)
            warnings.warn(f"{'-'.join(pair)} is left out: {warning}", BilexWarning, stacklevel=2)
        else:
            many.add(run, each)
    if not many.lexicons:
        raise BilexError(f"nothing was matched between {hub} and any other language; give dictionaries as seeds")
    check_cycles(many)
    return many


def induce_pair(sides: Mapping[str, Embeddings], pair: LanguagePair, *how: Any, **options: Any) -> Run:
    """Learn the lexicon of one pair; raise a warning if nothing was matched, and name the pair in errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", NothingMatchedWarning)
        try:
            return induce(sides[pair[0]], sides[pair[1]], *how, **options)
        except BilexError as error:
            raise BilexError(f"{'-'.join(pair)}: {error}") from None


def check_languages(languages: Mapping[str, Embeddings], hub: str) -> None:
    """Raise if the languages cannot be learnt together."""
    if len(languages) < MIN_LANGUAGES:
        raise BilexError(
            f"{len(languages)} languages make no cycle; give {MIN_LANGUAGES} or more, or use `bilex induce`"
        )
    if hub not in languages:
        raise BilexError(f"the hub {hub!r} is none of the languages; choose one of {', '.join(languages)}")
    for name, side in languages.items():
        if side.dimension != languages[hub].dimension:
            raise BilexError(
                f"{hub} has {languages[hub].dimension} dimensions and {name} has {side.dimension}; "
                "give vectors of the same dimension"
            )


def seeds_by_name(seeds: SeedLike | Mapping[str, SeedLike], names: Sequence[str]) -> Mapping[str, SeedLike]:
    """Return the seed of each language beside the hub; raise if there is one for another."""
    if not isinstance(seeds, Mapping):
        return dict.fromkeys(names, seeds)
    if unknown := sorted(set(seeds) - set(names)):
        raise BilexError(f"there is a seed for {unknown[0]!r}; the languages beside the hub are {', '.join(names)}")
    return seeds


def seed_through_hub(many: Many, pair: LanguagePair) -> GuessedPairs:
    """Pair the words of two languages that have the same partner in the hub, by mutual neighbours if there are any."""
    lexicons = [many.lexicons[many.hub, name] for name in pair if (many.hub, name) in many.lexicons]
    for mutual_only in (True, False) if len(lexicons) == len(pair) else ():
        ours, theirs = (partners_of(lexicon, mutual_only=mutual_only) for lexicon in lexicons)
        pairs = GuessedPairs((a, b) for word, words in ours.items() for a in words for b in theirs.get(word, ()))
        if pairs:
            return pairs
    raise NothingMatchedWarning("no word of the hub has a partner in both")


def check_cycles(many: Many) -> None:
    """Follow all cycles of three languages, and compare each entry with every language that is not in it."""

    @cache
    def partners(start: str, end: str) -> dict[str, list[str]] | None:
        reverse = (start, end) not in many.lexicons
        lexicon = many.lexicons.get((end, start) if reverse else (start, end))
        return None if lexicon is None else partners_of(lexicon, reverse=reverse)

    for a, b, c in combinations(many.languages, 3):
        first, second, third = partners(a, b), partners(b, c), partners(c, a)
        if first is not None and second is not None and third is not None:
            many.triples.append(check_triple((a, b, c), (first, second, third)))
    for (a, b), lexicon in many.lexicons.items():
        others = ((partners(a, c), partners(b, c)) for c in many.languages if c not in (a, b))
        known = ((ours, theirs) for ours, theirs in others if ours is not None and theirs is not None)
        many.cycles[a, b] = check_entries(lexicon, known)


def in_hub(run: Run) -> Embeddings:
    """Return the target words of a run that starts from the hub in the hub's own space.

    They are rotated by the orthogonal map that fits the pairs of the lexicon best, whatever the method's own maps are:
    so all languages meet in one space, and distances within a language stay the same.
    """
    rows, columns = run.entry_rows.source, run.entry_rows.target
    omega, _ = fit_maps(MapConfig(), run.target.vectors[columns], run.source.vectors[rows])
    return replace(run.target, vectors=apply(omega, run.target.vectors))


def cycle_figures(cycles: Cycles) -> dict[str, Any]:
    """Count the tested entries of a lexicon, and return their mean agreement; None if no entry is tested."""
    tested = cycles.tested > 0
    return {
        "tested": int(tested.sum()),
        "agreement": round(float(cycles.agreement[tested].mean()), 6) if tested.any() else None,
    }
