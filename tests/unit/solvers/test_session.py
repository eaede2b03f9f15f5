"""Sessions of every solver installed: bounds never above the optimum, points that are feasible."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from milp_verix.solvers import Session, SolveResult, SolveStatus, Targets, open_session
from tests.support.installed_solvers import each_solver
from tests.support.random_networks import cube, network_of, random_layers
from tests.support.scipy_reference import optimum, over, violation
from tests.support.small_programs import small_multiple
from tests.support.unsolvable_problems import hard_cost, hard_program
from verix_encodings import Program, ProgramBuilder

INF = np.inf


@cache
def program_of(seed: int, sizes: tuple[int, ...] = (4, 5, 3, 2)) -> Program:
    network = network_of(random_layers(np.random.default_rng(seed), sizes))
    return over(network, cube(network.input_size)).program


def costs_of(program: Program, count: int) -> NDArray[np.float64]:
    return np.random.default_rng(1).normal(size=(count, program.columns))


_best: dict[tuple[Program, bytes], float] = {}


def best_of(program: Program, cost: NDArray[np.float64]) -> float:
    """Return the optimum by scipy, found once."""
    key = program, cost.tobytes()
    if key not in _best:
        _best[key] = optimum(program, cost)[0]
    return _best[key]


def assert_sound(result: SolveResult, program: Program, cost: NDArray[np.float64]) -> None:
    best = best_of(program, cost)
    assert result.bound <= best + 1e-9 * max(1, abs(best))
    if result.point is not None:
        assert violation(program, result.point) <= 1e-6
        assert cost @ result.point >= best - 1e-6 * max(1, abs(best))


def assert_optimal(result: SolveResult, program: Program, cost: NDArray[np.float64]) -> None:
    best = best_of(program, cost)
    assert_sound(result, program, cost)
    assert result.status is SolveStatus.OPTIMAL
    assert result.bound >= best - 2e-5 * max(1, abs(best))
    assert result.point is not None
    assert cost @ result.point == pytest.approx(best, rel=1e-6, abs=1e-6)


@each_solver
def test_one_load_serves_many_costs(session: Session) -> None:
    program = program_of(0)
    assert program.binaries > 3
    session.load(program)
    for cost in costs_of(program, 10):
        assert_optimal(session.minimise(cost, Targets()), program, cost)


@each_solver
def test_programs_follow_each_other(session: Session) -> None:
    # integers, none, and again; larger, smaller, and again
    programs = [program_of(0), program_of(1, (3, 2)), program_of(2, (5, 8, 2)), program_of(0)]
    assert [program.binaries > 0 for program in programs] == [True, False, True, True]
    for program in programs:
        session.load(program)
        for cost in costs_of(program, 2):
            assert_optimal(session.minimise(cost, Targets()), program, cost)


# where the two targets lie from the optimum: a point below the first, or a proof above the second
TARGETS = [(0.5, 0.6), (1e-3, 2e-3), (-0.6, -0.5), (-2e-3, -1e-3), (-0.1, 0.1), (-INF, -0.5)]


@pytest.mark.slow
@each_solver
@pytest.mark.parametrize(("violated", "holds"), [*TARGETS, (0.5, INF), (-0.5, INF)])
def test_targets_end_a_solve_soundly(session: Session, violated: float, holds: float) -> None:
    program = program_of(3)
    session.load(program)
    for cost in costs_of(program, 4):
        best = best_of(program, cost)
        targets = Targets(violated_below=best + violated, holds_above=best + holds)
        result = session.minimise(cost, targets)
        assert_sound(result, program, cost)
        assert result.status in (SolveStatus.OPTIMAL, SolveStatus.TARGET)
        if violated > 0:
            assert result.point is not None
            assert cost @ result.point < best + violated
        if holds < 0:
            # the slack that a check allows for: half of the smallest decisive margin
            assert result.bound > best + holds - 5e-7
        # whatever ended this solve does not end the next one
        assert_optimal(session.minimise(cost, Targets()), program, cost)


@each_solver
@pytest.mark.parametrize("integer", [True, False])
def test_an_infeasible_program_proves_nothing(session: Session, integer: bool) -> None:
    builder = ProgramBuilder()
    x = builder.add_columns("x", np.arange(2), 0.0, 1.0, integer=integer)
    builder.add_rows("sum", np.arange(1), [(sp.csr_array(np.ones((1, 2))), x)], 3.0, INF)
    session.load(builder.build())
    result = session.minimise(np.ones(2), Targets())
    assert result.status is SolveStatus.INFEASIBLE
    # a bound of ∞ would be right, and a trap: the programs of checks are always feasible
    assert result.bound == -INF
    assert result.point is None
    feasible = program_of(0)
    session.load(feasible)
    (cost,) = costs_of(feasible, 1)
    assert_optimal(session.minimise(cost, Targets()), feasible, cost)


@each_solver
def test_a_program_without_columns_costs_nothing(session: Session) -> None:
    session.load(ProgramBuilder().build())
    result = session.minimise(np.zeros(0), Targets())
    assert result.status is SolveStatus.OPTIMAL
    assert result.bound == pytest.approx(0, abs=2e-5)
    assert result.bound <= 0


@each_solver
def test_a_program_without_rows_is_a_box(session: Session) -> None:
    builder = ProgramBuilder()
    builder.add_columns("x", np.arange(3), [-1.0, 0.0, 2.0], [1.0, 5.0, 2.0])
    program, cost = builder.build(), np.array([1.0, -2.0, 3.0])
    session.load(program)
    result = session.minimise(cost, Targets())
    assert_optimal(result, program, cost)
    assert result.point == pytest.approx([-1, 5, 2])


@each_solver
@pytest.mark.parametrize("seconds", [0.0, 1e-9, 0.3])
def test_a_time_limit_leaves_a_sound_bound(session: Session, seconds: float) -> None:
    program, cost = hard_program(), hard_cost()
    session.load(program)
    result = session.minimise(cost, Targets(seconds=seconds))
    assert result.status is SolveStatus.TIME_LIMIT
    # some random split is no better than the best one
    splits = np.random.default_rng(0).integers(0, 2, (1000, 40))
    A = program.matrix[:5, 5:].toarray()
    attained = float(np.min(np.abs(splits @ A.T - program.row_upper[:5]).sum(axis=1)))
    assert result.bound <= attained
    if result.point is not None:
        assert violation(program, result.point) <= 1e-6
        assert result.bound <= cost @ result.point + 1e-6
    easy = program_of(0)
    session.load(easy)
    (cost,) = costs_of(easy, 1)
    assert_optimal(session.minimise(cost, Targets(seconds=60)), easy, cost)


@each_solver
@pytest.mark.parametrize("seconds", [0.0, 1e-9, 1e-3])
def test_a_linear_program_out_of_time_has_no_bound_above_its_optimum(
    session: Session, seconds: float
) -> None:
    program = hard_program().relaxed
    for sign in (1.0, -1.0):
        cost = sign * np.random.default_rng(0).uniform(0.5, 1.0, program.columns)
        # not the box alone: else any bound of the columns would do
        bounded = program.with_bounds(np.arange(5), 0.0, 100.0)
        best, _ = optimum(bounded, cost)
        session.load(bounded)
        result = session.minimise(cost, Targets(seconds=seconds))
        assert result.bound <= best + 1e-9 * abs(best)


@each_solver
def test_large_coefficients(session: Session) -> None:
    (first, shift), *rest = random_layers(np.random.default_rng(0), (4, 6, 4, 2))
    layers = ((1000 * first, 1000 * shift), *rest)
    program = over(network_of(layers), cube(4)).program
    session.load(program)
    for cost in costs_of(program, 4):
        assert_optimal(session.minimise(cost, Targets()), program, cost)


@each_solver
def test_small_coefficients_count(session: Session) -> None:
    session.load(small_multiple(1e-10, 1e9))
    result = session.minimise(np.array([0.0, -1.0]), Targets())
    assert result.bound == pytest.approx(-0.1, abs=2e-5)
    assert result.bound <= -0.1 + 1e-9


@each_solver
def test_any_number_of_threads_in_one_process(solver: str) -> None:
    program = program_of(0)
    (cost,) = costs_of(program, 1)
    for threads in (1, 2, 1):
        session = open_session(solver, threads=threads)
        session.load(program)
        assert_optimal(session.minimise(cost, Targets()), program, cost)
        session.close()


@each_solver
def test_a_session_says_what_it_is(session: Session, solver: str) -> None:
    assert session.name == solver
    assert session.version[0].isdigit()
    assert session.largest_big_m > 0
    assert session.notes == ()
