"""Figures: lines over vocabulary sizes, or dots for a single size. The only place that imports matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bilex.files.atomic import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Panel", "Plot", "Series", "short", "write_plot"]

# Okabe and Ito's colours, which can be told apart with any kind of colour vision; the yellow is too light for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h", "p")
DASHES = ("-", "--", ":", "-.")
PER_ROW = 3
PANEL = (3.3, 2.7)  # inches
LEAST_SPAN = 10.0  # percent
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.4,
    "lines.markersize": 5,
    "legend.frameon": False,
    "svg.hashsalt": "bilex",  # the same file for the same data
    "svg.fonttype": "none",
    "axes.titlesize": 10,
}


@dataclass(frozen=True)
class Series:
    """One line: vocabulary sizes and figures in percent."""

    label: str
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    series: tuple[Series, ...]


@dataclass(frozen=True)
class Plot:
    """A figure: panels that share their axes' labels and one legend."""

    panels: tuple[Panel, ...]
    y_label: str
    x_label: str = "vocabulary size n"

    @property
    def labels(self) -> list[str]:
        """The names of all series, in order."""
        return list(dict.fromkeys(series.label for panel in self.panels for series in panel.series))


def write_plot(plot: Plot, paths: Sequence[Path]) -> None:
    """Write the figure to each of the paths, whose endings say the format; each whole or not at all."""
    import matplotlib as mpl

    with mpl.rc_context({"backend": "Agg", **STYLE}):
        figure = draw(plot)
        for path in paths:
            kind = path.suffix.removeprefix(".")
            metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {}
            with atomic_path(path) as temporary:
                figure.savefig(temporary, format=kind, dpi=200, metadata=metadata, bbox_inches="tight")


def draw(plot: Plot) -> Figure:
    """Lay the panels out in rows, with one legend below all of them."""
    from matplotlib.figure import Figure

    lines = any(len({x for x, _ in series.points}) > 1 for panel in plot.panels for series in panel.series)
    columns = min(PER_ROW if lines else 1, len(plot.panels))
    rows = math.ceil(len(plot.panels) / columns)
    wide = PANEL[0] * columns if columns > 1 else 5.4
    high = PANEL[1] if lines else 0.8 + 0.25 * len(plot.labels)
    figure = Figure(figsize=(wide, high * rows + (0.6 if lines else 0.2)), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    places = list(grid.flat)
    for axes, panel in zip(places, plot.panels, strict=False):
        (draw_lines if lines else draw_dots)(axes, panel, plot.labels)
        axes.set_title(panel.title)
    for axes in places[len(plot.panels) :]:
        axes.set_axis_off()
    for place, axes in enumerate(places[: len(plot.panels)]):
        if place + columns >= len(plot.panels):  # the lowest of its column
            axes.set_xlabel(plot.x_label if lines else plot.y_label)
        if lines and place % columns == 0:
            axes.set_ylabel(plot.y_label)
    if lines:
        add_legend(figure, plot.labels, columns)
    return figure


def look(labels: list[str], label: str) -> dict[str, Any]:
    """Give a series its colour, marker and dashes; they repeat at different lengths."""
    place = labels.index(label)
    return {
        "color": COLOURS[place % len(COLOURS)],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": DASHES[place // len(COLOURS) % len(DASHES)],
    }


def draw_lines(axes: Axes, panel: Panel, labels: list[str]) -> None:
    """Draw the lines of a panel over a logarithmic axis with the sizes as its ticks."""
    for series in panel.series:
        axes.plot(*zip(*series.points, strict=True) if series.points else ([], []), **look(labels, series.label))
    sizes = sorted({x for series in panel.series for x, _ in series.points})
    axes.set_xscale("log")
    axes.set_xticks(sizes, thinned(sizes))
    axes.minorticks_off()
    values = [y for series in panel.series for _, y in series.points]
    if values:  # not from 0, or the lines would lie on each other; but never so close that noise looks large
        middle, half = (max(values) + min(values)) / 2, max(max(values) - min(values), LEAST_SPAN) * 0.56
        axes.set_ylim(max(middle - half, -0.05 * half), middle + half)
    if not sizes:
        axes.set_xticks([])
        axes.text(0.5, 0.5, "no result", transform=axes.transAxes, ha="center", color="#666666")


def draw_dots(axes: Axes, panel: Panel, labels: list[str]) -> None:
    """Draw one dot for each series, with its name on the other axis."""
    names = [series.label for series in panel.series]
    for place, series in enumerate(panel.series):
        for _, y in series.points:
            axes.plot(y, place, **{**look(labels, series.label), "linestyle": "none"})
            axes.annotate(f"{y:.1f}", (y, place), (6, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, 1.15 * max((y for series in panel.series for _, y in series.points), default=1.0) or 1.0)


def add_legend(figure: Figure, labels: list[str], columns: int) -> None:
    """Put one legend below all panels."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=label, **look(labels, label)) for label in labels]
    longest = max(map(len, labels), default=1)
    inches = PANEL[0] * columns if columns > 1 else 5.4
    fit = max(1, int(inches / (0.55 + 0.075 * longest)))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(labels), fit), fontsize=8.5)


def thinned(sizes: Sequence[int]) -> list[str]:
    """Write the ticks' labels, leaving out those that would run into their neighbour; the last one is kept."""
    if not sizes:
        return []
    span = math.log(sizes[-1] / sizes[0]) or 1.0
    kept = [len(sizes) - 1]
    for place in range(len(sizes) - 2, -1, -1):
        if math.log(sizes[kept[-1]] / sizes[place]) / span > 0.13:
            kept.append(place)
    return [short(size) if place in kept else "" for place, size in enumerate(sizes)]


def short(size: int) -> str:
    """Write a number of words in little space."""
    return f"{size / 1000:.3g}k" if size >= 1000 else str(size)
