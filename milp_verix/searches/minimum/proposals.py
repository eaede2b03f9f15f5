"""Primal heuristics: cheaper sets near the incumbent, or a relaxation's optimum.

A proposal is a whole set of a given cost that survives every perturbation known, unproven. The
adversary attacks it and remembers the perturbations that it does not survive, so that the next
proposal survives them. A proposal becomes the incumbent once the check proves it. Its cost is
chosen by bisection between the bound and the incumbent's cost.

Near a set, the margins under perturbations are linear in the selection ``A`` of the features,

    m_r(A) = h_r + G_r·A,    G_rf = − Σ_{i ∈ f} ∂m_r/∂x_i δ_i

where each row ``r`` stands for one margin under one perturbation ``δ``. The selection farthest from
all margins,

    min_A max_r m_r(A)   subject to   c·A ≤ cost,

is the optimum of a linear program. It is solved again around each solution until a solution
survives. That solution is rounded; then features in the set are swapped against features outside
while the largest margin falls.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from milp_verix.base.clock import Deadline, elapsed_work
from milp_verix.oracle.attacks import PerturbationSet
from milp_verix.problem.objective import Objective
from milp_verix.searches.minimum.incumbent import Incumbent
from milp_verix.searches.minimum.search_limits import SearchLimits
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.network import batch_outputs, batch_slopes
from verix_encodings.work import worked

_ROWS = 150  # largest margins in a program
_FIRST_ROWS = 20  # it begins with: an LP takes 16 ms, with all rows 58 ms (`8cf2761`)
_VIOLATED = 1e-6  # of a row that counts as violated


def minimised(
    cost: FloatArray,
    rows: tuple[FloatArray, FloatArray],
    bounds: tuple[FloatArray, FloatArray],
    always: tuple[FloatArray, FloatArray] | None = None,
) -> Any:
    """Minimise ``cost·v`` subject to ``G v ≤ g`` for the pairs ``rows`` and ``always`` of ``G, g``.

    Few of the ``rows`` bind: the program begins with the first ones, and violated rows are added
    until none is left. The rows in ``always`` are in it from the start.
    """
    from scipy.optimize import linprog  # it takes a tenth of a second to load

    matrix, upper = rows
    last = (np.zeros((0, cost.size)), np.zeros(0)) if always is None else always
    held = np.arange(upper.size) < _FIRST_ROWS
    while True:
        found = linprog(
            cost,
            A_ub=np.vstack([matrix[held], last[0]]),
            b_ub=np.append(upper[held], last[1]),
            bounds=np.column_stack(bounds),
            method="highs-ds",
        )
        if found.x is None:
            return found
        violated = ~held & (matrix @ found.x > upper + _VIOLATED)
        if not violated.any():
            return found
        held |= violated


_STEPS = 6  # linear programs of a proposal; not measured
_LEAST_FALL = 1e-6  # the least fall of the largest margin for another program
_ROUNDING = 1e-9  # of sums of costs


@dataclass(frozen=True, slots=True, eq=False)
class RoundAndSwap:
    """The heuristic for sets of at most ``cost`` that survive ``deltas``, shape (d, N)."""

    perturbations: PerturbationSet
    objective: Objective
    deltas: FloatArray
    cost: float
    limits: SearchLimits

    def propose(self, selection: FloatArray) -> BoolArray | None:
        """Return a set near ``selection``, shape (features,); None if none is found."""
        farthest = self._farthest(selection)
        return None if farthest is None else self._rounded(farthest)

    def _rows(self, selection: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``h``, (rows,), and ``G`` of the largest margins at ``selection``."""
        p, deltas = self.perturbations, self.deltas
        inputs = p.centre[:, None] + p.weight(selection)[:, None] * deltas
        reached = batch_outputs(p.margins, inputs)
        nearest = np.argsort(-reached, axis=None, kind="stable")[:_ROWS]
        outputs, columns = np.unravel_index(nearest, reached.shape)
        slopes = batch_slopes(p.margins, inputs[:, columns], outputs) * deltas[:, columns]
        matrix = np.zeros((outputs.size, selection.size))
        np.subtract.at(matrix.T, p.feature_of, slopes)
        constant = reached[outputs, columns] - matrix @ selection
        # where the network is undefined, there is no row
        known = np.isfinite(constant) & np.isfinite(matrix).all(axis=1)
        return constant[known], matrix[known]

    def _largest(self, selection: FloatArray | BoolArray) -> float:
        """Return the largest margin at ``selection``, -inf under no perturbation."""
        p = self.perturbations
        return float(np.max(p.margins_at(p.weight(selection), self.deltas), initial=-np.inf))

    def _farthest(self, selection: FloatArray) -> FloatArray | None:
        """Return a selection far from all margins, by linear programs around the last."""
        largest = np.inf
        for _ in range(_STEPS):
            found = self._centre(*self._rows(selection))
            if found is None:
                return None
            selection, before = found, largest
            largest = self._largest(selection)
            if largest <= 0:
                return selection
            if largest > before - _LEAST_FALL:
                return None
        return None

    def _centre(self, constant: FloatArray, matrix: FloatArray) -> FloatArray | None:
        """Return the selection with the least largest margin; None if all cost more."""
        objective, count = self.objective, self.objective.costs.size
        goal = np.append(np.zeros(count), 1.0)
        paid = np.append(objective.costs, 0.0)[None, :], np.array([self.cost])
        bounds = np.append(objective.least, -np.inf), np.append(objective.most, np.inf)
        below = np.hstack([matrix, np.full((constant.size, 1), -1.0)])
        found = minimised(goal, (below, -constant), bounds, paid)
        return None if found.x is None else np.clip(found.x[:count], 0.0, 1.0)

    def _rounded(self, selection: FloatArray) -> BoolArray | None:
        """Round ``selection`` and swap features; return the set if it survives, else None."""
        objective = self.objective
        chosen = objective.must.copy()
        left = self.cost + _ROUNDING - objective.cost(chosen)
        for feature in np.argsort(-selection, kind="stable"):
            allowed = not (chosen[feature] or objective.must_not[feature])
            if allowed and objective.costs[feature] <= left:
                chosen[feature] = True
                left -= float(objective.costs[feature])
        chosen = self._swapped(chosen)
        return chosen if self._largest(chosen) <= 0 else None

    def _swapped(self, chosen: BoolArray) -> BoolArray:
        """Swap features in the set against features outside while the largest margin falls."""
        chosen, objective, costs = chosen.copy(), self.objective, self.objective.costs
        selection, short = chosen.astype(np.float64), self.limits.swap_candidates
        constant, matrix = self._rows(selection)
        values = constant + matrix @ selection
        for _ in range(self.limits.swaps if values.size else 0):
            worst = matrix[int(np.argmax(values))]
            inside = np.flatnonzero(chosen & ~objective.must)
            outside = np.flatnonzero(~chosen & ~objective.must_not)
            if not (inside.size and outside.size):
                break
            # features inside that lower the worst margin least, features outside that lower it most
            inside = inside[np.argsort(-worst[inside], kind="stable")[:short]]
            outside = outside[np.argsort(worst[outside], kind="stable")[:short]]
            change = matrix[:, outside][:, :, None] - matrix[:, inside][:, None, :]
            largest = np.max(values[:, None, None] + change, axis=0)
            paid = objective.cost(chosen) + costs[outside][:, None] - costs[inside][None, :]
            largest = np.where(paid <= self.cost + _ROUNDING, largest, np.inf)
            i, j = np.unravel_index(int(np.argmin(largest)), largest.shape)
            if not largest[i, j] < np.max(values) - 1e-12:
                break
            chosen[outside[i]], chosen[inside[j]] = True, False
            values = constant + matrix @ chosen.astype(np.float64)
        return chosen


