"""The linear relaxation of a scenario program as a warm LP holds it, and what row duals prove.

A bound is evaluated from row duals alone (:mod:`verix_encodings.proofs.safe_bound`), and so is
infeasibility, from a dual ray: neither rests on the solver.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from milp_verix.solvers import SolveStatus
from milp_verix.solvers.phase.warm_lp import LpResult
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.models.constraints import Constraint, row_error
from verix_encodings.models.scenario import PhaseTable, ScenarioProgram
from verix_encodings.program.program import Program
from verix_encodings.proofs.safe_bound import SafeBound

Fixings: TypeAlias = tuple[IntArray, FloatArray]
"""Columns of a program, and the value, 0 or 1, that each is fixed at."""

NO_FIXINGS: Fixings = (np.zeros(0, dtype=np.intp), np.zeros(0))


@dataclass(frozen=True, slots=True, eq=False)
class NodeSolution:
    """The relaxation of a node, solved.

    ``bound`` is proven for the cost of every set of the node, infinite where there is none.
    ``selection`` has the values of all features at the optimum, None where no optimum is known.
    ``reduced_costs`` say by how much the bound rises where a feature joins the set, if positive, or
    leaves it, if negative; zero for features that are not free, None where the bound rests on none.
    Both have shape (features,). ``fixings`` are free features that keep their value in every set
    cheaper than the cutoff. ``result`` is the LP's end; ``late`` says that the deadline came first.
    """

    bound: float
    selection: FloatArray | None = None
    reduced_costs: FloatArray | None = None
    fixings: Fixings = NO_FIXINGS
    result: LpResult | None = None
    late: bool = False

    @property
    def whole(self) -> bool:
        """Whether every feature is in or out."""
        return is_whole(self.selection) if self.selection is not None else False


def is_whole(selection: FloatArray) -> bool:
    """Return whether ``selection``, shape (features,), is a set."""
    return bool(np.all((selection == 0) | (selection == 1)))


@dataclass(frozen=True, slots=True, eq=False)
class RelaxedProgram:
    """A ``program`` of constraints, whose first columns are ``features``; columns have a ``cost``.

    ``constraint_of_rows`` is the number of the constraint of each row, and ``error`` bounds the
    rounding in any row.
    """

    program: Program
    features: int
    cost: FloatArray
    constraint_of_rows: IntArray
    table: PhaseTable
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
        """Return the bound that the duals of ``result`` prove with the columns between ``ends``.

        With it come the features' reduced costs, None where the bound rests on none.
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


def relaxed_program(
    growing: ScenarioProgram, constraints: Sequence[Constraint], costs: FloatArray
) -> RelaxedProgram:
    """Return the program ``growing`` of ``constraints``, with the ``costs`` of its features."""
    program, columns, table = growing.build(), growing.columns, growing.phases()
    cost = np.zeros(program.columns)
    cost[columns] = costs
    return RelaxedProgram(
        program,
        columns.size,
        cost,
        growing.constraint_of_rows,
        table,
        SafeBound(program),
        row_error(constraints),
    )


def reduced_cost_fixings(
    reduced_costs: FloatArray | None, selection: FloatArray, fixed: IntArray, slack: float
) -> Fixings:
    """Return the features whose move would raise the bound by more than ``slack``, and their value.

    A feature at one end whose reduced cost is ``d`` raises the bound by ``|d|`` at the other
    (reduced-cost fixing). All are by their number in the program; ``fixed`` ones are left out.
    """
    if reduced_costs is None or not np.isfinite(slack):
        return NO_FIXINGS
    free = np.ones(reduced_costs.size, dtype=bool)
    free[fixed[fixed < reduced_costs.size]] = False
    far = np.abs(reduced_costs) > slack + 1e-6 * (1.0 + slack)
    at_end = np.where(reduced_costs > 0, selection == 0.0, selection == 1.0)
    fixings = np.flatnonzero(free & far & at_end)
    return fixings, selection[fixings]
