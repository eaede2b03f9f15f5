"""Smooth activations against 50 digits: values, slopes, curvature, and every line around them."""

from collections.abc import Callable
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import strategies as st
from mpmath import mp, mpf

from tests.support.exact_values import examples, seeds
from verix_encodings import SMOOTH_FUNCTIONS, SmoothFunction
from verix_encodings.arrays import FloatArray
from verix_encodings.bounds.strips import (
    best_lines,
    breakpoints,
    chord_slope,
    intercepts,
    slope_range,
    value_range,
)

mp.dps = 50

Exact = Callable[[mpf], mpf]


def _sigmoid(x: mpf) -> mpf:
    return 1 / (1 + mpmath.exp(-x))


def _softplus(x: mpf) -> mpf:
    return mpmath.log1p(mpmath.exp(x)) if x < 0 else x + mpmath.log1p(mpmath.exp(-x))


EXACT: dict[str, Exact] = {
    "sigmoid": _sigmoid,
    "tanh": mpmath.tanh,
    "softsign": lambda x: x / (1 + abs(x)),
    "softplus": _softplus,
    "elu": lambda x: x if x > 0 else mpmath.expm1(x),
    "gelu": lambda x: x * mpmath.ncdf(x),
    "gelu_tanh": lambda x: (
        x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mp.pi) * (x + mpf(0.044715) * x**3)))
    ),
    "silu": lambda x: x * _sigmoid(x),
    "mish": lambda x: x * mpmath.tanh(_softplus(x)),
    "erf": mpmath.erf,
}

functions = pytest.mark.parametrize("name", SMOOTH_FUNCTIONS)
names = st.sampled_from(list(SMOOTH_FUNCTIONS))


def points(name: str, rng: np.random.Generator, count: int) -> FloatArray:
    """Return points of every magnitude, the inflections, their neighbours and the far tails."""
    scales = 10.0 ** rng.uniform(-12, 3, count)
    special = [0.0, 1e-300, -1e-300, 36.7, -36.7, 745.2, -745.2, 1e6, -1e6]
    for x in SMOOTH_FUNCTIONS[name].inflections:
        special += [x, np.nextafter(x, -9.0), np.nextafter(x, 9.0)]
    uniform = rng.uniform(-8, 8, count)
    return np.concatenate([special, uniform, scales * rng.choice([-1, 1], count)])


@functions
def test_values_and_slopes_are_as_close_as_stated(name: str) -> None:
    function, exact = SMOOTH_FUNCTIONS[name], EXACT[name]
    x = points(name, np.random.default_rng(0), 400)
    values, slopes = function.evaluate(x), function.slope(x)
    for point, value, slope in zip(x, values, slopes, strict=True):
        allowed = 2.0**-46 * (1 + abs(point))
        assert abs(exact(mpf(float(point))) - float(value)) <= allowed
        # by a difference, where the curvature does not jump
        if abs(point) > 1e-9:
            h = mpf(10) ** -15 * max(1, abs(point)) if abs(point) > 1e-3 else mpf(10) ** -20
            p = mpf(float(point))
            rise = (exact(p + h) - exact(p - h)) / (2 * h)
            assert abs(rise - float(slope)) <= allowed
        assert abs(value) <= 1 + 2 * abs(point)
        assert abs(slope) <= 2


@functions
def test_the_curvature_changes_where_it_is_said_to(name: str) -> None:
    function, exact = SMOOTH_FUNCTIONS[name], EXACT[name]
    h = mpf(10) ** -8
    edges = [-30.0, *function.inflections, 30.0]
    convex = function.convex_first
    for start, end in pairwise(edges):
        for x in np.linspace(start, end, 203)[1:-1]:
            p = mpf(float(x))
            if name in ("elu", "softsign") and abs(p) < 1e-6:
                continue
            bend = exact(p + h) + exact(p - h) - 2 * exact(p)
            assert bend >= -(mpf(10) ** -45) if convex else bend <= mpf(10) ** -45
        convex = not convex
    for x in function.inflections:
        if name == "softsign":
            continue
        before, after = (
            exact(p + h) + exact(p - h) - 2 * exact(p)
            for p in (mpf(x) - mpf(10) ** -7, mpf(x) + mpf(10) ** -7)
        )
        assert before * after < 0


