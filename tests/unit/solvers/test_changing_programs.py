"""Bounds that change under a live program, starts, and memory over hundreds of solves."""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from milp_verix.base.errors import LicenceLimitError
from milp_verix.solvers import SOLVERS, Session, SolveStatus, Targets, open_session
from milp_verix.solvers.own_solver import LicenceFallback
from tests.support.fake_session import FakeSession
from tests.support.installed_solvers import each_solver, needs, solvers_with
from tests.support.random_networks import cube, network_of, random_layers
from tests.support.scipy_reference import optimum, over
from tests.support.small_programs import assert_same_as_fresh, random_program, small_multiple
from verix_encodings import Program, ProgramBuilder

IN_PROCESS = [pytest.param(name, marks=needs(name)) for name in ("highs", "phase", "gurobi")]
STARTING = solvers_with("start")


def network_program(seed: int) -> Program:
    return over(network_of(random_layers(np.random.default_rng(seed), (3, 6, 2))), cube(3)).program


@pytest.mark.slow
@each_solver
@pytest.mark.parametrize("make", [network_program, random_program])
def test_changed_bounds_are_those_of_a_fresh_program(session: Session, make: object) -> None:
    assert callable(make)
    for seed in range(4):
        original = make(seed)
        session.load(original)
        rng = np.random.default_rng(seed)
        program = original
        optima = []
        for _ in range(5):
            # the input's box shrinks around a feasible point, a phase is fixed; then back again
            cost = rng.normal(size=program.columns)
            at = optimum(program, rng.normal(size=program.columns))[1]
            columns = rng.choice(program.columns, size=4, replace=False)
            near = rng.uniform(0, 0.2, size=(2, 4))
            low = np.maximum(original.column_lower[columns], at[columns] - near[0])
            high = np.minimum(original.column_upper[columns], at[columns] + near[1])
            whole = original.integer[columns]
            low[whole] = high[whole] = np.round(at[columns][whole])
            program = program.with_bounds(columns, low, high)
            session.set_bounds(columns, low, high)
            assert_same_as_fresh(session, program, cost)
            optima.append(optimum(program, cost)[0] - optimum(original, cost)[0])
            if rng.random() < 0.5:
                everything = np.arange(program.columns)
                program = original
                session.set_bounds(everything, program.column_lower, program.column_upper)
                assert_same_as_fresh(session, program, cost)
        assert max(optima) > 1e-3, "the bounds made no difference"


@each_solver
def test_bounds_last_until_the_next_load(session: Session) -> None:
    program = random_program(0)
    cost = np.ones(program.columns)
    session.load(program)
    session.set_bounds(np.arange(6, 12), np.zeros(6), np.zeros(6))
    session.load(program)
    assert_same_as_fresh(session, program, cost)


@each_solver
def test_wider_bounds_widen_what_tiny_entries_may_do(session: Session) -> None:
    # y = 9e-14 x: solvers drop the entry, and a row that allowed for x ≤ 1 is wrong for x ≤ 1e12
    session.load(small_multiple(9e-14, 1.0))
    session.set_bounds(np.arange(1), np.zeros(1), np.array([1e12]))
    assert session.minimise(np.array([0.0, -1.0]), Targets()).bound <= -0.09 + 1e-9


@each_solver
def test_bounds_that_leave_no_point_prove_nothing(session: Session) -> None:
    builder = ProgramBuilder()
    x = builder.add_columns("x", np.arange(2), 0.0, 1.0, integer=True)
    builder.add_rows("sum", np.arange(1), [(sp.csr_array(np.ones((1, 2))), x)], 1.0, np.inf)
    program = builder.build()
    session.load(program)
    session.set_bounds(x, np.zeros(2), np.zeros(2))
    result = session.minimise(np.ones(2), Targets())
    assert result.status is SolveStatus.INFEASIBLE
    assert result.bound == -np.inf
    session.set_bounds(x, np.zeros(2), np.ones(2))
    assert_same_as_fresh(session, program, np.ones(2))


@each_solver
def test_a_start_never_changes_the_answer(session: Session) -> None:
    for seed in range(4):
        program = random_program(seed)
        rng = np.random.default_rng(seed)
        cost = rng.normal(size=program.columns)
        best, point = optimum(program, cost)
        starts = [
            point,
            np.zeros(program.columns),
            rng.normal(size=program.columns),
            np.where(program.integer, 1 - point, point),
            np.full(program.columns, 1e30),
            np.full(program.columns, np.nan),
        ]
        session.load(program)
        for start in starts:
            for holds in (np.inf, best + 0.1, best - 0.1):
                result = session.minimise(cost, Targets(start=start, holds_above=holds))
                assert result.status in (SolveStatus.OPTIMAL, SolveStatus.TARGET)
                assert result.bound <= best + 1e-8
                assert result.bound >= min(best - 2e-5 * max(1, abs(best)), holds - 5e-7)
                if result.point is not None:
                    assert cost @ result.point >= best - 1e-6
                elif holds > best:
                    raise AssertionError("there was a point below the target")


