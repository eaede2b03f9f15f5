"""The phase to branch on is the one whose fixing raises the bound the most."""

from pathlib import Path

import numpy as np
import pytest

from milp_verix.searches.minimum.branch_and_cut import PhaseBranching
from milp_verix.solvers import SolveStatus
from milp_verix.solvers.warm_lp import LpResult
from tests.support.scenario_cases import drawn_constraints, drawn_perturbations, grown
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.program import Program
from verix_encodings.scenario import ScenarioProgram


def _phases(growing: ScenarioProgram) -> IntArray:
    """Return the columns of the phases of ReLUs, by their names."""
    names = growing.build().column_names
    return np.array([column for column, name in enumerate(names) if name.startswith("d_")])


def _wanted(
    program: Program, phase: int, point: FloatArray, duals: FloatArray
) -> tuple[float, float]:
    """Return how wrong a phase is, and what the bound gains by its being right, row by row."""
    matrix = program.matrix.toarray()
    low, high, size, worth = 0.0, 1.0, 0.0, 0.0
    for row in np.flatnonzero(matrix[:, phase]):
        factor = matrix[row, phase]
        others = matrix[row] @ point - factor * point[phase]
        ends = sorted(
            (end - others) / factor for end in (program.row_lower[row], program.row_upper[row])
        )
        low, high = max(low, ends[0]), min(high, ends[1])
        size, worth = max(size, abs(factor)), worth + abs(factor * duals[row])
    distance = max(min(low, 1.0 - high), 0.0)
    return distance * size, distance * worth + 1e-3 * distance * size


@pytest.mark.parametrize("seed", range(30))
def test_the_phase_is_the_one_that_is_worth_most(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    growing = grown(drawn_constraints(rng, drawn_perturbations(rng, tmp_path)))
    program, phases = growing.build(), _phases(growing)
    branching = PhaseBranching(program, growing.columns.size)
    assert np.array_equal(branching.columns, phases)
    for _ in range(10):
        point = rng.uniform(program.column_lower, program.column_upper)
        duals = rng.normal(size=program.rows) * (rng.random(program.rows) < 0.5)
        fixed = rng.permutation(phases)[: int(rng.integers(phases.size + 1))]
        measures = {}
        for phase in phases.tolist():
            wrong, gain = _wanted(program, phase, point, duals)
            if phase not in fixed and wrong > 1e-8:
                measures[phase] = gain
        expected = max(measures, key=lambda phase: measures[phase], default=None)
        result = LpResult(SolveStatus.OPTIMAL, point, duals, 0, "")
        assert branching.best(result, fixed) == expected


def test_where_the_duals_tell_nothing_the_largest_violation_decides(tmp_path: Path) -> None:
    decided = 0
    for seed in range(10):
        rng = np.random.default_rng([seed, 2])
        growing = grown(drawn_constraints(rng, drawn_perturbations(rng, tmp_path)))
        program, phases = growing.build(), _phases(growing)
        branching = PhaseBranching(program, growing.columns.size)
        point = rng.uniform(program.column_lower, program.column_upper)
        nothing = np.zeros(program.rows)
        wrong = {p: _wanted(program, p, point, nothing)[0] for p in phases.tolist()}
        expected = max(wrong, key=lambda phase: wrong[phase])
        for duals in (None, nothing):
            result = LpResult(SolveStatus.OPTIMAL, point, duals, 0, "")
            assert branching.best(result, np.zeros(0, dtype=np.intp)) == expected
        decided += wrong[expected] > 1e-8
    assert decided == 10
