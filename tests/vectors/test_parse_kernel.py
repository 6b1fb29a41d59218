"""Numbers of the usual shape take a short cut: the same number as Python's, and anything else the long way."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.vectors.parse_kernel import ORDINARY, _usual_number, parse_lines


def parse(text: str, dimension: int) -> tuple[int, np.ndarray]:
    data = np.frombuffer(text.encode(), np.uint8)
    row, ends, status = np.zeros((1, dimension), np.float32), np.zeros(1, np.int64), np.zeros(1, np.uint8)
    parse_lines(data, np.zeros(1, np.int64), np.array([len(data)]), row, ends, status)
    return int(status[0]), row[0]


def test_every_number_of_the_usual_shape() -> None:
    numbers = [f"{sign}{whole}.{rest:04d}" for sign in ("", "-") for whole in (0, 1, 9) for rest in range(0, 10_000, 7)]
    status, row = parse("w " + " ".join(numbers), len(numbers))
    assert status == ORDINARY
    expected = np.array([float(number) for number in numbers]).astype(np.float32)
    np.testing.assert_array_equal(row, expected)
    np.testing.assert_array_equal(np.signbit(row), np.signbit(expected))  # -0.0000 as well


@pytest.mark.parametrize(
    "number",
    ["0.12345", "0.123", "12.3456", "0.12:4", "0.1/34", "+0.1234", "0.1234\t"],
)
def test_other_shapes_are_left_to_the_long_way(number: str) -> None:
    data = np.frombuffer(f"{number} 0.5 0.5 0.5".encode(), np.uint8)
    assert _usual_number(data, 0, len(data))[1] == -1


@pytest.mark.parametrize("place", range(7))
def test_every_byte_of_the_usual_shape(place: int) -> None:
    allowed = b"." if place == 1 else b" " if place == 6 else b"0123456789"
    for byte in range(256):
        data = np.frombuffer(bytearray(b"-0.1234 0.5 0.5"), np.uint8)
        data[1 + place] = byte
        value, behind = _usual_number(data, 0, len(data))
        assert behind == (7 if byte in allowed else -1)
        if place < 6 and behind > 0:
            assert value == np.float32(float(data[:7].tobytes()))


def test_the_end_of_a_line_is_not_overrun() -> None:
    data = np.frombuffer(b"0.1234 ", np.uint8)
    assert _usual_number(data, 0, 6)[1] == -1
    assert parse("w 0.1234", 1)[1].tolist() == [np.float32(0.1234)]
