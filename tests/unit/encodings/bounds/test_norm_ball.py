"""Bounds over L1 and L2 balls: valid for every point, and reached by one."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import linprog

from tests.support.exact_values import seeds
from tests.support.random_networks import network_of, random_layers
from tests.support.scipy_reference import violation
from verix_encodings import Interval, NormBall, ProgramBuilder, crown_bounds, interval_bounds
from verix_encodings.blocks.input_ball import l2_tangents

pytestmark = pytest.mark.usefixtures("matrix_storage")


def random_ball(rng: np.random.Generator, norm: int, size: int = 5) -> NormBall:
    """Return a ball of which the box cuts off parts, with about a fifth of coordinates fixed."""
    centre = rng.normal(size=size)
    room = rng.exponential(0.5, size=(2, size)) * (rng.random(size) < 0.8)
    room *= rng.random((2, size)) < 0.9
    box = Interval(centre - room[0], centre + room[1])
    return NormBall(box, centre, float(rng.exponential(0.7)), norm)


def sampled(ball: NormBall, rng: np.random.Generator, count: int) -> np.ndarray:
    """Return points of the ball: moved from the centre, cut by the box, scaled into the norm."""
    moved = rng.normal(size=(count, ball.centre.size)) * rng.choice([0.2, 1, 5], (count, 1))
    moved *= rng.random(moved.shape) < rng.choice([0.3, 1], (count, 1))
    inside = np.clip(ball.centre + moved, ball.box.lower, ball.box.upper) - ball.centre
    length = np.linalg.norm(inside, ord=ball.norm, axis=1, keepdims=True)
    return ball.centre + inside * np.minimum(1, ball.radius / np.maximum(length, 1e-300))


@pytest.mark.parametrize("norm", [1, 2])
def test_what_cancels_at_the_centre_is_rounded_up(norm: int) -> None:
    rng = np.random.default_rng(0)
    centre, matrix = rng.normal(size=5), rng.normal(size=(100, 5))
    # nothing is left of most sums but what their terms were rounded by
    matrix[:, 4] = -(matrix[:, :4] @ centre[:4]) / centre[4]
    ball = NormBall(Interval(centre - 1, centre + 1), centre, 0.0, norm)
    lower, upper = ball.extremes(matrix)
    for row, low, high in zip(matrix, lower, upper, strict=True):
        pairs = zip(row, centre, strict=True)
        exact = sum((Fraction(float(c)) * Fraction(float(x)) for c, x in pairs), Fraction())
        assert Fraction(float(low)) <= exact <= Fraction(float(high))


@pytest.mark.parametrize("seed", range(20))
def test_tangents_leave_every_point_of_an_l2_ball(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ball = random_ball(rng, 2)
    points = sampled(ball, rng, 200)
    builder = ProgramBuilder()
    x = l2_tangents(builder, ball, points[:3])
    program = builder.build()
    free = np.flatnonzero(ball.box.lower < ball.box.upper)
    for point in points:
        moved = (point - ball.centre)[free]
        values = np.concatenate([moved, np.square(moved / ball.radius) * free.size])
        assert violation(program, values) <= 1e-12
        np.testing.assert_allclose(x.at(values), point, atol=1e-12)


def largest_l1(ball: NormBall, c: np.ndarray) -> float:
    """Solve for the largest ``c·x`` as a linear program in the two sides of each coordinate."""
    up, down = ball.box.upper - ball.centre, ball.centre - ball.box.lower
    size = c.size
    solved = linprog(
        np.concatenate([-c, c]),
        A_ub=np.ones((1, 2 * size)),
        b_ub=[ball.radius],
        bounds=[(0, v) for v in np.concatenate([up, down])],
    )
    return float(c @ ball.centre - solved.fun)


def largest_l2(ball: NormBall, c: np.ndarray) -> float:
    """Find the largest ``c·x`` by bisection on the Lagrange multiplier of a feasible point."""
    room = np.where(c > 0, ball.box.upper - ball.centre, ball.centre - ball.box.lower)
    low, high = 0.0, 1e9
    for _ in range(200):
        middle = (low + high) / 2
        t = np.minimum(room, np.abs(c) * middle)
        low, high = (middle, high) if np.linalg.norm(t) <= ball.radius else (low, middle)
    t = np.minimum(room, np.abs(c) * low)
    return float(c @ ball.centre + np.abs(c) @ t)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("seed", range(100))
def test_bounds_of_a_linear_form_are_its_extremes(seed: int, norm: int) -> None:
    rng = np.random.default_rng(seed)
    ball = random_ball(rng, norm)
    matrix = rng.normal(size=(4, 5)) * (rng.random((4, 5)) < 0.8)
    lower, upper = ball.extremes(matrix)
    largest = largest_l1 if norm == 1 else largest_l2
    for c, low, high in zip(matrix, lower, upper, strict=True):
        assert high == pytest.approx(largest(ball, c), abs=1e-7)
        assert low == pytest.approx(-largest(ball, -c), abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1, 2])
@settings(max_examples=100, deadline=None)
@given(seeds)
def test_no_point_of_the_ball_is_outside_the_bounds(norm: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ball = random_ball(rng, norm)
    network = network_of(random_layers(rng, (5, 6, 5, 3)))
    for method in (interval_bounds, crown_bounds):
        bounds = method(network, ball)
        for x in sampled(ball, rng, 40):
            for interval, value in zip(bounds, network.values(x), strict=True):
                slack = 1e-12 * (1 + interval.magnitude)
                assert np.all(interval.lower - slack <= value)
                assert np.all(value <= interval.upper + slack)


@pytest.mark.parametrize("norm", [1, 2])
def test_a_ball_is_bounded_more_tightly_than_its_box(norm: int) -> None:
    rng = np.random.default_rng(0)
    network = network_of(random_layers(rng, (30, 8, 3)))
    centre = np.full(30, 0.5)
    box = Interval(centre - 0.3, centre + 0.3)
    ball = NormBall(box, centre, 0.3, norm)
    tight, wide = crown_bounds(network, ball)[-1], crown_bounds(network, box)[-1]
    assert np.all(tight.upper - tight.lower < 0.5 * (wide.upper - wide.lower))


def test_many_rows_are_bounded_in_pieces() -> None:
    rng = np.random.default_rng(0)
    ball = random_ball(rng, 2)
    matrix = rng.normal(size=(600, 5))
    lower, upper = ball.extremes(matrix)
    for row in (0, 255, 256, 599):
        low, high = ball.extremes(matrix[[row]])
        assert (low[0], high[0]) == pytest.approx((lower[row], upper[row]), abs=1e-12)


@pytest.mark.parametrize(("norm", "radius"), list(product([1, 2], [0.0, 1e-200, 1e9])))
def test_extreme_radii(norm: int, radius: float) -> None:
    centre = np.array([0.25, -1.0])
    box = Interval(np.array([-0.75, -1.5]), np.array([0.25, 1.0]))
    lower, upper = NormBall(box, centre, radius, norm).extremes(np.array([[1.0, -2.0]]))
    if radius < 1:
        assert (lower[0], upper[0]) == pytest.approx((2.25, 2.25), abs=1e-9)
    else:
        assert (lower[0], upper[0]) == pytest.approx((-2.75, 3.25))


@pytest.mark.parametrize(
    ("norm", "radius", "centre", "message"),
    [
        (3, 1.0, [0.5], "norm is 1 or 2"),
        (1, -1.0, [0.5], "radius"),
        (2, np.nan, [0.5], "radius"),
        (2, 1.0, [2.0], "centre"),
        (1, 1.0, [0.5, 0.5], "centre|broadcast"),
    ],
)
def test_what_is_no_ball(norm: int, radius: float, centre: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NormBall(Interval(np.zeros(1), np.ones(1)), np.array(centre), radius, norm)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_the_farthest_points_reach_the_bounds_column_by_column(seed: int, norm: int) -> None:
    rng = np.random.default_rng(seed)
    ball = random_ball(rng, norm)
    ways = rng.normal(size=(5, 7)) * (rng.random((5, 7)) < 0.8)
    found = ball.farthest(ways)
    for way, point, highest in zip(ways.T, found.T, ball.greatest(ways.T), strict=True):
        np.testing.assert_allclose(point, ball.farthest(way), atol=1e-12)
        assert way @ point == pytest.approx(highest, abs=1e-7)
        assert np.all((ball.box.lower <= point) & (point <= ball.box.upper))
        assert np.linalg.norm(point - ball.centre, ord=norm) <= ball.radius + 1e-9
    corners = ball.box.farthest(ways)
    for way, corner in zip(ways.T, corners.T, strict=True):
        np.testing.assert_array_equal(corner, ball.box.farthest(way))
        assert way @ corner >= way @ ball.centre
