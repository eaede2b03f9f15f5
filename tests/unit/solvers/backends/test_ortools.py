"""SCIP in OR-Tools: its model forgets what changes by less than 1e-9, its session does not."""

import numpy as np
import pytest

from milp_verix.solvers import Session, Targets, open_session
from tests.support.installed_solvers import needs
from verix_encodings import ProgramBuilder

pytestmark = needs("ortools")


def _loaded(upper: float) -> Session:
    builder = ProgramBuilder()
    builder.add_columns("x", np.arange(1), 0.0, upper)
    builder.add_columns("z", np.arange(1), 0.0, 1.0, integer=True)
    session = open_session("ortools")
    session.load(builder.build())
    return session


def test_costs_that_change_by_next_to_nothing_count() -> None:
    session = _loaded(1e6)
    for factor in (1.0, 0.0, 1.0, 2.0):
        result = session.minimise(np.array([-5e-10 * factor, 1.0]), Targets())
        assert result.bound <= -5e-4 * factor
        moved = session.minimise(np.array([-5e-10 * factor - 1.0, 1.0]), Targets())
        assert moved.bound <= -5e-4 * factor - 1e6
    session.close()


def test_bounds_that_move_by_next_to_nothing_add_up() -> None:
    session, cost = _loaded(1.0), np.array([-1000.0, 1.0])
    for step in range(1, 101):
        session.set_bounds(np.arange(1), np.zeros(1), np.array([1.0 + 8e-10 * step]))
        session.minimise(cost, Targets())
    assert session.minimise(cost, Targets()).bound == pytest.approx(-1000 - 8e-5, abs=1e-6)
    session.close()


def test_bounds_of_binaries_change_and_a_cutoff_is_no_bound_of_a_later_solve() -> None:
    session, cost = _loaded(1.0), np.array([1.0, -1.0])
    assert session.minimise(cost, Targets(holds_above=-2.0)).bound > -2 - 1e-6
    for upper in (0.0, 1.0, 0.0):
        session.set_bounds(np.array([1]), np.zeros(1), np.array([upper]))
        assert session.minimise(cost, Targets()).bound == pytest.approx(-upper)
        proof = session.minimise(cost, Targets(holds_above=-upper + 0.5))
        assert proof.bound == pytest.approx(-upper)
    session.close()
