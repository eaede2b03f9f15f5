"""Bounds on derivatives enclose those of every piece of a network."""

from itertools import product

import numpy as np
import pytest

from tests.support.exact_values import examples, seeds
from tests.support.random_networks import (
    as_layers,
    boxed_graph,
    network_of,
    random_layers,
    smooth_network,
)
from verix_encodings import (
    SMOOTH_FUNCTIONS,
    Affine,
    Interval,
    Network,
    Relu,
    crown_bounds,
    interval_bounds,
    pairwise_maxima,
)
from verix_encodings.alpha import slope_bounds

pytestmark = pytest.mark.usefixtures("matrix_storage")


@pytest.mark.nightly
@examples(200, seeds)
def test_differences_of_random_graphs_are_within_the_slopes_times_the_way(seed: int) -> None:
    network, box, rng = boxed_graph(seed, size=4, nodes=8)
    for method in (interval_bounds, crown_bounds):
        lower, upper = slope_bounds(network, method(network, box))
        for _ in range(20):
            x, y = rng.uniform(box.lower, box.upper, (2, 4))
            moved = y - x
            most = np.sum(np.maximum(lower * moved, upper * moved), axis=1)
            least = np.sum(np.minimum(lower * moved, upper * moved), axis=1)
            change = network.evaluate(y) - network.evaluate(x)
            slack = 1e-10 * (1 + np.abs(network.evaluate(x)))
            assert np.all(least - slack <= change)
            assert np.all(change <= most + slack)


@pytest.mark.parametrize("seed", range(30))
def test_differences_of_smooth_networks_are_within_the_slopes_times_the_way(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = rng.permutation(sorted(SMOOTH_FUNCTIONS))[:2].tolist()
    network = smooth_network(random_layers(rng, (1, 3, 3, 2)), names)
    box = Interval(np.array([-2.0]), np.array([3.0]))
    lower, upper = slope_bounds(network, interval_bounds(network, box))
    inputs = np.linspace(-2.0, 3.0, 400)
    values = np.array([network.evaluate(np.array([x])) for x in inputs])
    slopes = np.diff(values, axis=0) / np.diff(inputs)[:, None]
    assert np.all(lower[:, 0] <= slopes.min(axis=0) + 1e-9)
    assert np.all(slopes.max(axis=0) - 1e-9 <= upper[:, 0])


@pytest.mark.parametrize(("low", "high"), [(-5e-3, 1.0), (-1.0, 5e-3), (-1e-9, 1e-9)])
def test_a_neuron_that_hardly_reaches_one_of_its_phases_may_have_either_slope(
    low: float, high: float
) -> None:
    network = Network((1,), (Relu(0),))
    box = Interval(np.array([low]), np.array([high]))
    found = np.ravel(slope_bounds(network, interval_bounds(network, box)))
    np.testing.assert_allclose(found, [0.0, 1.0], atol=1e-12)


def test_slopes_of_a_piece_are_exact() -> None:
    rng = np.random.default_rng(0)
    layers = random_layers(rng, (4, 5, 3))
    network = network_of(layers)
    x = rng.random(4)
    (first, bias), (second, _) = layers
    gradient = second @ (first * (first @ x + bias > 0)[:, None])
    tiny = Interval(x - 1e-9, x + 1e-9)
    lower, upper = slope_bounds(network, interval_bounds(network, tiny))
    np.testing.assert_allclose(lower, gradient, atol=1e-12)
    np.testing.assert_allclose(upper, gradient, atol=1e-12)


def test_slopes_over_a_box_are_those_of_all_its_phases() -> None:
    # one layer whose neurons can all be on or off: the extremes over all patterns
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(4, 3)), rng.normal(size=(2, 4))
    network = network_of(as_layers((first, np.zeros(4)), (second, np.zeros(2))))
    box = Interval(-np.ones(3), np.ones(3))
    lower, upper = slope_bounds(network, interval_bounds(network, box))
    gradients = [second @ (first * np.array(on)[:, None]) for on in product([0, 1], repeat=4)]
    np.testing.assert_allclose(lower, np.min(gradients, axis=0), atol=1e-12)
    np.testing.assert_allclose(upper, np.max(gradients, axis=0), atol=1e-12)


def test_a_maximum_passes_on_the_slope_of_its_candidates() -> None:
    # max(x0, x1, x2) with x2 too small to matter, and max(x2) alone
    groups = pairwise_maxima(1, 0, 3, np.array([0, 1, 2, 2]), np.array([0, 3]))
    weights = Affine(((len(groups), np.array([[1.0, 10.0]])),), np.zeros(1))
    network = Network((3,), (*groups, weights))
    box = Interval(np.array([0.0, 0.0, -2.0]), np.array([1.0, 1.0, -1.0]))
    lower, upper = slope_bounds(network, interval_bounds(network, box))
    assert lower[0] == pytest.approx([0, 0, 10])
    assert upper[0] == pytest.approx([1, 1, 10])


def test_an_output_that_does_not_depend_on_the_input_has_no_slope() -> None:
    network = Network((2,), (Affine((), np.array([3.0])),))
    lower, upper = slope_bounds(
        network, interval_bounds(network, Interval(-np.ones(2), np.ones(2)))
    )
    assert not lower.any()
    assert not upper.any()
