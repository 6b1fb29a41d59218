"""Tables and plots: columns line up, labels do not overlap, and plots do without matplotlib."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bilex.errors import BilexWarning
from bilex.experiments.plots import Plot, draw, tick_labels, write_plot
from bilex.experiments.reporting import Report, align_columns, both_figures, spread


def test_columns_line_up() -> None:
    assert align_columns([["", "5,000", "25"], ["xing2015", "- / 1.00", "-"]]) == (
        "               5,000  25\n  xing2015  - / 1.00   -"
    )
    combining, wide = align_columns([["e\u0301", "1"], ["語", "2"]]).splitlines()
    assert combining == "  e\u0301   1"
    assert wide == "  語  2"


def test_figures_side_by_side() -> None:
    assert both_figures([{"published": 39.67, "p@1": 75.3}]) == "39.67 / 75.30"
    assert both_figures([{"published": None, "p@1": None}]) == "- / -"
    assert spread([1.0, 2.0]) == "1.50 (1.00 to 2.00)"


def test_no_field_can_break_a_row() -> None:
    report = Report("", "", [{"a": "x\ty\nz", "b": None}, {"b": 3, "a": 0.1}], header=("a", "b"))
    assert report.tsv == "a\tb\nx y z\t\n0.1\t3\n"


def test_tick_labels_that_would_overlap_are_left_out() -> None:
    assert tick_labels([1000, 2000, 5000, 10000, 12784]) == ["1k", "2k", "5k", "", "12.8k"]
    assert tick_labels([500]) == ["500"]
    assert tick_labels([]) == []


def plot(panels: int, lines: int, sizes: tuple[int, ...]) -> Plot:
    panel = {f"method number {place}": dict.fromkeys(sizes, 20.0 + place) for place in range(lines)}
    return Plot({f"en-x{place}": panel for place in range(panels)}, "P@1 (%), nearest neighbour")


@pytest.mark.parametrize(("panels", "sizes"), [(4, (1000, 2000, 5000, 10000, 12784)), (2, (1000,)), (1, ())])
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


def test_every_line_has_its_own_look_and_files_are_deterministic(tmp_path: Path) -> None:
    many = plot(1, 12, (1000, 2000))
    (axes, *_) = draw(many).axes
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in axes.get_lines()}
    assert len(looks) == 12
    for name in ("one", "two"):
        write_plot(many, [tmp_path / f"{name}.svg", tmp_path / f"{name}.png"])
    for ending in ("svg", "png"):
        assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()


def test_a_missing_matplotlib_is_a_warning_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.warns(BilexWarning, match=r"pip install 'bilex\[plots\]'"):
        assert write_plot(plot(1, 1, (1000, 2000)), [tmp_path / "a.svg"]) == []
    assert not list(tmp_path.iterdir())
