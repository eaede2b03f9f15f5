"""Ranges by two solves each are those that the solves prove, and none is asked for in vain."""

import numpy as np
import pytest

from verix_encodings import Expressions, Interval
from verix_encodings.arrays import FloatArray
from verix_encodings.safe_bounds import tightened_range


class Box:
    """The program ``0 ≤ v ≤ 1``: it proves the true ends, less ``slack``, and counts its solves."""

    def __init__(self, slack: float = 0.0) -> None:
        self.slack, self.solves = slack, 0

    def least(self, _: int, cost: FloatArray, constant: float) -> tuple[float, FloatArray | None]:
        self.solves += 1
        point = (cost < 0).astype(float)
        return float(cost @ point) + constant - self.slack, point


def _expressions(rng: np.random.Generator) -> tuple[Expressions, FloatArray, FloatArray]:
    z = Expressions(np.arange(4), rng.normal(size=(6, 4)), rng.normal(size=6))
    low, high = np.minimum(z.matrix, 0).sum(axis=1), np.maximum(z.matrix, 0).sum(axis=1)
    return z, z.constant + low, z.constant + high


@pytest.mark.parametrize("seed", range(10))
def test_ranges_are_what_is_proven_for_the_rows_asked_about(seed: int) -> None:
    rng = np.random.default_rng(seed)
    z, low, high = _expressions(rng)
    known, box = Interval(low - rng.random(6), high + rng.random(6)), Box(slack=0.1)
    found = tightened_range(z, known, [4, 1], box.least, 4)
    assert box.solves == 4
    for i in range(6):
        asked = i in (1, 4)
        lower = max(known.lower[i], low[i] - 0.1) if asked else known.lower[i]
        upper = min(known.upper[i], high[i] + 0.1) if asked else known.upper[i]
        assert (found.lower[i], found.upper[i]) == pytest.approx((lower, upper), abs=1e-12)


def test_proofs_that_contradict_one_another_and_lateness_leave_what_is_known() -> None:
    z, low, high = _expressions(np.random.default_rng(0))
    known = Interval(low, high)
    wild, late = Box(slack=-1e3), Box()
    for box, is_late in ((wild, False), (late, True)):
        found = tightened_range(z, known, range(6), box.least, 4, late=lambda late=is_late: late)
        np.testing.assert_array_equal(found.lower, known.lower)
        np.testing.assert_array_equal(found.upper, known.upper)
    assert (wild.solves > 0, late.solves) == (True, 0)
