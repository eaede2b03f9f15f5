"""The linear relaxation of a scenario program on one live LP: bounds with proof, and what is open.

A bound is evaluated from row duals alone (:mod:`verix_encodings.safe_bound`), and so is
infeasibility, from a dual ray: neither rests on the solver.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from milp_verix.perturbations import Perturbations
from milp_verix.solvers import SolveStatus
from milp_verix.solvers.interrupt import deferred_interrupt
from milp_verix.solvers.live_lp import LiveLp, LpResult
from milp_verix.wishes import Wishes
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds import Interval
from verix_encodings.program import Expressions, Program
from verix_encodings.safe_bound import SafeBound
from verix_encodings.scenario import SLACK, Budget, Part, Scenario, ScenarioProgram

_LEAST = 1e-7
_NEAR = 0.05
_WHOLE = 1e-7
_WRONG = 1e-8
_BEYOND = 1e-6
_TIE = 1e-3
_VIOLATED = 10 * SLACK

_NONE, _NOTHING = np.zeros(0, dtype=np.intp), np.zeros(0)

Fixings: TypeAlias = tuple[IntArray, FloatArray]
"""Columns of the program, and the value, 0 or 1, that each is fixed at."""


@dataclass(frozen=True, slots=True, eq=False)
class Relaxed:
    """The relaxation with some columns fixed.

    ``bound`` is proven, infinite where it is infeasible. ``shares`` of the features are those of
    its optimum, shape (features,), None where there is none; ``phase`` is the integer column, no
    feature, that it gets most wrong, None where every scenario is survived. ``forced`` are features
    that keep their value in everything cheaper than asked for.
    """

    bound: float
    shares: FloatArray | None = None
    phase: int | None = None
    forced: Fixings = (_NONE, _NOTHING)
    late: bool = False

    @property
    def whole(self) -> bool:
        """Whether every feature is in or out."""
        return self.shares is not None and bool(np.all((self.shares == 0) | (self.shares == 1)))


class Relaxation:
    """A program that grows by scenarios and covers, its relaxation, and what this one proves."""

    def __init__(
        self,
        lp: LiveLp,
        perturbations: Perturbations,
        wishes: Wishes,
    ) -> None:
        self._lp = lp
        self._perturbations = p = perturbations
        self._wishes = wishes
        self._costs = wishes.costs
        self._deltas = np.zeros((p.centre.size, 0))
        self._error = 0.0
        self._known = 0, np.inf
        self._parts: list[Part] = [Budget(self._costs, float(self._costs.sum()))]
        self._growing = self._grown(self._parts)
        self._renew(self._lp.extend)

    def extend(self, parts: list[Part]) -> None:
        """Add scenarios and covers."""
        for part in parts:
            self._parts.append(part)
            self._growing.add(part)
            if isinstance(part, Scenario):
                self._deltas = np.concatenate([self._deltas, part.delta[:, None]], axis=1)
                self._error = max(self._error, part.error)
        self._renew(self._lp.extend)

    def _grown(self, parts: list[Part]) -> ScenarioProgram:
        p, wishes = self._perturbations, self._wishes
        growing = ScenarioProgram(p.margins, p.centre, p.feature_of, wishes.least, wishes.most)
        for part in parts:
            growing.add(part)
        return growing

    def loose(self, enough: float) -> bool:
        """Whether :meth:`tighten` does not know a scenario, or how little is left to prove."""
        return self._known != (self._deltas.shape[1], enough)

    def tighten(self, enough: float, deadline: float) -> None:
        """Bound what ReLUs take over all sets that cost ``enough`` at most; reload the big-Ms.

        From here on no proof is about dearer sets.
        """
        self._known = self._deltas.shape[1], enough
        parts = [Budget(self._costs, enough), *self._parts[1:]]
        self._growing = self._grown(parts)
        self._renew(self._lp.load)
        for number, part in enumerate(parts):
            if isinstance(part, Scenario):
                parts[number] = self._tightened(part, self._growing.arguments[number], deadline)
        self._parts = [self._parts[0], *parts[1:]]
        self._growing = self._grown(self._parts)
        self._renew(self._lp.load)

    def _tightened(
        self, scenario: Scenario, arguments: list[tuple[int, Expressions]], deadline: float
    ) -> Scenario:
        bounds = list(scenario.bounds)
        for value, z in arguments:
            bounds[value] = self._enclosed(z, bounds[value], deadline)
        return replace(scenario, bounds=tuple(bounds))

    def _enclosed(self, z: Expressions, known: Interval, deadline: float) -> Interval:
        """Minimise and maximise those of ``z`` that may have both signs.

        Each keeps both, by ``_LEAST`` at least, so that the program keeps its columns.
        """
        program = self._program
        ends = program.column_lower, program.column_upper
        self._lp.set_bounds(*ends)
        lower, upper = known.lower.copy(), known.upper.copy()
        unstable = np.flatnonzero((lower < -_LEAST) & (upper > _LEAST))
        # where a point is known that is near an end there is nothing to gain
        low, high = np.full(lower.size, np.inf), np.full(lower.size, -np.inf)
        for i in unstable.tolist():
            row, constant = z.row(i, program.columns)
            near = _NEAR * (upper[i] - lower[i])
            for sign in (1.0, -1.0):
                reached = low[i] <= lower[i] + near if sign > 0 else high[i] >= upper[i] - near
                if reached or time.monotonic() >= deadline:
                    continue
                self._lp.set_cost(sign * row)
                with deferred_interrupt() as interrupt:
                    result = self._lp.solve(np.inf, deadline, interrupt)
                if result.status is not SolveStatus.OPTIMAL or result.multipliers is None:
                    continue
                if result.point is not None:
                    point = z.at(result.point)
                    low, high = np.minimum(low, point), np.maximum(high, point)
                least = self._safe.lower(sign * row, result.multipliers, self._error, ends)
                # the expression is off by no more than a row
                least += sign * constant - self._error - 1e-12 * abs(constant)
                if sign > 0:
                    lower[i] = max(lower[i], min(least, -_LEAST))
                else:
                    upper[i] = min(upper[i], max(-least, _LEAST))
        return Interval(lower, upper)

    def _renew(self, change: Callable[[Program], None]) -> None:
        self._program, columns = self._growing.build(), self._growing.columns
        self._cost = np.zeros(self._program.columns)
        self._cost[columns] = self._costs
        self._safe = SafeBound(self._program)
        change(self._program)
        self._lp.set_cost(self._cost)
        phases = self._program.integer.copy()
        phases[columns] = False
        self._phases = np.flatnonzero(phases)
        self._by_feature = self._program.matrix[:, columns].T.tocsr()
        self._entries = self._program.matrix[:, self._phases].tocoo()
        self._with_phase = self._program.matrix[self._entries.row]

    def survived(self, shares: FloatArray) -> bool:
        """Whether the features in ``shares`` survive every scenario."""
        if not self._deltas.size:
            return True
        reached = self._perturbations.reached(self._perturbations.weight(shares), self._deltas)
        return bool(np.max(reached) <= _VIOLATED)

    def solve(self, fixings: Fixings, enough: float, deadline: float) -> Relaxed:
        """Solve with the columns in ``fixings`` fixed, until ``deadline``.

        ``enough`` is the bound from which on nobody asks for more.
        """
        columns, values = fixings
        low, high = self._program.column_lower.copy(), self._program.column_upper.copy()
        low[columns] = high[columns] = values
        self._lp.set_bounds(low, high)
        bound = -np.inf
        # the LP may stop where it is beyond what is asked for, but then the duals must say so, too
        for limit in (enough + _BEYOND, np.inf):
            with deferred_interrupt() as interrupt:
                result = self._lp.solve(limit, deadline, interrupt)
            if result.status is SolveStatus.TIME_LIMIT:
                return Relaxed(-np.inf, late=True)
            bound = self._proven((low, high), result)
            if result.status is not SolveStatus.TARGET or bound >= enough:
                break
        if bound >= enough:
            return Relaxed(bound)
        if result.point is None:
            # numerical trouble: smaller boxes have less of it
            return Relaxed(bound, phase=self._any_free(columns))
        count = self._costs.size
        shares = np.clip(result.point[:count], 0.0, 1.0)
        nearest = np.round(shares)
        shares = np.where(np.abs(shares - nearest) <= _WHOLE, nearest, shares)
        forced = self._forced(result, shares, columns, enough - bound)
        phase = None if self.survived(shares) else self._worst_phase(result, columns)
        return Relaxed(bound, shares, phase, forced)

    def _any_free(self, fixed: IntArray) -> int | None:
        """Return a column that may be split: a phase, if there is one that is not fixed."""
        features = np.arange(self._costs.size)
        free = np.setdiff1d(np.concatenate([self._phases, features]), fixed)
        return int(free[-1]) if free.size else None

    def _forced(
        self, result: LpResult, shares: FloatArray, fixed: IntArray, slack: float
    ) -> Fixings:
        """Return the features whose reduced cost is above ``slack``, and where they are.

        A feature at one end whose reduced cost is ``d`` raises the bound by ``|d|`` at the other.
        """
        if result.multipliers is None or not np.isfinite(slack):
            return _NONE, _NOTHING
        count = self._costs.size
        reduced = self._costs - self._by_feature @ result.multipliers
        free = np.ones(count, dtype=bool)
        free[fixed[fixed < count]] = False
        far = np.abs(reduced) > slack + 1e-6 * (1.0 + slack)
        at_end = np.where(reduced > 0, shares == 0.0, shares == 1.0)
        forced = np.flatnonzero(free & far & at_end)
        return forced, shares[forced]

    def _worst_phase(self, result: LpResult, fixed: IntArray) -> int | None:
        """Return the phase by which the bound gains most where it is fixed, to first order.

        That is how far the phase is from both of its values, with all else as it is, times what
        its big-Ms are worth to the row duals. None where each may be what its rows want.
        """
        entries, program, point = self._entries, self._program, result.point
        assert point is not None
        rows, weight = entries.row, np.abs(entries.data)
        others = self._with_phase @ point - entries.data * point[self._phases[entries.col]]
        ends = np.stack([program.row_lower[rows] - others, program.row_upper[rows] - others])
        ends = np.sort(ends / entries.data, axis=0)
        low, high = np.zeros(self._phases.size), np.ones(self._phases.size)
        size = np.zeros(self._phases.size)
        np.maximum.at(low, entries.col, ends[0])
        np.minimum.at(high, entries.col, ends[1])
        np.maximum.at(size, entries.col, weight)
        wrong = np.minimum(low, 1.0 - high) * size
        if result.multipliers is not None:
            worth = np.zeros(self._phases.size)
            np.add.at(worth, entries.col, weight * np.abs(result.multipliers[rows]))
            # where the duals tell nothing apart, the big-Ms alone do
            gain = np.minimum(low, 1.0 - high) * worth + _TIE * wrong
            wrong = np.where(wrong > _WRONG, gain, 0.0)
        wrong[np.isin(self._phases, fixed)] = 0.0
        wrong = np.maximum(wrong, 0.0)
        worst = int(np.argmax(wrong)) if wrong.size else 0
        return int(self._phases[worst]) if wrong.size and wrong[worst] > 0.0 else None

    def _proven(self, ends: tuple[FloatArray, FloatArray], result: LpResult) -> float:
        if result.multipliers is None:
            return -np.inf
        y, error = result.multipliers, self._error
        if result.status is not SolveStatus.INFEASIBLE:
            return self._safe.lower(self._cost, y, error, ends)
        nothing = np.zeros_like(self._cost)
        proven = max(self._safe.lower(nothing, sign * y, error, ends) for sign in (1.0, -1.0))
        return np.inf if proven > 0 else -np.inf

    def close(self) -> None:
        """Free the linear program."""
        self._lp.close()
