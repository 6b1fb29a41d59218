"""Small charts as SVG inside the page.

Drawn without matplotlib, so that text and lines take the page's colours, also in dark mode and print; there are no ids
that could clash and no style attributes, which the page's policy forbids; and the same run gives the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from bilex.numerics.formatting import format_number

__all__ = ["Chart", "Series", "nice_ticks"]

WIDTH, HEIGHT = 360, 220  # in the units of the drawing, which are about one pixel on a phone
LEFT, RIGHT, TOP, BOTTOM = 54, 12, 26, 42
MAX_DOTS = 40  # a line of more points gets no dots


@dataclass(frozen=True)
class Series:
    """Points from left to right and their name; `hue` 1 or 2 is their colour on the page."""

    label: str
    points: tuple[tuple[float, float], ...]
    hue: int = 1


@dataclass(frozen=True)
class Chart:
    """A chart with labelled axes: lines, or stacked bars that are `bar` wide.

    `alt` describes it for those who cannot see it. With `whole` the horizontal axis has only whole numbers; with
    `percent` the vertical axis goes from 0 to 100%.
    """

    title: str
    x_label: str
    series: tuple[Series, ...]
    alt: str
    bar: float = 0.0
    whole: bool = True
    percent: bool = False

    def svg(self) -> str:
        """Return the chart as an SVG element."""
        frame = Frame.around(self)
        marks = self.bars(frame) if self.bar else self.lines(frame)
        legend = self.legend() if len(self.series) > 1 else ""
        title = escape(self.title)
        return (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.alt)}">'
            f'<text class="title" x="0" y="12">{title}</text>{legend}{frame.axes(escape(self.x_label))}{marks}</svg>'
        )

    def lines(self, frame: Frame) -> str:
        """Draw every series as a line, with dots where there are few points."""
        drawn = []
        for series in self.series:
            places = [(frame.x(x), frame.y(y)) for x, y in series.points]
            path = " ".join(f"{x},{y}" for x, y in places)
            drawn.append(f'<polyline class="line hue{series.hue}" points="{path}"/>')
            if len(places) <= MAX_DOTS:
                drawn += [f'<circle class="dot hue{series.hue}" cx="{x}" cy="{y}" r="2.5"/>' for x, y in places]
        return "".join(drawn)

    def bars(self, frame: Frame) -> str:
        """Draw every series as bars, the first at the bottom."""
        drawn, ground = [], dict[float, float]()
        for series in self.series:
            for x, height in series.points:
                base = ground.get(x, 0.0)
                ground[x] = base + height
                left, right = frame.x(x), frame.x(x + self.bar)
                top, bottom = frame.y(base + height), frame.y(base)
                if bottom > top:
                    box = f'x="{left:g}" y="{top:g}" width="{right - left - 1:.4g}" height="{bottom - top:.4g}"'
                    drawn.append(f'<rect class="bar hue{series.hue}" {box}/>')
        return "".join(drawn)

    def legend(self) -> str:
        """Name the series in their colours, at the top right."""
        spans = [f'<tspan class="name hue{series.hue}">{escape(series.label)}</tspan>' for series in self.series]
        return f'<text class="legend" x="{WIDTH - RIGHT}" y="12" text-anchor="end">{" · ".join(spans)}</text>'


@dataclass(frozen=True)
class Frame:
    """The axes of a chart, and where its values lie on the drawing."""

    x_ticks: tuple[float, ...]
    y_ticks: tuple[float, ...]
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    percent: bool

    @classmethod
    def around(cls, chart: Chart) -> Frame:
        """Return a frame with room for all points of a chart."""
        xs = [x for series in chart.series for x, _ in series.points] or [0.0, 1.0]
        low, high = min(xs), max(xs) + chart.bar
        if low == high:
            low, high = low - 0.5, high + 0.5
        heights = dict[float, float]()
        for series in chart.series:
            for x, y in series.points:
                heights[x] = heights.get(x, 0.0) + y
        ys = list(heights.values()) if chart.bar else [y for series in chart.series for _, y in series.points]
        bottom, top = min(ys, default=0.0), max(ys, default=1.0)
        if chart.bar:
            bottom = 0.0
        if chart.percent:
            bottom, top = 0.0, 1.0
        if top - bottom <= 1e-9 * max(abs(top), 1.0):
            margin = max(abs(top) * 0.01, 1e-3)
            bottom, top = (bottom, top + 1) if chart.bar else (bottom - margin, top + margin)
        x_ticks = [tick for tick in nice_ticks(low, high, 6, chart.whole) if low <= tick <= high]
        y_ticks = nice_ticks(bottom, top, 5)
        span = (min(bottom, y_ticks[0]), max(top, y_ticks[-1]))
        return cls(tuple(x_ticks), tuple(y_ticks), (low, high), span, chart.percent)

    def x(self, value: float) -> float:
        """Return the distance of a value from the left."""
        low, high = self.x_range
        return round(LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        """Return the distance of a value from the top."""
        low, high = self.y_range
        return round(HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM), 1)

    def axes(self, x_label: str) -> str:
        """Draw grid lines at the ticks, their labels and the name of the horizontal axis."""
        parts = []
        for tick, label in zip(self.y_ticks, tick_labels(self.y_ticks, self.percent), strict=True):
            y = self.y(tick)
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{round(y + 4, 1)}" text-anchor="end">{label}</text>')
        floor = HEIGHT - BOTTOM
        for tick, label in zip(self.x_ticks, tick_labels(self.x_ticks, False), strict=True):
            x = self.x(tick)
            parts.append(f'<line class="axis" x1="{x}" x2="{x}" y1="{floor}" y2="{floor + 4}"/>')
            parts.append(f'<text x="{x}" y="{floor + 17}" text-anchor="middle">{label}</text>')
        parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{floor}" y2="{floor}"/>')
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts.append(f'<text x="{middle:g}" y="{HEIGHT - 6}" text-anchor="middle">{x_label}</text>')
        return "".join(parts)


def nice_ticks(low: float, high: float, about: int, whole: bool = False) -> list[float]:
    """Return round numbers that enclose [low, high]: multiples of 1, 2 or 5 times a power of ten."""
    rough = max((high - low) / about, 1e-12)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough * (1 - 1e-9))
    if whole:
        step = max(1.0, step)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(place * step, 12) for place in range(first, last + 1)]


def tick_labels(ticks: Sequence[float], percent: bool) -> list[str]:
    """Write numbers with as many digits as distinguish them."""
    if percent:
        return [f"{tick:.0%}" for tick in ticks]
    step = min((b - a for a, b in pairwise(ticks)), default=1.0)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [format_number(tick, digits) for tick in ticks]
