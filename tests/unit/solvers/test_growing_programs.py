"""Programs that grow under a live session, and columns that it branches on first."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from milp_verix.base.errors import LicenceLimitError
from milp_verix.base.tolerances import Tolerances
from milp_verix.comparison.timed_solver import SolverClock, TimedSolver
from milp_verix.solvers import SOLVERS, Session, Targets, extend, open_session
from milp_verix.solvers.own_solver import LicenceFallback
from tests.support.fake_session import FakeSession
from tests.support.installed_solvers import each_solver, in_this_process, solvers_with
from tests.support.random_networks import cube, network_of, random_layers
from tests.support.scipy_reference import optimum, over
from tests.support.small_programs import assert_same_as_fresh, random_program
from verix_encodings import Program, ProgramBuilder, encode, interval_bounds
from verix_encodings.blocks.formulations import FORMULATIONS

IN_PLACE = solvers_with("growth")
PRIORITIES = solvers_with("priorities")


def growing(seed: int, steps: int = 5) -> list[Program]:
    """Return programs, each of which extends the one before it; zero is a point of all."""
    rng = np.random.default_rng(seed)
    builder = ProgramBuilder()
    every = builder.add_columns("d0", np.arange(4), 0.0, 1.0, integer=True)
    programs = []
    for step in range(steps):
        if step % 3 != 2:
            # now and then rows alone
            new = [
                builder.add_columns(f"v{step}", np.arange(2), -rng.uniform(0, 2, 2), 2.0),
                builder.add_columns(f"d{step + 1}", np.arange(2), 0.0, 1.0, integer=True),
            ]
            every = np.concatenate([every, *new])
        size = every.size
        rows = rng.normal(size=(3, size)) * (rng.random((3, size)) < 0.6)
        lower, upper = -rng.uniform(0, 2, 3), rng.uniform(0, 2, 3)
        lower[0], lower[1], upper[1] = -np.inf, 0.0, 0.0
        builder.add_rows(f"row{step}", np.arange(3), [(sp.csr_array(rows), every)], lower, upper)
        programs.append(builder.build())
    return programs


def costs_of(program: Program, count: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(count, program.columns))


@each_solver
@pytest.mark.parametrize("seed", range(3))
def test_an_extended_program_is_a_fresh_one(session: Session, seed: int) -> None:
    optima = []
    for number, program in enumerate(growing(seed)):
        extend(session, program)
        for cost in costs_of(program, 2, number):
            assert_same_as_fresh(session, program, cost)
            # what the rows before these would allow
            before = growing(seed)[max(number - 1, 0)]
            optima.append(optimum(program, cost)[0] - optimum(before, cost[: before.columns])[0])
    assert max(map(abs, optima)) > 1e-3, "what was added made no difference"


@each_solver
def test_bounds_set_before_are_undone(session: Session) -> None:
    small, program = growing(3, 2)
    cost = costs_of(program, 1)[0]
    extend(session, small)
    columns = np.arange(small.columns)
    session.set_bounds(columns, np.zeros(columns.size), np.zeros(columns.size))
    assert session.minimise(cost[: small.columns], Targets()).bound == pytest.approx(0, abs=2e-5)
    extend(session, program)
    assert optimum(program, cost)[0] < -0.1
    assert_same_as_fresh(session, program, cost)
    # and what is set after it is in its place
    last = np.array([program.columns - 1])
    session.set_bounds(last, np.ones(1), np.ones(1))
    assert_same_as_fresh(session, program.with_bounds(last, 1.0, 1.0), cost)


@each_solver
def test_what_is_no_extension_is_loaded(session: Session) -> None:
    first, second = growing(0, 3)[-1], growing(1, 4)[-1]
    shrunk = growing(0, 1)[0]
    tighter = replace(first, row_upper=np.minimum(first.row_upper, 0.1))
    for program in (first, second, shrunk, tighter, first, random_program(0)):
        extend(session, program)
        assert_same_as_fresh(session, program, costs_of(program, 1)[0])


@each_solver
def test_tiny_entries_that_come_later_are_kept_in_mind(session: Session) -> None:
    # y = 9e-14 x with x ≤ 1e12, which solvers drop
    builder = ProgramBuilder()
    x = builder.add_columns("x", np.arange(1), 0.0, 1e12)
    extend(session, builder.build())
    session.minimise(np.ones(1), Targets())
    y = builder.add_columns("y", np.arange(1), 0.0, 1.0)
    one = sp.csr_array([[1.0]])
    builder.add_rows("define", np.arange(1), [(one, y), (-9e-14 * one, x)], 0.0, 0.0)
    extend(session, builder.build())
    assert session.minimise(np.array([0.0, -1.0]), Targets()).bound <= -0.09 + 1e-9


# OR-Tools does not load beside highspy
@pytest.mark.parametrize("solver", [one for one in IN_PLACE if one.values != ("ortools",)])
def test_solvers_that_grow_in_place_load_once(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "growth" in SOLVERS[solver].capabilities
    session = in_this_process(solver)
    programs = growing(7)
    session.load(programs[0])

    def refuse(_program: Program) -> None:
        raise AssertionError("loaded again")

    monkeypatch.setattr(session, "load", refuse)
    for program in programs:
        extend(session, program)
        for cost in costs_of(program, 2):
            assert_same_as_fresh(session, program, cost)
    with pytest.raises(AssertionError, match="loaded again"):
        extend(session, random_program(0))
    monkeypatch.undo()
    session.close()


def test_the_others_load() -> None:
    fake = FakeSession(lambda *_: None)
    for program in growing(0):
        extend(fake, program)
        assert fake.program is program
    assert not any("growth" in SOLVERS[name].capabilities for name in ("cbc", "pulp", "pyomo"))


def test_an_extension_has_everything_at_its_place() -> None:
    small, large = growing(0, 4)[2:]
    assert large.extends(small)
    assert large.extends(large)
    assert not small.extends(large)
    network = network_of(random_layers(np.random.default_rng(0), (3, 4, 2)))
    box = cube(3)
    logical = encode(
        network, interval_bounds(network, box), relu=FORMULATIONS["indicator"].relu
    ).program
    assert logical.needs
    assert not logical.extends(logical)
    for name in ("row_lower", "row_upper", "column_lower", "column_upper", "integer"):
        values = getattr(large, name).copy()
        values[1] = not values[1] if name == "integer" else values[1] - 0.5
        assert not replace(large, **{name: values}).extends(small), name
        values = getattr(large, name).copy()
        values[-1] = not values[-1] if name == "integer" else values[-1] - 0.5
        assert replace(large, **{name: values}).extends(small), name
    matrix = large.matrix.copy()
    matrix.data[0] += 1e-12
    assert not replace(large, matrix=matrix).extends(small)
    # a new column in an old row
    entry = sp.csr_array(([1.0], ([0], [large.columns - 1])), shape=matrix.shape)
    assert not replace(large, matrix=sp.csr_array(large.matrix + entry)).extends(small)


def test_an_extension_goes_along_when_a_program_is_handed_over() -> None:
    programs = growing(1)
    primary = _Limited(programs[2].columns)
    session = LicenceFallback(primary, lambda: open_session("highs"))
    for number, program in enumerate(programs):
        extend(session, program)
        assert_same_as_fresh(session, program, costs_of(program, 1)[0])
        assert session.handed_over == max(number - 2, 0)
    session.load(programs[0])
    assert_same_as_fresh(session, programs[0], costs_of(programs[0], 1)[0])
    assert session.handed_over == len(programs) - 3
    session.close()


class _Limited:
    """HiGHS with a licence that ends at some number of columns."""

    def __init__(self, most: int) -> None:
        self._session, self._most, self._columns = open_session("highs"), most, 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._session, name)

    def load(self, program: Program) -> None:
        self._columns = program.columns
        self._session.load(program)

    def extend(self, program: Program) -> None:
        self._columns = program.columns
        extend(self._session, program)

    def minimise(self, cost: NDArray[np.float64], targets: Targets) -> object:
        if self._columns > self._most:
            raise LicenceLimitError("too many columns")
        return self._session.minimise(cost, targets)


def test_growth_is_timed_as_a_build() -> None:
    watch = SolverClock()
    session = TimedSolver("highs", watch).open(threads=1, tolerances=Tolerances())
    for program in growing(0, 3):
        extend(session, program)
        session.minimise(np.ones(program.columns), Targets())
    session.close()
    assert (watch.time.builds, watch.time.solves, watch.time.resolves) == (3, 3, 0)
    assert watch.time.build_seconds > 0


@each_solver
def test_what_is_branched_on_first_never_changes_the_answer(session: Session) -> None:
    for seed in range(3):
        program = random_program(seed)
        binaries = np.flatnonzero(program.integer)
        session.load(program)
        for first in (binaries[:2], binaries, binaries[3:], np.zeros(0, dtype=np.intp), None):
            cost = costs_of(program, 1, seed)[0]
            best, _ = optimum(program, cost)
            result = session.minimise(cost, Targets(first=first))
            assert result.bound == pytest.approx(best, abs=2e-5, rel=2e-5)
            assert result.bound <= best + 1e-8


@pytest.mark.parametrize("solver", PRIORITIES)
def test_solvers_with_priorities_search_another_tree(solver: str) -> None:
    program = over(
        network_of(random_layers(np.random.default_rng(0), (6, 10, 8, 2))), cube(6)
    ).program
    cost, phases = costs_of(program, 1)[0], np.flatnonzero(program.integer)
    best, _ = optimum(program, cost)

    def nodes(first: NDArray[np.intp] | None) -> int:
        session = open_session(solver)
        session.load(program)
        result = session.minimise(cost, Targets(first=first))
        assert result.bound == pytest.approx(best, abs=2e-5, rel=2e-5)
        session.close()
        return result.nodes

    untold = nodes(None)
    assert untold > 10
    assert nodes(None) == untold
    assert nodes(phases[-8:]) != untold
