"""Numbers as they are told: read back, they are what was proven, or on its safe side."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from milp_verix.base.number_text import (
    apart,
    down,
    exact,
    nearest,
    percent,
    percent_of,
    range_end,
    rounder,
    up,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SINGLE = st.floats(allow_nan=False, allow_infinity=False, width=32)
KINDS = [np.dtype(np.float64), np.dtype(np.float32)]


def digits_of(text: str) -> int:
    """Return how many digits a number has between the first and the last that is not 0."""
    return len(text.partition("e")[0].replace("-", "").replace(".", "").strip("0"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1098.1, "1098.1"),
        (15200.0, "15200"),
        (15199.999511718748, "15199.999511718748"),
        (-0.0, "0"),
        (0.0001, "0.0001"),
        (9.5e-5, "9.5e-5"),
        (1e15, "1000000000000000"),
        (1e16, "1e16"),
        (1e30, "1e30"),
        (1.5e-200, "1.5e-200"),
        (5e-324, "5e-324"),
        (np.float32(0.1), "0.1"),
        (np.float64(np.float32(0.1)), "0.10000000149011612"),
        (-math.inf, "-∞"),
        (7, "7"),
    ],
)
def test_numbers_are_written_as_people_do(value: Any, text: str) -> None:
    assert exact(value) == text


@given(FINITE)
def test_a_number_reads_back(value: float) -> None:
    assert float(exact(value)) == value


@given(SINGLE)
def test_a_number_of_float32_reads_back_in_its_type(value: float) -> None:
    number = np.float32(value)
    assert np.float32(float(exact(number))) == number


@given(FINITE, st.integers(1, 9))
def test_bounds_are_never_passed(value: float, digits: int) -> None:
    low, high = float(down(value, digits)), float(up(value, digits))
    assert low <= value <= high
    close = abs(Fraction(value)) / 10 ** (digits - 1)
    for told in (down(value, digits), up(value, digits), nearest(value, digits)):
        if math.isfinite(float(told)) and float(told) and abs(value) > 1e-300:
            assert abs(Fraction(told) - Fraction(value)) <= close * Fraction(1 + 2**-50)


def test_whole_parts_are_kept() -> None:
    assert (down(123456.7), up(123456.7), nearest(123456.7)) == ("123456", "123457", "123457")
    assert (down(-123456.7), up(0.00012345678), up(1.23456e28)) == (
        "-123457",
        "0.0001235",
        "1.235e28",
    )


@given(FINITE, FINITE, st.sampled_from(KINDS))
def test_an_end_that_is_told_is_in_the_range(end: float, x: float, kind: np.dtype[Any]) -> None:
    with np.errstate(over="ignore"):
        x, end = (
            float(kind.type(x)),
            float(np.clip(end, -3e38, 3e38)) if kind.itemsize == 4 else end,
        )
    assume(math.isfinite(x))
    text, outside = range_end(end, x, kind)
    low, high = min(x, end), max(x, end)
    told = kind.type(float(text))
    if outside:
        assert not low <= float(told) <= high
        # a table holds float64, so no such number may lie between
        assert low <= float(kind.type(np.nextafter(float(text), x))) <= high
    else:
        assert low <= float(told) <= high


def test_strict_ends_leave_no_number_out() -> None:
    float64, float32 = KINDS
    before = (30.99999809265137 + 31) / 2  # float32 rounds it, and all behind it, to 31
    last = float(np.nextafter(before, 0))
    assert range_end(last, 22.0, float64) == ("30.99", False)
    assert range_end(float(np.nextafter(31.0, 0)), 22.0, float64) == ("31", True)
    assert range_end(float(np.nextafter(31.0, 99)), 40.0, float64) == ("31", True)
    assert range_end(before, 40.0, float64) == ("31", False)
    # other numbers lie between the end and 31
    assert range_end(float(np.nextafter(last, 0)), 22.0, float64) == ("30.99", False)
    assert range_end(30.9999999, 22.0, float64) == ("30.99", False)
    # float32 rounds 30.9999999 of a table to 31, which is beyond
    assert range_end(30.999998, 22.0, float32) == ("30.99", False)
    # 0.1 as float32 is above this end
    assert range_end(0.1, 0.0, float32) == ("0.09999", False)
    assert range_end(0.1, 0.0, float64) == ("0.1", False)


@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1.0, 1e27, 1e28, 1e30, 1e200])
def test_ends_of_every_size_are_told(scale: float) -> None:
    for x, end in ((0.0, 1.5), (0.0, -1.5), (1.0, 1.23456), (-2.0, -1.23456), (3.0, 3.0)):
        text, outside = range_end(end * scale, x * scale, KINDS[0])
        assert not outside
        assert min(x, end) * scale <= float(text) <= max(x, end) * scale


@given(FINITE, FINITE)
def test_rounder_numbers_have_fewer_digits_and_are_never_the_input(value: float, x: float) -> None:
    found = list(rounder(value, x))
    sizes = [digits_of(exact(one)) for one in found]
    assert all(size <= 17 for size in sizes)
    assert x not in found
    for one in found:
        assert digits_of(exact(one)) <= digits_of(exact(value)) or not math.isfinite(one)


def test_rounder_numbers_are_near_unless_all_are_asked_for() -> None:
    assert [*rounder(1119.37, 1098.1)][:3] == [1000.0, 1100.0, 1120.0]
    assert [*rounder(3.17, 0.0)] == [3.0, 3.2, 3.1]
    assert 4.0 in [*rounder(3.17, 0.0, near=False)]
    assert [*rounder(np.float32(0.3), np.float32(0.1))] == []


def test_numbers_have_the_digits_that_set_them_apart() -> None:
    assert apart(1.0, 1.00002, 1e-5) == ("1", "1.00002")
    assert apart(0.40696, 0.41702, 0.01, 3) == ("0.40696", "0.41702")
    assert apart(1.5, 3.25, 1.0) == ("1.5", "3.25")
    assert apart(1.0, 1.0 + 2**-52, 0.0) == ("1", "1.0000000000000002")


def test_shares() -> None:
    assert [percent(share) for share in (0.1, 0.07, 0.001, 1 / 3)] == [
        *("10", "7", "0.1", "33.33333333333333")
    ]
    assert [percent_of(*pair) for pair in ((9999, 10000), (1, 1), (0, 0), (123, 10000))] == [
        *("99", "100", "0", "1.2")
    ]
