"""Big-Ms far too large: integrality tolerances times M leak through closed ReLUs.

Whatever comes of it, no solver's HOLDS or VIOLATED may be wrong. The true answers are known: on
paper, or by enumeration of the activation patterns.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from milp_verix import Answer, OnnxNetwork, check
from tests.support.brute_force_cases import case
from tests.support.counterfactual_checks import assert_changes
from tests.support.installed_solvers import SLOW, each_solver, each_solver_with
from tests.support.random_networks import dense_network, random_layers
from verix_encodings import Bounds, Interval, Network, Region, Relu, interval_bounds

SIZES = (30.0, 1e3, 9e3, 1e5, 1e7, 1e9)


def loose(size: float) -> Callable[[Network, Region], Bounds]:
    """Return a bound method under which every ReLU is unstable by ``size``, and proves nothing."""

    def bounds(network: Network, region: Region) -> Bounds:
        tight = interval_bounds(network, region)
        feeding = {node.source for node in network.nodes if isinstance(node, Relu)}
        relus = {k for k, node in enumerate(network.nodes) if isinstance(node, Relu)}
        wide = []
        for k, bound in enumerate(tight):
            if k in relus:
                low, high = 0.0, size
            elif k in feeding or k == len(tight) - 1:
                low, high = -size, size
            else:
                low, high = np.inf, -np.inf
            wide.append(Interval(np.minimum(bound.lower, low), np.maximum(bound.upper, high)))
        return tuple(wide)

    return bounds


def leaking(folder: Path) -> OnnxNetwork:
    """Return the scores ``(½, 1000 relu(x − 0.9))``: a leak of 0.0005 changes the class."""
    first = np.array([[1.0]]), np.array([-0.9])
    second = np.array([[0.0], [1000.0]]), np.array([0.5, 0.0])
    return dense_network((first, second), folder)


@each_solver_with("size", SIZES, few=(30.0, 1e7))
def test_what_leaks_decides_nothing(solver: str, size: float, tmp_path: Path) -> None:
    network, x = leaking(tmp_path), np.full(1, 0.5)
    for epsilon, truth in ((0.3, Answer.HOLDS), (0.39, Answer.HOLDS), (0.42, Answer.VIOLATED)):
        verdict = check(network, x, [0], epsilon=epsilon, solver=solver, bounds=loose(size))
        assert verdict.answer in (truth, Answer.UNKNOWN), (epsilon, verdict)
        assert verdict.violated or verdict.effort.solves > 0
        if size == 30.0:
            assert verdict.answer is truth


@each_solver_with("size", SIZES[2:], few=(1e7,))
def test_a_network_that_leaks_into_proofs(solver: str, size: float, tmp_path: Path) -> None:
    # a violation that HiGHS 1.15, not told otherwise, proves away with big-Ms of 1e7
    rng = np.random.default_rng(56)
    network = dense_network(random_layers(rng, (5, 6, 4, 3)), tmp_path)
    x = rng.uniform(size=5)
    options = {"epsilon": 0.2, "time_limit": 2.0}
    assert check(network, x, range(5), solver="phase", **options).answer is Answer.VIOLATED
    found = check(network, x, range(5), solver=solver, bounds=loose(size), **options)
    assert found.answer is not Answer.HOLDS


@each_solver
def test_no_verdict_is_wrong_however_large_the_big_ms(solver: str, tmp_path: Path) -> None:
    answers: dict[float, list[Answer]] = {size: [] for size in SIZES}
    for seed in range(10, 12 if solver in SLOW else 14):
        problem = case(seed)
        network = problem.network(tmp_path)
        for free in problem.subsets(1):
            holds = problem.brute.holds(free)
            for size in SIZES[:: 4 if solver in SLOW else 1]:
                verdict = check(
                    network, problem.x, free, solver=solver, bounds=loose(size), **problem.options
                )
                assert verdict.answer is Answer.UNKNOWN or verdict.holds == holds, verdict
                if verdict.witness is not None and verdict.prediction is not None:
                    found = verdict.witness, verdict.prediction
                    assert_changes(network, problem.x, *found, problem.delta)
                answers[size].append(verdict.answer)
    assert Answer.UNKNOWN not in answers[30.0]
    assert {Answer.HOLDS, Answer.VIOLATED} <= set(answers[30.0])
