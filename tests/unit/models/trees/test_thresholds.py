"""Thresholds in float64 send each number where comparisons in float32 send it."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from milp_verix.models.trees.branching import last_left

_NUMBERS = st.floats(-1e30, 1e30, allow_nan=False)


def _goes_left(x: float, threshold: float, strict: bool) -> bool:
    rounded = float(np.float32(x))
    return rounded < threshold if strict else rounded <= threshold


@given(_NUMBERS, st.booleans())
def test_the_last_number_goes_left_and_the_next_goes_right(threshold: float, strict: bool) -> None:
    last = float(last_left(threshold, strict=strict))
    assert _goes_left(last, threshold, strict)
    assert not _goes_left(float(np.nextafter(last, np.inf)), threshold, strict)


@pytest.mark.parametrize("threshold", [0.0, 1.0, 0.1, float(np.float32(0.1)), 1e-45, -1e-45])
@pytest.mark.parametrize("strict", [False, True])
def test_numbers_that_float32_holds(threshold: float, strict: bool) -> None:
    last = float(last_left(threshold, strict=strict))
    assert _goes_left(last, threshold, strict)
    assert not _goes_left(float(np.nextafter(last, np.inf)), threshold, strict)


def test_infinite_thresholds_stay() -> None:
    assert last_left([-np.inf, np.inf]).tolist() == [-np.inf, np.inf]
