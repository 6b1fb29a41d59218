"""What a review means: how good the lexicon seems, and where the next run starts, what it keeps and forbids."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bilex.errors import InputError
from bilex.files.run_directory import LEXICON, MANIFEST, REVIEWS, read_manifest, verified_file
from bilex.lexicon.lexicon import RETRIEVAL, Lexicon
from bilex.lexicon.reviews.log import ACCEPTED, NOTHING, UNDECIDED, Decision, Pair, Reviews

__all__ = ["Reviewed", "is_reviewed", "precision_interval", "read_reviewed"]

NAME = "reviewed"  # RUN/reviewed, as a seed


def precision_interval(right: int, total: int, z: float = 1.959964) -> tuple[float, float, float]:
    """Give the share of right ones and its Wilson score interval, of 95% by default; (0, 0, 1) for none."""
    if not total:
        return 0.0, 0.0, 1.0
    share = right / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return share, max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class Reviewed:
    """A reviewed lexicon as a seed: where to start, which pairs to keep and which to forbid."""

    pairs: list[Pair]
    kept: list[Pair]
    forbidden: list[Pair]

    @classmethod
    def of(
        cls, lexicon: Iterable[Pair], decisions: Mapping[Pair, Decision], inherited: Mapping[str, Any] | None = None
    ) -> Reviewed:
        """Put a lexicon and the decisions about it together.

        Accepted pairs and corrections are kept, rejected and corrected pairs forbidden; a word that was left alone and
        then corrected has nothing to forbid. `inherited` are those of an earlier review that the lexicon was learnt
        with, where no decision says otherwise. Undecided pairs are a place to start from, unless one of their words
        is in a kept pair.
        """
        inherited = inherited or {}
        kept = dict.fromkeys(map(as_pair, inherited.get("kept", ())))
        forbidden = dict.fromkeys(map(as_pair, inherited.get("forbidden", ())))
        for pair, decision in decisions.items():
            if decision.verdict == UNDECIDED or pair[1] == NOTHING:
                continue
            kept.pop(pair, None)
            forbidden.pop(pair, None)
            (kept if decision.verdict == ACCEPTED else forbidden)[pair] = None
        for pair, decision in decisions.items():
            if decision.correction is not None:
                forbidden.pop((pair[0], decision.correction), None)
                kept[pair[0], decision.correction] = None
        settled = ({source for source, _ in kept}, {target for _, target in kept})
        free = [
            pair
            for pair in lexicon
            if pair not in forbidden and pair[0] not in settled[0] and pair[1] not in settled[1]
        ]
        return cls([*kept, *free], list(kept), list(forbidden))


def as_pair(item: Any) -> Pair:
    """Turn a pair as JSON has it into one of ours."""
    source, target = item
    return str(source), str(target)


def is_reviewed(path: str | os.PathLike[str]) -> bool:
    """Say whether a seed's path means the reviewed lexicon of a run, ``RUN/reviewed``, and not a file."""
    place = Path(path)
    return place.name == NAME and not place.exists() and (place.parent / MANIFEST).exists()


def read_reviewed(path: str | os.PathLike[str]) -> Reviewed:
    """Read the reviewed lexicon of a run: its induced pairs, as ``RUN/review.sqlite`` has them kept and forbidden."""
    folder = Path(path).parent
    info = read_manifest(folder)
    if not (folder / REVIEWS).exists():
        raise InputError(folder, "nobody has reviewed this run yet", f"do so with `bilex explore {folder}`")
    verified_file(folder, LEXICON, info)
    entries = [(e.source, e.target) for e in Lexicon.load(folder / LEXICON) if e.origin != RETRIEVAL]
    with Reviews(folder) as reviews:
        decisions = reviews.current()
    try:
        reviewed = Reviewed.of(entries, decisions, info.get(NAME))
    except (TypeError, ValueError, AttributeError):
        raise InputError(folder / MANIFEST, "its reviewed pairs are not pairs", "run `bilex induce` again") from None
    if not reviewed.pairs:
        raise InputError(folder, "nothing is left of the lexicon after the review", "accept or correct some entries")
    return reviewed
