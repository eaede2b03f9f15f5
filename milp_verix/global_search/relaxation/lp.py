"""A program of constraints as a warm LP holds it, and what row duals prove over its relaxation.

A bound is evaluated from row duals alone (:mod:`verix_encodings.proofs.safe_bound`), and so is
infeasibility, from a dual ray: neither rests on the solver.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milp_verix.global_search.relaxation.node import Fixings
from milp_verix.global_search.relaxation.phase_choice import PhaseChoice
from milp_verix.solvers import SolveStatus
from milp_verix.solvers.phase.warm_lp import LpResult
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.models.constraints import Constraint, row_error
from verix_encodings.models.scenario import PhaseTable, ScenarioProgram
from verix_encodings.program.program import Program
from verix_encodings.proofs.safe_bound import SafeBound


@dataclass(frozen=True, slots=True, eq=False)
class RelaxedProgram:
    """A ``program`` of constraints, whose first columns are ``features``, and a ``cost`` a column.

    ``constraint_of_rows`` is the number of the constraint of each row, and ``error`` bounds the
    rounding in any.
    """

    program: Program
    features: int
    cost: FloatArray
    constraint_of_rows: IntArray
    table: PhaseTable
    choice: PhaseChoice
    safe: SafeBound
    error: float

    def ends(self, fixings: Fixings) -> tuple[FloatArray, FloatArray]:
        """Return the bounds of all columns, with those in ``fixings`` fixed."""
        columns, values = fixings
        low, high = self.program.column_lower.copy(), self.program.column_upper.copy()
        low[columns] = high[columns] = values
        return low, high

    def proven(
        self, ends: tuple[FloatArray, FloatArray], result: LpResult
    ) -> tuple[float, FloatArray | None]:
        """Return what the duals of ``result`` prove where the columns are between ``ends``.

        With the bound come the features' reduced costs, None where it rests on none.
        """
        if result.multipliers is None:
            return -np.inf, None
        y, error = result.multipliers, self.error
        if result.status is not SolveStatus.INFEASIBLE:
            bound, reduced = self.safe.proof(self.cost, y, error, ends)
            return bound, reduced[: self.features] if bound > -np.inf else None
        nothing = np.zeros_like(self.cost)
        proven = max(self.safe.lower(nothing, sign * y, error, ends) for sign in (1.0, -1.0))
        return (np.inf if proven > 0 else -np.inf), None

    def any_free(self, fixed: IntArray) -> int | None:
        """Return a column that may be split: a phase, if there is one that is not ``fixed``."""
        features = np.arange(self.features)
        free = np.setdiff1d(np.concatenate([self.choice.columns, features]), fixed)
        return int(free[-1]) if free.size else None


def relaxed_program(
    growing: ScenarioProgram, constraints: Sequence[Constraint], costs: FloatArray
) -> RelaxedProgram:
    """Return the program ``growing`` of ``constraints``, with the ``costs`` of the features."""
    program, columns, table = growing.build(), growing.columns, growing.phases()
    cost = np.zeros(program.columns)
    cost[columns] = costs
    return RelaxedProgram(
        program,
        columns.size,
        cost,
        growing.constraint_of_rows,
        table,
        PhaseChoice(program, columns, table),
        SafeBound(program),
        row_error(constraints),
    )
