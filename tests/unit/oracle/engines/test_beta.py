"""Branching on phases: verdicts of brute force, proven bounds, and limits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from milp_verix import Answer, check, explain
from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.oracle.engines.beta import PhaseSplit
from milp_verix.oracle.engines.beta_search import PhaseSearch
from milp_verix.oracle.engines.engine import Claim
from milp_verix.oracle.verdict import TIME_LIMIT
from tests.support.known_radius_network import CRITICAL, checked, valley
from tests.support.max_pool_cases import pooled
from tests.support.open_claims import open_claim
from tests.support.random_networks import (
    cube,
    dense_network,
    network_of,
    random_layers,
    smooth_network,
)
from verix_encodings import NormBall, crown_bounds, interval_bounds
from verix_encodings.network import batch_values


@pytest.mark.nightly
def test_max_pools_are_decided_as_by_brute_force(tmp_path: Path) -> None:
    asked = 0
    for seed in range(24):
        network, brute = pooled(seed, tmp_path)
        for free in ([0, 1, 2, 3], [0, 1, 2], [1, 3]):
            given = {"epsilon": brute.epsilon, "bounds": "interval", "solver": "beta"}
            verdict = check(network, brute.x, free, **given)
            assert verdict.holds if brute.holds(free) else verdict.violated
            asked += verdict.effort.solves
    assert asked >= 4


@pytest.mark.parametrize("seed", [1, 2])
def test_smooth_neurons_are_split(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = smooth_network(random_layers(rng, (4, 6, 5, 3)), ["sigmoid", "tanh"])
    root = crown_bounds(network, cube(4))
    points = rng.random((4, 20_000))
    points[:, ::2] = points[:, ::2] < 0.5
    reached = batch_values(network, points)[-1].max(axis=1)
    # the margins hold by a third of the distance that bounds leave open
    goal = reached + (root[-1].upper - reached) / 3
    moved = network.then(np.eye(3), -goal)
    needed = np.full(3, 1e-9)
    search = PhaseSearch(moved, cube(4), root, root[-1].upper - goal, needed, lambda _: False)
    assert search.run()
    assert np.all(reached - goal <= search.upper)
    assert np.all(search.upper < 0)
    assert search.nodes > 10


@pytest.mark.parametrize("seed", range(6))
def test_bounds_by_the_deadline_hold_and_tighten(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, box = network_of(random_layers(rng, (4, 14, 12, 3))), cube(4)
    root = interval_bounds(network, box)
    reached = batch_values(network, rng.random((4, 20_000)))[-1].max(axis=1)
    needed = np.full(3, 1e-6) - reached - 0.05
    # margins hold where they stay below the values reached, and a little more
    uppers = []
    search = PhaseSearch(network, box, root, root[-1].upper, needed, lambda _: False)
    for batches in (0, 1, 2, 5):
        left = iter(range(batches))
        search.run(lambda left=left: next(left, None) is None)
        assert np.all(search.upper >= reached)
        uppers.append(search.upper.sum())
    assert uppers == sorted(uppers, reverse=True)
    assert uppers[-1] < uppers[1] < uppers[0]


@pytest.mark.parametrize("seed", range(8))
def test_phases_of_all_neurons_bound_margins_over_l2_balls_by_their_maxima(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, centre = network_of(random_layers(rng, (4, 6, 3))), np.full(4, 0.5)
    ball = NormBall(cube(4), centre, 0.4, 2)
    inside = ball.farthest(rng.normal(size=(4, 2000)))
    highest = batch_values(network, inside)[-1].max(axis=1)
    network, needed = network.then(np.eye(3), -highest), np.full(3, 1e-6)
    root = interval_bounds(network, ball.box)
    search = PhaseSearch(network, ball, root, root[-1].upper, needed, lambda _: False)
    assert not search.run()
    # a bound that an input attains is the maximum
    assert np.all(search.upper - search.tried.reached < 1e-6)
    assert np.all(search.upper > 0)


@pytest.mark.parametrize(("epsilon", "answer"), [(0.2, Answer.HOLDS), (0.3, Answer.VIOLATED)])
def test_a_known_radius(epsilon: float, answer: Answer, tmp_path: Path) -> None:
    assert checked(valley(tmp_path), epsilon, solver="beta").answer is answer


def test_a_margin_of_zero_is_not_split_for_ever(tmp_path: Path) -> None:
    verdict = checked(valley(tmp_path), CRITICAL - 1e-9, solver="beta", seconds=20)
    assert verdict.answer is Answer.UNKNOWN
    assert "phases are split" in str(verdict.reason)


def posed(tmp_path: Path, deadline: Deadline = NO_LIMIT) -> tuple[PhaseSplit, Claim]:
    """Return the engine, and a claim about a network of six inputs that bounds leave open."""
    problem, claim = open_claim(tmp_path, deadline)
    return PhaseSplit(problem), claim


def test_a_claim_asked_again_goes_on_where_it_stopped(tmp_path: Path) -> None:
    engine, claim = posed(tmp_path, Deadline(0.0))
    late = engine.decide(claim)
    assert late.verdict.reason == TIME_LIMIT
    assert np.array_equal(late.upper, claim.upper)
    whole = engine.decide(replace(claim, deadline=NO_LIMIT))
    assert whole.verdict.holds
    assert np.all(whole.upper < -claim.needed)
    assert whole.verdict.effort.nodes > 2
    assert engine.decide(replace(claim, deadline=NO_LIMIT)).verdict.effort.nodes == 0


def test_margins_proven_elsewhere_are_left_as_they_are(tmp_path: Path) -> None:
    engine, claim = posed(tmp_path)
    one = replace(claim, open_=claim.open_[:1])
    decision = engine.decide(one)
    other = claim.open_[1]
    assert decision.upper[other] == claim.upper[other]
    assert decision.upper[claim.open_[0]] < 0
    assert decision.verdict.holds


def test_an_explanation_is_that_of_another_solver(tmp_path: Path) -> None:
    layers = random_layers(np.random.default_rng(5), (4, 6, 5, 3))
    network, x = dense_network(layers, tmp_path), np.full(4, 0.5, dtype=np.float32)
    given = {"epsilon": 0.45, "order": "sequential", "bounds": "interval"}
    found = explain(network, x, solver="beta", **given)
    assert found.explanation == explain(network, x, solver="highs", **given).explanation
    assert found.solver == "beta"
