"""The linear relaxation of a scenario program on one warm LP: bounds with proof, and what is open.

It grows by constraints that an optimum violates, and is tightened for cheaper sets; what is proven
is proven by row duals (:mod:`milp_verix.global_search.relaxation.lp`).
"""

from collections.abc import Callable, Sequence

import numpy as np

from milp_verix.global_search.enumeration.set_products import CandidateSets
from milp_verix.global_search.relaxation.active_constraints import bearing, grouped, left_of
from milp_verix.global_search.relaxation.constraint_pool import ConstraintPool
from milp_verix.global_search.relaxation.coupling import alike, coupled
from milp_verix.global_search.relaxation.lp import relaxed_program
from milp_verix.global_search.relaxation.margin_slopes import margin_slopes
from milp_verix.global_search.relaxation.node import Fixings, Relaxed, fixed_by_reduced_cost
from milp_verix.global_search.relaxation.surrogates import (
    Surrogates,
    no_surrogates,
    surrogates_of,
)
from milp_verix.global_search.relaxation.surviving_sets import surviving
from milp_verix.global_search.relaxation.tightened_parts import tightened
from milp_verix.problem.objective import Objective
from milp_verix.solvers import SolveStatus
from milp_verix.solvers.interrupt import deferred_interrupt
from milp_verix.solvers.phase.warm_lp import LpCount, LpResult, WarmLp
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.bounds.crown import crown_bounds
from verix_encodings.models.constraints import Constraint, CostLimit, Scenario
from verix_encodings.models.restricted import Restriction, fixed_phases, reduced
from verix_encodings.models.scenario import ScenarioProgram
from verix_encodings.program.program import Program

_WHOLE = 1e-7
_BEYOND = 1e-6
_PASSES = 5
_WORTHWHILE = 0.1

_NONE, _NOTHING = np.zeros(0, dtype=np.intp), np.zeros(0)


