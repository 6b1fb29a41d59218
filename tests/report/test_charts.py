"""Charts: round ticks, and everything inside the frame."""

from __future__ import annotations

from bilex.report.charts import Chart, Series, nice_ticks


def test_ticks_are_round_and_enclose_the_values() -> None:
    for low, high in ((0, 1), (0.72, 0.75), (-1656283, -1656133), (1, 100), (5, 5.0001), (0, 1e-9)):
        ticks = nice_ticks(low, high, 5)
        assert ticks[0] <= low + 1e-9
        assert ticks[-1] >= high - 1e-9
        assert 2 <= len(ticks) <= 8
    assert nice_ticks(0, 1, 5) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert nice_ticks(1, 3, 6, whole=True) == [1, 2, 3]


def test_points_lie_inside_the_frame_and_ticks_enclose_them() -> None:
    some: list[tuple[tuple[float, float], ...]] = [(), ((1, 2),), ((1, 5), (2, 5)), ((0, 0), (1, 0)), ((1, -3), (3, 8))]
    for points in some:
        for options in ({}, {"bar": 0.5}, {"percent": True}):
            chart = Chart("t", "x", (Series("a", points),), "alt", **options)
            assert all(chart.left <= x <= chart.right for x, _ in chart.x_ticks())
            heights = [y for y, _ in chart.y_ticks()]
            assert heights == sorted(heights, reverse=True)
            assert (heights[0], heights[-1]) == (chart.bottom, chart.top)
            for x, y in points if not chart.percent else ():
                assert chart.left <= chart.x(x) <= chart.right
                assert chart.top <= chart.y(max(y, 0) if chart.bar else y) <= chart.bottom


def test_labels_have_the_digits_that_distinguish_them() -> None:
    chart = Chart("t", "x", (Series("a", ((1, 0.72), (3, 0.75))),), "alt")
    assert [label for _, label in chart.x_ticks()] == ["1", "2", "3"]
    assert [label for _, label in chart.y_ticks()] == ["0.72", "0.73", "0.74", "0.75"]
    assert Chart("t", "x", (), "alt", percent=True).y_ticks()[-1][1] == "100%"


def test_bars_are_stacked() -> None:
    series = (Series("a", ((0, 1), (1, 0))), Series("b", ((0, 3), (1, 2)), 2))
    low, high, other = Chart("t", "x", series, "alt", bar=1.0).bars()
    hues, lefts, tops, _, heights = zip(low, high, other, strict=True)
    assert hues == (1, 2, 2)
    assert lefts[0] == lefts[1] < lefts[2]
    assert tops[1] + heights[1] == tops[0]
    assert heights[1] == 3 * heights[0]
    assert tops[2] + heights[2] == tops[0] + heights[0] == Chart.bottom
    assert heights[2] == 2 * heights[0]
