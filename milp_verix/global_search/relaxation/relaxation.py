"""The linear relaxation of a subtree's scenarios, on one warm LP.

Features are fixed in, fixed out, or free; the free features are the first columns of the program
(:mod:`verix_encodings.models.restricted`). Costs, bounds and selections refer to all features. The
program grows by constraints of the pool that an optimum violates.
"""

import weakref
from collections.abc import Sequence

import numpy as np

from milp_verix.clock import Deadline
from milp_verix.global_search.relaxation.branching import PhaseBranching
from milp_verix.global_search.relaxation.constraint_pool import ConstraintPool
from milp_verix.global_search.relaxation.lp import (
    Fixings,
    NodeSolution,
    RelaxedProgram,
    reduced_cost_fixings,
    relaxed_program,
)
from milp_verix.global_search.search_limits import SearchLimits
from milp_verix.problem.objective import Objective
from milp_verix.solvers import SolveStatus
from milp_verix.solvers.interrupt import deferred_interrupt
from milp_verix.solvers.phase.warm_lp import LpCount, LpResult, WarmLp
from verix_encodings.arrays import IntArray
from verix_encodings.models.constraints import Constraint, Scenario
from verix_encodings.models.restricted import Restriction, fixed_phases, reduced
from verix_encodings.models.scenario import ScenarioProgram
from verix_encodings.propagation.crown import crown_bounds

_WHOLE = 1e-7  # distance of a share from a whole number, within the tolerance of an LP
_BEYOND = 1e-6  # above the cutoff: where an LP may end
_BINDS = 1e-7  # the least dual of a row that bears on the bound


