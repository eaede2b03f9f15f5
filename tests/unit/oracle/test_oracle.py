"""Whatever a solver says, no check gives a wrong definite answer."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from milp_verix import Answer, InputError, Problem, check, explain
from milp_verix.base.errors import LicenceLimitError, SolverError
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.search import Search
from milp_verix.solvers import SolveResult, SolveStatus, Targets
from tests.support import scipy_reference as mip
from tests.support.fake_session import install
from tests.support.known_radius_network import X, checked, valley
from verix_encodings import Program, interval_bounds

HOLDS, VIOLATED = 0.2, 0.3
"""Radii below and above the critical one, both left open by the bounds."""

Array = NDArray[np.float64]
_known: dict[tuple[bytes, ...], tuple[float, Array]] = {}


def optimum(program: Program, cost: Array) -> tuple[float, Array]:
    """Return the optimum by scipy; the same few programs are asked for again and again."""
    key = (program.column_lower.tobytes(), program.column_upper.tobytes(), cost.tobytes())
    if key not in _known:
        _known[key] = mip.optimum(program, cost)
    return _known[key]


def points(program: Program, cost: Array) -> list[Array | None]:
    """Return no point, the best, the worst, and points that are none of the program's."""
    inside, size = optimum(program, cost)[1], program.columns
    return [
        None,
        inside,
        optimum(program, -cost)[1],
        np.zeros(size),
        np.full(size, 1e6),
        np.full(size, np.nan),
        np.where(np.arange(size) == 0, np.inf, inside),
    ]


COUNT = 7


