"""Plots: lines over vocabulary sizes. The only module that imports matplotlib."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bilex.errors import BilexWarning
from bilex.files.atomic import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which differ with any kind of colour vision; their yellow is too light for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h", "p")
DASHES = ("-", "--", ":", "-.")
PANELS_PER_ROW = 3
PANEL_SIZE = (3.3, 2.7)  # inches
SINGLE_WIDTH = 5.4  # inches
MIN_SPAN = 10.0  # percent
Line = Mapping[int, float]
"""Figures in percent by the size of the vocabulary."""


@dataclass(frozen=True)
class Plot:
    """Panels by their titles, each with its lines by their labels; all share the label of their axes and one legend."""

    panels: Mapping[str, Mapping[str, Line]]
    y_label: str


def write_plot(plot: Plot, paths: list[Path]) -> list[Path]:
    """Write the plot to each path, whose ending chooses the format, and return the paths; none without matplotlib."""
    try:
        import matplotlib as mpl
    except ImportError:
        missing = "matplotlib is not installed; run `pip install 'bilex[plots]'`"
        warnings.warn(f"{paths[0]} is not drawn: {missing}", BilexWarning, stacklevel=3)
        return []

    with as_file(files("bilex.experiments") / "plots.mplstyle") as style, mpl.rc_context({"backend": "Agg"}, style):
        figure = draw(plot)
        for path in paths:
            kind = path.suffix.removeprefix(".")
            metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {}
            with atomic_path(path) as temporary:
                figure.savefig(temporary, format=kind, dpi=200, metadata=metadata, bbox_inches="tight")
    return paths


def draw(plot: Plot) -> Figure:
    """Draw the panels in rows, with one legend below all of them."""
    from matplotlib.figure import Figure

    count, labels = len(plot.panels), list(dict.fromkeys(label for lines in plot.panels.values() for label in lines))
    columns = min(PANELS_PER_ROW, count)
    rows = math.ceil(count / columns)
    wide = PANEL_SIZE[0] * columns if columns > 1 else SINGLE_WIDTH
    figure = Figure(figsize=(wide, PANEL_SIZE[1] * rows + 0.6), layout="constrained")
    places = list(figure.subplots(rows, columns, squeeze=False).flat)
    for place, (axes, (title, lines)) in enumerate(zip(places, plot.panels.items(), strict=False)):
        draw_lines(axes, lines, labels)
        axes.set_title(title)
        if place + columns >= count:  # the lowest of its column
            axes.set_xlabel("vocabulary size n")
        if place % columns == 0:
            axes.set_ylabel(plot.y_label)
    for axes in places[count:]:
        axes.set_axis_off()
    handles = {line.get_label(): line for axes in places for line in axes.get_lines()}
    fit = max(1, int(wide / (0.55 + 0.075 * max(map(len, labels), default=1))))
    shown = [handles[label] for label in labels]
    figure.legend(handles=shown, loc="outside lower center", ncols=min(len(labels), fit), fontsize=8.5)
    return figure


def draw_lines(axes: Axes, lines: Mapping[str, Line], labels: list[str]) -> None:
    """Draw the lines of a panel over a logarithmic axis with the sizes as its ticks.

    Colours, markers and dashes repeat after different numbers of lines.
    """
    for label, line in lines.items():
        place = labels.index(label)
        colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
        dashes = DASHES[place // len(COLOURS) % len(DASHES)]
        axes.plot(list(line), list(line.values()), label=label, color=colour, marker=marker, linestyle=dashes)
    sizes = sorted({size for line in lines.values() for size in line})
    axes.set_xscale("log")
    axes.set_xticks(sizes, tick_labels(sizes))
    axes.minorticks_off()
    values = [value for line in lines.values() for value in line.values()]
    if values:  # not from 0, which would put the lines on top of each other; but noise is not magnified
        middle, half = (max(values) + min(values)) / 2, max(max(values) - min(values), MIN_SPAN) * 0.56
        axes.set_ylim(max(middle - half, -0.05 * half), middle + half)
    else:
        axes.set_xticks([])
        axes.text(0.5, 0.5, "no result", transform=axes.transAxes, ha="center", color="#666666")


def tick_labels(sizes: Sequence[int]) -> list[str]:
    """Return the labels of the ticks, empty where they would overlap the next; the last one is kept."""
    kept: list[int] = []
    for size in reversed(sizes):
        if not kept or math.log(kept[-1] / size) > 0.13 * math.log(sizes[-1] / sizes[0]):
            kept.append(size)
    texts = {size: f"{size / 1000:.3g}k" if size >= 1000 else str(size) for size in kept}
    return [texts.get(size, "") for size in sizes]
