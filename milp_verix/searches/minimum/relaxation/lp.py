"""The linear relaxation of a scenario program, and the bounds that row duals prove.

Bounds are evaluated from row duals (:mod:`verix_encodings.proofs.safe_bound`), infeasibility from a
dual ray. Neither relies on the solver's own claims.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from milp_verix.solvers import SolveStatus
from milp_verix.solvers.phase.warm_lp import LpResult
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.models.constraints import Constraint, row_error
from verix_encodings.models.scenario import ScenarioProgram
from verix_encodings.program.program import Program
from verix_encodings.proofs.safe_bound import SafeBound

Fixings: TypeAlias = tuple[IntArray, FloatArray]
"""Columns of a program, and the value, 0 or 1, at which each is fixed."""

NO_FIXINGS: Fixings = (np.zeros(0, dtype=np.intp), np.zeros(0))


@dataclass(frozen=True, slots=True, eq=False)
class Restriction:
    """The mask of features ``fixed_in``, shape (features,), and the numbers of ``free`` ones."""

    fixed_in: BoolArray
    free: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class NodeSolution:
    """The solution of a node's relaxation.

    ``bound`` is a proven lower bound on the cost of every set of the node, infinite if there is no
    set. ``selection`` has the values of all features at the optimum, None if no optimum is known.
    A positive entry of ``reduced_costs`` is the rise of the bound if the feature joins the set; a
    negative entry, the rise if it leaves. It is zero for features that are not free; the whole is
    None if no bound is proven. Both have shape (features,). ``fixings`` are free features that keep
    their value in every set cheaper than the cutoff. ``result`` is the LP's result; ``late`` says
    that the deadline passed before it.
    """

    bound: float
    selection: FloatArray | None = None
    reduced_costs: FloatArray | None = None
    fixings: Fixings = NO_FIXINGS
    result: LpResult | None = None
    late: bool = False

    @property
    def whole(self) -> bool:
        """True if the optimum is a set: every feature is 0 or 1."""
        return is_whole(self.selection) if self.selection is not None else False


def is_whole(selection: FloatArray) -> bool:
    """Return whether every entry of ``selection``, shape (features,), is 0 or 1."""
    return bool(np.all((selection == 0) | (selection == 1)))


@dataclass(frozen=True, slots=True, eq=False)
class RelaxedProgram:
    """A ``program`` of constraints to minimise the ``cost`` of its columns.

    The first ``features`` columns are features. ``error`` bounds the rounding in any row. ``safe``
    evaluates bounds from row duals.
    """

    program: Program
    features: int
    cost: FloatArray
    safe: SafeBound
    error: float

    def ends(self, fixings: Fixings) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper bounds of all columns, with ``fixings`` applied."""
        columns, values = fixings
        low, high = self.program.column_lower.copy(), self.program.column_upper.copy()
        low[columns] = high[columns] = values
        return low, high

    def proven(
        self, ends: tuple[FloatArray, FloatArray], result: LpResult
    ) -> tuple[float, FloatArray | None]:
        """Return the bound that the duals of ``result`` prove, with the features' reduced costs.

        Columns are between ``ends``. The bound is infinite if infeasibility is proven, and minus
        infinity if there is no proof; the reduced costs are None then.
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
    """Build ``growing``, the program of ``constraints``, with the ``costs`` of its features."""
    program, columns = growing.build(), growing.columns
    cost = np.zeros(program.columns)
    cost[columns] = costs
    return RelaxedProgram(program, columns.size, cost, SafeBound(program), row_error(constraints))


def reduced_cost_fixings(
    reduced_costs: FloatArray | None, selection: FloatArray, fixed: IntArray, slack: float
) -> Fixings:
    """Return the features that reduced-cost fixing fixes, as columns, and their values.

    Moving a feature off its LP value, 0 or 1, raises the bound by its reduced cost. It is fixed if
    that exceeds ``slack``. Columns in ``fixed`` are left out.
    """
    if reduced_costs is None or not np.isfinite(slack):
        return NO_FIXINGS
    free = np.ones(reduced_costs.size, dtype=bool)
    free[fixed[fixed < reduced_costs.size]] = False
    far = np.abs(reduced_costs) > slack + 1e-6 * (1.0 + slack)
    at_end = np.where(reduced_costs > 0, selection == 0.0, selection == 1.0)
    fixings = np.flatnonzero(free & far & at_end)
    return fixings, selection[fixings]