@pytest.mark.slow
@pytest.mark.parametrize("status", SolveStatus)
@pytest.mark.parametrize("epsilon", [HOLDS, VIOLATED])
def test_no_words_of_a_solver_make_a_wrong_answer(
    status: SolveStatus, epsilon: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = valley(tmp_path)
    right = Answer.HOLDS if epsilon == HOLDS else Answer.VIOLATED
    seen = set()
    for which, gap in product(range(COUNT), (0.0, 1e-3, 10.0, np.inf, np.nan, -np.inf)):

        def say(
            program: Program,
            cost: Array,
            _targets: Targets,
            *,
            which: int = which,
            gap: float = gap,
        ) -> SolveResult:
            # bounds that are sound, none, and those that no feasible program has
            bound = optimum(program, cost)[0] - gap
            return SolveResult(status, bound, points(program, cost)[which])

        install(monkeypatch, say)
        verdict = checked(network, epsilon)
        assert verdict.answer in (right, Answer.UNKNOWN), (which, gap, verdict)
        assert verdict.answer is not Answer.UNKNOWN or verdict.reason
        seen.add(verdict.answer)
    # sound words are believed, and a point that replays counts whatever came with it
    proving = status not in (SolveStatus.INFEASIBLE, SolveStatus.FAILED)
    assert (right in seen) == (proving or right is Answer.VIOLATED)
    assert Answer.UNKNOWN in seen


@pytest.mark.parametrize("status", [SolveStatus.FAILED, SolveStatus.INFEASIBLE])
def test_a_failed_solve_proves_nothing_by_what_is_left_in_its_bound(
    status: SolveStatus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # HiGHS left 0 there when it refused to start, and others ∞ for "infeasible"
    for bound in (0.0, 1.0, np.inf):
        install(monkeypatch, lambda *_, b=bound: SolveResult(status, b, detail="what it said"))
        for epsilon in (HOLDS, VIOLATED):
            verdict = checked(valley(tmp_path), epsilon)
            assert verdict.reason == "numerical trouble: what it said"


@pytest.mark.parametrize("broken", [False, True])
def test_a_bound_that_its_own_point_does_not_confirm_proves_nothing(
    broken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lie(program: Program, cost: Array, _targets: Targets) -> SolveResult:
        best, point = optimum(program, cost)
        return SolveResult(SolveStatus.OPTIMAL, best + 1.0, point * np.nan if broken else point)

    install(monkeypatch, lie)
    verdict = checked(valley(tmp_path), VIOLATED)
    assert verdict.answer is Answer.UNKNOWN
    assert verdict.reason == "fake claims a bound that a point of its own exceeds"


def test_a_point_that_does_not_replay_is_no_counterexample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def invent(program: Program, _cost: Array, _targets: Targets) -> SolveResult:
        return SolveResult(SolveStatus.OPTIMAL, -10.0, program.column_upper)

    install(monkeypatch, invent)
    verdict = checked(valley(tmp_path), HOLDS)
    assert verdict.answer is Answer.UNKNOWN
    assert verdict.reason == "the solver's point does not change the prediction in onnxruntime"


MISSHAPED: dict[str, Callable[[Array], Array]] = {
    "a column": lambda point: point[:, None],
    "a row": lambda point: point[None],
    "too long": lambda point: np.append(point, 0.0),
    "too short": lambda point: point[:-1],
    "empty": lambda point: point[:0],
    "a number": lambda point: point.sum(),
}


@pytest.mark.parametrize("kind", MISSHAPED)
def test_a_point_of_another_shape_costs_the_check(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def misshape(program: Program, cost: Array, _targets: Targets) -> SolveResult:
        best, point = optimum(program, cost)
        return SolveResult(SolveStatus.OPTIMAL, best, MISSHAPED[kind](point))

    install(monkeypatch, misshape)
    for epsilon in (HOLDS, VIOLATED):
        verdict = checked(valley(tmp_path), epsilon)
        assert verdict.answer is Answer.UNKNOWN
        assert "fake failed: a point of shape" in str(verdict.reason)


def test_an_early_stop_that_decides_nothing_is_followed_by_the_optimum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def hasty(program: Program, cost: Array, targets: Targets) -> SolveResult:
        asked.append(targets)
        best, point = optimum(program, cost)
        if len(asked) == 1:
            return SolveResult(SolveStatus.TARGET, best - 10, np.zeros(program.columns), 2, 3)
        return SolveResult(SolveStatus.OPTIMAL, best, point, 5, 7)

    install(monkeypatch, hasty)
    verdict = checked(valley(tmp_path), HOLDS, seconds=100)
    assert verdict.holds
    assert np.isfinite([asked[0].violated_below, asked[0].holds_above]).all()
    assert (asked[1].violated_below, asked[1].holds_above) == (-np.inf, np.inf)
    assert 0 < asked[1].seconds < asked[0].seconds <= 100
    effort = verdict.effort
    assert (effort.solves, effort.nodes, effort.iterations) == (2, 7, 10)


@pytest.mark.parametrize("error", [SolverError("it broke"), LicenceLimitError("it broke")])
def test_a_crash_costs_one_check_and_its_session(
    error: SolverError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def crash_once(program: Program, cost: Array, _targets: Targets) -> SolveResult:
        calls.append(cost)
        if len(calls) == 1:
            raise error
        best, point = optimum(program, cost)
        return SolveResult(SolveStatus.OPTIMAL, best, point)

    solver = install(monkeypatch, crash_once)
    problem = Problem(valley(tmp_path), X, epsilon=HOLDS)
    with Oracle(problem, Search(solver="highs", bounds=interval_bounds, reuse=False)) as oracle:
        first = oracle.check(np.array([0]))
        assert first.answer is Answer.UNKNOWN
        assert first.reason == "fake failed: it broke"
        assert [session.closed for session in solver.opened] == [True]
        assert oracle.check(np.array([0])).holds
        assert oracle.check(np.array([0])).holds
        assert [session.closed for session in solver.opened] == [True, False]
    assert [session.closed for session in solver.opened] == [True, True]


def test_an_explanation_outlives_a_solver_that_always_crashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> SolveResult:
        raise SolverError("it broke")

    install(monkeypatch, crash)
    options: dict[str, Any] = {"bounds": interval_bounds, "reuse": False, "solver": "highs"}
    explanation = explain(valley(tmp_path), X, epsilon=HOLDS, **options)
    assert explanation.explanation == explanation.unknown == (0,)
    assert explanation.unknown_reasons == {0: "fake failed: it broke"}
    assert explanation.counterfactuals == {}


def test_all_margins_may_be_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lambda *_: SolveResult(SolveStatus.TIME_LIMIT))
    network = valley(tmp_path, regression=True)
    verdict = checked(network, VIOLATED, delta=0.25)
    assert verdict.reason == "time limit"
    assert verdict.effort.solves == 1


def test_ctrl_c_in_a_check_is_passed_on_and_the_session_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> SolveResult:
        raise KeyboardInterrupt

    solver = install(monkeypatch, interrupted)
    with pytest.raises(KeyboardInterrupt):
        checked(valley(tmp_path), HOLDS)
    assert [session.closed for session in solver.opened] == [True]


def test_nothing_is_opened_for_arguments_that_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solver = install(monkeypatch, lambda *_: SolveResult(SolveStatus.FAILED))
    with pytest.raises(InputError):
        check(valley(tmp_path), X, [1], epsilon=0.1)
    assert solver.opened == []
