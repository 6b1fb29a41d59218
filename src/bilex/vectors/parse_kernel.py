"""Parse lines of text into rows of float32, straight from the bytes.

The kernel parses lines of the usual shape and marks the others for Python to examine, so it never has to explain
an error. Values equal ``numpy.float32(float(text))`` exactly: where the fast arithmetic cannot prove
that, the line is marked too.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from bilex.numerics.compilation import config, intrinsic, njit, types

ORDINARY = 0
"""A word and its numbers."""
BLANK = 1
"""Nothing but spaces and tabs."""
EXAMINE = 2
"""Something else, such as a word with spaces or an error, for Python to examine."""

_SPACE, _TAB, _PLUS, _MINUS, _POINT, _ZERO = 32, 9, 43, 45, 46, 48
_LOWER_E, _TO_LOWER = 101, 32

_POWERS = np.array([float(f"1e{exponent}") for exponent in range(301)])
_LARGEST_POWER = 300
_EXACT_POWER = 22  # 10**22 is the largest power of ten that a float64 holds exactly
_EXACT_MANTISSA = 1 << 53
_KEPT_DIGITS = 18  # the most that always fit into an int64

# The digits beyond the 18th, the rounded power of ten and a few roundings put the result off by less than
# 2**-50 of its value. A float32 keeps 24 bits, so both ends of that interval nearly always round to the same.
_BELOW, _ABOVE = 1.0 - 2.0**-50, 1.0 + 2.0**-50

# The usual shape, and what lifts a wrong byte to 128 or more: a digit above 9, anything but the point or the space.
_USUAL = np.uint64(int.from_bytes(b"0.0000 ", "little"))
_TO_HIGH_BIT = np.uint64(int.from_bytes(bytes([118, 127, 118, 118, 118, 118, 127]), "little"))
_HIGH_BITS, _SEVEN_BYTES = np.uint64(0x80808080808080), np.uint64((1 << 56) - 1)


@njit(cache=True, nogil=True, inline="always")
def _byte(data: NDArray[np.uint8], position: int) -> int:
    # An unsigned index spares the test for negative ones, which count from the end.
    return int(data[np.uint64(position)])


@njit(cache=True, nogil=True, inline="always")
def _is_separator(byte: int) -> bool:
    return byte in (_SPACE, _TAB)


@njit(cache=True, nogil=True, inline="always")
def _is_digit(byte: int) -> bool:
    return _ZERO <= byte <= _ZERO + 9


@njit(cache=True, nogil=True)
def _long_mantissa(data: NDArray[np.uint8], position: int, end: int) -> tuple[int, int]:
    """Return the first 18 significant digits of a long run of digits, and the power of ten that belongs to them."""
    mantissa, kept, exponent = 0, 0, 0
    after_point = False
    while position < end:
        byte = _byte(data, position)
        position += 1
        if byte == _POINT:
            after_point = True
            continue
        if kept < _KEPT_DIGITS:
            mantissa = mantissa * 10 + byte - _ZERO
            kept += mantissa > 0
            exponent -= after_point
        else:
            exponent += not after_point
    return mantissa, exponent


@njit(cache=True, nogil=True)
def _exponent(data: NDArray[np.uint8], position: int, end: int) -> tuple[int, int]:
    """Return the power of ten after an ``e`` and the position behind it, or position -1 without one."""
    negative = False
    if position < end and (_byte(data, position) == _MINUS or _byte(data, position) == _PLUS):
        negative = _byte(data, position) == _MINUS
        position += 1
    first, exponent = position, 0
    while position < end:
        if not _is_digit(_byte(data, position)):
            break
        exponent = min(exponent * 10 + _byte(data, position) - _ZERO, 100_000)
        position += 1
    if position == first:
        return 0, -1
    return (-exponent if negative else exponent), position


@njit(cache=True, nogil=True)
def _scale(mantissa: int, exponent: int, exact_digits: bool) -> tuple[np.float32, bool]:
    """Return ``mantissa * 10**exponent`` as float32, and whether that is certainly the right one."""
    if exact_digits and mantissa <= _EXACT_MANTISSA and -_EXACT_POWER <= exponent <= _EXACT_POWER:
        # Both operands are exact, so the one operation rounds exactly as reading the text as float64 would.
        if exponent < 0:
            return np.float32(np.float64(mantissa) / _POWERS[-exponent]), True
        return np.float32(np.float64(mantissa) * _POWERS[exponent]), True
    if mantissa == 0:
        return np.float32(0.0), True
    if exponent < -_LARGEST_POWER or exponent > _LARGEST_POWER:
        return np.float32(0.0), False
    whole = np.float64(mantissa)
    value = whole / _POWERS[-exponent] if exponent < 0 else whole * _POWERS[exponent]
    low, high = np.float32(value * _BELOW), np.float32(value * _ABOVE)
    return low, low == high


@njit(cache=True, nogil=True)
def _number(data: NDArray[np.uint8], position: int, end: int) -> tuple[np.float32, int]:
    """Return the number at ``position`` and the position behind it, or position -1 if Python should examine it."""
    nothing = np.float32(0.0)
    # Without a branch, since no processor can predict the sign of a coordinate.
    negative = _byte(data, position) == _MINUS
    position += negative | (_byte(data, position) == _PLUS)
    first, mantissa = position, 0
    while position < end and _is_digit(_byte(data, position)):
        mantissa = mantissa * 10 + _byte(data, position) - _ZERO
        position += 1
    point = -1
    if position < end and _byte(data, position) == _POINT:
        point = position
        position += 1
        while position < end and _is_digit(_byte(data, position)):
            mantissa = mantissa * 10 + _byte(data, position) - _ZERO
            position += 1
    digits = position - first - (point >= 0)
    if digits == 0:
        return nothing, -1
    exponent = point + 1 - position if point >= 0 else 0
    if digits > _KEPT_DIGITS:
        mantissa, exponent = _long_mantissa(data, first, position)
    if position < end and not _is_separator(_byte(data, position)):
        if _byte(data, position) | _TO_LOWER != _LOWER_E:
            return nothing, -1
        power, position = _exponent(data, position + 1, end)
        exponent += power
        if position < 0 or (position < end and not _is_separator(_byte(data, position))):
            return nothing, -1
    value, certain = _scale(mantissa, exponent, digits <= _KEPT_DIGITS)
    if not certain or not np.isfinite(value):
        return nothing, -1
    return (-value if negative else value), position


def _type_eight_bytes(typing_context: Any, data: Any, position: Any) -> Any:
    """Return the type of `_eight_bytes` and what writes it: one read."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(address, align=1)

    return types.uint64(data, types.int64), write


