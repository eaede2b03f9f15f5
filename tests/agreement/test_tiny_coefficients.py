"""Solvers drop tiny coefficients without a word; no proof may rest on a row that lost one."""

import numpy as np
import pytest

from milp_verix.solvers import Targets, open_session
from tests.support.installed_solvers import each_solver
from verix_encodings import Interval, ProgramBuilder, big_m_max, big_m_relu, linf_ball
from verix_encodings.program import LEAST_BIG_M


def test_coefficients_that_solvers_drop_are_not_written() -> None:
    # bounds that reach past zero by rounding alone, as for a neuron that is never active
    tiny = Interval(np.array([-1.0, -5e-15]), np.array([5e-15, 1.0]))
    builder = ProgramBuilder()
    x = linf_ball(builder, Interval(-np.ones(2), np.ones(2)))
    big_m_relu(builder, "0", x, tiny)
    program = builder.build()
    assert np.min(np.abs(program.matrix.data)) >= LEAST_BIG_M
    # the bounds of the columns are as tight as ever
    assert np.min(program.column_upper[~program.integer]) == 5e-15
    builder = ProgramBuilder()
    entries = Interval(np.zeros(2), np.array([1e-15, 1.0]))
    difference = Interval(np.array([-1e-15]), np.ones(1))
    pairs = np.array([0]), np.array([1])
    z = linf_ball(builder, entries)
    big_m_max(builder, "0", pairs, z, entries=entries, difference=difference)
    assert np.min(np.abs(builder.build().matrix.data)) >= LEAST_BIG_M


def test_a_program_without_tiny_entries_holds_all_points() -> None:
    rng = np.random.default_rng(0)
    builder = ProgramBuilder()
    columns = builder.add_columns("v", np.arange(4), -1.0, np.array([1.0, 1e9, np.inf, 1e-3]))
    matrix = np.array(
        [[1.0, 1e-13, 0, 0], [1.0, 0, 1e-14, 2.0], [3.0, 0, 0, 1e-13], [1, 1, 1, 1.0]]
    )
    builder.add_rows("row", np.arange(4), [(matrix, columns)], 0.0, [0.0, 1.0, 0.0, np.inf])
    program = builder.build()
    assert program.without_tiny(1e-15) is program
    without = program.without_tiny(1e-12)
    assert np.min(np.abs(without.matrix.data)) == 1.0
    assert without.row_upper.tolist() == pytest.approx([1e-4, np.inf, 0.0, np.inf])
    assert without.row_lower.tolist() == pytest.approx([-1e-4, -np.inf, 0.0, 0.0])
    for _ in range(200):
        high = np.minimum(program.column_upper, 1e6)
        v = rng.uniform(program.column_lower, high)
        gap = abs(program.matrix @ v - without.matrix @ v)
        assert np.all(gap <= program.row_lower - without.row_lower + 1e-12)


@each_solver
@pytest.mark.parametrize("weight", [9e-14, 9e-13])
def test_small_weights_on_large_values_count(solver: str, weight: float) -> None:
    # z = weight · x reaches 0.9: a bound that knows nothing of the weight says 0
    builder = ProgramBuilder()
    x = builder.add_columns("x", np.arange(1), 0.0, 0.9 / weight)
    z = builder.add_columns("z", np.arange(1), 0.0, 5.0)
    d = builder.add_columns("d", np.arange(1), 0.0, 1.0, integer=True)
    one = np.ones((1, 1))
    builder.add_rows("define_z", np.arange(1), [(one, z), (-weight * one, x)], 0.0, 0.0)
    builder.add_rows("either", np.arange(1), [(one, z), (5.0 * one, d)], -np.inf, 5.0)
    session = open_session(solver)
    session.load(builder.build())
    result = session.minimise(np.array([0.0, -1.0, 0.0]), Targets())
    session.close()
    assert result.bound <= -0.9