class Relaxation:
    """A linear relaxation of constraints on explanations, and the bounds that it proves.

    ``restriction`` says which features are free and which are fixed in; None leaves all free.
    ``constraints`` are the first constraints: pairs of a number in the pool and the constraint on
    the free features. They hold for sets of at most ``most`` of these. ``held`` has the numbers of
    the pool's constraints in the program.
    """

    def __init__(
        self,
        lp: WarmLp,
        pool: ConstraintPool,
        objective: Objective,
        limits: SearchLimits,
        *,
        restriction: Restriction | None = None,
        constraints: Sequence[tuple[int, Constraint]] = (),
        most: float = np.inf,
    ) -> None:
        self._lp, self.pool, self._objective, self._limits = lp, pool, objective, limits
        count = objective.costs.size
        self._whole = restriction is None
        self._restriction = restriction or Restriction(
            np.zeros(count, dtype=bool), np.arange(count)
        )
        self.free: IntArray = self._restriction.free
        self._costs = objective.costs[self.free]
        self._fixed_cost = objective.cost(self._restriction.fixed_in)
        self._most = most
        self._infeasible = False
        self._constraints: list[Constraint] = []
        self._numbers: list[int] = []
        self.held = {number for number, _ in constraints}
        self._growing = ScenarioProgram(objective.least[self.free], objective.most[self.free])
        self._take(constraints)
        # a subtree's LP is freed with its last node
        self.close = weakref.finalize(self, lp.close)

    @property
    def lp_count(self) -> LpCount:
        """Linear programs solved and their iterations, in all subtrees together."""
        return self._lp.count

    def extend(self, constraints: Sequence[Constraint]) -> None:
        """Add ``constraints`` to the pool and to the program."""
        self.hold(self.pool.add(constraints))

    def hold(self, numbers: Sequence[int]) -> None:
        """Add the constraints with these ``numbers`` in the pool to the linear program."""
        taken: list[tuple[int, Constraint]] = []
        for number in numbers:
            constraint = self.pool.constraints[number]
            asked: list[Constraint] | None = [constraint]
            if not self._whole:
                asked = reduced(constraint, self._restriction, (), crown_bounds, self._most)
            self._infeasible |= asked is None
            taken += [(number, mine) for mine in asked or []]
        # they count as held even if they do not restrict the free features
        self.held.update(numbers)
        self._take(taken)

    def _take(self, constraints: Sequence[tuple[int, Constraint]]) -> None:
        for number, constraint in constraints:
            self._numbers.append(number)
            self._constraints.append(constraint)
            self._growing.add(constraint)
        self._now: RelaxedProgram = relaxed_program(self._growing, self._constraints, self._costs)
        self._branching = PhaseBranching(self._now.program, self.free.size)
        self._lp.extend(self._now.program)
        self._lp.set_cost(self._now.cost)

    def worst_phase(self, solution: NodeSolution, fixings: Fixings) -> int | None:
        """Return the phase to branch on, as a column; None if the rows of each allow 0 or 1."""
        return (
            None if solution.result is None else self._branching.best(solution.result, fixings[0])
        )

    def most_fractional(self, solution: NodeSolution) -> int:
        """Return the free feature, as a column, whose value is farthest from 0 and 1."""
        assert solution.selection is not None
        shares = solution.selection[self.free]
        return int(np.argmax(np.minimum(shares, 1.0 - shares)))

    def any_free(self, fixings: Fixings) -> int | None:
        """Return a column that is not fixed, a phase if there is one; None if all are fixed.

        Nodes branch on it if no optimum of their relaxation is known.
        """
        columns = np.concatenate([self._branching.columns, np.arange(self.free.size)])
        open_ = np.setdiff1d(columns, fixings[0])
        return int(open_[-1]) if open_.size else None

    def _active(self, result: LpResult | None, fixings: Fixings) -> set[int]:
        """Return the places of the constraints that bind at ``result``, or have a fixed phase."""
        table = self._now.table
        active: set[int] = set(table.constraint[np.isin(table.phase, fixings[0])].tolist())
        if result is not None and result.multipliers is not None:
            rows = np.flatnonzero(np.abs(result.multipliers) > _BINDS)
            active |= set(self._now.constraint_of_rows[rows].tolist())
        for number, constraint in enumerate(self._constraints):
            if isinstance(constraint, Scenario) and constraint.inactive:
                active.add(number)
        return active

    def restriction_by(self, *fixings: Fixings) -> Restriction:
        """Return the features that are fixed in and those that stay free, given ``fixings``."""
        low, high = self._objective.least[self.free], self._objective.most[self.free]
        for columns, values in fixings:
            mine = columns < low.size
            low[columns[mine]] = high[columns[mine]] = values[mine]
        fixed_in = self._restriction.fixed_in.copy()
        fixed_in[self.free[low > 0.5]] = True
        return Restriction(fixed_in, self.free[low < high])

    def restricted(
        self, restriction: Restriction, fixings: Fixings, solution: NodeSolution, cost: float
    ) -> "Relaxation | None":
        """Return a relaxation over the free features of ``restriction``, with phases fixed as here.

        It is for sets that cost at most ``cost``, and begins with the constraints that bind at
        ``solution``. None if one of them is infeasible.
        """
        most = self._objective.most_features(cost, restriction)
        position = np.full(self._objective.costs.size, -1)
        position[self.free] = np.arange(self.free.size)
        local = Restriction(restriction.fixed_in[self.free], position[restriction.free])
        phases = fixed_phases(self._now.table, self._constraints, *fixings)
        kept: list[tuple[int, Constraint]] = []
        for number in sorted(self._active(solution.result, fixings)):
            constraint = self._constraints[number]
            asked = reduced(constraint, local, phases.get(number, ()), crown_bounds, most)
            if asked is None:
                return None
            kept += [(self._numbers[number], mine) for mine in asked]
        return Relaxation(
            self._lp.another(),
            self.pool,
            self._objective,
            self._limits,
            restriction=restriction,
            constraints=kept,
            most=most,
        )

    def solve(self, fixings: Fixings, cutoff: float, deadline: Deadline) -> NodeSolution:
        """Solve the relaxation with the columns in ``fixings`` fixed.

        The LP may stop once its bound reaches ``cutoff``.
        """
        if self._infeasible:
            return NodeSolution(np.inf)
        # the program of the whole tree has all constraints of the pool
        if self._whole and len(self.held) < len(self.pool.constraints):
            missed = set(range(len(self.pool.constraints))) - self.held
            self.hold(sorted(missed))
        ends, local_cutoff = self._now.ends(fixings), cutoff - self._fixed_cost
        self._lp.set_bounds(*ends)
        # the LP may stop beyond the cutoff; if its duals do not prove that, it is solved to the end
        for limit in (local_cutoff + _BEYOND, np.inf):
            with deferred_interrupt() as interrupt:
                result = self._lp.solve(limit, deadline, interrupt)
            if result.status is SolveStatus.TIME_LIMIT:
                return NodeSolution(-np.inf, late=True)
            local, reduced_costs = self._now.proven(ends, result)
            if result.status is not SolveStatus.TARGET or local >= local_cutoff:
                break
        bound = local + self._fixed_cost
        if bound >= cutoff or result.point is None:
            return NodeSolution(bound)
        shares = np.clip(result.point[: self.free.size], 0.0, 1.0)
        nearest = np.round(shares)
        shares = np.where(np.abs(shares - nearest) <= _WHOLE, nearest, shares)
        slack = cutoff - bound if self._limits.uses("reduced-cost fixing") else np.inf
        fixed = reduced_cost_fixings(reduced_costs, shares, fixings[0], slack)
        selection = self._restriction.full_selection(shares)
        of_all = None
        if reduced_costs is not None:
            of_all = np.zeros(selection.size)
            of_all[self.free] = reduced_costs
        return NodeSolution(bound, selection, of_all, fixed, result)
