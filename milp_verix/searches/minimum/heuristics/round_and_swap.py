"""Proposals: sets of features of a given cost that survive every known perturbation, unproven.

Near a set, each margin under each perturbation is linear in the selection ``A`` of the features
(:mod:`.linearised_margins`). The selection farthest from all margins,

    min_A max_r m_r(A)   subject to   c·A ≤ cost,

is the optimum of a linear program. It is solved again around each solution until a solution
survives. That solution is rounded; then features in the set are swapped against features outside
while the largest margin falls.
"""

from dataclasses import dataclass

import numpy as np

from milp_verix.oracle.perturbation_set import PerturbationSet
from milp_verix.problem.objective import Objective
from milp_verix.searches.minimum.heuristics.linearised_margins import (
    LinearMargins,
    largest_margin,
    linear_margins,
    minimised,
)
from milp_verix.searches.minimum.search_limits import SearchLimits
from verix_encodings.arrays import BoolArray, FloatArray

_STEPS = 6  # linear programs of a proposal; not measured
_PROGRESS = 1e-6  # the least fall of the largest margin for another program
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

    def _farthest(self, selection: FloatArray) -> FloatArray | None:
        """Return a selection far from all margins that survives; None if none is found.

        Each step solves the linear program around the last solution.
        """
        largest = np.inf
        for _ in range(_STEPS):
            found = self._centre(linear_margins(self.perturbations, self.deltas, selection))
            if found is None:
                return None
            selection, before = found, largest
            largest = largest_margin(self.perturbations, self.deltas, selection)
            if largest <= 0:
                return selection
            if largest > before - _PROGRESS:
                return None
        return None

    def _centre(self, rows: LinearMargins) -> FloatArray | None:
        """Return the selection with the least largest margin of ``rows``; None if all cost more."""
        objective, count = self.objective, self.objective.costs.size
        goal = np.append(np.zeros(count), 1.0)
        paid = np.append(objective.costs, 0.0)[None, :], np.array([self.cost])
        bounds = np.append(objective.least, -np.inf), np.append(objective.most, np.inf)
        below = np.hstack([rows.matrix, np.full((rows.constant.size, 1), -1.0)])
        found = minimised(goal, (below, -rows.constant), bounds, paid)
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
        near = linear_margins(self.perturbations, self.deltas, chosen.astype(np.float64))
        chosen = self._swapped(near, chosen)
        worst = largest_margin(self.perturbations, self.deltas, chosen.astype(np.float64))
        return chosen if worst <= 0 else None

    def _swapped(self, rows: LinearMargins, chosen: BoolArray) -> BoolArray:
        """Swap features in the set against features outside while the largest margin falls."""
        chosen, objective, costs = chosen.copy(), self.objective, self.objective.costs
        values, short = rows.at(chosen.astype(np.float64)), self.limits.swap_candidates
        for _ in range(self.limits.swaps if values.size else 0):
            worst = rows.matrix[int(np.argmax(values))]
            inside = np.flatnonzero(chosen & ~objective.must)
            outside = np.flatnonzero(~chosen & ~objective.must_not)
            if not (inside.size and outside.size):
                break
            # features inside that lower the worst margin least, features outside that lower it most
            inside = inside[np.argsort(-worst[inside], kind="stable")[:short]]
            outside = outside[np.argsort(worst[outside], kind="stable")[:short]]
            change = rows.matrix[:, outside][:, :, None] - rows.matrix[:, inside][:, None, :]
            largest = np.max(values[:, None, None] + change, axis=0)
            paid = objective.cost(chosen) + costs[outside][:, None] - costs[inside][None, :]
            largest = np.where(paid <= self.cost + _ROUNDING, largest, np.inf)
            i, j = np.unravel_index(int(np.argmin(largest)), largest.shape)
            if not largest[i, j] < np.max(values) - 1e-12:
                break
            chosen[outside[i]], chosen[inside[j]] = True, False
            values = rows.at(chosen.astype(np.float64))
        return chosen
