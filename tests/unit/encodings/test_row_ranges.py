"""Rows that suppose parts of ranges: bounds where these hold, derivatives, and planted faults."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.pointed_kinds import POINTED
from tests.support.random_networks import cube
from verix_encodings import (
    SMOOTH_FUNCTIONS,
    SQUARE,
    Affine,
    Curve,
    Network,
    Node,
    NormBall,
    Region,
    Relu,
    Smooth,
    crown_bounds,
    deepening as neuron_trees,
    row_slopes,
)
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.rows import Parts
from verix_encodings.deepening import NeuronTrees
from verix_encodings.interval_bounds import suppose_both
from verix_encodings.network import batch_values
from verix_encodings.row_slopes import Relaxed, RowSlopes

KINDS: dict[str, Callable[[int, int], Node]] = {
    **{
        name: lambda value, _, name=name: Smooth(value, SMOOTH_FUNCTIONS[name])  # type: ignore[misc]
        for name in ("tanh", "sigmoid", "gelu", "softplus", "erf")
    },
    **POINTED,
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def network_with(kind: str, rng: np.random.Generator) -> Network:
    """Return maps and ReLUs with nodes of the kind behind each, all read by two outputs."""

    def affine(*sources: int, rows: int = 4) -> Affine:
        terms = [(s, rng.normal(size=(rows, 3 if s == 0 else 4))) for s in sources]
        middle = terms[0][1].sum(axis=1) / 2 if sources == (0,) else 0.0
        return Affine(tuple(terms), rng.normal(size=rows) / 4 - middle)

    first = [affine(0), Relu(1), KINDS[kind](1, 2)]
    return Network((3,), (*first, affine(2, 3), KINDS[kind](4, 3), affine(4, 5, rows=2)))


def supposing(
    network: Network, region: Region, rng: np.random.Generator
) -> tuple[RowSlopes, FloatArray]:
    """Return rows of random coefficients that suppose random phases and parts, and their ends."""
    bounds = crown_bounds(network, region)
    relaxed, rows = Relaxed.of(network, bounds), 40
    signs = np.where(rng.random((rows, relaxed.count)) < 0.1, 1, 0)
    dials = rng.uniform(0.1, 0.9, signs.shape)
    ends = relaxed.first_ends(rows)
    for one in relaxed.splits:
        known = bounds[one.value]
        split = signs[:, one.places] != 0
        at = known.lower + (known.upper - known.lower) * rng.uniform(0.2, 0.8, split.shape)
        below = rng.random(split.shape) < 0.5
        ends[:, 0, one.columns] = np.where(split & ~below, at, -np.inf)
        ends[:, 1, one.columns] = np.where(split & below, at, np.inf)
        dials[:, one.places] = rng.normal(size=split.shape) / 4
    found = RowSlopes(relaxed, rng.normal(size=(rows, 2)), dials, signs.astype(float), ends)
    return found, ends


def held(found: RowSlopes, ends: FloatArray, values: list[FloatArray]) -> FloatArray:
    """Return whether the suppositions of each row hold at inputs: (rows, N)."""
    result = np.ones((found.signs.shape[0], values[0].shape[1]), dtype=bool)
    for layer in found.relaxed.layers:
        z = values[layer.source][layer.free]
        result &= np.all(found.signs[:, layer.places, None] * z >= 0, axis=1)
    for one in found.relaxed.splits:
        z = values[one.value]
        result &= np.all(ends[:, 0, one.columns, None] <= z, axis=1)
        result &= np.all(z <= ends[:, 1, one.columns, None], axis=1)
    return result


def points_of(region: Region, rng: np.random.Generator, count: int = 400) -> FloatArray:
    """Return points of the region, as columns; every second one is a corner of its box."""
    box = region.box
    shares = rng.random((3, count))
    shares[:, ::2] = rng.integers(0, 2, (3, (count + 1) // 2))
    points = box.lower[:, None] + shares * (box.upper - box.lower)[:, None]
    if isinstance(region, NormBall):
        away = points - region.centre[:, None]
        size = np.linalg.norm(away, region.norm, axis=0)
        points = region.centre[:, None] + away * np.minimum(1.0, region.radius / size)
    return points


def off(value: FloatArray) -> FloatArray:
    return np.asarray(1e-9 * (1.0 + np.abs(value)))


def bounds_hold(kind: str, seed: int) -> int:
    """Assert that no value is above a row's bound where it supposes so; return values compared."""
    rng, met = np.random.default_rng(seed), 0
    network = network_with(kind, rng)
    for region in (cube(3), NormBall(cube(3), np.full(3, 0.5), 0.4, 2)):
        found, ends = supposing(network, region, rng)
        values = batch_values(network, points_of(region, rng))
        for step in range(4):
            if step:
                found.descend(step, rng.exponential(0.3, 40))
            upper, reached = found.extremes(region)[:, None], found._rows @ values[-1]
            where = held(found, ends, values)
            met += np.count_nonzero(where)
            assert np.all((reached <= upper + off(reached))[where])
    return met


