"""Charts for the page: where points, bars and ticks lie. `page.html` draws them as SVG.

Not matplotlib, so that text and lines take the page's colours, also in dark mode and print; there are no ids that could
clash and no style attributes, which the page's policy forbids; and the same run gives the same bytes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from bilex.numerics.formatting import format_number


class Series(NamedTuple):
    """Points from left to right and their name; `hue` 1 or 2 is their colour on the page."""

    label: str
    points: tuple[tuple[float, float], ...]
    hue: int = 1


@dataclass(frozen=True)
class Chart:
    """A chart with labelled axes: lines, or stacked bars that are `bar` wide."""

    width, height = 360, 220  # of the drawing; a unit is about one pixel on a phone
    left, right, top, bottom = 54, 348, 26, 178  # of the part where the points lie

    title: str
    x_label: str
    series: tuple[Series, ...]
    alt: str  # describes it for those who cannot see it
    bar: float = 0.0
    whole: bool = True  # only whole numbers on the horizontal axis
    percent: bool = False  # from 0 to 100% on the vertical axis

    @cached_property
    def x_range(self) -> tuple[float, float]:
        """The smallest and the largest value of the horizontal axis."""
        values = [x for series in self.series for x, _ in series.points] or [0.0, 1.0]
        low, high = min(values), max(values) + self.bar
        return (low - 0.5, high + 0.5) if low == high else (low, high)

    @cached_property
    def y_values(self) -> list[float]:
        """The ticks of the vertical axis, which enclose all points."""
        if self.percent:
            return nice_ticks(0.0, 1.0, 5)
        if self.bar:
            return nice_ticks(0.0, max((end for *_, end in self.stacks), default=0.0) or 1.0, 5)
        values = [y for series in self.series for _, y in series.points] or [0.0, 1.0]
        low, high = min(values), max(values)
        margin = max(abs(high) * 0.01, 1e-3) if high - low <= 1e-9 * max(abs(high), 1.0) else 0.0
        return nice_ticks(low - margin, high + margin, 5)

    @cached_property
    def stacks(self) -> list[tuple[int, float, float, float]]:
        """The hue and place of each bar, and where it starts and ends: on top of the series before."""
        found, ends = [], dict[float, float]()
        for series in self.series:
            for x, height in series.points:
                start = ends.get(x, 0.0)
                ends[x] = start + height
                found.append((series.hue, x, start, ends[x]))
        return found

    def x_ticks(self) -> list[tuple[float, str]]:
        """Return the ticks of the horizontal axis: where they lie, and their labels."""
        low, high = self.x_range
        ticks = [tick for tick in nice_ticks(low, high, 6, self.whole) if low <= tick <= high]
        return [(self.x(tick), label) for tick, label in zip(ticks, number_labels(ticks), strict=True)]

    def y_ticks(self) -> list[tuple[float, str]]:
        """Return the ticks of the vertical axis: where they lie, and their labels."""
        labels = [f"{tick:.0%}" for tick in self.y_values] if self.percent else number_labels(self.y_values)
        return [(self.y(tick), label) for tick, label in zip(self.y_values, labels, strict=True)]

    def x(self, value: float) -> float:
        """Return the distance of a value from the left."""
        low, high = self.x_range
        return round(self.left + (value - low) / (high - low) * (self.right - self.left), 1)

    def y(self, value: float) -> float:
        """Return the distance of a value from the top."""
        low, high = self.y_values[0], self.y_values[-1]
        return round(self.bottom - (value - low) / (high - low) * (self.bottom - self.top), 1)

    def bars(self) -> list[tuple[int, float, float, float, float]]:
        """Return the hue, left, top, width and height of each bar that can be seen."""
        found = []
        for hue, x, start, end in self.stacks:
            left, top = self.x(x), self.y(end)
            width, height = round(self.x(x + self.bar) - left - 1, 1), round(self.y(start) - top, 1)
            found.append((hue, left, top, width, height))
        return [bar for bar in found if bar[-1] > 0]


def nice_ticks(low: float, high: float, about: int, whole: bool = False) -> list[float]:
    """Return round numbers that enclose [low, high]: multiples of 1, 2 or 5 times a power of ten."""
    rough = max((high - low) / about, 1e-12)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough * (1 - 1e-9))
    if whole:
        step = max(1.0, step)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(place * step, 12) for place in range(first, last + 1)]


def number_labels(ticks: Sequence[float]) -> list[str]:
    """Write numbers with as many digits as distinguish them."""
    step = min((b - a for a, b in pairwise(ticks)), default=1.0)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [format_number(tick, digits) for tick in ticks]
