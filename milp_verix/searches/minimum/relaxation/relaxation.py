"""The linear relaxation of all scenarios and covers known, on one warm LP.

Features are fixed in, fixed out, or free; they are the first columns of the program.
"""

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.problem.objective import Objective
from milp_verix.searches.minimum.relaxation.branching import PhaseBranching
from milp_verix.searches.minimum.relaxation.constraint_pool import ConstraintPool
from milp_verix.searches.minimum.relaxation.lp import (
    Fixings,
    NodeSolution,
    RelaxedProgram,
    Restriction,
    reduced_cost_fixings,
    relaxed_program,
)
from milp_verix.searches.minimum.search_limits import SearchLimits
from milp_verix.solvers import SolveStatus
from milp_verix.solvers.interrupt import deferred_interrupt
from milp_verix.solvers.phase.warm_lp import WarmLp
from verix_encodings.models.scenario import ScenarioProgram

_WHOLE = 1e-7  # distance of a share from a whole number, within the tolerance of an LP
_BEYOND = 1e-6  # above the cutoff: where an LP may end


class Relaxation:
    """A linear relaxation of the constraints in ``pool``, and the bounds that it proves.

    ``lp`` solves it.
    """

    def __init__(
        self, lp: WarmLp, pool: ConstraintPool, objective: Objective, limits: SearchLimits
    ) -> None:
        self.lp, self.pool, self._objective, self._limits = lp, pool, objective, limits
        self._features = np.arange(objective.costs.size)
        self._growing = ScenarioProgram(objective.least, objective.most)
        self._taken = 0
        self._take()

    def _take(self) -> None:
        """Add the constraints of the pool that the program lacks."""
        constraints = self.pool.constraints
        for constraint in constraints[self._taken :]:
            self._growing.add(constraint)
        self._taken = len(constraints)
        self._now: RelaxedProgram = relaxed_program(
            self._growing, constraints, self._objective.costs
        )
        self._branching = PhaseBranching(self._now.program, self._features.size)
        self.lp.extend(self._now.program)
        self.lp.set_cost(self._now.cost)

    def worst_phase(self, solution: NodeSolution, fixings: Fixings) -> int | None:
        """Return the phase to branch on, as a column; None if the rows of each allow 0 or 1."""
        return (
            None if solution.result is None else self._branching.best(solution.result, fixings[0])
        )

    def most_fractional(self, solution: NodeSolution) -> int:
        """Return the free feature, as a column, whose value is farthest from 0 and 1."""
        assert solution.selection is not None
        shares = solution.selection
        return int(np.argmax(np.minimum(shares, 1.0 - shares)))

    def any_free(self, fixings: Fixings) -> int | None:
        """Return a column that is not fixed, a phase if there is one; None if all are fixed.

        Nodes branch on it if no optimum of their relaxation is known.
        """
        columns = np.concatenate([self._branching.columns, self._features])
        open_ = np.setdiff1d(columns, fixings[0])
        return int(open_[-1]) if open_.size else None

    def restriction_by(self, *fixings: Fixings) -> Restriction:
        """Return the features that are fixed in and those that stay free, given ``fixings``."""
        low, high = self._objective.least, self._objective.most
        for columns, values in fixings:
            mine = columns < low.size
            low[columns[mine]] = high[columns[mine]] = values[mine]
        return Restriction(low > 0.5, np.flatnonzero(low < high))

    def solve(self, fixings: Fixings, cutoff: float, deadline: Deadline) -> NodeSolution:
        """Solve the relaxation with the columns in ``fixings`` fixed.

        The LP may stop once its bound reaches ``cutoff``.
        """
        if self._taken < len(self.pool.constraints):
            self._take()
        ends = self._now.ends(fixings)
        self.lp.set_bounds(*ends)
        # the LP may stop beyond the cutoff; if its duals do not prove that, it is solved to the end
        for limit in (cutoff + _BEYOND, np.inf):
            with deferred_interrupt() as interrupt:
                result = self.lp.solve(limit, deadline, interrupt)
            if result.status is SolveStatus.TIME_LIMIT:
                return NodeSolution(-np.inf, late=True)
            bound, reduced_costs = self._now.proven(ends, result)
            if result.status is not SolveStatus.TARGET or bound >= cutoff:
                break
        if bound >= cutoff or result.point is None:
            return NodeSolution(bound)
        shares = np.clip(result.point[: self._features.size], 0.0, 1.0)
        nearest = np.round(shares)
        shares = np.where(np.abs(shares - nearest) <= _WHOLE, nearest, shares)
        slack = cutoff - bound if self._limits.uses("reduced-cost fixing") else np.inf
        fixed = reduced_cost_fixings(reduced_costs, shares, fixings[0], slack)
        return NodeSolution(bound, shares, reduced_costs, fixed, result)

    def close(self) -> None:
        """Free the linear program."""
        self.lp.close()
