"""Checks near the critical radius, at ties, with huge weights, out of time: never a wrong word."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import Answer, OnnxNetwork, Tolerances, Verdict, check, explain
from milp_verix.oracle.verdict import Effort
from tests.support.counterfactual_checks import assert_changes, assert_in_ball
from tests.support.installed_solvers import each_solver
from tests.support.known_radius_network import CRITICAL, X, checked, valley
from tests.support.onnx_models import DOUBLE
from tests.support.random_networks import as_layers, dense_network, random_layers
from tests.support.unsolvable_problems import HARD_OPTIONS, HARD_X, hard_network
from verix_encodings import crown_bounds, interval_bounds

CLOSE = 1e-5
"""Ten times the tolerance of a margin: what must still be told apart."""


def assert_witness(network: OnnxNetwork, verdict: Verdict, epsilon: float) -> None:
    assert verdict.witness is not None
    assert verdict.prediction is not None
    assert_in_ball(X, verdict.witness, [0], epsilon, np.zeros(1), np.ones(1))
    assert_changes(network, X, verdict.witness, verdict.prediction, None)


@each_solver
def test_the_critical_radius_is_bracketed(solver: str, tmp_path: Path) -> None:
    network = valley(tmp_path)
    for epsilon in (CRITICAL / 4, CRITICAL - 0.1, CRITICAL - 1e-3, CRITICAL - CLOSE):
        verdict = checked(network, epsilon, solver=solver)
        assert verdict.holds, verdict
        assert verdict.bound is not None
        assert epsilon - CRITICAL - 1e-9 <= verdict.bound < 0
    for epsilon in (CRITICAL + CLOSE, CRITICAL + 1e-3, CRITICAL + 0.1):
        verdict = checked(network, epsilon, solver=solver)
        assert verdict.violated, verdict
        assert_witness(network, verdict, epsilon)
        assert verdict.prediction == 0


@each_solver
@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-9, 1e-7, 5e-7])
def test_closer_than_the_tolerance_is_unknown_or_right(
    solver: str, gap: float, tmp_path: Path
) -> None:
    network = valley(tmp_path)
    assert not checked(network, CRITICAL + gap, solver=solver).holds
    assert not checked(network, CRITICAL - gap, solver=solver).violated


@each_solver
def test_a_rival_that_draws_level_is_no_proof(solver: str, tmp_path: Path) -> None:
    verdict = checked(valley(tmp_path), CRITICAL, solver=solver)
    assert verdict.answer is Answer.UNKNOWN
    assert verdict.reason


@each_solver
def test_the_critical_radius_of_a_regression_is_bracketed(solver: str, tmp_path: Path) -> None:
    network = valley(tmp_path, regression=True)
    options: dict[str, Any] = {"solver": solver, "delta": CRITICAL}
    assert checked(network, CRITICAL - CLOSE, **options).holds
    assert checked(network, CRITICAL, **options).answer is Answer.UNKNOWN
    verdict = checked(network, CRITICAL + CLOSE, **options)
    assert verdict.violated
    assert verdict.prediction == pytest.approx((CRITICAL + CLOSE,), abs=1e-9)


@pytest.mark.slow
@each_solver
@pytest.mark.parametrize("scale", [1e2, 1e4, 1e6, 1e8, 1e10])
def test_huge_weights_make_no_wrong_answer(solver: str, scale: float, tmp_path: Path) -> None:
    network = valley(tmp_path, scale)
    for epsilon in (CRITICAL - 0.05, CRITICAL - 1e-4, CRITICAL + 1e-4, CRITICAL + 0.05):
        right = Answer.HOLDS if epsilon < CRITICAL else Answer.VIOLATED
        verdict = checked(network, epsilon, solver=solver)
        assert verdict.answer in (right, Answer.UNKNOWN), verdict


@each_solver
def test_a_proof_with_a_huge_big_m_is_distrusted(solver: str, tmp_path: Path) -> None:
    verdict = checked(valley(tmp_path, 1e6), CRITICAL - 0.05, solver=solver)
    assert verdict.answer is Answer.UNKNOWN
    assert f"a big-M of 2e+05 is beyond the {limit(solver):g}" in str(verdict.reason)
    # bounds need no solver, so they are believed
    assert checked(valley(tmp_path, 1e6), CRITICAL / 4, solver=solver).holds


def limit(solver: str) -> float:
    return 50 if solver in ("cbc", "pulp") else Tolerances().largest_big_m


@each_solver
@pytest.mark.parametrize("scale", [1e4, 1e6, 1e8])
def test_a_trickle_through_a_closed_relu_is_no_counterexample(
    solver: str, scale: float, tmp_path: Path
) -> None:
    # z = K (|x₀ − ½| − 0.3) is at most −K / 10 for ε = 0.2, but may be K / 10 for all that interval
    # arithmetic knows: a binary of 1e-6 instead of 0 lets max(z, 0) be K / 10⁷
    first = ([[1], [-1]], [-0.5, 0.5])
    second = ([[scale, scale]], [-0.3 * scale])
    network = dense_network(as_layers(first, second, ([[1], [0]], [0, 0.005])), tmp_path, DOUBLE)
    loose = Tolerances(integrality=1e-6, feasibility=1e-6)
    for tolerances in (None, loose):
        verdict = checked(network, 0.2, solver=solver, tolerances=tolerances)
        assert not verdict.violated


@pytest.mark.parametrize("bounds", [interval_bounds, crown_bounds])
def test_bounds_that_overflow_leave_the_answer_open(bounds: Any, tmp_path: Path) -> None:
    huge = as_layers(([[1e200]], [-1e200]), ([[1e200]], [0]), ([[1], [0]], [0, 1]))
    network = dense_network(huge, tmp_path, DOUBLE)
    verdict = check(network, [1.0], [0], epsilon=0.5, bounds=bounds, domain=(0.0, 2.0))
    assert verdict.answer is Answer.UNKNOWN
    assert "overflow" in str(verdict.reason)


@each_solver
def test_slopes_that_overflow_prove_nothing(solver: str, tmp_path: Path) -> None:
    # a tent between the input and the end of the ball, 1e99 high and of slope 1e400
    first = ([[1], [-1]], [-5e-301, 5e-301])
    second, third = ([[-1e200, -1e200]], [2.5e-101]), ([[1e200], [0]], [0, 1])
    network = dense_network(as_layers(first, second, third), tmp_path, DOUBLE)
    assert np.argmax(network.evaluate([5e-301])) != np.argmax(network.evaluate([0.0]))
    verdict = check(network, [0.0], [0], epsilon=1e-300, solver=solver)
    assert not verdict.holds


@pytest.mark.slow
@each_solver
def test_no_radius_leaves_the_input_alone(solver: str, tmp_path: Path) -> None:
    network = dense_network(random_layers(np.random.default_rng(0), (3, 4, 3)), tmp_path)
    x = np.array([0.2, 0.5, 0.9])
    assert check(network, x, [0, 1, 2], epsilon=0.0, solver=solver).holds
    assert check(network, x, [0, 1, 2], epsilon=0.0, delta=0.01, solver=solver).holds


@each_solver
def test_nothing_free_leaves_the_input_alone(solver: str, tmp_path: Path) -> None:
    network = dense_network(random_layers(np.random.default_rng(0), (3, 4, 3)), tmp_path)
    assert check(network, [0.2, 0.5, 0.9], [], epsilon=1.0, solver=solver).holds


@each_solver
@pytest.mark.parametrize("free", [[], [0, 1]])
@pytest.mark.parametrize("epsilon", [0.0, 0.25])
def test_a_tie_at_the_input_itself_is_no_proof(
    solver: str, free: list[int], epsilon: float, tmp_path: Path
) -> None:
    # both scores are max(x₀ + x₁ − 1, 0), everywhere
    layers = as_layers(([[1, 1]], [-1]), ([[1], [1]], [0, 0]))
    verdict = check(
        dense_network(layers, tmp_path, DOUBLE), [0.5, 0.5], free, epsilon=epsilon, solver=solver
    )
    assert verdict.answer is Answer.UNKNOWN
    assert verdict.reason


@each_solver
def test_a_delta_of_zero_is_never_proven_where_nothing_moves(solver: str, tmp_path: Path) -> None:
    network = dense_network(as_layers(([[1, 1]], [0]), ([[1]], [0])), tmp_path, DOUBLE)
    verdict = check(network, [0.5, 0.5], [0, 1], epsilon=0.0, delta=0.0, solver=solver)
    assert verdict.answer is Answer.UNKNOWN


@each_solver
def test_no_time_at_all_is_unknown(solver: str, tmp_path: Path) -> None:
    verdict = checked(valley(tmp_path), CRITICAL - 0.05, solver=solver, seconds=1e-9)
    assert verdict.answer is Answer.UNKNOWN
    assert verdict.reason == "time limit"


@each_solver
def test_a_check_out_of_time_is_unknown(solver: str, tmp_path: Path) -> None:
    verdict = check(
        hard_network(tmp_path), HARD_X, range(20), solver=solver, time_limit=0.5, **HARD_OPTIONS
    )
    assert verdict.answer is Answer.UNKNOWN
    assert verdict.reason == "time limit"
    # a solver that is quick with half a second of work begins anew with deeper bounds
    assert verdict.effort.solves in (1, 2)


def test_the_tolerance_is_what_a_proof_must_clear(tmp_path: Path) -> None:
    network, epsilon = valley(tmp_path), CRITICAL - 0.05
    assert checked(network, epsilon, tolerances=Tolerances(margin=0.04)).holds
    verdict = checked(network, epsilon, tolerances=Tolerances(margin=0.06))
    assert verdict.reason == (
        "the worst margin, -5.00e-02, is within the tolerance 6.00e-02 of zero"
    )
    # bounds must clear it as well: they prove −¼ + 2 ε = −0.1
    assert checked(network, 0.075, tolerances=Tolerances(margin=0.06)).effort.solves == 0
    assert checked(network, 0.075, tolerances=Tolerances(margin=0.11)).effort.solves > 0


@pytest.mark.parametrize("highest", [5e-7, 1e-9, 0.0, -1e-9, -5e-7])
def test_a_margin_near_zero_is_not_dropped_for_good(highest: float, tmp_path: Path) -> None:
    # class 0 reaches class 2 by that much at x₀ = ¾, class 1 is ahead at x₁ = ¾ and only there
    layers = as_layers(([[1, 0], [0, 1], [0, 0]], [highest - 0.75, -0.6, 0]))
    network = dense_network(layers, tmp_path, DOUBLE)
    first = check(network, [0.5, 0.5], [0], epsilon=0.25)
    assert first.answer is (Answer.VIOLATED if highest > 0 else Answer.UNKNOWN)
    assert check(network, [0.5, 0.5], [0], epsilon=0.25 - 1e-5).holds
    assert 0 in explain(network, [0.5, 0.5], epsilon=0.25, order=[0, 1]).explanation


def test_the_bound_of_what_holds_is_above_every_margin(tmp_path: Path) -> None:
    # at most −⅛ for class 0, which is dropped for good; class 1 is ahead at x₁ = ¾ and only there
    layers = as_layers(([[1, 0], [0, 1], [0, 0]], [-0.875, -0.7, 0]))
    verdict = check(dense_network(layers, tmp_path, DOUBLE), [0.5, 0.5], [0], epsilon=0.25)
    assert verdict.holds
    assert verdict.bound is not None
    assert -0.125 <= verdict.bound < -0.1249


def test_large_margins_need_more_to_be_decisive() -> None:
    tolerances = Tolerances(margin=1e-6, relative_margin=1e-9)
    assert tolerances.decisive(1.0) == 1e-6
    assert tolerances.decisive(1e6) == pytest.approx(1e-3)


def test_a_verdict_is_not_a_truth_value() -> None:
    with pytest.raises(TypeError, match="three values"):
        bool(Verdict(Answer.HOLDS))


def test_efforts_add_up() -> None:
    one, two = Effort(solves=1, nodes=3, seconds=0.5), Effort(solves=2, bounded=4, iterations=5)
    total = one + two
    assert (total.solves, total.bounded, total.nodes) == (3, 4, 3)
    assert (total.iterations, total.seconds) == (5, 0.5)
