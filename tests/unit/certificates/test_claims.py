"""Numbers of certificates are exact, and come back as the floats that they were."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from milp_verix.certificates.certificate import bits_of, exact, numbers_of

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.slow
@given(st.lists(finite))
def test_floats_come_back_from_their_ratios(numbers: list[float]) -> None:
    assert numbers_of([exact(number) for number in numbers]).tolist() == numbers


@given(finite)
def test_a_ratio_is_the_float_itself(number: float) -> None:
    assert Fraction(exact(number)) == Fraction(number)


def test_whole_numbers_are_integers_and_others_texts() -> None:
    assert [exact(2.0), exact(0.375), exact(Fraction(-1, 3))] == [2, "3/8", "-1/3"]


@given(st.lists(st.floats(-1e6, 1e6, width=32)))
def test_no_float_needs_more_bits_behind_the_point(numbers: list[float]) -> None:
    bits = bits_of(np.array(numbers, np.float32))
    assert all((Fraction(number) * 2**bits).denominator == 1 for number in numbers)


@pytest.mark.parametrize("numbers", [[3, 4], [np.inf, -np.inf], [0.0], []])
def test_integers_zero_and_infinity_ask_for_no_more_than_one_bit(numbers: list[float]) -> None:
    assert bits_of(np.array(numbers)) == 1
