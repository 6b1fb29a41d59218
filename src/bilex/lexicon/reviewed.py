"""The consequences of a review: an estimate of the lexicon's precision, and the seed of the next run."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bilex.errors import InputError
from bilex.files.ownership import LEXICON, MANIFEST, REVIEWS
from bilex.files.run_directory import read_manifest, verified_file
from bilex.lexicon.lexicon import RETRIEVAL, Lexicon
from bilex.lexicon.reviews import ACCEPTED, NO_TARGET, UNDECIDED, Decision, Reviews, WordPair

REVIEWED = "reviewed"  # RUN/reviewed, as a seed


def precision_interval(right: int, total: int) -> tuple[float, float, float]:
    """Return the share of right entries and its Wilson score interval of 95%; (0, 0, 1) for none."""
    if not total:
        return 0.0, 0.0, 1.0
    share, z = right / total, 1.959964
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return share, max(0.0, middle - half), min(1.0, middle + half)


class ReviewedLexicon(msgspec.Struct, frozen=True):
    """A reviewed lexicon as a seed: where to start, which pairs to keep and which to forbid."""

    pairs: list[WordPair] = []
    kept: list[WordPair] = []
    forbidden: list[WordPair] = []

    @classmethod
    def of(
        cls,
        lexicon: Iterable[WordPair],
        decisions: Mapping[WordPair, Decision],
        inherited: ReviewedLexicon | None = None,
    ) -> ReviewedLexicon:
        """Combine a lexicon with the decisions about it.

        Accepted pairs and corrections are kept, rejected and corrected pairs forbidden; an unmatched word that was
        given a translation has nothing to forbid. `inherited` pairs, of an earlier review that the lexicon was learnt
        with, stay unless a decision overrules them. Undecided pairs are a place to start from, unless one of their
        words is in a kept pair.
        """
        inherited = inherited or cls()
        kept, forbidden = dict.fromkeys(inherited.kept), dict.fromkeys(inherited.forbidden)
        for pair, decision in decisions.items():
            if decision.kind == UNDECIDED or pair[1] == NO_TARGET:
                continue
            kept.pop(pair, None)
            forbidden.pop(pair, None)
            (kept if decision.kind == ACCEPTED else forbidden)[pair] = None
        for (source, _), decision in decisions.items():
            if decision.correction is not None:
                forbidden.pop((source, decision.correction), None)
                kept[source, decision.correction] = None
        sources, targets = {source for source, _ in kept}, {target for _, target in kept}
        free = [pair for pair in lexicon if pair not in forbidden and pair[0] not in sources and pair[1] not in targets]
        return cls([*kept, *free], list(kept), list(forbidden))


def is_reviewed(path: str | os.PathLike[str]) -> bool:
    """Check whether a seed's path means the reviewed lexicon of a run, ``RUN/reviewed``, and not a file."""
    place = Path(path)
    return place.name == REVIEWED and not place.exists() and (place.parent / MANIFEST).exists()


def read_reviewed(path: str | os.PathLike[str]) -> ReviewedLexicon:
    """Read the reviewed lexicon of a run: its induced pairs, as ``RUN/review.sqlite`` has them kept and forbidden."""
    folder = Path(path).parent
    info: dict[str, Any] = read_manifest(folder)
    if not (folder / REVIEWS).exists() and not info.get(REVIEWED):
        raise InputError(folder, "nobody has reviewed this run yet", f"do so with `bilex explore {folder}`")
    verified_file(folder, LEXICON, info)
    entries = [(e.source, e.target) for e in Lexicon.load(folder / LEXICON) if e.origin != RETRIEVAL]
    with Reviews(folder) as reviews:
        decisions = reviews.current()
    try:
        inherited = msgspec.convert(info.get(REVIEWED) or {}, ReviewedLexicon)
    except msgspec.ValidationError:
        raise InputError(folder / MANIFEST, "its reviewed pairs are not pairs", "run `bilex induce` again") from None
    reviewed = ReviewedLexicon.of(entries, decisions, inherited)
    if not reviewed.pairs:
        raise InputError(folder, "nothing is left of the lexicon after the review", "accept or correct some entries")
    return reviewed