@every_kind
@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_where_the_parts_do(kind: str, seed: int) -> None:
    assert bounds_hold(kind, seed) > 200


@pytest.mark.parametrize("kind", ["tanh", "gelu", "square", "product"])
def test_derivatives_are_those_of_differences(kind: str) -> None:
    compared = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        found, _ = supposing(network_with(kind, rng), cube(3), rng)
        before = found.extremes(cube(3))
        derivatives = found.derivatives()
        for place in range(found.relaxed.phases, found.relaxed.count):
            rows = found.signs[:, place] != 0
            found.dials[rows, place] += 1e-7
            change = (found.extremes(cube(3)) - before) / 1e-7
            found.dials[rows, place] -= 1e-7
            np.testing.assert_allclose(derivatives[rows, place], change[rows], atol=1e-4)
            compared += np.count_nonzero(change)
    assert compared > 20


def grown(kind: str, seed: int, rounds: int = 12) -> tuple[FloatArray, FloatArray]:
    """Return the bounds that trees prove of the outputs and their negatives, and those before.

    Asserts that these enclose all values.
    """
    rng = np.random.default_rng(seed)
    network, region = network_with(kind, rng), cube(3)
    bounds = crown_bounds(network, region)
    signs = np.vstack([np.eye(2), -np.eye(2)])
    worst = batch_values(network.then(signs, np.zeros(4)), points_of(region, rng))[-1].max(axis=1)
    # no row can be decided, or its tree would end
    raised = network.then(signs, 1e-3 - worst)
    inner = (*bounds[:-1], crown_bounds(raised, region)[-1])
    trees = NeuronTrees(Relaxed.of(raised, inner), region, np.eye(4), inner[-1].upper)
    assert trees.grow(rounds)
    reached = batch_values(raised, points_of(region, rng, 4000))[-1].max(axis=1)
    assert np.all(reached <= trees.upper + off(reached))
    return trees.upper - reached, inner[-1].upper - reached


@every_kind
@pytest.mark.parametrize("seed", range(2))
def test_trees_of_parts_tighten_and_enclose(kind: str, seed: int) -> None:
    after, before = grown(kind, seed)
    assert np.all(after <= before)
    # bounds of one function in steps are exact almost from the start
    assert after.sum() < (0.95 if kind not in ("floor", "round") else 0.999) * before.sum()


def least_square() -> None:
    """Assert that trees find the greatest ``−z²``, which lies close to the first split."""
    for shift in (-0.15, 0.15):
        nodes = (
            Affine(((0, np.array([[4.0]])),), np.array([shift - 2.0])),
            Curve(1, SQUARE),
            Affine(((2, np.array([[-1.0]])),), np.array([1e-3])),
        )
        network = Network((1,), nodes)
        bounds = crown_bounds(network, cube(1))
        trees = NeuronTrees(
            Relaxed.of(network, bounds), cube(1), np.eye(1), bounds[-1].upper.copy()
        )
        assert trees.grow(40)
        assert 1e-3 <= trees.upper[0] <= 2e-3


def test_trees_find_the_greatest_value() -> None:
    least_square()


def _pay_at_the_other_end(monkeypatch: pytest.MonkeyPatch) -> None:
    left = Parts.left

    def other(self: Parts, c: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return left(replace(self, low=self.high, high=self.low), c)

    monkeypatch.setattr(Parts, "left", other)


def _miss_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """The upper part begins a little above the point where the lower one ends."""

    def gap(signs: Any, dials: Any, ends: Any, split: tuple[IntArray, FloatArray]) -> None:
        suppose_both(signs, dials, ends, split)
        half = split[0].size
        lower = ends[:half, 0]
        lower[np.isfinite(lower)] += 0.3

    monkeypatch.setattr(neuron_trees, "suppose_both", gap)


def _clip_the_wrong_side(monkeypatch: pytest.MonkeyPatch) -> None:
    ranges = row_slopes.narrowed_ranges

    def swapped(network: Any, bounds: Any, values: Any, ends: FloatArray) -> Any:
        other = np.where(np.isinf(ends), -ends, ends)[:, ::-1]
        return ranges(network, bounds, values, other)

    monkeypatch.setattr(row_slopes, "narrowed_ranges", swapped)


def _turn_a_multiplier(monkeypatch: pytest.MonkeyPatch) -> None:
    left = Parts.left

    def turned(self: Parts, c: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        way, cost, error = left(self, c)
        return way, -cost, error

    monkeypatch.setattr(Parts, "left", turned)


@pytest.mark.parametrize(
    "plant", [_miss_a_part, _clip_the_wrong_side, _turn_a_multiplier, _pay_at_the_other_end]
)
def test_planted_faults_are_seen(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        _hold_and_grow()


def _hold_and_grow() -> None:
    least_square()
    for kind in ("tanh", "square", "product"):
        for seed in range(3):
            bounds_hold(kind, seed)
            grown(kind, seed)
