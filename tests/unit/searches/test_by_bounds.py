"""Bounds alone free the same features in few blocks as one by one, and stop in time."""

import time
from pathlib import Path

import numpy as np
import pytest

from milp_verix import Problem, check, explain
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.search import Search
from tests.support.brute_force_cases import case
from tests.support.counterfactual_checks import assert_sound
from tests.support.digits_example import images, network
from tests.support.random_networks import convolutional, dense_network, random_layers

X = images()[11].reshape(-1)[24:40].reshape(1, 1, 4, 4)


@pytest.mark.nightly
def test_blocks_free_no_less_than_features_one_by_one_and_ask_less() -> None:
    sizes, checks = {}, {}
    for traversal in ("galloping", "sequential"):
        found = [
            explain(network(), image, epsilon=0.1, exactness="bounds", traversal=traversal)
            for image in images()
        ]
        sizes[traversal] = sum(e.size for e in found)
        checks[traversal] = sum(e.statistics.checks for e in found)
    assert sizes["galloping"] <= 1.01 * sizes["sequential"]
    assert checks["galloping"] < checks["sequential"] / 2


@pytest.mark.parametrize("seed", range(8))
def test_a_solver_proves_the_set_again(seed: int, tmp_path: Path) -> None:
    net = convolutional(tmp_path, seed=seed)
    found = explain(net, X, epsilon=0.3, exactness="bounds")
    assert_sound(found, net, X)
    assert check(net, X, found.irrelevant, epsilon=0.3, bounds="interval", solver="scip").holds
    assert found.irrelevant


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_room_is_what_the_linear_form_has_over_the_ball(seed: int, tmp_path: Path) -> None:
    problem_case = case(seed)
    net = problem_case.network(tmp_path)
    problem = Problem(net, problem_case.x, **problem_case.options)
    with Oracle(problem, Search(exactness="bounds")) as oracle:
        empty = oracle.check_by_bounds(np.zeros(0, dtype=np.intp))
        room = oracle.headroom(())
        if problem.ball.norm != "linf" or not empty.holds:
            assert room is None
            return
        assert room is not None
        assert np.all(room.growth >= 0)
        assert oracle.headroom([0]) is None
        every = list(range(problem.features.count))
        assert 1 <= room.together(every, 2.0) <= room.together(every, 1.0) <= len(every)
        assert all(np.all(room.upper + room.growth[:, i] < 0) for i in room.fitting(every))
        assert room.factor(every, room.upper) == 1.0
        doubled = room.upper + 2.0 * room.growth.sum(axis=1)
        if np.any(room.growth.sum(axis=1) > 0):
            assert room.factor(every, doubled) == pytest.approx(2.0)


@pytest.mark.slow
def test_a_deadline_ends_a_pass_and_leaves_what_was_freed(tmp_path: Path) -> None:
    layers = random_layers(np.random.default_rng(0), (400, 700, 700, 700, 3))
    net = dense_network(layers, tmp_path)
    x = np.full((1, 400), 0.5, dtype=np.float32)
    started = time.process_time()
    found = explain(net, x, epsilon=0.02, exactness="bounds", time_limit=2.0)
    # a pass that does not end takes minutes of the processor
    assert time.process_time() - started < 20
    assert found.statistics.stopped == "time limit"
    assert {*found.unknown_reasons.values()} <= {"time limit", "bounds alone do not decide it"}
    assert_sound(found, net, x)


@pytest.mark.slow
def test_optimised_slopes_prove_what_crown_leaves_open_and_nothing_else(tmp_path: Path) -> None:
    more, free = 0, np.arange(7)
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        network = dense_network(random_layers(rng, (8, 16, 16, 16, 3)), tmp_path)
        x = rng.random(8)
        for epsilon in np.linspace(0.03, 0.09, 25):
            problem = Problem(network, x, epsilon=float(epsilon))
            with (
                Oracle(problem, Search(bounds="crown", exactness="bounds")) as plain,
                Oracle(problem, Search(bounds="alpha", exactness="bounds")) as optimised,
            ):
                by_crown, by_slopes = (o.check(free) for o in (plain, optimised))
            assert by_slopes.holds or not by_crown.holds
            if by_slopes.holds and not by_crown.holds:
                assert check(network, x, free, epsilon=float(epsilon)).holds
                more += 1
    assert more > 0
