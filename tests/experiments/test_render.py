"""Tables and plots: columns line up, and labels do not run into each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from bilex.experiments.plots import Panel, Plot, Series, draw, short, thinned, write_plot
from bilex.experiments.tables import aligned, beside, spread, tsv


def test_columns_line_up() -> None:
    assert aligned([["", "5,000", "25"], ["xing2015", "- / 1.00", "-"]]) == (
        "             5,000  25\nxing2015  - / 1.00   -"
    )
    combining, wide = aligned([["e\u0301", "1"], ["語", "2"]]).splitlines()
    assert combining == "e\u0301   1"
    assert wide == "語  2"


def test_figures_side_by_side() -> None:
    assert beside(39.67, spread([75.3])) == "39.67 / 75.30"
    assert beside(None, spread([])) == "- / -"
    assert spread([1.0, 2.0]) == "1.50 (1.00 to 2.00)"


def test_no_field_can_break_a_row() -> None:
    assert tsv(("a", "b"), [("x\ty\nz", None), (0.1, 3)]) == "a\tb\nx y z\t\n0.1\t3\n"


def test_ticks_keep_their_distance() -> None:
    assert thinned([1000, 2000, 5000, 10000, 12784]) == ["1k", "2k", "5k", "", "12.8k"]
    assert thinned([500]) == ["500"]
    assert thinned([]) == []
    assert short(200_000) == "200k"


def plot(panels: int, series: int, sizes: tuple[int, ...]) -> Plot:
    lines = tuple(
        Series(f"method number {place}", tuple((size, 20.0 + place) for size in sizes)) for place in range(series)
    )
    return Plot(tuple(Panel(f"en-x{place}", lines) for place in range(panels)), "P@1 (%), nearest neighbour")


@pytest.mark.parametrize("panels", [1, 2, 4])
@pytest.mark.parametrize("sizes", [(1000, 2000, 5000, 10000, 12784), (0,), ()])
def test_no_text_overlaps(panels: int, sizes: tuple[int, ...]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    figure = draw(plot(panels, 8, sizes))
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text) and text.get_visible()]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text().strip()]
    assert len(boxes) > 8
    for place, (one, box) in enumerate(boxes):
        for other, another in boxes[:place]:
            overlap = box.width > 1 and another.width > 1 and box.shrunk(0.9, 0.7).overlaps(another.shrunk(0.9, 0.7))
            assert not overlap, (one, other)


def test_every_series_has_its_own_look_and_files_are_the_same_again(tmp_path: Path) -> None:
    many = plot(1, 12, (1000, 2000))
    (axes, *_) = draw(many).axes
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in axes.get_lines()}
    assert len(looks) == 12
    for name in ("one", "two"):
        write_plot(many, [tmp_path / f"{name}.svg", tmp_path / f"{name}.png"])
    for ending in ("svg", "png"):
        assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()
