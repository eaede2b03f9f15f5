"""Rows that suppose phases: bounds where these hold, derivatives, and effects."""

from fractions import Fraction

import numpy as np
import pytest

from tests.support.random_networks import cube, network_of, random_graph, random_layers
from verix_encodings import Affine, Interval, Network, NormBall, Region, Relu, crown_bounds
from verix_encodings.arrays import FloatArray
from verix_encodings.row_slopes import Relaxed, RowSlopes

pytestmark = pytest.mark.usefixtures("matrix_storage")


def supposing(
    network: Network, region: Region, rng: np.random.Generator, rows: int, share: float
) -> RowSlopes:
    """Return rows of random coefficients that suppose random phases of a share of the neurons."""
    relaxed = Relaxed.of(network, crown_bounds(network, region))
    coefficients = rng.normal(size=(rows, network.output_size))
    shape = rows, relaxed.count
    signs = np.where(rng.random(shape) < share, rng.choice([-1, 1], shape), 0).astype(np.int8)
    dials = np.where(signs, rng.exponential(0.3, shape), rng.uniform(0.1, 0.9, shape))
    return RowSlopes(relaxed, coefficients, dials, signs)


def where_supposed(found: RowSlopes, values: list[FloatArray]) -> FloatArray:
    """Return whether the phases of each row hold at a point with these values, shape (rows,)."""
    holds = np.ones(found.signs.shape[0], dtype=bool)
    for layer in found.relaxed.layers:
        z = values[layer.source][layer.free]
        holds &= np.all(found.signs[:, layer.places] * z >= 0, axis=1)
    return holds


@pytest.mark.parametrize("norm", [None, 1, 2])
@pytest.mark.parametrize("seed", range(12))
def test_bounds_hold_where_the_phases_do(seed: int, norm: int | None) -> None:
    rng = np.random.default_rng(seed)
    layers = network_of(random_layers(rng, (4, 9, 7, 6, 3)))
    met = 0
    for network in (layers, random_graph(rng, size=4, nodes=9)):
        centre = np.full(4, 0.5)
        region = cube(4) if norm is None else NormBall(cube(4), centre, 0.4, norm)
        found = supposing(network, region, rng, 40, 0.1)
        uppers = []
        for step in range(6):
            if step:
                found.descend(step)
            uppers.append(found.extremes(region))
        upper = np.min(uppers, axis=0)
        for direction in rng.uniform(-0.5, 0.5, (300, 4)):
            length = np.linalg.norm(direction, norm) if norm else 0.0
            point = centre + direction * (min(1.0, 0.4 / length) if norm else 1.0)
            values = network.values(point)
            held = where_supposed(found, values)
            met += np.count_nonzero(held)
            assert np.all((found._rows @ values[-1] <= upper + 1e-9)[held])
    assert met > 500


def test_a_multiplier_gives_the_bound_worked_out_by_hand() -> None:
    # y = x/2 + max(x, 0) on [-2, 1]: with x ≤ 0 supposed, y ≤ x/2 − βx
    nodes = (
        Affine(((0, np.ones((1, 1))),), np.zeros(1)),
        Relu(1),
        Affine(((0, np.array([[0.5]])), (2, np.ones((1, 1)))), np.zeros(1)),
    )
    network, box = Network((1,), nodes), Interval(np.array([-2.0]), np.array([1.0]))
    relaxed = Relaxed.of(network, crown_bounds(network, box))
    for eighths in range(9):
        beta = Fraction(eighths, 8)
        for sign in (-1, 1):
            dials, signs = np.array([[float(beta)]]), np.array([[sign]])
            (upper,) = RowSlopes(relaxed, np.ones((1, 1)), dials, signs).extremes(box)
            slope = Fraction(1, 2) - beta if sign < 0 else Fraction(3, 2) + beta
            exact = max(slope * -2, slope)
            assert exact <= Fraction(float(upper)) <= exact + Fraction(1, 10**12)


def test_steps_find_the_best_multiplier() -> None:
    rng = np.random.default_rng(0)
    gained = []
    for seed in range(6):
        network = network_of(random_layers(np.random.default_rng(seed), (4, 9, 7, 3)))
        found = supposing(network, cube(4), rng, 20, 0.2)
        found.dials = np.where(found.signs, 0.0, found.dials)
        before = found.extremes(cube(4))
        after = before
        for step in range(1, 12):
            found.descend(step)
            after = np.minimum(after, found.extremes(cube(4)))
        gained.append(np.mean(before - after) / np.mean(np.abs(before)))
    assert min(gained) > 0.1


@pytest.mark.parametrize("graph", [False, True])
def test_derivatives_are_those_of_differences(graph: bool) -> None:
    compared = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        layers = random_layers(rng, (5, 9, 8, 3))
        network = random_graph(rng, size=5, nodes=9) if graph else network_of(layers)
        box = Interval(np.full(5, 0.3), np.full(5, 0.7))
        found = supposing(network, box, rng, 6, 0.2)
        before = found.extremes(box)
        derivatives = found.derivatives()
        for place in range(found.relaxed.count):
            found.dials[:, place] += 1e-7
            change = (found.extremes(box) - before) / 1e-7
            found.dials[:, place] -= 1e-7
            np.testing.assert_allclose(derivatives[:, place], change, atol=1e-5)
            compared += np.count_nonzero(change)
    assert compared > 20
