"""Limits hold for each solve of a session, the later ones too; limits of work end it alike."""

import time
from dataclasses import replace

import numpy as np
import pytest

from milp_verix.solvers import SOLVERS, Session, SolveResult, SolveStatus, Targets, open_session
from tests.support.random_networks import network_of, random_layers
from verix_encodings import Interval, crown_bounds, encode
from verix_encodings.arrays import FloatArray
from verix_encodings.work import UNITS_PER_SECOND, worked


def _loaded(solver: str, integer: bool = True) -> tuple[Session, FloatArray]:
    """Return a session with minutes of work in it, or its relaxation, and the cost to minimise."""
    if reason := SOLVERS[solver].unavailable():
        pytest.skip(reason)
    network = network_of(random_layers(np.random.default_rng(0), (100, 80, 80, 5)))
    box = Interval(np.full(100, 0.2), np.full(100, 0.8))
    encoding = encode(network, crown_bounds(network, box))
    cost, _ = encoding.output.row(0, encoding.program.columns)
    program = encoding.program
    session = open_session(solver)
    session.load(replace(program, integer=program.integer & integer))
    return session, -cost


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_each_solve_of_a_session_keeps_its_limit(solver: str) -> None:
    session, cost = _loaded(solver)
    for _ in range(3):
        started = time.monotonic()
        result = session.minimise(cost, Targets(seconds=0.5))
        # it would be optimal after minutes
        assert result.status is SolveStatus.TIME_LIMIT
        assert time.monotonic() - started > 0.45
    session.close()


@pytest.mark.nightly
@pytest.mark.parametrize(
    "solver", [n for n, s in SOLVERS.items() if "work_limit" in s.capabilities]
)
def test_a_limit_of_work_ends_a_solve_at_the_same_place_each_time(solver: str) -> None:
    limit = UNITS_PER_SECOND // 4

    def solved() -> SolveResult:
        session, cost = _loaded(solver)
        reading = worked()
        result = session.minimise(cost, Targets(work=limit))
        assert worked() - reading >= limit
        session.close()
        return result

    one, other = solved(), solved()
    assert one.status is SolveStatus.TIME_LIMIT
    assert (one.bound, one.nodes, one.iterations) == (other.bound, other.nodes, other.iterations)
    assert (one.point is None) == (other.point is None)
    if one.point is not None and other.point is not None:
        assert np.array_equal(one.point, other.point)


@pytest.mark.parametrize("integer", [True, False])
def test_highs_ends_a_solve_at_a_limit_of_work_that_its_own_clock_does_not_see(
    integer: bool,
) -> None:
    """Its callbacks look at the limit: that of branch and bound, and that of the simplex method."""
    session, cost = _loaded("highs", integer)
    limit, reading, started = UNITS_PER_SECOND // 50, worked(), time.monotonic()
    result = session.minimise(cost, Targets(seconds=20, work=limit))
    session.close()
    assert result.status is SolveStatus.TIME_LIMIT
    assert limit <= worked() - reading < 4 * limit
    assert time.monotonic() - started < 15  # it was 20 where the callback did not look