def _eight_bytes_in_python(data: NDArray[np.uint8], position: int) -> np.uint64:
    """Read the same where numba is switched off."""
    return np.uint64(int.from_bytes(data[position : position + 8].tobytes(), "little"))


# _eight_bytes(data, position): the eight bytes there as one number; on a little-endian CPU the first is its lowest.
_eight_bytes: Any = _eight_bytes_in_python if config.DISABLE_JIT else intrinsic(_type_eight_bytes)


@njit(cache=True, nogil=True)
def _usual_number(data: NDArray[np.uint8], position: int, end: int) -> tuple[np.float32, int]:
    """Return a number of the usual shape, one digit, a point and four digits, all of its bytes at once.

    Anything else is left to `_number`: then the position is -1.
    """
    if end - position < 9:
        return np.float32(0.0), -1
    negative = _byte(data, position) == _MINUS
    first = position + negative
    digits = (_eight_bytes(data, first) ^ _USUAL) & _SEVEN_BYTES  # as numbers; 0 for the point and the space
    if (digits | (digits + _TO_HIGH_BIT)) & _HIGH_BITS:
        return np.float32(0.0), -1
    tens = (digits >> np.uint64(16)) * np.uint64(10) + (digits >> np.uint64(24))  # in every second byte
    decimals = (tens & np.uint64(255)) * np.uint64(100) + ((tens >> np.uint64(16)) & np.uint64(255))
    value = np.float32(np.float64(np.int64((digits & np.uint64(255)) * np.uint64(10000) + decimals)) / 1e4)
    return (-value if negative else value), first + 6


@njit(cache=True, nogil=True)
def _numbers(data: NDArray[np.uint8], position: int, end: int, row: NDArray[np.float32]) -> bool:
    """Fill the row with the numbers from ``position`` to ``end``; return False unless there are exactly as many."""
    for column in range(row.shape[0]):
        while position < end and _is_separator(_byte(data, position)):
            position += 1
        if position == end:
            return False
        value, behind = _usual_number(data, position, end)
        if behind < 0:
            value, behind = _number(data, position, end)
        if behind < 0:
            return False
        row[column], position = value, behind
    while position < end and _is_separator(_byte(data, position)):
        position += 1
    return position == end


@njit(cache=True, nogil=True)
def parse_lines(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    vectors: NDArray[np.float32],
    word_ends: NDArray[np.int64],
    status: NDArray[np.uint8],
) -> None:
    """Parse the bytes ``starts[i]:ends[i]`` into ``vectors[i]``, ``word_ends[i]`` and ``status[i]``.

    Lines do not depend on each other, so several threads may each take a part of the arrays.
    """
    for line in range(starts.shape[0]):
        start, end = starts[line], ends[line]
        position = start
        while position < end and not _is_separator(_byte(data, position)):
            position += 1
        word_ends[line] = position
        if position == start:
            while position < end and _is_separator(_byte(data, position)):
                position += 1
            status[line] = BLANK if position == end else EXAMINE
        elif _numbers(data, position, end, vectors[line]):
            status[line] = ORDINARY
        else:
            status[line] = EXAMINE
