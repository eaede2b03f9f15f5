"""The orders that look at bounds: on a linear network they are known, and on any they pay."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from milp_verix import Problem, explain
from milp_verix.searches.order import BOUND_ORDERS, adaptive, influence
from tests.support.brute_force_cases import case
from tests.support.digits_example import images, network
from tests.support.orders import make_order
from tests.support.random_networks import as_layers, dense_network
from verix_encodings.arrays import FloatArray

# f = (2 x0 − x1 + 3, 4 x2, x0 + x1): rival 1 is ahead by 4 x2 − 2 x0 + x1 − 3, and may win;
# rival 2, by −x0 + 2 x1 − 3, may not
LINEAR = as_layers(([[2, -1, 0], [0, 0, 4], [1, 1, 0]], [3, 0, 0]))


@pytest.mark.parametrize("order", [influence, adaptive])
def test_influence_on_a_linear_network_is_the_share_in_the_distance(
    order: Callable[[Problem], FloatArray], tmp_path: Path
) -> None:
    net = dense_network(LINEAR, tmp_path)
    problem = Problem(net, [0.5, 0.95, 0.5], epsilon=0.1)
    # up and down by 0.1, but x1 only up to 1; the distance is 3 − 2 + 1 − 0.95
    np.testing.assert_allclose(order(problem), np.array([0.2, 0.05, 0.4]) / 1.05, atol=1e-6)


def test_influence_counts_the_rival_in_whose_distance_the_share_is_largest(tmp_path: Path) -> None:
    # rival 1 is 1 away, of which x0 makes up 0.6 and x2 0.5; rival 2 only 0.2, and x1 makes up that
    layers = as_layers(([[0, 0, 0], [1.2, 0, 1], [0, 0.4, 0.08]], [2, -0.1, 1.56]))
    problem = Problem(dense_network(layers, tmp_path), [0.5] * 3, epsilon=0.5)
    np.testing.assert_allclose(influence(problem), [0.6, 1.0, 0.5], atol=1e-6)
    assert make_order(problem).permutation == (2, 0, 1)


def test_influence_of_a_group_is_that_of_its_coordinates(tmp_path: Path) -> None:
    net = dense_network(LINEAR, tmp_path)
    problem = Problem(net, [0.5, 0.5, 0.5], epsilon=0.1, features=[[1, 2], [0]])
    np.testing.assert_allclose(influence(problem), [0.5 / 1.5, 0.2 / 1.5], atol=1e-6)


@pytest.mark.parametrize("order", ["influence", "adaptive", *BOUND_ORDERS])
@pytest.mark.parametrize("seed", range(40))
def test_explanations_are_those_of_brute_force(seed: int, order: str, tmp_path: Path) -> None:
    problem = case(seed)
    found = explain(problem.network(tmp_path), problem.x, order=order, **problem.options)
    assert found.minimal
    assert found.explanation == problem.brute.explanation(found.permutation)
    assert found.sensitivity is not None
    scores = [found.sensitivity[feature] for feature in found.permutation]
    assert scores == sorted(scores)


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_all_work_in_other_norms(norm: str) -> None:
    for order, index in product(["influence", "adaptive", *BOUND_ORDERS], [15, 16]):
        found = explain(network(), images()[index], epsilon=0.3, norm=norm, order=order)
        assert found.replay(network()) == ()


@pytest.mark.nightly
def test_influence_explains_most_digits_by_less() -> None:
    sizes = {
        order: sum(explain(network(), image, epsilon=0.1, order=order).size for image in images())
        for order in ("adaptive", "influence", "sensitivity", "random")
    }
    assert sizes["adaptive"] <= sizes["influence"] < sizes["sensitivity"] < sizes["random"]
