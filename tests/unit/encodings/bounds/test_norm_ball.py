"""Bounds over L1 and L2 balls: valid for every point, and reached by one."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from tests.support.exact_values import examples, seeds
from tests.support.random_networks import network_of, random_layers
from tests.support.scipy_reference import violation
from verix_encodings import Interval, NormBall, ProgramBuilder, crown_bounds, interval_bounds
from verix_encodings.blocks.input_ball import l2_tangents
from verix_encodings.bounds.norm_ball import Moves

pytestmark = pytest.mark.usefixtures("matrix_storage")


def random_ball(
    seed: int | np.random.Generator, norm: int, size: int = 5
) -> tuple[NormBall, np.random.Generator]:
    """Return a ball of which the box cuts off parts, and the generator that drew it.

    About a fifth of the coordinates are fixed.
    """
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=size)
    room = rng.exponential(0.5, size=(2, size)) * (rng.random(size) < 0.8)
    room *= rng.random((2, size)) < 0.9
    box = Interval(centre - room[0], centre + room[1])
    return NormBall(box, centre, float(rng.exponential(0.7)), norm), rng


def sampled(ball: NormBall, rng: np.random.Generator, count: int) -> np.ndarray:
    """Return points of the ball: moved from the centre, cut by the box, scaled into the norm."""
    moved = rng.normal(size=(count, ball.centre.size)) * rng.choice([0.2, 1, 5], (count, 1))
    moved *= rng.random(moved.shape) < rng.choice([0.3, 1], (count, 1))
    inside = np.clip(ball.centre + moved, ball.box.lower, ball.box.upper) - ball.centre
    length = np.linalg.norm(inside, ord=ball.norm, axis=1, keepdims=True)
    return ball.centre + inside * np.minimum(1, ball.radius / np.maximum(length, 1e-300))


@pytest.mark.parametrize("norm", [1, 2])
@examples(50, seeds)
def test_sparse_rows_have_the_bounds_of_whole_ones(norm: int, seed: int) -> None:
    ball, rng = random_ball(seed, norm, 12)
    rows = rng.normal(size=(30, 12)) * (rng.random((30, 12)) < rng.choice([0.0, 0.1, 0.7, 1.0]))
    found = ball.greatest(sp.csr_array(rows))
    np.testing.assert_allclose(found, ball.greatest(rows), rtol=1e-12, atol=1e-12)


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
    ball, rng = random_ball(seed, 2)
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
    ball, rng = random_ball(seed, norm)
    matrix = rng.normal(size=(4, 5)) * (rng.random((4, 5)) < 0.8)
    lower, upper = ball.extremes(matrix)
    largest = largest_l1 if norm == 1 else largest_l2
    for c, low, high in zip(matrix, lower, upper, strict=True):
        assert high == pytest.approx(largest(ball, c), abs=1e-7)
        assert low == pytest.approx(-largest(ball, -c), abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1, 2])
@examples(100, seeds)
def test_no_point_of_the_ball_is_outside_the_bounds(norm: int, seed: int) -> None:
    ball, rng = random_ball(seed, norm)
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
    ball, rng = random_ball(0, 2)
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
    ball, rng = random_ball(seed, norm)
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


def greater_room(rng: np.random.Generator, ball: NormBall) -> NormBall:
    """Return the ball in a larger box."""
    size = ball.centre.size
    more = rng.exponential(0.5, (2, size)) * (rng.random((2, size)) < 0.6)
    return replace(ball, box=Interval(ball.box.lower - more[0], ball.box.upper + more[1]))


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("seed", range(60))
def test_gains_add_up_to_a_bound_on_what_a_larger_box_gains(seed: int, norm: int) -> None:
    ball, rng = random_ball(seed, norm)
    larger = greater_room(rng, ball)
    ways = rng.normal(size=(6, 5)) * (rng.random((6, 5)) < 0.8)
    gains = ball.gains(ways, larger.box)
    largest = largest_l1 if norm == 1 else largest_l2
    assert np.all(gains >= -1e-9)
    for way, gain in zip(ways, gains, strict=True):
        before = largest(ball, way)
        assert largest(larger, way) <= before + gain.sum() + 1e-7
        for i in range(5):
            lower, upper = ball.box.lower.copy(), ball.box.upper.copy()
            lower[i], upper[i] = larger.box.lower[i], larger.box.upper[i]
            alone = replace(ball, box=Interval(lower, upper))
            assert largest(alone, way) <= before + gain[i] + 1e-7


@pytest.mark.parametrize("norm", [1, 2])
def test_gains_are_exact_to_first_order(norm: int) -> None:
    rng = np.random.default_rng(norm)
    checked = 0
    for _ in range(60):
        ball, _ = random_ball(rng, norm)
        way = rng.normal(size=(1, 5))
        lower, upper = ball.box.lower.copy(), ball.box.upper.copy()
        lower[0], upper[0] = lower[0] - 1e-5, upper[0] + 1e-5
        larger = replace(ball, box=Interval(lower, upper))
        gain = ball.gains(way, larger.box)[0]
        found = (larger.greatest(way) - ball.greatest(way))[0]
        assert gain[1:].tolist() == [0.0] * 4
        assert found == pytest.approx(gain[0], abs=1e-9)
        checked += gain[0] > 1e-6
    assert checked >= 20


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_bounds_and_points_at_once_are_those_one_by_one(seed: int, norm: int) -> None:
    ball, rng = random_ball(seed, norm)
    rows = rng.normal(size=(7, 5)) * (rng.random((7, 5)) < 0.8)
    for region in (ball, ball.box):
        bounds, points = region.highest(rows)
        np.testing.assert_array_equal(bounds, region.greatest(rows))
        np.testing.assert_array_equal(points, region.farthest(rows.T).T)


@pytest.mark.parametrize("seed", range(30))
def test_weights_that_are_equal_share_the_radius(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 3, (4, 6)).astype(np.float64)
    room, radius = rng.integers(0, 4, (4, 6)) / 4, rng.integers(0, 9, 4) / 4
    moves = Moves.of(weight, room, radius, 1).largest()
    assert np.all((moves >= 0) & (moves <= room))
    assert np.all(moves.sum(axis=1) <= radius)
    for w, h, r, t in zip(weight, room, radius, moves, strict=True):
        # in fractions: the largest weights first
        left, best = Fraction(float(r)), Fraction()
        for k in np.argsort(-w):
            taken = min(left, Fraction(float(h[k])))
            left, best = left - taken, best + taken * Fraction(float(w[k]))
        assert (
            sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(w, t, strict=True)) == best
        )


@pytest.mark.parametrize("seed", range(40))
def test_bounds_of_an_l2_ball_are_above_points_in_fractions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # the box ends where the best point of the ball does, so that the room is rounded
    ways = rng.integers(1, 8, 3).astype(np.float64)
    moved = ways / 8
    ball = NormBall(Interval(-moved, moved), np.zeros(3), 1.0, 2)
    bound = Fraction(float(ball.greatest(ways[None])[0]))
    inside = sum(Fraction(float(m)) ** 2 for m in moved) <= 1
    best = sum(Fraction(float(w)) * Fraction(float(m)) for w, m in zip(ways, moved, strict=True))
    # beyond the ball, Cauchy and Schwarz's point is scaled to length one
    assert bound >= best if inside else bound**2 >= sum(Fraction(float(w)) ** 2 for w in ways)


def test_room_that_vanishes_beside_the_radius_counts() -> None:
    least = 2.0**-1074
    ball = NormBall(Interval(np.zeros(2), np.array([least, 4.0])), np.zeros(2), 3.0, 2)
    way = np.array([[2.0**500, 2.0**-600]])
    assert Fraction(float(ball.greatest(way)[0])) >= Fraction(2) ** -574
