"""Proofs by cutoff on a solver whose every word is made up: none may follow from a wrong one."""

from collections.abc import Callable

import numpy as np
import pytest

from milp_verix.base.errors import SolverError
from milp_verix.solvers import SolveResult, SolveStatus, Targets
from milp_verix.solvers.backends import cbc, highs
from milp_verix.solvers.solver_facts import UNKNOWN
from milp_verix.solvers.trust import minimise_by_cutoff
from verix_encodings import Program, ProgramBuilder

COST = np.array([1.0, 1.0])


def program() -> Program:
    """Return ``x₁ + x₂ ≥ 1.5`` in [0, 1]²: the least sum is 1.5, in integers 2."""
    builder = ProgramBuilder()
    x = builder.add_columns("x", np.arange(2), 0.0, 1.0, integer=True)
    builder.add_rows("sum", np.arange(1), [(np.ones((1, 2)), x)], 1.5, np.inf)
    return builder.build()


def solved(
    *attempts: SolveResult, targets: Targets | None = None, caps: list[float] | None = None
) -> SolveResult:
    left = list(attempts)

    def solve(cap: float, _seconds: float) -> SolveResult:
        if caps is not None:
            caps.append(cap)
        return left.pop(0) if len(left) > 1 else left[0]

    return minimise_by_cutoff(program(), COST, targets or Targets(), highs.FACTS, solve)


BEST = SolveResult(SolveStatus.OPTIMAL, point=np.ones(2))
EMPTY = SolveResult(SolveStatus.INFEASIBLE)


def test_an_optimum_is_a_point_and_a_cutoff_below_it() -> None:
    caps: list[float] = []
    result = solved(BEST, EMPTY, caps=caps)
    assert result.status is SolveStatus.OPTIMAL
    assert caps[0] == np.inf
    assert 2 - 2e-5 < caps[1] < 2
    assert 2 - 2.1e-5 < result.bound < caps[1]


def test_optimal_is_only_a_word() -> None:
    # the first point is dearer than another that the cutoff brings
    builder = ProgramBuilder()
    builder.add_columns("x", np.arange(2), 0.0, 1.0)
    said = iter(
        [
            SolveResult(SolveStatus.OPTIMAL, point=np.ones(2)),
            SolveResult(SolveStatus.OPTIMAL, point=np.zeros(2)),
            EMPTY,
        ]
    )
    result = minimise_by_cutoff(
        builder.build(), COST, Targets(), highs.FACTS, lambda *_: next(said)
    )
    assert result.status is SolveStatus.OPTIMAL
    assert result.bound <= 0


@pytest.mark.parametrize(
    "point",
    [
        None,
        np.zeros(2),  # leftovers, against a row
        np.array([0.75, 0.75]),  # not whole
        np.array([2.0, 1.0]),  # beyond a bound
        np.array([np.nan, 1.0]),
        np.ones(3),
    ],
)
def test_a_point_that_is_none_is_dropped(point: np.ndarray | None) -> None:
    result = solved(SolveResult(SolveStatus.OPTIMAL, point=point), EMPTY)
    assert result.status is SolveStatus.FAILED
    assert result.bound == -np.inf
    assert result.point is None
    late = solved(SolveResult(SolveStatus.TIME_LIMIT, point=point))
    assert late.status is SolveStatus.TIME_LIMIT
    assert late.point is None


@pytest.mark.parametrize("outcome", [SolveStatus.TIME_LIMIT, SolveStatus.FAILED])
def test_without_an_answer_nothing_is_proven(outcome: SolveStatus) -> None:
    for attempts in ([SolveResult(outcome)], [BEST, SolveResult(outcome)]):
        for targets in (Targets(), Targets(holds_above=1.0)):
            result = solved(*attempts, targets=targets)
            assert result.status in (SolveStatus.TIME_LIMIT, SolveStatus.FAILED)
            assert result.bound == -np.inf


@pytest.mark.parametrize(
    ("always", "status"), [(EMPTY, SolveStatus.INFEASIBLE), (BEST, SolveStatus.FAILED)]
)
def test_infeasible_at_once_and_points_without_end_prove_nothing(
    always: SolveResult, status: SolveStatus
) -> None:
    result = solved(always)
    assert result.status is status
    assert result.bound == -np.inf


def test_a_target_is_asked_for_with_some_slack() -> None:
    caps: list[float] = []
    result = solved(EMPTY, targets=Targets(holds_above=1.0), caps=caps)
    assert result.status is SolveStatus.TARGET
    assert result.bound == 1.0
    assert 1.0 < caps[0] < 1.0 + 1e-5


def test_a_point_below_the_other_target_ends_it() -> None:
    result = solved(BEST, targets=Targets(violated_below=2.5, holds_above=3.0))
    assert result.status is SolveStatus.TARGET
    assert result.point is not None
    assert result.bound == -np.inf


def test_no_time_means_no_solve() -> None:
    def never(_cap: float, _seconds: float) -> SolveResult:
        raise AssertionError

    result = minimise_by_cutoff(program(), COST, Targets(seconds=0.0), highs.FACTS, never)
    assert result.status is SolveStatus.TIME_LIMIT


@pytest.mark.parametrize("engine", [cbc.FACTS, UNKNOWN])
def test_what_a_solver_is_not_trusted_with(engine: object) -> None:
    with pytest.raises(SolverError, match=r"not trusted with a coefficient of 1e\+10"):
        minimise_by_cutoff(program(), 1e10 * COST, Targets(), engine, lambda *_: EMPTY)  # type: ignore[arg-type]


def test_infeasible_may_mean_unbounded() -> None:
    builder = ProgramBuilder()
    builder.add_columns("x", np.arange(2), -np.inf, 1.0)
    with pytest.raises(SolverError, match="not bounded by the bounds"):
        minimise_by_cutoff(builder.build(), COST, Targets(), highs.FACTS, lambda *_: EMPTY)


def test_tiny_costs_that_a_solver_drops_are_allowed_for() -> None:
    builder = ProgramBuilder()
    builder.add_columns("x", np.arange(2), -1e12, [0.0, 1e12])
    cost = np.array([1e-12, 1.0])
    caps: list[float] = []

    def solve(cap: float, _seconds: float) -> SolveResult:
        caps.append(cap)
        return EMPTY

    targets = Targets(holds_above=3.0)
    assert minimise_by_cutoff(builder.build(), cost, targets, highs.FACTS, solve).bound == 3.0
    # the first column may lower the cost by 1, and the solver not know of it
    assert caps[0] >= 4.0


def test_whole_costs_need_no_fine_proof() -> None:
    caps: list[float] = []
    result = solved(BEST, EMPTY, targets=Targets(whole=True), caps=caps)
    assert 1.0 < caps[1] < 1.5
    assert np.ceil(result.bound) == 2


def test_a_cost_of_nothing_needs_no_proof() -> None:
    answer: Callable[[float, float], SolveResult] = lambda *_: BEST  # noqa: E731
    result = minimise_by_cutoff(program(), np.zeros(2), Targets(), highs.FACTS, answer)
    assert result.status is SolveStatus.OPTIMAL
    assert -1e-9 < result.bound <= 0
