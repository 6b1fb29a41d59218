"""Numbers as text."""

from __future__ import annotations

from bilex.numerics.formatting import format_number, format_percent


def test_numbers_are_formatted_for_people() -> None:
    assert format_number(-1234567.25, 1) == "−1,234,567.2"
    assert format_number(-0.0004, 2) == "0.00"
    shares = (0, 0.001, 0.005, 0.5, 0.995, 0.999, 1)
    shown = ["0%", "under 0.5%", "0%", "50%", "100%", "over 99%", "100%"]
    assert [format_percent(share) for share in shares] == shown
