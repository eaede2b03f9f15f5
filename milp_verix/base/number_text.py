"""How a number is written: one rule for each part that a number has in a claim.

| number | rule |
|---|---|
| a value for a row, a radius, δ, an end of a domain: what defines a claim | :func:`exact` |
| a proven lower bound, such as a radius | :func:`down` |
| a proven upper bound, the distance of a change | :func:`up` |
| an end of a proven range | :func:`range_end` |
| a value of an output, a typical value | :func:`nearest` |
| a share that defines a claim, a share of rows | :func:`percent`, :func:`percent_of` |

A number is written as people write it, ``12345`` or ``0.0123``, with an exponent below 1e-4 and
from 1e16 on. Rounding is that of the decimal that :func:`exact` tells, and keeps whole parts whole.
"""

from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

import numpy as np

FEW_DIGITS = 4
MOST_DIGITS = 17
"""Digits that identify every float64."""
_LEAST_EXPONENT, _MOST_EXPONENT = -4, 15
"""Exponents of ten of the numbers that are written without one."""
_CONTEXTS = {
    (way, digits): Context(prec=digits, rounding=way)
    for way in (ROUND_FLOOR, ROUND_CEILING, ROUND_HALF_EVEN)
    for digits in range(1, MOST_DIGITS + 1)
}
_FARTHER, _OF_VALUE = Decimal("0.25"), Decimal("0.01")
"""A change to a rounder number grows by this share of it, or of the number, at most."""


def exact(value: float | np.number[Any]) -> str:
    """Return the shortest decimal that reads back as ``value`` in its own type.

    Such as ``"1098.1"``, ``"15200"``, ``"1e30"``, ``"∞"``. A float32 has the digits that identify
    it among the numbers of float32.
    """
    return _written(_decimal(value))


def down(value: float, digits: int = FEW_DIGITS) -> str:
    """Return ``value`` rounded down to ``digits`` significant digits: a lower bound stays one."""
    return _written(_rounded(_decimal(value), ROUND_FLOOR, digits))


def up(value: float, digits: int = FEW_DIGITS) -> str:
    """Return ``value`` rounded up to ``digits`` significant digits: an upper bound stays one."""
    return _written(_rounded(_decimal(value), ROUND_CEILING, digits))


def nearest(value: float, digits: int = FEW_DIGITS) -> str:
    """Return ``value`` rounded to ``digits`` significant digits, for what is no bound."""
    return _written(_rounded(_decimal(value), ROUND_HALF_EVEN, digits))


def percent(share: float, digits: int = MOST_DIGITS) -> str:
    """Return a share in per cent, exactly, or rounded down to ``digits``: ``"10"`` for 0.1."""
    return _written(_rounded(_decimal(share).scaleb(2), ROUND_FLOOR, digits))


def counted(count: int, noun: str) -> str:
    """Return ``"1 feature"``, ``"2 features"``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def percent_of(part: int, whole: int) -> str:
    """Return a share in per cent with two digits, rounded down: 100 is all of it."""
    return _written(_rounded(Decimal(100 * part) / Decimal(whole or 1), ROUND_FLOOR, 2))


def apart(before: float, after: float, least: float, digits: int = FEW_DIGITS) -> tuple[str, str]:
    """Return two numbers with as many digits as show that they differ by more than ``least``."""
    for more in range(digits, MOST_DIGITS):
        shown = nearest(before, more), nearest(after, more)
        if abs(Decimal(shown[1]) - Decimal(shown[0])) > _decimal(least):
            return shown
    return exact(before), exact(after)


def range_end(end: float, x: float, kind: np.dtype[Any]) -> tuple[str, bool]:
    """Return an end of the proven range around ``x``, and whether the number written is outside it.

    The number is rounded towards ``x``; in the type ``kind`` of the model's input it is in the
    range. One with few digits right beyond the end is written instead, as in "below 31", if no
    number of float64 lies between: a table holds these, and float32 rounds 30.9999999 to 31.
    """
    own, inner = kind.type(x), kind.type(end)
    if not min(x, end) <= float(inner) <= max(x, end):
        inner = np.nextafter(inner, own)
    if inner == own:
        return exact(own), False
    inwards, outwards = (ROUND_FLOOR, ROUND_CEILING) if end > x else (ROUND_CEILING, ROUND_FLOOR)
    whole = _decimal(inner)
    outside = _rounded(whole, outwards, FEW_DIGITS)
    if outside != whole and float(inner) == np.nextafter(float(outside), float(own)):
        return _written(outside), True
    for digits in range(FEW_DIGITS, MOST_DIGITS + 1):
        rounded = _rounded(whole, inwards, digits)
        if min(own, inner) <= kind.type(rounded) <= max(own, inner):
            return _written(rounded), False
    return exact(inner), False


def rounder(value: float | np.number[Any], x: float, *, near: bool = True) -> Iterator[float]:
    """Yield the numbers next to ``value`` that have fewer digits, the fewest first.

    They stand for ``value`` in a change from ``x``, so none is ``x`` itself. Of each number of
    digits the nearest one comes first, then that on the other side; if ``near``, that one only if
    the change grows by a quarter, or by a hundredth of ``value``, at most.
    """
    whole, start = _decimal(value), _decimal(x)
    move = abs(whole - start)
    most = move + max(move * _FARTHER, abs(whole) * _OF_VALUE)
    for digits in range(1, len(whole.normalize().as_tuple().digits)):
        ways = (_CONTEXTS[way, digits].plus(whole) for way in (ROUND_FLOOR, ROUND_CEILING))
        first, other = sorted(ways, key=lambda one: abs(one - whole))
        if first != start:
            yield float(first)
        if other != start and (not near or abs(other - start) <= most):
            yield float(other)


def _decimal(value: float | np.number[Any]) -> Decimal:
    return Decimal(str(value))


def _rounded(value: Decimal, towards: str, digits: int) -> Decimal:
    if not value.is_finite():
        return value
    whole = value.adjusted() + 1 if value.adjusted() <= _MOST_EXPONENT else 0
    return _CONTEXTS[towards, max(digits, whole)].plus(value)


def _written(value: Decimal) -> str:
    if value.is_infinite():
        return "∞" if value > 0 else "-∞"
    if not value:
        return "0"
    if _LEAST_EXPONENT <= value.adjusted() <= _MOST_EXPONENT:
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value.normalize():e}".replace("e+", "e")