def planted_split() -> tuple[Program, NDArray[np.float64], NDArray[np.float64]]:
    """Return a market split with a solution of cost zero, the cost, and that solution.

    Branch and bound does not come across it in hours; whoever is given it is done at once.
    """
    rng = np.random.default_rng(0)
    A = rng.integers(0, 100, (5, 40)).astype(float)
    chosen = rng.integers(0, 2, 40).astype(float)
    one = sp.eye_array(5, format="csr")
    builder = ProgramBuilder()
    s = builder.add_columns("s", np.arange(5), 0.0, 1e4)
    x = builder.add_columns("x", np.arange(40), 0.0, 1.0, integer=True)
    terms = sp.csr_array(A)
    builder.add_rows("above", np.arange(5), [(terms, x), (-one, s)], -np.inf, A @ chosen)
    builder.add_rows("below", np.arange(5), [(terms, x), (one, s)], A @ chosen, np.inf)
    cost = np.concatenate([np.ones(5), np.zeros(40)])
    return builder.build(), cost, np.concatenate([np.zeros(5), chosen])


@pytest.mark.parametrize("solver", STARTING)
def test_a_good_start_is_taken(session: Session) -> None:
    program, cost, solution = planted_split()
    session.load(program)
    cold = session.minimise(cost, Targets(seconds=0.5))
    assert cold.status is SolveStatus.TIME_LIMIT
    warm = session.minimise(cost, Targets(seconds=20, start=solution))
    assert warm.status is SolveStatus.OPTIMAL
    assert warm.point is not None
    assert cost @ warm.point == pytest.approx(0, abs=1e-6)


@each_solver
def test_a_start_of_another_size_is_refused_or_ignored(session: Session, solver: str) -> None:
    session.load(random_program(0))
    targets = Targets(start=np.zeros(3))
    if "start" in SOLVERS[solver].capabilities:
        with pytest.raises(ValueError, match=r"12 values.*\(3,\)"):
            session.minimise(np.ones(12), targets)
    else:
        assert session.minimise(np.ones(12), targets).status is SolveStatus.OPTIMAL


def test_bounds_go_along_when_a_program_is_handed_over() -> None:
    def refuse(*_: object) -> None:
        raise LicenceLimitError("no more")

    fake = FakeSession(refuse)
    session = LicenceFallback(fake, lambda: open_session("highs"))
    program = random_program(1)
    session.load(program)
    columns = np.arange(6, 12)
    session.set_bounds(columns, np.full(6, -0.1), np.full(6, 0.1))
    changed = program.with_bounds(columns, -0.1, 0.1)
    assert_same_as_fresh(session, changed, np.ones(12))
    session.set_bounds(columns, np.full(6, -0.2), np.full(6, 0.2))
    assert_same_as_fresh(session, program.with_bounds(columns, -0.2, 0.2), np.ones(12))
    session.close()


def resident() -> int:
    """Return the bytes of memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _growth(solver: str) -> int:
    """Return by how many bytes this process grows over five hundred solves."""
    layers = random_layers(np.random.default_rng(0), (10, 8, 2))
    encoding = over(network_of(layers), cube(10))
    program = encoding.program
    assert program.binaries >= 5
    row, _ = encoding.output.row(0, program.columns)
    rng = np.random.default_rng(1)
    session = open_session(solver)
    session.load(program)

    def solve(times: int) -> None:
        for _ in range(times):
            columns = rng.choice(10, size=6, replace=False)
            at = rng.uniform(0.1, 0.9, size=6)
            session.set_bounds(columns, at - 0.05, at + 0.05)
            start = np.zeros(program.columns)
            assert session.minimise(row, Targets(start=start)).status is SolveStatus.OPTIMAL

    solve(200)
    before = resident()
    solve(500)
    grown = resident() - before
    session.close()
    return grown


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc to look into")
@pytest.mark.parametrize("solver", IN_PROCESS)
def test_five_hundred_solves_need_no_more_memory(solver: str) -> None:
    # what other tests leave in a process comes and goes
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
        grown = alone.submit(_growth, solver).result()
    # a model of this size takes 10 kB or more: 500 that stayed behind would take 5 MB
    assert grown < 3e6
