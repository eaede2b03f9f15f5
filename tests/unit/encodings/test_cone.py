"""The cone of some neurons has their values and their bounds, at fewer neurons."""

import numpy as np
import pytest

from tests.support.exact_values import assert_encloses, inside
from tests.support.random_networks import boxed_graph, cube
from verix_encodings import Affine, Network, Relu, crown_bounds, interval_bounds
from verix_encodings.interval_bounds import cone

pytestmark = pytest.mark.usefixtures("matrix_storage")


@pytest.mark.parametrize("seed", range(60))
def test_values_are_those_of_the_network(seed: int) -> None:
    network, box, rng = boxed_graph(seed, size=4, nodes=10)
    bounds = crown_bounds(network, box)
    for value in range(1, len(bounds)):
        size = network.sizes[value]
        rows = np.flatnonzero(rng.random(size) < 0.6)
        if not rows.size:
            continue
        part, inner, places = cone(network, bounds, value, rows)
        assert part.sizes == tuple(interval.lower.size for interval in inner)
        for _ in range(3):
            x = inside(box, rng)
            assert_encloses(part, box, x, lambda *_, b=inner: b)
            point = np.array([float(v) for v in x])
            np.testing.assert_allclose(
                part.evaluate(point)[places],
                network.values(point)[value][rows],
                rtol=1e-12,
                atol=1e-12,
            )


def test_neurons_that_nothing_reads_and_dead_ones_are_left_out() -> None:
    rows = np.array([[1.0, 0.0], [-1.0, -1.0], [0.0, 1.0], [1.0, 1.0]])
    first = Affine(((0, rows),), np.array([0.0, -1.0, 0.0, -0.5]))
    second = Affine(((2, np.array([[1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]])),), np.zeros(2))
    network = Network((2,), (first, Relu(1), second))
    part, inner, places = cone(network, interval_bounds(network, cube(2)), 3, np.array([0]))
    # the second neuron is dead, and only the second output reads the third one
    assert part.sizes == (2, 2, 2, 1)
    assert inner[1].lower.tolist() == pytest.approx([0.0, -0.5])
    assert places.tolist() == [0]


def test_rounding_relative_to_neurons_left_out_is_kept() -> None:
    first = Affine(((0, np.array([[1.0], [100.0]])),), np.zeros(2))
    # the coefficients are off by 10⁻³ of the largest entry, which is the second
    off = (np.array([1e-3]), np.zeros(1))
    second = Affine(((1, np.array([[1.0, 0.0]])),), np.zeros(1), off)
    network = Network((1,), (first, second))
    box = cube(1)
    bounds = interval_bounds(network, box)
    part, _, _ = cone(network, bounds, 2, np.array([0]))
    assert part.sizes == (1, 1, 1)
    assert interval_bounds(part, box)[-1].upper[0] > 1.1
