"""The ball from both sides: the claim's box leaves nothing out, the witness's box lets nothing in.

Everything is compared with the definition, |x' − x| ≤ ε and low ≤ x' ≤ high, in exact fractions.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings, strategies as st
from numpy.typing import NDArray

from milp_verix.base.errors import InputError
from milp_verix.problem.ball import Ball, make_ball

DTYPES = (np.float16, np.float32, np.float64)

tiny_and_huge = st.sampled_from([0.0, 5e-324, 1e-310, 1e-45, 1e-20, 2.0**-24, 1e5, 1e30, 1e300])
radii = st.one_of(st.floats(0, 2), tiny_and_huge)


@st.composite
def balls(draw: st.DrawFn) -> Ball:
    """Draw a ball of one to three coordinates, with domain ends near, far, at the centre."""
    dtype = draw(st.sampled_from(DTYPES))
    width = np.dtype(dtype).itemsize * 8
    near, any_value = st.floats(-2, 2, width=16), st.floats(-60000, 60000, width=width)
    centre = np.array(draw(st.lists(st.one_of(near, any_value), min_size=1, max_size=3)), dtype)
    epsilon = draw(radii)
    gaps = st.one_of(st.just(0.0), st.just(np.inf), radii)
    # rounded away from the centre or not at all, so that the centre is in the domain
    low = [float(x) - draw(gaps) for x in centre]
    high = [float(x) + draw(gaps) for x in centre]
    return make_ball(centre, epsilon, domain=(low, high))


def member(ball: Ball, i: int, value: Any) -> bool:
    """Whether coordinate ``i`` may be ``value``: the definition."""
    if not np.isfinite(value):
        return False
    distance = abs(Fraction(float(value)) - Fraction(float(ball.centre[i])))
    in_domain = ball.domain_lower[i] <= float(value) <= ball.domain_upper[i]
    return bool(distance <= Fraction(ball.epsilon) and in_domain)


def ends(ball: Ball, i: int) -> tuple[Fraction, Fraction]:
    """Return the exact ends of the ball in coordinate ``i``."""
    x, epsilon = Fraction(float(ball.centre[i])), Fraction(ball.epsilon)
    low, high = float(ball.domain_lower[i]), float(ball.domain_upper[i])
    return (
        x - epsilon if low == -np.inf else max(x - epsilon, Fraction(low)),
        x + epsilon if high == np.inf else min(x + epsilon, Fraction(high)),
    )


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(balls())
@example(make_ball(np.array([0.1], np.float32), 0.05))
@example(make_ball(np.array([1.0]), 1e-17))
@example(make_ball(np.array([0.7], np.float32), 0.1, domain=(0.65, 0.75)))
def test_the_outer_box_holds_the_ball_and_hardly_more(ball: Ball) -> None:
    for i in range(ball.centre.size):
        low, high = ends(ball, i)
        lower, upper = ball.outer.lower[i], ball.outer.upper[i]
        assert Fraction(float(lower)) <= low < Fraction(float(np.nextafter(lower, np.inf)))
        assert Fraction(float(np.nextafter(upper, -np.inf))) < high <= Fraction(float(upper))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(balls())
@example(make_ball(np.array([0.1], np.float32), 0.05))
@example(make_ball(np.array([1.0], np.float32), 1e-17))
@example(make_ball(np.array([6e4], np.float16), 1e5, domain=(-np.inf, np.inf)))
def test_the_inner_ends_are_the_outermost_members(ball: Ball) -> None:
    away = ball.centre.dtype.type(np.inf)
    for i in range(ball.centre.size):
        lower, upper = ball.inner_lower[i], ball.inner_upper[i]
        assert lower.dtype == upper.dtype == ball.centre.dtype
        assert lower <= ball.centre[i] <= upper
        assert member(ball, i, lower)
        assert member(ball, i, upper)
        with np.errstate(over="ignore"):
            assert not member(ball, i, np.nextafter(lower, -away))
            assert not member(ball, i, np.nextafter(upper, away))


@st.composite
def points(draw: st.DrawFn) -> tuple[Ball, NDArray[Any], NDArray[np.intp]]:
    """Draw a ball, a point made of its edges, their neighbours and others, and a free set."""
    ball = draw(balls())
    away = ball.centre.dtype.type(np.inf)
    point = ball.centre.copy()
    with np.errstate(over="ignore"):
        below, above = np.nextafter(ball.inner_lower, -away), np.nextafter(ball.inner_upper, away)
    edges = [ball.centre, ball.inner_lower, ball.inner_upper, below, above]
    for i in range(point.size):
        at_edge = st.sampled_from([edge[i] for edge in edges])
        point[i] = draw(st.one_of(at_edge, st.floats(-3, 3), st.just(np.nan)))
    free = draw(st.lists(st.sampled_from(range(point.size)), unique=True))
    return ball, point, np.array(sorted(free), dtype=np.intp)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(points())
def test_contains_is_the_definition(drawn: tuple[Ball, NDArray[Any], NDArray[np.intp]]) -> None:
    ball, point, free = drawn
    expected = all(
        member(ball, i, point[i]) if i in free else point[i] == ball.centre[i]
        for i in range(point.size)
    )
    assert ball.contains(point, free) == expected


def test_contains_refuses_another_type() -> None:
    ball = make_ball(np.array([0.5], np.float32), 0.1)
    assert ball.contains(np.array([0.55], np.float32), np.array([0]))
    assert not ball.contains(np.array([0.55]), np.array([0]))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(balls(), st.data())
def test_the_nearest_witness_is_the_nearest_member(ball: Ball, data: st.DataObject) -> None:
    size = ball.centre.size
    share = np.array(data.draw(st.lists(st.floats(0, 1), min_size=size, max_size=size)))
    point = ball.outer.lower * (1 - share) + ball.outer.upper * share
    assume(np.isfinite(point).all())
    free = np.arange(size - 1)
    witness = ball.nearest_witness(point, free)
    assert ball.contains(witness, free)
    assert witness[-1] == ball.centre[-1]
    for i in free:
        distance = abs(Fraction(float(witness[i])) - Fraction(float(point[i])))
        for towards in (-np.inf, np.inf):
            with np.errstate(over="ignore"):
                other = np.nextafter(witness[i], ball.centre.dtype.type(towards))
            if member(ball, i, other):
                assert distance <= abs(Fraction(float(other)) - Fraction(float(point[i])))


@pytest.mark.parametrize(
    ("norm", "epsilon", "moves"), [("l1", 0.25, (0.125, 0.125)), ("l2", 0.625, (0.375, 0.5))]
)
def test_a_norm_ends_at_its_radius_to_the_last_digit(
    norm: str, epsilon: float, moves: tuple[float, float]
) -> None:
    ball, free = make_ball(np.zeros(2), epsilon, norm, (-1.0, 1.0)), np.arange(2)
    for signs in ([1, 1], [-1, 1], [1, -1], [-1, -1]):
        at_end = np.array(moves) * signs
        assert ball.contains(at_end, free)
        for i in range(2):
            beyond = at_end.copy()
            beyond[i] = np.nextafter(beyond[i], np.inf * signs[i])
            assert not ball.contains(beyond, free)
            assert ball.contains(ball.nearest_witness(beyond, free), free)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(20))
def test_members_of_a_norm_are_those_of_fractions(
    seed: int, dtype: type[np.floating[Any]], norm: str
) -> None:
    rng = np.random.default_rng(seed)
    size, order = int(rng.integers(1, 30)), int(norm[1])
    epsilon = float(rng.choice([1e-200, 1e-30, 0.1, 1.0, 1e30]))
    centre = (rng.random(size) * (epsilon > 1e-9)).astype(dtype)
    ball = make_ball(centre, epsilon, norm, (-np.inf, np.inf))
    moved = rng.normal(size=size) * (rng.random(size) < 0.7)
    moved *= epsilon / max(float(np.linalg.norm(moved, ord=order)), 1e-300)
    for scale in (0.5, *(1 + rng.normal(size=9) * 10.0 ** rng.uniform(-17, -6, 9)), 2.0):
        witness = (centre + scale * moved).astype(dtype)
        terms = [
            abs(Fraction(float(w)) - Fraction(float(c))) ** order
            for w, c in zip(witness, centre, strict=True)
        ]
        inside = sum(terms, Fraction()) <= Fraction(epsilon) ** order
        assert ball._in_the_norm(witness, np.arange(size)) is inside


def test_a_point_that_is_no_number_gives_no_witness() -> None:
    ball = make_ball(np.array([0.5, 0.5], np.float32), 0.1)
    free = np.array([0])
    assert not ball.contains(ball.nearest_witness(np.array([np.nan, 0.5]), free), free)


def test_the_box_of_a_claim_frees_only_what_is_free() -> None:
    ball = make_ball(np.array([0.25, 0.5, 1.0], np.float32), 0.125)
    box = ball.box(np.array([0, 2]))
    assert box.lower.tolist() == [0.125, 0.5, 0.875]
    assert box.upper.tolist() == [0.375, 0.5, 1.0]
    nothing = ball.box(np.zeros(0, dtype=np.intp))
    assert nothing.lower.tolist() == nothing.upper.tolist() == [0.25, 0.5, 1.0]


def test_no_radius_is_the_centre_alone() -> None:
    ball = make_ball(np.array([0.1, 0.0], np.float32), 0.0)
    for end in (ball.outer.lower, ball.outer.upper, ball.inner_lower, ball.inner_upper):
        assert end.tolist() == ball.centre.tolist()


def test_a_ball_beyond_float64_is_refused_unless_the_domain_ends_it() -> None:
    x = np.array([1e308])
    with pytest.raises(InputError, match=r"epsilon 1.5e\+308"):
        make_ball(x, 1.5e308, domain=(-np.inf, np.inf))
    ball = make_ball(x, 1.5e308, domain=(-1e308, 1.2e308))
    assert (ball.outer.lower, ball.outer.upper) == (-5e307, 1.2e308)


def test_a_ball_is_a_copy_that_nobody_can_change() -> None:
    x = np.array([0.5], np.float32)
    ball = make_ball(x, 0.1)
    x[0] = 7
    assert ball.centre[0] == 0.5
    for array in (ball.centre, ball.inner_lower, ball.inner_upper, ball.outer.lower):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_an_input_in_the_ball_is_its_own_witness(norm: str) -> None:
    """``x + (point − x)`` loses the last bit, and with it the side of a threshold."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        x, point = np.round(rng.normal(size=(2, 3)) * 10.0 ** rng.integers(-3, 4), 2)
        ball = make_ball(x, 1e5, norm, (-np.inf, np.inf))
        assert ball.nearest_witness(point, np.arange(3)).tolist() == point.tolist()
