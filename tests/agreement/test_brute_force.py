"""Checks and explanations of hundreds of tiny networks are those of brute force."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from milp_verix import OnnxNetwork, Problem, Verdict, check, explain
from milp_verix.solvers import Targets, open_session
from tests.support.brute_force import BruteForce
from tests.support.brute_force_cases import Case, case, permutation
from tests.support.counterfactual_checks import assert_changes, assert_in_ball, assert_sound, run
from tests.support.installed_solvers import OF_NETWORKS, SLOW, why_not
from tests.support.random_networks import as_layers
from tests.support.scipy_reference import over

SEEDS = range(200)


def solvers_of(seed: int) -> list[str]:
    """Return the solvers installed; those that take longer than these problems rarely."""
    names = OF_NETWORKS
    return [n for n in names if why_not(n) is None and (n not in SLOW or seed % 10 == 0)]


@pytest.mark.parametrize("seed", SEEDS)
def test_verdicts(seed: int, tmp_path: Path) -> None:
    problem = case(seed)
    network, options = problem.network(tmp_path), {"bounds": problem.bounds, **problem.options}
    solvers = solvers_of(seed)
    for free in problem.subsets(2):
        for place in range(len(solvers)):
            solver = solvers[(seed + place) % len(solvers)]
            verdict = check(network, problem.x, free, solver=solver, **options)
            if problem.brute.holds(free):
                assert verdict.holds, (solver, verdict)
                assert verdict.bound is not None
                assert np.max(problem.brute.worst(free)) - 1e-9 <= verdict.bound < 0
            else:
                assert verdict.violated, (solver, verdict)
                assert_witness(problem, network, free, verdict)
            if not verdict.effort.solves:
                break  # bounds or a known point decide, whatever the solver


def assert_witness(
    problem: Case, network: OnnxNetwork, free: Sequence[int], verdict: Verdict
) -> None:
    assert verdict.witness is not None
    assert verdict.prediction is not None
    assert verdict.witness.shape == network.input_shape
    coordinates = [i for feature in free for i in problem.groups[feature]]
    ends = (problem.brute.low, problem.brute.high)
    assert_in_ball(problem.x, verdict.witness, coordinates, problem.epsilon, *ends)
    assert_changes(network, problem.x, verdict.witness, verdict.prediction, problem.delta)


@pytest.mark.slow
def test_verdicts_come_out_both_ways_and_not_by_bounds_alone(tmp_path: Path) -> None:
    verdicts = [
        check(problem.network(tmp_path), problem.x, free, bounds=problem.bounds, **problem.options)
        for problem in map(case, SEEDS[:60])
        for free in problem.subsets(2)
    ]
    assert sum(verdict.violated for verdict in verdicts) > 50
    assert sum(verdict.holds for verdict in verdicts) > 50
    assert sum(verdict.holds and verdict.effort.solves > 0 for verdict in verdicts) > 15


ORDERS = ("sequential", "random", "custom", "reversal", "deletion")


def expected_order(problem: Case, name: str, network: OnnxNetwork) -> list[int]:
    """Return the traversal order called ``name``, worked out from its definition."""
    count = len(problem.groups)
    if name == "sequential":
        return list(range(count))
    if name == "random":
        return np.random.default_rng(problem.seed).permutation(count).tolist()
    if name == "custom":
        return permutation(problem.seed, count)
    before = run(network, problem.x)
    label = int(np.argmax(before))
    losses = []
    for group in problem.groups:
        changed = problem.x.copy()
        changed[group] = 0 if name == "deletion" else 1 - changed[group]
        after = run(network, changed)
        loss = before.astype(float) - after
        losses.append(loss[label] if problem.delta is None else max(abs(loss)))
    return sorted(range(count), key=losses.__getitem__)


@pytest.mark.slow
@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("part", range(4))
def test_explanations(name: str, part: int, tmp_path: Path) -> None:
    # each network in one of the orders; a domain without an end (seed % 5 == 4) has no mirror
    seeds = [seed for seed in SEEDS if seed % 5 == ORDERS.index(name) and seed % 4 == part]
    assert len(seeds) >= 8
    for seed in seeds:
        problem = case(seed)
        network = problem.network(tmp_path)
        expected = expected_order(problem, name, network)
        order = {"custom": expected, "reversal": "sensitivity", "deletion": "sensitivity"}
        explanation = explain(
            network,
            problem.x,
            order=order.get(name, name),
            transformation=name if name == "deletion" else "reversal",
            seed=seed,
            bounds=problem.bounds,
            reuse=seed % 3 > 0,
            **problem.options,
        )
        assert explanation.permutation == tuple(expected)
        assert explanation.explanation == problem.brute.explanation(expected)
        assert explanation.minimal
        assert_sound(explanation, network, problem.x)


@pytest.mark.usefixtures("matrix_storage")
@pytest.mark.parametrize("seed", SEEDS[:40])
def test_optima_of_the_margins(seed: int, tmp_path: Path) -> None:
    problem = case(seed)
    posed = Problem(problem.network(tmp_path), problem.x, **problem.options)
    margins = posed.question.margins(posed.network.ir)
    session = open_session("highs")
    for free in problem.subsets(1):
        box = posed.ball.box(posed.features.coordinates(free))
        encoding = over(margins, box)
        session.load(encoding.program)
        for index, worst in enumerate(problem.brute.worst(free)):
            row, constant = encoding.output.row(index, encoding.program.columns)
            if not encoding.program.columns:
                assert constant == pytest.approx(worst, abs=1e-6)
                continue
            bound = constant - session.minimise(-row, Targets()).bound
            assert worst - 1e-9 <= bound <= worst + 1e-6
    session.close()


@pytest.mark.parametrize("seed", SEEDS[:40])
def test_brute_force_is_above_every_sample_and_near_the_best(seed: int) -> None:
    brute = case(seed).brute
    free = range(len(brute.groups))
    rng = np.random.default_rng(seed)
    low = np.maximum(brute.x - brute.epsilon, brute.low)
    high = np.minimum(brute.x + brute.epsilon, brute.high)
    # denser towards the faces and corners, where maxima lie
    shares = np.clip(rng.uniform(-0.5, 1.5, (4000, brute.x.size)), 0, 1)
    C, k = brute.margins()
    sampled = np.array([C @ brute.evaluate(low + t * (high - low)) + k for t in shares])
    worst, spread = brute.worst(free), np.ptp(sampled, axis=0)
    assert np.all(sampled.max(axis=0) <= worst + 1e-9)
    assert np.all(sampled.max(axis=0) >= worst - 0.1 * spread)


def test_brute_force_of_a_network_worked_out_by_hand() -> None:
    # f = (|x0 − ½|, x1 / 2) at (½, 1): the margin |x0 − ½| − x1 / 2 of class 0 over class 1
    first = ([[1, 0], [-1, 0], [0, 1]], [-0.5, 0.5, 0])
    layers = as_layers(first, ([[1, 1, 0], [0, 0, 0.5]], [0, 0]))
    brute = BruteForce(layers, np.array([0.5, 1.0]), 0.25, [[0], [1]], np.zeros(2), np.ones(2))
    assert brute.worst([]) == pytest.approx([-0.5])
    assert brute.worst([0]) == pytest.approx([-0.25])
    assert brute.worst([1]) == pytest.approx([-0.375])
    assert brute.worst([0, 1]) == pytest.approx([-0.125])
