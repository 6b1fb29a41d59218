"""Charts: round ticks, and everything inside the frame."""

from __future__ import annotations

import re

from bilex.report.charts import Chart, Series, nice_ticks


def test_ticks_are_round_and_enclose_the_values() -> None:
    for low, high in ((0, 1), (0.72, 0.75), (-1656283, -1656133), (1, 100), (5, 5.0001), (0, 1e-9)):
        ticks = nice_ticks(low, high, 5)
        assert ticks[0] <= low + 1e-9
        assert ticks[-1] >= high - 1e-9
        assert 2 <= len(ticks) <= 8
    assert nice_ticks(0, 1, 5) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert nice_ticks(1, 3, 6, whole=True) == [1, 2, 3]


def test_charts_of_few_points_are_drawn_inside_their_frame() -> None:
    some: tuple[tuple[tuple[float, float], ...], ...] = ((), ((1, 2),), ((1, 5), (2, 5)), ((0, 0), (1, 0)))
    for points in some:
        for bar in (0.0, 0.5):
            svg = Chart("t", "x", (Series("a", points),), "alt", bar=bar).svg()
            assert "nan" not in svg
            for x in re.findall(r' (?:x|cx|x1|x2)="(-?[\d.]+)"', svg):
                assert 0 <= float(x) <= 360


def test_bars_are_stacked() -> None:
    series = (Series("a", ((0.0, 1.0),)), Series("b", ((0.0, 3.0),), 2))
    svg = Chart("t", "x", series, "alt", bar=1.0, whole=False).svg()
    boxes = [tuple(map(float, found)) for found in re.findall(r'<rect .*? y="([\d.]+)" .*? height="([\d.]+)"', svg)]
    (low_top, low_height), (high_top, high_height) = boxes
    assert high_top + high_height == low_top
    assert high_height == 3 * low_height


def test_names_are_escaped() -> None:
    svg = Chart("<b>", "<i>", (Series("<u>", ()), Series("&", ())), '"<a>').svg()
    assert not re.search("<[biua]>", svg)