@pytest.mark.slow
@examples(120, names, seeds)
def test_lines_enclose_the_function_in_high_precision(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    function = SMOOTH_FUNCTIONS[name]
    ends = rng.choice(points(name, rng, 20), (2, 6))
    ends[1, :3] = ends[0, :3] + 10.0 ** rng.uniform(-9, 1, 3)
    lower, upper = ends.min(axis=0), ends.max(axis=0)
    slope = np.where(rng.random(6) < 0.5, chord_slope(function, lower, upper), rng.normal(size=6))
    below, above = intercepts(function, lower, upper, slope)
    least, most = value_range(function, lower, upper)
    s_low, b_low, s_high, b_high = best_lines(function, lower, upper)
    steepest = slope_range(function, lower, upper)
    zero = np.zeros(6)
    for i in range(6):
        for s_minus, b_minus, s_plus, b_plus in (
            (slope, below, slope, above),
            (zero, least, zero, most),
            (s_low, b_low, s_high, b_high),
        ):
            for x in inside(function, lower[i], upper[i], rng):
                value = EXACT[name](x)
                assert mpf(float(s_minus[i])) * x + mpf(float(b_minus[i])) <= value
                assert value <= mpf(float(s_plus[i])) * x + mpf(float(b_plus[i]))
        inner = np.clip(rng.uniform(lower[i], upper[i], 20), lower[i], upper[i])
        assert np.all(function.slope(inner) >= steepest[0][i])
        assert np.all(function.slope(inner) <= steepest[1][i])


def inside(
    function: SmoothFunction, lower: float, upper: float, rng: np.random.Generator
) -> list[mpf]:
    """Return exact points of an interval: ends, inflections, mixtures near and far from them."""
    low, high = mpf(float(lower)), mpf(float(upper))
    shares = [mpf(0), mpf(1), *(mpf(float(t)) for t in rng.random(12))]
    shares += [mpf(10) ** -12, 1 - mpf(10) ** -12]
    found = [low * (1 - t) + high * t for t in shares]
    return found + [mpf(x) for x in function.inflections if lower <= x <= upper]


@examples(60, names, seeds)
def test_breakpoints_ascend_from_end_to_end(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = rng.choice(points(name, rng, 20), (2, 6))
    lower, upper = ends.min(axis=0), ends.max(axis=0)
    found = breakpoints(SMOOTH_FUNCTIONS[name], lower, upper, 5)
    assert found.shape == (6, 6)
    np.testing.assert_array_equal(found[0], lower)
    np.testing.assert_array_equal(found[-1], upper)
    assert np.all(np.diff(found, axis=0) >= 0)


@functions
def test_strips_become_thin_with_the_square_of_the_segments(name: str) -> None:
    function = SMOOTH_FUNCTIONS[name]
    lower, upper = np.array([-6.0]), np.array([5.0])
    heights = []
    for segments in (4, 16, 64):
        p = breakpoints(function, lower, upper, segments)[:, 0]
        slope = chord_slope(function, p[:-1], p[1:])
        below, above = intercepts(function, p[:-1], p[1:], slope)
        heights.append(np.max(above - below))
    assert heights[0] < 0.3
    assert heights[1] < heights[0] / 8
    assert heights[2] < heights[1] / 8


@functions
def test_ranges_are_attained(name: str) -> None:
    function = SMOOTH_FUNCTIONS[name]
    rng = np.random.default_rng(4)
    lower = rng.uniform(-6, 4, 50)
    upper = lower + rng.exponential(2.0, 50)
    least, most = value_range(function, lower, upper)
    grid = function.evaluate(lower + (upper - lower) * np.linspace(0, 1, 4001)[:, None])
    np.testing.assert_allclose(least, grid.min(axis=0), rtol=0, atol=1e-6)
    np.testing.assert_allclose(most, grid.max(axis=0), rtol=0, atol=1e-6)