class Proposals:
    """Looks for cheaper explanations until ``deadline``; ``seconds`` were spent so far."""

    def __init__(self, incumbent: Incumbent, limits: SearchLimits, deadline: Deadline) -> None:
        self._incumbent, self._limits, self._deadline = incumbent, limits, deadline
        self._started, self._work = worked(), 0.0
        self._failures = 0
        # the largest cost at which all proposals failed, and the incumbent's cost then
        self._failed, self._cost = -np.inf, incumbent.cost
        self.seconds = 0.0

    def improve(self, selection: FloatArray, bound: float) -> None:
        """Look for a cheaper explanation near ``selection``, less often after failures."""
        limits, now, reading = self._limits, time.monotonic(), worked()
        share = limits.proposal_share / (1.0 + self._failures / limits.many_failures)
        if not limits.uses("proposals") or self._work > share * elapsed_work(self._started):
            return
        try:
            while bound < self._incumbent.cost and self._bisect(selection, bound):
                pass
        finally:
            self.seconds += time.monotonic() - now
            self._work += elapsed_work(reading)

    def _bisect(self, selection: FloatArray, bound: float) -> bool:
        """Propose sets at a cost halfway between the incumbent's and the largest that failed.

        If no cost failed above ``bound``, the bound takes its place. If no cost is left in between,
        the largest one below the incumbent's is tried again: new perturbations may lead to another
        set. Returns whether there is a new incumbent.
        """
        incumbent = self._incumbent
        if incumbent.cost < self._cost:
            self._failures = 0
        self._cost = incumbent.cost
        least = 1.0 if incumbent.objective.whole else 0.01 * max(incumbent.cost - bound, 0.0)
        dearest = incumbent.cost - least
        if dearest < bound:
            return False
        low = max(self._failed, bound - least)
        again = dearest - low < least / 2.0
        half = np.floor((incumbent.cost - low) / 2.0 / least) * least
        cost = dearest if again else min(low + half, dearest)
        for start in (incumbent.selection, selection):
            if self._propose(start, cost):
                if again:
                    self._failed = -np.inf
                return True
        self._failed = max(self._failed, cost)
        self._failures += 1
        return False

    def _propose(self, selection: FloatArray, cost: float) -> bool:
        """Propose sets of at most ``cost`` until one is proven; return whether one is."""
        incumbent, adversary = self._incumbent, self._incumbent.adversary
        for _ in range(self._limits.proposals):
            if self._deadline.passed():
                return False
            chosen = RoundAndSwap(
                incumbent.perturbations, incumbent.objective, adversary.newest, cost, self._limits
            ).propose(selection)
            if chosen is None:
                return False
            selection = chosen.astype(np.float64)
            deltas, values = adversary.attack(selection)
            if np.any(values > 0):
                adversary.remember(deltas[:, values > 0])
                continue
            decision = incumbent.decide(chosen, self._deadline)
            if decision.delta is None:
                return decision.holds
        return False
