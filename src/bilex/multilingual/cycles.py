"""Cycles: whether the lexicons of three languages agree, and what that says of each entry.

Follow a word from a language to a second, to a third and back: lexicons that are right lead to where one started. An
entry (a, b) is *tested* by a third language if both of its words have partners there, and *agrees* with it if they
have one in common. Where they have none, they may still have partners that mean nearly the same: the *closeness* is
the highest cosine of a partner of a with a partner of b, 1 where they agree.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bilex.errors import InputError
from bilex.files.atomic import atomic_write_text
from bilex.files.run_directory import CYCLES
from bilex.lexicon.formats import plain
from bilex.lexicon.lexicon import Lexicon
from bilex.numerics.rows import unit
from bilex.numerics.types import Floats, Indices
from bilex.vectors.embeddings import Embeddings

__all__ = [
    "Cycles",
    "Triple",
    "check_entries",
    "check_triple",
    "confirmed",
    "log_ratio",
    "meetings",
    "read_cycles",
    "witnessed",
]

HEADER = ("source", "target", "tested", "agreed", "agreement", "closeness")
Partners = Mapping[str, Sequence[str]]
Witnesses = Mapping[str, Mapping[str, float]]
"""The partners of each word in a third language, and the probability that each of them is right."""

MEETING, CHANCE = 0.39, 0.23  # python -m tools.confidence cycles
DIGITS = 4


@dataclass(frozen=True, eq=False)
class Cycles:
    """What other languages say of each entry of a lexicon, in its order.

    Parameters
    ----------
    source, target
        The words of the entries.
    tested
        How many third languages have partners for both words.
    agreed
        How many of these have a partner in common.
    closeness
        The mean over these of how close the partners are; NaN where nothing was tested.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    tested: Indices
    agreed: Indices
    closeness: Floats

    @property
    def agreement(self) -> Floats:
        """The share of the third languages that agree; NaN where nothing was tested."""
        shares = np.full(len(self.tested), np.nan)
        np.divide(self.agreed, self.tested, out=shares, where=self.tested > 0)
        return shares

    def of(self, pairs: Iterable[tuple[str, str]]) -> tuple[Floats, Floats]:
        """Give the agreement and the closeness of these pairs; NaN for those that are not tested or not there."""
        ours = zip(map(plain, self.source), map(plain, self.target), strict=True)
        rows = {pair: row for row, pair in enumerate(ours)}
        found = np.array([rows.get((plain(s), plain(t)), -1) for s, t in pairs], np.int64)
        columns = (np.append(column, np.nan) for column in (self.agreement, self.closeness))
        agreement, closeness = (column[found] for column in columns)
        return agreement, closeness

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a table with a line for each entry; what was not tested has empty fields."""
        lines = ["\t".join(HEADER)]
        columns = (self.tested.tolist(), self.agreed.tolist(), self.agreement.tolist(), self.closeness.tolist())
        for s, t, tested, agreed, *shares in zip(self.source, self.target, *columns, strict=True):
            figures = (f"{share:.6f}" if tested else "" for share in shares)
            lines.append("\t".join((plain(s), plain(t), str(tested), str(agreed), *figures)))
        atomic_write_text(path, "\n".join(lines) + "\n")


def read_cycles(folder: str | os.PathLike[str]) -> Cycles | None:
    """Read what `bilex induce-many` found out about the entries of a run; None if nothing was."""
    path = Path(folder) / CYCLES
    if not path.is_file():
        return None
    try:
        rows = [line.split("\t") for line in path.read_text("utf-8").removesuffix("\n").split("\n")]
    except UnicodeDecodeError:
        raise InputError(path, "this is not UTF-8", "run `bilex induce-many` again") from None
    if tuple(rows[0]) != HEADER:
        raise InputError(path, "this is not a table of cycles", f"expected {' '.join(HEADER)}", line=1)
    source, target, numbers = [], [], []
    for line, fields in enumerate(rows[1:], 2):
        try:
            s, t, tested, agreed, _, closeness = fields
            numbers.append((int(tested), int(agreed), float(closeness or "nan")))
        except ValueError:
            raise InputError(path, "this line is not an entry", "run `bilex induce-many` again", line=line) from None
        source.append(s)
        target.append(t)
    columns = np.array(numbers, float).reshape(-1, 3).T
    return Cycles(tuple(source), tuple(target), columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2])


@dataclass(frozen=True)
class Triple:
    """How many words of the first language come back to it by way of the other two, and how many to themselves."""

    languages: tuple[str, str, str]
    returned: int
    agreed: int

    @property
    def agreement(self) -> float | None:
        """The share of the words that come back that do so to themselves; None if none does."""
        return self.agreed / self.returned if self.returned else None


def partners(lexicon: Lexicon, *, reverse: bool = False) -> dict[str, list[str]]:
    """Give the partners of each word of one side of a lexicon."""
    found: dict[str, list[str]] = {}
    sides = (lexicon.target, lexicon.source) if reverse else (lexicon.source, lexicon.target)
    for word, other in zip(*sides, strict=True):
        found.setdefault(word, []).append(other)
    return found


def check_triple(languages: tuple[str, str, str], steps: tuple[Partners, Partners, Partners]) -> Triple:
    """Follow every word of the first language around: `steps` lead to the second, to the third, and back."""
    first, second, third = steps
    returned = agreed = 0
    for word, others in first.items():
        thirds = {end for other in others for end in second.get(other, ())}
        back = {end for other in thirds for end in third.get(other, ())}
        returned += bool(back)
        agreed += word in back
    return Triple(languages, returned, agreed)


def check_entries(lexicon: Lexicon, others: Iterable[tuple[Partners, Partners, Embeddings]]) -> Cycles:
    """Ask third languages about every entry.

    Each of `others` is a language: the partners there of the source words, those of the target words, and its vectors.
    """
    tested, agreed, closeness = (np.zeros(len(lexicon)) for _ in range(3))
    for of_source, of_target, words in others:
        vectors = unit(words.vectors)
        for row, (s, t) in enumerate(zip(lexicon.source, lexicon.target, strict=True)):
            ours, theirs = of_source.get(s, ()), of_target.get(t, ())
            if not ours or not theirs:
                continue
            tested[row] += 1
            if set(ours) & set(theirs):
                agreed[row] += 1
                closeness[row] += 1
            else:
                left, right = (vectors[[words.index[word] for word in side]].astype(float) for side in (ours, theirs))
                closeness[row] += float((left @ right.T).max())
    closeness = np.divide(closeness, tested, out=np.full(len(lexicon), np.nan), where=tested > 0)
    return Cycles(lexicon.source, lexicon.target, tested.astype(np.int64), agreed.astype(np.int64), closeness)


def meetings(lexicon: Lexicon, of_source: Witnesses, of_target: Witnesses) -> tuple[Floats, NDArray[np.bool_]]:
    """Give for each entry the probability that the partners of both words are right, and whether they meet in one word.

    The probability is NaN where a word has no partner: then the language says nothing.
    """
    sure, met = np.full(len(lexicon), np.nan), np.zeros(len(lexicon), np.bool_)
    for row, (s, t) in enumerate(zip(lexicon.source, lexicon.target, strict=True)):
        ours, theirs = of_source.get(s, {}), of_target.get(t, {})
        if common := [ours[word] * theirs[word] for word in ours.keys() & theirs.keys()]:
            sure[row], met[row] = max(common), True
        elif ours and theirs:
            sure[row] = max(ours.values()) * max(theirs.values())
    return sure, met


def log_ratio(sure: Floats, met: NDArray[np.bool_], meeting: float = MEETING, chance: float = CHANCE) -> Floats:
    """Give the logarithm of how much more probable it is to meet, or not to, if an entry is right than if it is wrong.

    With q the probability that the partners are right, they meet with probability ``chance + (meeting - chance) q`` if
    the entry is right, and with probability `chance` if it is wrong.
    """
    met_or_not = np.where(met, (meeting - chance) / chance, -(meeting - chance) / (1 - chance))
    return np.asarray(np.log1p(met_or_not * sure))


def witnessed(lexicon: Lexicon, others: Iterable[tuple[Witnesses, Witnesses]]) -> Floats:
    """Give what third languages say of each entry, as the logarithm of a ratio of likelihoods.

    Each of `others` is a language: the partners there of the source words, and those of the target words. Where
    several testify their mean counts, as if they were one: they share the hub, and with it its mistakes.
    """
    total, asked = np.zeros(len(lexicon)), np.zeros(len(lexicon))
    for of_source, of_target in others:
        sure, met = meetings(lexicon, of_source, of_target)
        tested = ~np.isnan(sure)
        total[tested] += log_ratio(sure[tested], met[tested])
        asked += tested
    return np.divide(total, asked, out=total, where=asked > 0)


def confirmed(lexicon: Lexicon, ratios: Floats) -> Lexicon:
    """Add what others say to the log-odds of each entry's confidence; what a person has said is not moved."""
    if lexicon.confidence is None:
        return lexicon
    sure = lexicon.confidence
    moved = sure / (sure + (1 - sure) * np.exp(-ratios))
    return replace(lexicon, confidence=np.where((sure > 0) & (sure < 1), moved, sure).round(DIGITS))