class Relaxation:
    """A program of some scenarios and covers of ``pool``, its relaxation, and what this one proves.

    Those that an optimum violates join it. ``tightened_for`` is what :meth:`tighten` was asked for
    last, infinite before.
    """

    def __init__(
        self,
        lp: WarmLp,
        pool: ConstraintPool,
        objective: Objective,
        restriction: Restriction | None = None,
        constraints: Sequence[tuple[int, Constraint]] = (),
    ) -> None:
        self._lp = lp
        self._pool = pool
        self._objective = objective
        self._restriction = restriction
        self._costs = objective.costs
        self._known_scenarios = 0
        self.tightened_for = np.inf
        self._impossible = False
        self._last: LpResult | None = None
        self._coupled: set[tuple[int, int]] = set()
        self._constraints: list[Constraint] = [CostLimit(self._costs, float(self._costs.sum()))]
        # the number of each constraint in the pool, -1 for what is not of it
        self._numbers = [-1]
        self._held = {number for number, _ in constraints}
        self._take(constraints)
        self._growing = self._grown(self._constraints)
        self._renew(self._lp.extend)

    @property
    def scenarios(self) -> int:
        """Number of scenarios in the pool."""
        return self._pool.scenarios.size

    @property
    def count(self) -> LpCount:
        """Number of linear programs solved, those for tightening included."""
        return self._lp.count

    def extend(self, constraints: Sequence[Constraint], deadline: float = np.inf) -> None:
        """Add ``constraints`` to the pool, and hold them, as tight as there is time for."""
        self._hold(self._pool.add(constraints), deadline)

    def know(self, constraints: Sequence[Constraint]) -> None:
        """Add ``constraints`` to the pool."""
        self._pool.add(constraints)

    def _hold(self, numbers: Sequence[int], deadline: float) -> None:
        before = len(self._constraints)
        for number in numbers:
            constraint = self._pool.constraints[number]
            left: list[Constraint] | None = [constraint]
            if self._restriction is not None:
                left = reduced(constraint, self._restriction, (), crown_bounds)
            self._impossible |= left is None
            # it is held, too, where it asks nothing of what is free
            self._held.add(number)
            self._take([(number, mine) for mine in left or []])
        if self._restriction is None and np.isfinite(self.tightened_for):
            self._tighten_from(before, deadline)
        for constraint in self._constraints[before:]:
            self._growing.add(constraint)
        self._renew(self._lp.extend)

    def _tighten_from(self, first: int, deadline: float) -> None:
        """Bound what is new over the sets that all other bounds are about, and couple it."""
        constraints, core = self._of_interest(self.tightened_for)
        lp = self._lp.another()
        which = range(first, len(constraints))
        tight = tightened(constraints, core, which, self._grown, lp, deadline=deadline)
        self._constraints[first:] = tight[first:]
        self._tell_pool(first)
        self._couple(self.tightened_for, lp, deadline)
        lp.close()

    def _couple(self, cutoff: float, lp: WarmLp, deadline: float) -> None:
        """Couple scenarios that are alike, where that has not been done."""
        pairs = [pair for pair in alike(self._constraints) if pair not in self._coupled]
        asked = self._of_interest(cutoff)
        paired = coupled(*asked, pairs, self._grown, lp, deadline=deadline)
        self._coupled.update(pairs)
        self._take([(-1, constraint) for constraint in paired])

    def _tell_pool(self, first: int) -> None:
        """Replace constraints in the pool by those held here, from the number ``first`` on."""
        for number, constraint in zip(
            self._numbers[first:], self._constraints[first:], strict=True
        ):
            if number >= 0:
                self._pool.constraints[number] = constraint

    def _take(self, constraints: Sequence[tuple[int, Constraint]]) -> None:
        for number, constraint in constraints:
            self._numbers.append(number)
            self._constraints.append(constraint)

    def _grown(self, constraints: Sequence[Constraint]) -> ScenarioProgram:
        growing = ScenarioProgram(self._objective.least, self._objective.most)
        for constraint in constraints:
            growing.add(constraint)
        return growing

    @property
    def _scenarios(self) -> int:
        return sum(isinstance(constraint, Scenario) for constraint in self._constraints)

    def loose(self, cutoff: float) -> bool:
        """Whether :meth:`tighten` does not know a scenario, or how little is left to prove."""
        return (self._known_scenarios, self.tightened_for) != (self._scenarios, cutoff)

    def tighten(self, cutoff: float, deadline: float) -> None:
        """Bound what ReLUs take over all sets that cost ``cutoff`` at most; reload the big-Ms.

        Where no feature is settled, scenarios that are alike are coupled, too; where most are, only
        what bears on the optimum is worth its time. From here on no proof is about dearer sets.
        """
        self._known_scenarios, self.tightened_for = self._scenarios, cutoff
        lp, before, whole = self._lp.another(), -np.inf, self._restriction is None
        for _ in range(_PASSES if whole else 1):
            optimum = self._optimum(deadline)
            # smaller big-Ms make others smaller
            if optimum >= cutoff or not optimum - before > _WORTHWHILE * (cutoff - optimum):
                break
            before = optimum
            # what was tightened needs no budget
            constraints, core = self._of_interest(cutoff)
            which = range(len(constraints)) if whole else core
            self._constraints[1:] = tightened(
                constraints, core, which, self._grown, lp, deadline=deadline
            )[1:]
            self._reload()
        if whole and -np.inf < self._optimum(deadline) < cutoff:
            # what was proven for dearer sets holds for these, too
            self._couple(cutoff, lp, deadline)
            self._reload()
        lp.close()
        if whole:
            self._tell_pool(0)

    def _of_interest(self, cutoff: float) -> tuple[list[Constraint], set[int]]:
        """Return all constraints for sets that cost ``cutoff`` at most, and the active ones."""
        constraints = [CostLimit(self._costs, cutoff), *self._constraints[1:]]
        return constraints, {0, *self._needed((_NONE, _NOTHING))}

    def _reload(self) -> None:
        self._growing = self._grown(self._constraints)
        self._renew(self._lp.load)

    def _optimum(self, deadline: float) -> float:
        """Return the optimum with no column fixed, which :meth:`_needed` is about then."""
        self._lp.set_bounds(*self._now.ends((_NONE, _NOTHING)))
        with deferred_interrupt() as interrupt:
            result = self._lp.solve(np.inf, deadline, interrupt)
        if result.status is not SolveStatus.OPTIMAL or result.point is None:
            return -np.inf
        self._last = result
        return float(self._now.cost @ result.point)

    def _renew(self, change: Callable[[Program], None]) -> None:
        # its duals are about other rows
        self._last = None
        self._now = relaxed_program(self._growing, self._constraints, self._costs)
        # the number in the pool of the scenario of each phase
        self._scenario_of_phases = np.array(self._numbers)[self._now.table.constraint]
        change(self._now.program)
        self._lp.set_cost(self._now.cost)

    def remaining(self, fixings: Sequence[Fixings]) -> Restriction:
        """Return which features are in for sure, and which may be in or out."""
        low, high = self._objective.least.copy(), self._objective.most.copy()
        for columns, values in fixings:
            mine = columns < low.size
            low[columns[mine]] = high[columns[mine]] = values[mine]
        return Restriction(low > 0.5, np.flatnonzero(low < high))

    def cost(self, chosen: BoolArray) -> float:
        """Return the cost of the features ``chosen``."""
        return self._objective.cost(chosen)

    def _needed(self, fixings: Fixings) -> set[int]:
        """Return the numbers of the constraints active at the last optimum, or on a phase."""
        duals = None if self._last is None else self._last.multipliers
        table = self._now.table
        fixed = table.constraint[np.isin(table.phase, fixings[0])]
        return bearing(self._constraints, self._now.constraint_of_rows, duals, fixed)

    def reduced(self, restriction: Restriction, fixings: Fixings) -> "Relaxation | None":
        """Return the relaxation of the free features alone, in the phases fixed, on its own LP.

        It holds what bears on the optimum found last. None where nothing is left of some of that.
        """
        phases = fixed_phases(self._now.table, self._constraints, *fixings)
        left = left_of(self._constraints, self._numbers, self._needed(fixings), restriction, phases)
        if left is None:
            return None
        none = np.zeros(restriction.free.size, dtype=bool)
        objective = Objective(self._costs[restriction.free], none, none)
        within = restriction.within(self._restriction)
        return Relaxation(self._lp.another(), self._pool, objective, within, left)

    def surviving(
        self, fixings: Fixings, restriction: Restriction, cutoff: float, most: int
    ) -> CandidateSets | None:
        """Return candidate sets of a node, over the free features of ``restriction``.

        They cost ``cutoff`` at most, and satisfy what each scenario that bears on the optimum found
        last asks of them. None where that is too much to find out, by ``most`` as in
        :func:`~milp_verix.global_search.relaxation.surviving_sets.surviving`.
        """
        asked = self._surrogates(fixings).on(restriction)
        limit = cutoff + _BEYOND * (1.0 + abs(cutoff)) - self.cost(restriction.fixed_in)
        matrix = np.concatenate([asked.matrix, self._costs[None, restriction.free]])
        return surviving(matrix, np.append(asked.constant, -limit), most, self._lp.another)

    def _surrogates(self, fixings: Fixings) -> Surrogates:
        """Return what each scenario that bears on the optimum found last asks of its node."""
        features, now = self._costs.size, self._now
        if self._last is None or self._last.multipliers is None:
            return no_surrogates(features)
        y = now.safe.usable(self._last.multipliers)
        groups = grouped(self._constraints, now.constraint_of_rows, y)[now.constraint_of_rows]
        return surrogates_of(
            now.safe, y, groups, features, row_error=now.error, ends=now.ends(fixings)
        )

    def _full_selection(self, selection: FloatArray) -> FloatArray:
        return (
            selection if self._restriction is None else self._restriction.full_selection(selection)
        )

    def solve(self, fixings: Fixings, cutoff: float, deadline: float) -> Relaxed:
        """Solve with the columns in ``fixings`` fixed, until ``deadline``.

        ``cutoff`` is the bound from which on nobody asks for more.
        """
        # where everything is free everything is held, and tightened from time to time
        if self._restriction is None and len(self._held) < len(self._pool.constraints):
            missed = [n for n in range(len(self._pool.constraints)) if n not in self._held]
            self._hold(missed, deadline)
        while not self._impossible:
            relaxed, missing = self._solved(fixings, cutoff, deadline)
            if missing is None:
                return relaxed
            self._hold([missing], deadline)
        return Relaxed(np.inf)

    def _solved(
        self, fixings: Fixings, cutoff: float, deadline: float
    ) -> tuple[Relaxed, int | None]:
        """Solve the relaxation of the constraints held; return a violated one not held, if any."""
        columns, now = fixings[0], self._now
        ends = now.ends(fixings)
        self._lp.set_bounds(*ends)
        bound, reduced_costs = -np.inf, None
        # the LP may stop where it is beyond what is asked for, but then the duals must say so, too
        for limit in (cutoff + _BEYOND, np.inf):
            with deferred_interrupt() as interrupt:
                result = self._lp.solve(limit, deadline, interrupt)
            if result.status is SolveStatus.TIME_LIMIT:
                return Relaxed(-np.inf, late=True), None
            bound, reduced_costs = now.proven(ends, result)
            if result.status is not SolveStatus.TARGET or bound >= cutoff:
                break
        if bound >= cutoff:
            return Relaxed(bound), None
        if result.point is None:
            # numerical trouble: smaller boxes have less of it
            return Relaxed(bound, phase=now.any_free(columns)), None
        count = self._costs.size
        selection = np.clip(result.point[:count], 0.0, 1.0)
        nearest = np.round(selection)
        selection = np.where(np.abs(selection - nearest) <= _WHOLE, nearest, selection)
        self._last = result
        everyone = self._full_selection(selection)
        there = self._pool.reached(everyone)
        worst = np.max(there[-1], axis=0)
        missing = self._pool.missing(everyone, worst, self._held)
        if missing is not None:
            return Relaxed(bound), missing
        reduced_cost_fixings = fixed_by_reduced_cost(
            reduced_costs, selection, columns, cutoff - bound
        )
        slopes = margin_slopes(self._pool, self._held, there, now.table, self._scenario_of_phases)
        phase = None if slopes is None else now.choice.worst(result, columns, slopes)
        return Relaxed(bound, selection, phase, reduced_cost_fixings, reduced_costs), None

    def close(self) -> None:
        """Free the linear program."""
        self._lp.close()
