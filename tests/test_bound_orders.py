"""The orders that look at bounds: on a linear network they are known, and on any they pay."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from milp_verix import explain
from milp_verix.order import bound_sensitivity, influence, make_order
from milp_verix.problem import make_problem
from tests.digits import images, network
from tests.networks import as_layers, dense_network
from tests.tiny_cases import case

# f = (2 x0 − x1 + 3, 4 x2, x0 + x1): rival 1 is worst, by 4 x2 − 2 x0 + x1 − 3
LINEAR = as_layers(([[2, -1, 0], [0, 0, 4], [1, 1, 0]], [3, 0, 0]))


def test_influence_on_a_linear_network_is_the_gain_of_the_worst_rival(tmp_path: Path) -> None:
    net = dense_network(LINEAR, tmp_path)
    problem = make_problem(net, [0.5, 0.95, 0.5], epsilon=0.1)
    # up and down by 0.1, but x1 only up to 1
    np.testing.assert_allclose(influence(problem), [0.2, 0.05, 0.4], atol=1e-6)
    assert make_order(problem, "influence").permutation == (1, 0, 2)


def test_influence_of_a_group_is_that_of_its_coordinates(tmp_path: Path) -> None:
    net = dense_network(LINEAR, tmp_path)
    problem = make_problem(net, [0.5, 0.5, 0.5], epsilon=0.1, features=[[1, 2], [0]])
    np.testing.assert_allclose(influence(problem), [0.5, 0.2], atol=1e-6)


def test_bound_sensitivity_on_a_linear_network_is_the_worst_margin(tmp_path: Path) -> None:
    net = dense_network(LINEAR, tmp_path)
    problem = make_problem(net, [0.5, 0.5, 0.5], epsilon=0.1)
    at_x = {1: 2 - 3.5, 2: 1 - 3.5}
    expected = [at_x[1] + 0.2, at_x[1] + 0.1, at_x[1] + 0.4]
    np.testing.assert_allclose(bound_sensitivity(problem), expected, atol=1e-6)


@pytest.mark.parametrize("order", ["influence", "bound"])
@pytest.mark.parametrize("seed", range(40))
def test_explanations_are_those_of_brute_force(seed: int, order: str, tmp_path: Path) -> None:
    problem = case(seed)
    found = explain(problem.network(tmp_path), problem.x, order=order, **problem.options)
    assert found.minimal
    assert found.explanation == problem.brute.explanation(found.traversal)
    assert found.sensitivity is not None
    scores = [found.sensitivity[feature] for feature in found.traversal]
    assert scores == sorted(scores)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_both_work_in_other_norms(norm: str) -> None:
    for order, index in product(["influence", "bound"], [15, 16]):
        found = explain(network(), images()[index], epsilon=0.3, norm=norm, order=order)
        assert found.replay(network()) == ()


def test_influence_explains_most_digits_by_less() -> None:
    sizes = {
        order: sum(explain(network(), image, epsilon=0.1, order=order).size for image in images())
        for order in ("sensitivity", "influence", "random")
    }
    assert sizes["influence"] < sizes["sensitivity"] < sizes["random"]
