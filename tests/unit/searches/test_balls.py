"""Distances are exact up to one rounding upwards, so a counterfactual lies in its own ball."""

from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from milp_verix import InputError, Inputs, Problem, category, continuous, fixed, integer
from milp_verix.inputs.radii import Epsilon
from milp_verix.problem.ball import Ball, make_ball
from milp_verix.problem.features import make_features
from milp_verix.problem.meeting import make_described_ball
from milp_verix.problem.problem import ProblemData
from milp_verix.searches.radius_search import Balls, scale_of

_ORDER = {"l1": 1, "l2": 2, "linf": np.inf}
TABLE = Inputs(
    [
        continuous("weight", 0.0, 10.0, "kg"),
        integer("age", 10, 90, "years"),
        category("town", ["A", "B", "C"], one_hot=True),
        fixed("place"),
    ]
)
PERSON = np.array([2.5, 40, 0, 1, 0, 7], dtype=np.float32)


def around(ball: Ball, **described: Any) -> Balls:
    features = make_features(described.pop("groups", None), (ball.centre.size,), None)
    scale = described.pop("scale", None)
    problem = object.__new__(Problem)  # of no network
    vars(problem).update(dict.fromkeys(one.name for one in fields(ProblemData)))
    vars(problem).update({"ball": ball, "features": features})
    vars(problem).update(described)
    return Balls(problem, scale)


def table(scale: Epsilon) -> Balls:
    factors = scale_of(TABLE, scale)
    ball = make_described_ball(PERSON, [0.0] * 4, "linf", TABLE)
    return around(ball, groups=TABLE.listed, scale=factors, inputs=TABLE, radii=(0.0,) * 4)


@pytest.mark.parametrize("norm", _ORDER)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_point_lies_in_the_ball_of_its_distance_and_in_no_smaller_one(
    norm: str, dtype: type
) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        x, point = (rng.random(7).astype(dtype) for _ in range(2))
        ball = make_ball(x, 9.0, norm)
        far = around(ball).distance(point)
        assert far == pytest.approx(np.linalg.norm(point.astype(float) - x, _ORDER[norm]))
        everything = np.arange(7)
        assert replace(ball, epsilon=far).contains(point, everything)
        below = float(np.nextafter(far, 0))
        below = float(np.nextafter(below, 0)) if norm == "l2" else below
        assert not replace(ball, epsilon=below).contains(point, everything)


@pytest.mark.parametrize("scale", [1.0, "100%", "7%", {"age": 5, "weight": 0.3, "*": 2}])
def test_a_described_point_lies_in_the_ball_of_its_distance_and_in_no_smaller_one(
    scale: Epsilon,
) -> None:
    rng, balls, everything = np.random.default_rng(1), table(scale), np.arange(6)
    for _ in range(60):
        point = PERSON.copy()
        for i, low, high in ((0, 0, 10), (1, 10, 90)):
            if rng.random() < 0.6:
                point[i] = np.rint(rng.uniform(low, high)) if i else rng.uniform(low, high)
        if rng.random() < 0.4:
            point[2:5] = np.roll(point[2:5], int(rng.integers(1, 3)))
        far = balls.distance(point)
        assert balls.at(far).ball.contains(point, everything)
        if far:
            assert not balls.at(far * (1 - 1e-12)).ball.contains(point, everything)


def test_the_distance_of_the_centre_is_zero() -> None:
    x = np.array([0.1, 0.7], dtype=np.float32)
    assert around(make_ball(x, 1.0, "l2")).distance(x) == 0
    assert table(1.0).distance(PERSON) == 0


def test_the_reach_is_the_farthest_corner_of_the_domain() -> None:
    x = np.array([0.25, 0.5, 1.0])
    for norm, expected in (("linf", 1.0), ("l1", 2.25), ("l2", (0.75**2 + 0.5**2 + 1) ** 0.5)):
        balls = around(make_ball(x, 0.0, norm))
        assert balls.reach(np.arange(3)) == pytest.approx(expected)
        assert balls.reach(np.array([1])) == 0.5
    far = around(make_ball(x, 0.0, "l2")).reach(np.arange(3))
    assert Fraction(far) ** 2 >= Fraction(29, 16)
    endless = make_ball(x, 0.0, "linf", (-np.inf, 1.0))
    assert around(endless).reach(np.array([0])) == np.inf


def test_the_reach_of_described_features_is_in_the_scale() -> None:
    assert table(1.0).reach(np.arange(6)) == 50.0
    assert table(1.0).reach(np.array([0])) == 7.5
    assert table(1.0).reach(np.array([2, 3, 4])) == 1.0
    assert table(1.0).reach(np.array([5])) == 0.0
    assert table("100%").reach(np.array([1])) == pytest.approx(50 / 80)
    assert table({"age": 0, "*": 2}).reach(np.array([1])) == 0.0


@pytest.mark.parametrize("scale", [0, np.inf, -1, {"age": 1}, "many"])
def test_bad_scales_are_refused(scale: Any) -> None:
    with pytest.raises(InputError):
        scale_of(TABLE, scale)
    with pytest.raises(InputError, match="described"):
        scale_of(None, 2.0)


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e-160, 1e-150, 1.0, 1e150, 1e160, 1e300])
def test_lengths_have_squares_beyond_float64(scale: float) -> None:
    here = np.zeros(2)
    balls = around(make_ball(here, 0.0, "l2", (0.0, 4 * scale)))
    point = np.array([3.0, 4.0]) * scale
    exact = sum(Fraction(move) ** 2 for move in point.tolist())
    found = balls.distance(point)
    assert Fraction(found) ** 2 >= exact > Fraction(np.nextafter(found, 0.0)) ** 2
    assert found == pytest.approx(5 * scale)
    assert balls.reach(np.arange(2)) == pytest.approx(2**0.5 * 4 * scale)
