"""Equations between real numbers: points satisfy them exactly, and lie near the point asked for."""

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import milp_verix
from milp_verix import Inputs, category, continuous, integer
from milp_verix.inputs.nearest_point import equations, exact_point, nearest_point
from tests.support.random_networks import dense_network, random_layers
from verix_encodings import Interval
from verix_encodings.bounds.mixed_domain import HalfSpace

EPS = float(np.finfo(np.float32).eps)


def row(coefficients: list[float], bound: float) -> HalfSpace:
    """Return the half-space with these coefficients of the coordinates 0, 1, …"""
    weights = np.array(coefficients, dtype=np.float64)
    return HalfSpace(np.flatnonzero(weights), weights[weights != 0], bound)


def holds_exactly(rows: list[HalfSpace], point: np.ndarray) -> bool:
    """Return whether each row is an equation at ``point``, in fractions."""
    return all(
        sum(
            Fraction(float(a)) * Fraction(float(point[i]))
            for a, i in zip(half.coefficients, half.coordinates, strict=True)
        )
        == Fraction(half.upper)
        for half in rows
    )


@pytest.mark.parametrize("seed", range(60))
def test_solutions_are_exact_near_and_found_where_there_are_some(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, count = int(rng.integers(2, 4)), int(rng.integers(1, 3))
    matrix, target = rng.integers(-4, 5, (count, size)), rng.uniform(-2, 2, size)
    bounds = rng.integers(-6, 7, count)
    rows = [row(list(a), float(b)) for a, b in zip(matrix, bounds, strict=True) if a.any()]
    if not rows:
        return
    found = exact_point(rows, target, np.ones(size))
    listed = [p for p in product(range(-8, 9), repeat=size) if holds_exactly(rows, np.array(p))]
    if found is None:
        assert not listed
        return
    assert holds_exactly(rows, found)
    named = np.unique(np.concatenate([half.coordinates for half in rows]))
    assert np.array_equal(found[named], np.rint(found[named]))
    if listed:
        nearest = min(float(np.linalg.norm(np.array(p) - target)) for p in listed)
        assert np.linalg.norm(found - target) <= 3 * nearest + 3


def test_coordinates_with_step_zero_stay() -> None:
    rows = [row([1.0, 1.0, -1.0], 0.0)]
    found = exact_point(rows, np.array([0.25, 0.3, 0.7]), np.array([0.0, 0.125, 0.125]))
    assert found is not None
    assert found.tolist() in ([0.25, 0.375, 0.625], [0.25, 0.5, 0.75], [0.25, 0.25, 0.5])
    # no multiple of 1/8 is a third of a whole number's distance from 0.3
    assert exact_point(rows, np.array([0.3, 0.3, 0.7]), np.array([0.0, 0.125, 0.125])) is None


def test_equations_are_told_from_inequalities() -> None:
    inputs = Inputs([continuous("u", 0, 4), continuous("v", 0, 4), category("c", ["x", "y"])])
    ruled = inputs.where("u == 2 * v", "u <= 3", "v >= 0.5", "(c == 'x').implies(v == 0.75)")
    assert ruled.mixed is not None
    found = equations(ruled.mixed.rules)
    assert sorted((half.coordinates.tolist(), abs(half.upper)) for half in found) == [
        ([0, 1], 0.0),
        ([1], 0.75),
    ]


@pytest.mark.parametrize("seed", range(40))
def test_the_nearest_point_satisfies_equations_in_float32(seed: int) -> None:
    rng = np.random.default_rng(seed)
    upper = rng.uniform(5, 300, 4).round(1)
    weight = int(rng.integers(2, 13))
    inputs = Inputs(
        [
            *(continuous(name, 0.1, float(end)) for name, end in zip("abc", upper, strict=False)),
            integer("n", 0, 5),
        ],
        ["a == b + n", f"c <= {weight} * b", "(n == 3).implies(c == 1.5)"],
    )
    domain = inputs.mixed
    assert domain is not None
    box = Interval(inputs.lower, inputs.upper)
    point = rng.uniform(inputs.lower, inputs.upper)
    found = nearest_point(domain, box, point, EPS)
    assert found is not None
    assert domain.contains(found.astype(np.float32))
    assert np.all((box.lower <= found) & (found <= box.upper))
    relaxed = nearest_point(domain, box, point)
    assert relaxed is not None
    width = box.upper - box.lower
    cost = [float(np.sum(np.abs(p - point) / width)) for p in (found, relaxed)]
    assert cost[0] <= cost[1] + 1e-4


RULES = [
    (["a == b + c"], [6.0, 2.0, 4.0, 1.0]),
    (["3 * a + 5 * b == 2 * c + d + 8"], [2.0, 3.0, 5.0, 3.0]),
    (["a == b + c", "d == 0.5 * b"], [9.0, 6.0, 3.0, 3.0]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("rules", "x"), RULES)
def test_no_feature_is_undecided_for_an_equation(
    rules: list[str], x: list[float], tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    inputs = Inputs([continuous(name, 0.1, 9.7 + i) for i, name in enumerate("abcd")], rules)
    counterfactuals = 0
    for _ in range(8):
        (matrix, bias), *others = random_layers(rng, (4, 8, 6, 2))
        network = dense_network(((matrix / 5, bias), *others), tmp_path)
        point = np.array(x, dtype=np.float32)
        found = milp_verix.explain(network, point, epsilon=np.inf, inputs=inputs, solver="phase")
        assert not found.unknown
        assert not found.replay(network)
        for one in found.counterfactuals.values():
            inputs.refuse(one.input.reshape(-1))
        counterfactuals += len(found.counterfactuals)
    assert counterfactuals >= 5
