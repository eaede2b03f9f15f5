"""A set of features of a given cost that survives every known perturbation: a proposal, unproven.

Near a set, each margin under each perturbation is linear in the selection ``A`` of the features
(:mod:`.linearised_margins`). The selection farthest from all margins,

    min_A max_r m_r(A)   subject to   c·A ≤ cost,

is a linear program, solved anew around its solution until that survives. The selection is rounded,
and features are swapped, in against out, while the largest margin sinks. Where that is not enough,
a small program chooses whole features first.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from milp_verix.errors import SolverError
from milp_verix.global_search.heuristics.linearised_margins import (
    LinearMargins,
    largest_margin,
    linear_margins,
    minimised,
)
from milp_verix.global_search.pricing.perturbation_set import PerturbationSet
from milp_verix.global_search.search_limits import SearchLimits
from milp_verix.problem.objective import Objective
from milp_verix.solvers import Targets, open_session
from milp_verix.solvers.backends import highs
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.program.builder import ProgramBuilder

_STEPS = 6
_PROGRESS = 1e-6
_ROUNDING = 1e-9
_GAIN = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class _Centre:
    """The ``selection`` farthest from all margins, of which ``largest`` is the largest there.

    ``worth`` says what moving each feature would cost; ``rows`` are the margins near it.
    """

    selection: FloatArray
    worth: FloatArray
    largest: float
    rows: LinearMargins


@dataclass(frozen=True, slots=True, eq=False)
class RoundAndSwap:
    """The heuristic for sets that cost at most ``cost`` and survive ``deltas``, shape (d, N)."""

    perturbations: PerturbationSet
    objective: Objective
    deltas: FloatArray
    cost: float
    limits: SearchLimits

    def propose(self, selection: FloatArray) -> BoolArray | None:
        """Return a set near ``selection``, shape (features,); None where none is found."""
        centre = self._centre(selection)
        if centre is None:
            return None
        chosen = self._rounded(centre.selection)
        if chosen is None and (whole := self._whole(centre)) is not None:
            chosen = self._rounded(whole)
        return chosen

    def _centre(self, selection: FloatArray) -> _Centre | None:
        """Return a selection that survives; each step starts where the last one ended."""
        largest = np.inf
        for _ in range(_STEPS):
            centre = self._farthest(linear_margins(self.perturbations, self.deltas, selection))
            if centre is None:
                return None
            selection, before = centre.selection, largest
            largest = largest_margin(self.perturbations, self.deltas, selection)
            if largest <= 0:
                return centre
            if largest > before - _PROGRESS:
                return None
        return None

    def _farthest(self, rows: LinearMargins) -> _Centre | None:
        """Return the selection farthest from the margins ``rows``, if any costs so little."""
        objective, count = self.objective, self.objective.costs.size
        goal = np.append(np.zeros(count), 1.0)
        paid = np.append(objective.costs, 0.0)[None, :], np.array([self.cost])
        bounds = np.append(objective.least, -np.inf), np.append(objective.most, np.inf)
        below = np.hstack([rows.matrix, np.full((rows.constant.size, 1), -1.0)])
        found = minimised(goal, (below, -rows.constant), bounds, paid)
        if found.x is None:
            return None
        worth = np.abs(found.lower.marginals[:count]) + np.abs(found.upper.marginals[:count])
        return _Centre(np.clip(found.x[:count], 0.0, 1.0), worth, found.fun, rows)

    def _whole(self, centre: _Centre) -> FloatArray | None:
        """Choose the features that are cheap to move by a program; None where it finds nothing."""
        if highs.unavailable() is not None or centre.largest >= 0:
            return None
        objective, rows = self.objective, centre.rows
        free = np.argsort(centre.worth, kind="stable")[: self.limits.program_features]
        selection = np.round(centre.selection)
        selection[free] = 0.0
        builder = ProgramBuilder()
        ends = objective.least[free], objective.most[free]
        chosen = builder.add_columns("A", free, *ends, integer=True)
        one, numbers = np.array([0]), np.arange(rows.constant.size)
        largest = builder.add_columns("t", one, centre.largest - _ROUNDING, 0.0)
        slack = sp.csr_array(np.full((numbers.size, 1), -1.0))
        terms = [(sp.csr_array(rows.matrix[:, free]), chosen), (slack, largest)]
        builder.add_rows("margin", numbers, terms, -np.inf, -rows.at(selection))
        paid = [(sp.csr_array(objective.costs[free][None, :]), chosen)]
        builder.add_rows("cost", one, paid, -np.inf, self.cost - objective.costs @ selection)
        session = open_session("highs")
        try:
            program = builder.build()
            session.load(program)
            goal = np.zeros(program.columns)
            # whole costs allow a gap below one: here, a tenth of the margin to gain
            goal[largest] = _GAIN / -centre.largest
            seconds = self.limits.program_seconds
            point = session.minimise(goal, Targets(seconds=seconds, whole=True)).point
        except SolverError:
            return None
        finally:
            session.close()
        if point is None:
            return None
        selection[free] = np.clip(point[chosen], 0.0, 1.0)
        return selection

    def _rounded(self, selection: FloatArray) -> BoolArray | None:
        """Round and swap; return the set if it survives."""
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
        """Swap a feature in against one out while the largest margin sinks."""
        chosen, objective, costs = chosen.copy(), self.objective, self.objective.costs
        values, short = rows.at(chosen.astype(np.float64)), self.limits.swap_candidates
        for _ in range(self.limits.swaps):
            worst = rows.matrix[int(np.argmax(values))]
            inside = np.flatnonzero(chosen & ~objective.must)
            outside = np.flatnonzero(~chosen & ~objective.must_not)
            if not (inside.size and outside.size):
                break
            # the features that help the worst margin most, or cost it least
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
