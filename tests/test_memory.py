"""What is remembered from one check to the next is true, and saves solves, not answers."""

from pathlib import Path

import numpy as np
import pytest

from milp_verix import explain
from milp_verix.memory import Memory
from milp_verix.oracle import Oracle
from milp_verix.problem import make_problem
from tests.digits import images, network
from tests.networks import convolutional, network_of, random_layers
from tests.tiny_cases import case, permutation
from verix_encodings import Interval


@pytest.mark.parametrize("seed", range(0, 120, 2))
def test_bounds_that_grow_with_the_ball_stay_above_brute_force(seed: int, tmp_path: Path) -> None:
    problem = case(seed)
    posed = make_problem(problem.network(tmp_path), problem.x, **problem.options)
    freed: list[int] = []
    with Oracle(posed, bounds=problem.bounds) as oracle:
        for feature in permutation(seed, len(problem.groups)):
            free = [*freed, feature]
            verdict = oracle.check(posed.features.coordinates(free))
            assert verdict.holds == problem.brute.holds(free)
            memory = oracle.memory
            assert memory is not None
            if verdict.holds:
                freed = free
            worst = problem.brute.worst(freed)
            assert np.all(memory.upper >= worst - 1e-9)
            assert np.all(memory.reached <= worst + 1e-9)
            np.testing.assert_array_equal(memory.free, posed.features.coordinates(freed))
            fixed = np.setdiff1d(np.arange(problem.x.size), memory.free)
            for point in memory.points:
                np.testing.assert_array_equal(point[fixed], problem.brute.x[fixed])


@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
@pytest.mark.parametrize("order", ["sensitivity", "random"])
def test_explanations_are_the_same_with_and_without(order: str, norm: str) -> None:
    for index in (11, 16):
        epsilon = {"linf": 0.1, "l1": 0.8, "l2": 0.35}[norm]
        options = {"epsilon": epsilon, "norm": norm, "order": order}
        with_memory = explain(network(), images()[index], **options)
        without = explain(network(), images()[index], reuse=False, **options)
        assert with_memory.explanation == without.explanation
        assert with_memory.minimal
        assert with_memory.replay(network()) == ()
        assert with_memory.statistics.solves <= without.statistics.solves


def test_most_counterfactuals_come_without_a_solve() -> None:
    found = explain(network(), images()[16], epsilon=0.1)
    assert found.statistics.flips > 0.7 * len(found.counterfactuals)
    assert explain(network(), images()[16], epsilon=0.1, reuse=False).statistics.flips == 0


def test_groups_of_coordinates_are_moved_together(tmp_path: Path) -> None:
    net = convolutional(tmp_path, seed=3)
    x = np.random.default_rng(0).random((1, 1, 4, 4), dtype=np.float32)
    groups = [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    for epsilon in (0.05, 0.15, 0.4):
        options = {"epsilon": epsilon, "features": groups, "order": "sequential"}
        found = explain(net, x, **options)
        assert found.explanation == explain(net, x, reuse=False, **options).explanation
        assert found.replay(net) == ()


def test_a_check_on_fewer_coordinates_forgets_nothing_and_uses_nothing() -> None:
    posed = make_problem(network(), images()[15], epsilon=0.1)
    explanation = explain(network(), images()[15], epsilon=0.1)
    irrelevant = np.array(explanation.irrelevant)
    with Oracle(posed) as oracle:
        assert oracle.check(irrelevant).holds
        known = oracle.memory
        assert oracle.check(np.append(irrelevant[1:], explanation.explanation[:3])).violated
        assert oracle.memory is known
        assert oracle.check(irrelevant[:5]).holds
        assert oracle.memory is not None
        assert oracle.check(irrelevant).holds


def test_many_new_coordinates_move_along_the_gradient() -> None:
    # one by one, each would cost two evaluations for each margin
    rng = np.random.default_rng(0)
    size = 300
    network = network_of(random_layers(rng, (size, 20, 3)))
    centre, nothing = np.full(size, 0.5), np.zeros(0, dtype=np.intp)
    reached = network.evaluate(centre)
    memory = Memory(network, centre, nothing, reached, np.tile(centre, (3, 1)), reached)
    box = Interval(np.full(size, 0.4), np.full(size, 0.6))
    found = list(memory.flips(np.arange(size), box))
    assert sorted(margin for margin, _, _ in found) == [0, 1, 2]
    drawn = rng.uniform(0.4, 0.6, (500, size))
    best_of_many = np.max([network.evaluate(point) for point in drawn], axis=0)
    for margin, point, value in found:
        assert np.all((box.lower <= point) & (point <= box.upper))
        assert value == network.evaluate(point)[margin] > best_of_many[margin] > reached[margin]
