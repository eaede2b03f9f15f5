"""Distances are exact up to one rounding upwards, so a counterfactual lies in its own ball."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from milp_verix.problem.ball import make_ball
from milp_verix.radius.shrinking import distance, reach

_ORDER = {"l1": 1, "l2": 2, "linf": np.inf}


@pytest.mark.parametrize("norm", _ORDER)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_point_lies_in_the_ball_of_its_distance_and_in_no_smaller_one(
    norm: str, dtype: type
) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        x, point = (rng.random(7).astype(dtype) for _ in range(2))
        ball = make_ball(x, 9.0, norm)
        far = distance(ball, point)
        assert far == pytest.approx(np.linalg.norm(point.astype(float) - x, _ORDER[norm]))
        everything = np.arange(7)
        assert replace(ball, epsilon=far).contains(point, everything)
        below = float(np.nextafter(far, 0))
        below = float(np.nextafter(below, 0)) if norm == "l2" else below
        assert not replace(ball, epsilon=below).contains(point, everything)


def test_the_distance_of_the_centre_is_zero() -> None:
    x = np.array([0.1, 0.7], dtype=np.float32)
    assert distance(make_ball(x, 1.0, "l2"), x) == 0


def test_the_reach_is_the_farthest_corner_of_the_domain() -> None:
    x = np.array([0.25, 0.5, 1.0])
    for norm, expected in (("linf", 1.0), ("l1", 2.25), ("l2", (0.75**2 + 0.5**2 + 1) ** 0.5)):
        ball = make_ball(x, 0.0, norm)
        assert reach(ball, np.arange(3)) == pytest.approx(expected)
        assert reach(ball, np.array([1])) == 0.5
    assert Fraction(reach(make_ball(x, 0.0, "l2"), np.arange(3))) ** 2 >= Fraction(29, 16)
    assert reach(make_ball(x, 0.0, "linf", (-np.inf, 1.0)), np.array([0])) == np.inf
