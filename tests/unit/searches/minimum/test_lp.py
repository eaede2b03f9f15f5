"""Bounds and fixings follow from the multipliers of a relaxation alone."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from milp_verix.searches.minimum.branch_and_cut import (
    NO_FIXINGS,
    reduced_cost_fixings,
    relaxed_program,
)
from milp_verix.solvers import SolveStatus
from milp_verix.solvers.warm_lp import LpResult
from tests.support.scenario_cases import (
    COUNT,
    drawn_constraints,
    drawn_perturbations,
    grown,
    of_interest,
)
from verix_encodings.encoding import row_error


def test_what_is_forced_costs_more_than_the_slack_elsewhere() -> None:
    # three that would cost too much, two that would not by little, two that are at neither end
    reduced_costs = np.array([2.1, -2.1, 9.0, 1.9, -1.9, 9.0, 9.0])
    selection = np.array([0.0, 1.0, 0.0, 0.0, 1.0, 0.5, 1.0])
    columns, values = reduced_cost_fixings(reduced_costs, selection, np.array([2, 40]), 2.0)
    assert (columns.tolist(), values.tolist()) == ([0, 1], [0.0, 1.0])
    assert reduced_cost_fixings(-reduced_costs, selection, NO_FIXINGS[0], 2.0)[0].tolist() == [6]
    for slack in (np.inf, np.nan):
        assert reduced_cost_fixings(reduced_costs, selection, NO_FIXINGS[0], slack)[0].size == 0
    assert reduced_cost_fixings(None, selection, NO_FIXINGS[0], 2.0)[0].size == 0


def test_rows_that_may_be_off_prove_less(tmp_path: Path) -> None:
    rng = np.random.default_rng(67)
    constraints = drawn_constraints(rng, drawn_perturbations(rng, tmp_path))
    relaxed = relaxed_program(grown(constraints), constraints, np.ones(COUNT))
    assert relaxed.error == row_error(constraints) > 0
    ends = relaxed.ends(NO_FIXINGS)
    y = relaxed.safe.usable(rng.normal(size=relaxed.program.rows))
    said = LpResult(SolveStatus.OPTIMAL, None, y, 0, "optimal")
    exact, loose = (replace(relaxed, error=error).proven(ends, said)[0] for error in (0.0, 0.25))
    assert loose == pytest.approx(exact - 0.25 * np.abs(y).sum())


@pytest.mark.parametrize("seed", range(10))
def test_the_word_infeasible_proves_nothing_without_a_ray(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([seed, 67])
    constraints = drawn_constraints(rng, drawn_perturbations(rng, tmp_path))
    assert of_interest(constraints)
    relaxed = relaxed_program(grown(constraints), constraints, np.ones(COUNT))
    ends = relaxed.ends(NO_FIXINGS)
    rows = relaxed.program.rows
    for y in (None, np.zeros(rows), rng.normal(size=rows), np.full(rows, np.nan)):
        said = LpResult(SolveStatus.INFEASIBLE, None, y, 0, "infeasible")
        assert relaxed.proven(ends, said) == (-np.inf, None)
