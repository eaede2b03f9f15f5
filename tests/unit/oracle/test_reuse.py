"""What is remembered from one check to the next is true, and saves solves, not answers."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import Problem, explain
from milp_verix.base.clock import Deadline
from milp_verix.oracle.attacks import climb
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.reuse import _moved, _rises, first_memory
from milp_verix.problem.search import Search
from tests.support.brute_force_cases import case, permutation
from tests.support.digits_example import images, network
from tests.support.random_networks import as_layers, convolutional, network_of, random_layers
from verix_encodings import Interval, NormBall, crown_bounds, interval_bounds


@pytest.mark.parametrize("seed", range(0, 120, 2))
def test_bounds_that_grow_with_the_ball_stay_above_brute_force(seed: int, tmp_path: Path) -> None:
    problem = case(seed)
    posed = Problem(problem.network(tmp_path), problem.x, **problem.options)
    freed: list[int] = []
    everything = posed.ball.region(np.arange(problem.x.size))
    upper = crown_bounds(posed.question.margins(posed.network.ir), everything)[-1].upper
    contested = (upper >= -1e-6) | (upper == upper.max() if upper.max() < -1e-6 else False)
    with Oracle(posed, Search(bounds=problem.bounds)) as oracle:
        for feature in permutation(seed, len(problem.groups)):
            free = [*freed, feature]
            verdict = oracle.check(posed.features.coordinates(free))
            assert verdict.holds == problem.brute.holds(free)
            memory = oracle.memory
            assert memory is not None
            if verdict.holds:
                freed = free
            # margins that can reach zero nowhere in the ball are dropped
            worst = problem.brute.worst(freed)[contested]
            assert np.all(memory.upper >= worst - 1e-9)
            assert np.all(memory.reached <= worst + 1e-9)
            np.testing.assert_array_equal(memory.free, posed.features.coordinates(freed))
            fixed = np.setdiff1d(np.arange(problem.x.size), memory.free)
            for point in memory.points:
                np.testing.assert_array_equal(point[fixed], problem.brute.x[fixed])


@pytest.mark.nightly
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


@pytest.mark.slow
def test_most_counterfactuals_come_without_a_solve() -> None:
    found = explain(network(), images()[16], epsilon=0.1)
    assert found.statistics.flips > 0.7 * len(found.counterfactuals)
    options: dict[str, Any] = {"epsilon": 0.1, "traversal": "sequential", "reuse": False}
    assert explain(network(), images()[16], **options).statistics.flips == 0


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
    posed = Problem(network(), images()[15], epsilon=0.1)
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


def test_worst_points_move_along_the_gradient() -> None:
    rng = np.random.default_rng(0)
    size = 300
    network = network_of(random_layers(rng, (size, 20, 3)))
    memory = first_memory(network, np.full(size, 0.5))
    assert memory is not None
    box = Interval(np.full(size, 0.4), np.full(size, 0.6))
    found = list(memory.suspects(np.arange(size), box))
    assert sorted(margin for margin, _, _ in found) == [0, 1, 2]
    drawn = rng.uniform(0.4, 0.6, (500, size))
    best_of_many = np.max([network.evaluate(point) for point in drawn], axis=0)
    known = memory.proven(np.arange(size), memory.upper, {k: point for k, point, _ in found})
    for margin, point, value in found:
        assert np.all((box.lower <= point) & (point <= box.upper))
        assert value == network.evaluate(point)[margin] > best_of_many[margin]
        assert value == known.reached[margin] > memory.reached[margin]


@pytest.mark.parametrize("seed", range(10))
def test_bounds_of_linear_margins_grow_by_all_that_they_gain(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix, bias = rng.normal(size=(3, 4)), rng.normal(size=3)
    network = network_of(as_layers((matrix, bias)))
    centre, room = rng.uniform(0.3, 0.7, 4), rng.uniform(0, 0.3, (2, 4))
    memory = first_memory(network, centre)
    assert memory is not None
    extra = np.array([0, 2, 3])
    lower, upper = centre.copy(), centre.copy()
    lower[extra], upper[extra] = (centre - room[0])[extra], (centre + room[1])[extra]
    best = [
        sum(
            Fraction(float(w)) * Fraction(float(upper[i] if w > 0 else lower[i]))
            for i, w in enumerate(row)
        )
        + Fraction(float(b))
        for row, b in zip(matrix, bias, strict=True)
    ]
    grown = memory.grown(extra, interval_bounds(network, Interval(lower, upper)))
    assert all(Fraction(float(bound)) >= most for bound, most in zip(grown, best, strict=True))
    np.testing.assert_allclose(grown, [float(most) for most in best], atol=1e-12)


def test_points_that_were_found_elsewhere_bring_no_bounds() -> None:
    problem = Problem(network(), images()[11], epsilon=0.1)
    with Oracle(problem) as oracle:
        oracle.suppose(np.arange(5), problem.x.astype(float)[:, None])
        assert oracle.memory is not None
        assert np.all(oracle.memory.upper == np.inf)
        np.testing.assert_array_equal(oracle.memory.free, np.arange(5))


def test_rises_are_what_a_linear_margin_gains() -> None:
    network = network_of(as_layers(([[1.0, -2.0], [0.0, 3.0]], [0.0, 1.0])))
    memory = first_memory(network, np.array([0.5, 0.5]))
    assert memory is not None
    box = Interval(np.array([0.25, 0.5]), np.array([0.625, 1.0]))
    # from the middle, x0 goes up by an eighth or down by a quarter, x1 only up
    np.testing.assert_array_equal(memory.rises(box, box), [[0.125, 0.0], [0.0, 1.5]])


def test_the_features_that_flip_are_told_apart_at_once() -> None:
    posed = Problem(network(), images()[16], epsilon=0.1)
    found = explain(network(), images()[16], epsilon=0.1)
    with Oracle(posed) as oracle:
        assert oracle.check(posed.features.coordinates(found.irrelevant)).holds
        before = oracle.effort
        flipped = oracle.flipped(found.irrelevant, found.explanation)
        # all of them, if the worst point of the last check is the worst there is
        assert 0.7 * found.size < len(flipped) <= found.size
        assert oracle.effort.flips - before.flips == len(flipped)
        assert oracle.flipped(found.irrelevant, found.explanation, Deadline(0.0)) == {}
        # what finds nothing takes time as well
        before = oracle.effort
        assert oracle.flipped(found.irrelevant[1:], found.explanation) == {}
        after = oracle.effort
        assert after.flips == before.flips
        took = after.seconds - before.seconds
        assert took > 0
        assert took == pytest.approx(after.stages[0] - before.stages[0])
    for feature, verdict in flipped.items():
        assert verdict.witness is not None
        moved = np.flatnonzero(verdict.witness.reshape(-1) != images()[16].reshape(-1))
        assert set(moved.tolist()) <= {*found.irrelevant, feature}


@pytest.mark.slow
@pytest.mark.parametrize(("norm", "epsilon"), [("l1", 0.8), ("l2", 0.35)])
def test_few_features_of_a_ball_need_a_check_of_their_own(norm: str, epsilon: float) -> None:
    options: dict[str, Any] = {"epsilon": epsilon, "norm": norm}
    flips = size = 0
    for index in (11, 16, 3):
        posed = Problem(network(), images()[index], **options)
        found = explain(network(), images()[index], **options)
        with Oracle(posed) as oracle:
            assert oracle.check(posed.features.coordinates(found.irrelevant)).holds
            flipped = oracle.flipped(found.irrelevant, found.explanation)
        assert set(flipped) <= set(found.explanation)
        flips, size = flips + len(flipped), size + found.size
    assert flips > 0.7 * size


@pytest.mark.parametrize("norm", [1, 2])
def test_worst_points_of_a_ball_are_climbed_side_by_side(norm: int) -> None:
    rng = np.random.default_rng(norm)
    network = network_of(random_layers(rng, (40, 20, 3)))
    memory = first_memory(network, np.full(40, 0.5))
    assert memory is not None
    ball = NormBall(Interval(np.zeros(40), np.ones(40)), np.full(40, 0.5), 0.7, norm)
    found = list(memory.suspects(np.arange(40), ball))
    assert [margin for margin, _, _ in found] == np.argsort(-memory.reached).tolist()
    for margin, point, value in found:
        alone = climb(network, ball, memory.centre, margin)
        assert value == pytest.approx(network.evaluate(alone)[margin])
        assert value == pytest.approx(network.evaluate(point)[margin])
        assert np.linalg.norm(point - ball.centre, ord=norm) <= 0.7 + 1e-9


@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
def test_features_that_move_in_one_batch_move_as_alone(norm: str) -> None:
    epsilon = {"linf": 0.1, "l1": 0.8, "l2": 0.35}[norm]
    posed = Problem(network(), images()[16], epsilon=epsilon, norm=norm)
    found = explain(network(), images()[16], epsilon=epsilon, norm=norm)
    with Oracle(posed) as oracle:
        assert oracle.check(posed.features.coordinates(found.irrelevant)).holds
        memory = oracle._memory_of(found.irrelevant, Deadline(100.0))
    assert memory is not None
    expected = memory.reached[:, None] + _rises(posed, memory)
    moved = _moved(posed, memory, found.irrelevant, found.explanation, expected)
    compared = 0
    for feature in found.explanation:
        region = posed.ball.region(posed.features.coordinates([*found.irrelevant, feature]))
        alone = []
        for margin in np.argsort(-expected[:, feature], kind="stable"):
            point = region.farthest(memory.gradients[margin])
            if norm == "linf":
                group = posed.features.groups[feature]
                ends, point = point[group], memory.points[margin].copy()
                point[group] = ends
            if expected[margin, feature] > 0 and memory.network.evaluate(point)[margin] > 0:
                alone.append(point)
        np.testing.assert_allclose(moved[feature], alone, atol=1e-9)
        compared += len(alone)
    assert compared > 10
