"""Climbs reach the maxima of linear margins, none leaves its region, and many are each its own."""

import numpy as np
import pytest

from milp_verix.oracle.attacks import climb, frank_wolfe
from tests.support.random_networks import network_of, random_layers
from verix_encodings import Interval, NormBall
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.network import batch_gradients, batch_values


@pytest.mark.parametrize("seed", range(10))
def test_climbs_at_once_are_those_by_themselves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = network_of(random_layers(rng, (6, 8, 5, 3)))
    box = Interval(rng.uniform(-1, 0, 6), rng.uniform(0, 1, 6))
    region = NormBall(box, np.zeros(6), 1.0, 1 + seed % 2) if seed % 3 else box
    starts, outputs = region.farthest(rng.normal(size=(6, 9))), np.tile(np.arange(3), 3)

    def climbed(which: IntArray) -> tuple[FloatArray, FloatArray]:
        def values(x: FloatArray, runs: IntArray) -> FloatArray:
            return batch_values(network, x)[-1][outputs[which[runs]], np.arange(runs.size)]

        def gradients(x: FloatArray, runs: IntArray) -> FloatArray:
            return batch_gradients(network, batch_values(network, x), outputs[which[runs]])

        return frank_wolfe(starts[:, which], values, gradients, region.farthest)

    points, reached = climbed(np.arange(9))
    before = batch_values(network, starts)[-1][outputs, np.arange(9)]
    assert np.all(reached >= before)
    assert np.any(reached > before + 1e-6)
    for number in range(9):
        alone, value = climbed(np.array([number]))
        np.testing.assert_allclose(points[:, [number]], alone, atol=1e-12)
        assert network.evaluate(points[:, number])[outputs[number]] == pytest.approx(value[0])
        # x + (v − x) may be off by a rounding
        assert np.all(points[:, number] >= box.lower - 1e-15)
        assert np.all(points[:, number] <= box.upper + 1e-15)
        if isinstance(region, NormBall):
            assert np.linalg.norm(points[:, number], ord=region.norm) <= 1 + 1e-9


@pytest.mark.parametrize("norm", [1, 2])
def test_a_linear_margin_is_climbed_to_its_maximum_in_one_step(norm: int) -> None:
    rng = np.random.default_rng(norm)
    network = network_of(random_layers(rng, (5, 2)))
    ball = NormBall(Interval(np.full(5, -0.4), np.full(5, 0.6)), np.zeros(5), 0.9, norm)
    for output in range(2):
        found = network.evaluate(climb(network, ball, np.zeros(5), output))[output]
        weight, bias = network.nodes[-1].terms[0][1], network.nodes[-1].bias  # type: ignore[union-attr]
        highest = float(ball.greatest(np.asarray(weight))[output] + bias[output])
        assert found == pytest.approx(highest, abs=1e-9)


def test_a_climb_that_is_late_stays_where_it_is() -> None:
    network = network_of(random_layers(np.random.default_rng(0), (4, 5, 2)))
    point = np.array([0.1, 0.2, 0.3, 0.4])
    box = Interval(np.zeros(4), np.ones(4))
    assert climb(network, box, point, 0, late=lambda: True).tolist() == point.tolist()
    assert climb(network, box, point, 0).tolist() != point.tolist()


@pytest.mark.parametrize("norm", [1, 2])
def test_a_climb_stays_where_its_gradient_overflows(norm: int) -> None:
    """A function that jumps has a value at NaN, and no gradient."""
    region = NormBall(Interval(np.zeros(3), np.ones(3)), np.zeros(3), 1.0, norm)
    start = np.full((3, 1), 0.25)

    def values(x: FloatArray, _: IntArray) -> FloatArray:
        return np.isnan(x).sum(axis=0).astype(float)

    points, reached = frank_wolfe(start, values, lambda x, _: np.nan * x, region.farthest)
    assert (points.tolist(), reached.tolist()) == (start.tolist(), [0.0])
