"""Pairs of words held as bytes: a dictionary then takes little more memory than its file, not six times that."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import overload

import numpy as np

__all__ = ["PackedPairs"]

_BETWEEN = b"\t"


class PackedPairs(Sequence[tuple[str, str]]):
    """Pairs of words, to be read like a list; each becomes Python's strings when it is asked for.

    The words are in UTF-8, without tabs.
    """

    def __init__(self) -> None:
        self._text = bytearray()
        self._ends = array("q")

    def append(self, source: bytes, target: bytes) -> None:
        """Put a pair at the end."""
        self._text += source + _BETWEEN + target
        self._ends.append(len(self._text))

    def distinct(self) -> PackedPairs:
        """Give the pairs without repetitions, each where it first stood."""
        hashes = np.fromiter((hash(self._bytes(place)) for place in range(len(self))), np.int64, len(self))
        order = np.argsort(hashes, kind="stable")
        repeated = np.zeros(len(self), np.bool_)
        for spot in np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]]):
            before, place = order[spot : spot + 2].tolist()
            repeated[place] = self._bytes(before) == self._bytes(place)
        if not repeated.any():
            return self
        kept = PackedPairs()
        for place in np.flatnonzero(~repeated).tolist():
            kept.append(*self._bytes(place).split(_BETWEEN))
        return kept

    def _bytes(self, place: int) -> bytes:
        return bytes(self._text[self._ends[place - 1] if place else 0 : self._ends[place]])

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, place: int) -> tuple[str, str]: ...

    @overload
    def __getitem__(self, place: slice) -> list[tuple[str, str]]: ...

    def __getitem__(self, place: int | slice) -> tuple[str, str] | list[tuple[str, str]]:
        places = range(len(self))[place]
        if isinstance(places, range):
            return [self[each] for each in places]
        source, target = self._bytes(places).decode("utf-8").split("\t")
        return source, target

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(tuple.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]
