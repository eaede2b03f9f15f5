"""Checks and explanations over L1 and L2 balls are those of an oracle that enumerates."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from milp_verix import Answer, OnnxNetwork, Verdict, check, explain
from milp_verix.solvers import solver_named
from tests.support.brute_force_cases import Case, case
from tests.support.brute_force_norms import NORMS, radius, worst_margin
from tests.support.counterfactual_checks import assert_changes, assert_in_ball
from tests.support.digits_example import images, network
from tests.support.installed_solvers import OF_NETWORKS, SLOW
from tests.support.random_networks import as_layers, dense_network

SEEDS = range(60)


def posed(
    problem: Case, net: OnnxNetwork, free: list[int], norm: str, **options: object
) -> Verdict:
    given = {**problem.options, "epsilon": radius(problem, norm), "norm": norm, **options}
    return check(net, problem.x, free, **given)


def assert_witness(problem: Case, net: OnnxNetwork, free: list[int], norm: str, v: Verdict) -> None:
    assert v.witness is not None
    assert v.prediction is not None
    coordinates = [i for feature in free for i in problem.groups[feature]]
    ends = (problem.brute.low, problem.brute.high)
    epsilon = radius(problem, norm)
    assert_in_ball(problem.x, v.witness, coordinates, epsilon, *ends)
    pairs = zip(v.witness.reshape(-1), problem.x.reshape(-1), strict=True)
    moves = [abs(Fraction(float(w)) - Fraction(float(c))) for w, c in pairs]
    length = sum(m ** NORMS[norm] for m in moves)
    assert length <= Fraction(epsilon) ** NORMS[norm]
    assert_changes(net, problem.x, v.witness, v.prediction, problem.delta)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_verdicts(seed: int, norm: str, tmp_path: Path) -> None:
    problem = case(seed)
    net = problem.network(tmp_path)
    for free in problem.subsets(1):
        worst = worst_margin(problem.brute, free, NORMS[norm], radius(problem, norm))
        assert abs(worst) > 1e-5, "too close to call: choose another network"
        verdict = posed(problem, net, free, norm)
        assert verdict.answer is (Answer.HOLDS if worst < 0 else Answer.VIOLATED), verdict
        if verdict.holds:
            assert verdict.bound is not None
            assert worst - 1e-6 <= verdict.bound < 0
        else:
            assert_witness(problem, net, free, norm, verdict)


@pytest.mark.slow
@pytest.mark.parametrize("norm", NORMS)
def test_verdicts_come_out_both_ways_and_not_by_bounds_alone(norm: str, tmp_path: Path) -> None:
    problems = [case(seed) for seed in SEEDS[:40]]
    verdicts = [
        posed(problem, problem.network(tmp_path), free, norm)
        for problem in problems
        for free in problem.subsets(1)
    ]
    assert sum(verdict.violated for verdict in verdicts) > 15
    assert sum(verdict.holds for verdict in verdicts) > 15
    assert sum(verdict.holds and verdict.effort.solves > 0 for verdict in verdicts) > 3


@pytest.mark.nightly
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("solver", OF_NETWORKS)
def test_solvers_agree(solver: str, norm: str, tmp_path: Path) -> None:
    if reason := solver_named(solver).unavailable():
        pytest.skip(reason)
    for seed in SEEDS[: 4 if solver in SLOW else 12]:
        problem = case(seed)
        net = problem.network(tmp_path)
        for free in problem.subsets(1):
            expected = posed(problem, net, free, norm)
            assert posed(problem, net, free, norm, solver=solver).answer is expected.answer


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("index", [10, 15])
def test_explanations_of_a_digit(index: int, norm: str) -> None:
    epsilon = {"l1": 0.6, "l2": 0.3}[norm]
    found = explain(network(), images()[index], epsilon=epsilon, norm=norm)
    assert found.minimal
    assert 0 < found.size < 64
    assert found.replay(network()) == ()
    for feature, counterfactual in found.counterfactuals.items():
        moved = counterfactual.input.astype(np.float64) - images()[index]
        assert np.linalg.norm(moved.reshape(-1), ord=NORMS[norm]) <= epsilon * (1 + 1e-12)
        assert moved.reshape(-1)[feature] != 0


@pytest.mark.slow
@pytest.mark.parametrize("norm", NORMS)
def test_a_smaller_ball_is_inside_a_larger_one(norm: str, tmp_path: Path) -> None:
    # the L1 ball is in the L2 ball is in the L∞ ball of one radius: what holds there, holds here
    held = 0
    for seed in SEEDS:
        problem = case(seed)
        net, everything = problem.network(tmp_path), list(range(len(problem.groups)))
        if check(net, problem.x, everything, **problem.options).holds:
            held += 1
            inner = check(net, problem.x, everything, norm=norm, **problem.options)
            assert inner.holds
    assert held > 10


@pytest.mark.parametrize(
    ("norm", "critical"),
    # the margin x0 + 2 x1 − 1 at the origin: the dual norm of (1, 2) times ε reaches 1
    [("linf", 1 / 3), ("l1", 1 / 2), ("l2", 1 / np.sqrt(5))],
)
def test_the_critical_radius_is_bracketed(norm: str, critical: float, tmp_path: Path) -> None:
    layers = as_layers(([[1, 2]], [0]), ([[0], [1]], [1, 0]))
    net = dense_network(layers, tmp_path)
    options = {"norm": norm, "domain": (-1.0, 1.0)}
    x = np.zeros(2)
    assert check(net, x, [0, 1], epsilon=critical * (1 - 1e-4), **options).holds
    assert check(net, x, [0, 1], epsilon=critical * (1 + 1e-4), **options).violated
    # one coordinate: all norms are the same there
    assert check(net, x, [1], epsilon=0.4999, **options).holds
    assert check(net, x, [1], epsilon=0.5001, **options).violated


def test_the_domain_cuts_the_ball(tmp_path: Path) -> None:
    layers = as_layers(([[1, 2]], [0]), ([[0], [1]], [1, 0]))
    net = dense_network(layers, tmp_path)
    # x1 ≤ 0.1: x0 must make up for it, up to √(0.81² + 0.1²) = 0.8062
    options = {"norm": "l2", "domain": ([-1.0, -1.0], [1.0, 0.1])}
    assert check(net, np.zeros(2), [0, 1], epsilon=0.80, **options).holds
    assert check(net, np.zeros(2), [0, 1], epsilon=0.82, **options).violated


@pytest.mark.parametrize("norm", NORMS)
def test_a_ball_of_radius_zero_holds_one_input(norm: str) -> None:
    verdict = check(network(), images()[0], range(64), epsilon=0.0, norm=norm)
    assert verdict.holds
