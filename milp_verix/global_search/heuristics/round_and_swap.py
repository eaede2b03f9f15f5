"""A whole set of features of a given cost that survives the perturbations known, as well as it can.

Near a set, each margin under each perturbation is linear in the shares ``A`` of the features
(``heuristics.linearised_margins``). The shares with the largest distance from all margins,
``min_A max_r m_r(A)``, ``c·A ≤ budget``, are a linear program, solved anew around its solution
until this survives. They are rounded, and then features are swapped, in against out, as long as the
largest margin sinks; where that is not enough, a program looks for whole features first. Nothing is
proven here: the set is a proposal.
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
from milp_verix.global_search.pricing.perturbation_set import Perturbations
from milp_verix.problem.objective import Objective
from milp_verix.solvers import Targets, open_session
from milp_verix.solvers.backends import highs
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.program.builder import ProgramBuilder

_SWAPS = 60
_SHORT_LIST = 60
_STEPS = 6
_PROGRESS = 1e-6
_FREE = 60
_SECONDS = 0.2
_SPARE = 1e-9
_PARTS = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class _Centre:
    """The shares farthest from all margins, and what it is worth to move each of them.

    ``largest`` is the largest margin there.
    """

    selection: FloatArray
    worth: FloatArray
    largest: float


def polished(
    perturbations: Perturbations,
    objective: Objective,
    deltas: FloatArray,
    selection: FloatArray,
    budget: float,
) -> BoolArray | None:
    """Return a set that costs at most ``budget``, near ``selection``, against ``deltas``, (d, N).

    None where none is found.
    """
    found = _survivors(perturbations, objective, deltas, selection, budget)
    if found is None:
        return None
    rows, centre = found
    chosen = _chosen(perturbations, objective, deltas, centre.selection, budget)
    if chosen is None:
        whole = _whole(rows, objective, budget, centre)
        if whole is not None:
            chosen = _chosen(perturbations, objective, deltas, whole, budget)
    return chosen


def _chosen(
    perturbations: Perturbations,
    objective: Objective,
    deltas: FloatArray,
    selection: FloatArray,
    budget: float,
) -> BoolArray | None:
    """Round ``selection`` and swap features; return the set if it survives ``deltas``."""
    chosen = _rounded(selection, objective, budget)
    near = linear_margins(perturbations, deltas, chosen.astype(np.float64))
    chosen = _swapped(near, objective, chosen, budget)
    survived = largest_margin(perturbations, deltas, chosen.astype(np.float64)) <= 0
    return chosen if survived else None


def _survivors(
    perturbations: Perturbations,
    objective: Objective,
    deltas: FloatArray,
    selection: FloatArray,
    budget: float,
) -> tuple[LinearMargins, _Centre] | None:
    """Return shares that survive ``deltas``, and the margins around the shares before them.

    What is linear near some shares is not elsewhere: each step starts where the last one ended.
    """
    largest = np.inf
    for _ in range(_STEPS):
        rows = linear_margins(perturbations, deltas, selection)
        centre = _centred(rows, objective, budget)
        if centre is None:
            return None
        selection, before = centre.selection, largest
        largest = largest_margin(perturbations, deltas, selection)
        if largest <= 0:
            return rows, centre
        if largest > before - _PROGRESS:
            return None
    return None


def _centred(rows: LinearMargins, objective: Objective, budget: float) -> _Centre | None:
    """Return the shares farthest from all margins, if there are any for the budget."""
    count = objective.costs.size
    cost = np.append(np.zeros(count), 1.0)
    paid = np.append(objective.costs, 0.0)[None, :], np.array([budget])
    bounds = np.append(objective.least, -np.inf), np.append(objective.most, np.inf)
    below = np.hstack([rows.matrix, np.full((rows.constant.size, 1), -1.0)])
    found = minimised(cost, (below, -rows.constant), bounds, paid)
    if found.x is None:
        return None
    worth = np.abs(found.lower.marginals[:count]) + np.abs(found.upper.marginals[:count])
    return _Centre(np.clip(found.x[:count], 0.0, 1.0), worth, found.fun)


def _whole(
    rows: LinearMargins, objective: Objective, budget: float, centre: _Centre
) -> FloatArray | None:
    """Return whole shares near the ``centre`` that survive the margins, if some are found soon."""
    if highs.unavailable() is not None or centre.largest >= 0:
        return None
    free = np.argsort(centre.worth, kind="stable")[:_FREE]
    selection = np.round(centre.selection)
    selection[free] = 0.0
    builder = ProgramBuilder()
    chosen = builder.add_columns(
        "A", free, objective.least[free], objective.most[free], integer=True
    )
    one = np.array([0])
    largest = builder.add_columns("t", one, centre.largest - _SPARE, 0.0)
    numbers = np.arange(rows.constant.size)
    slack = np.full((numbers.size, 1), -1.0)
    terms = [(sp.csr_array(rows.matrix[:, free]), chosen), (sp.csr_array(slack), largest)]
    builder.add_rows("margin", numbers, terms, -np.inf, -rows.at(selection))
    paid = [(sp.csr_array(objective.costs[free][None, :]), chosen)]
    builder.add_rows("budget", one, paid, -np.inf, budget - objective.costs @ selection)
    session = open_session("highs")
    try:
        program = builder.build()
        session.load(program)
        cost = np.zeros(program.columns)
        # for whole costs a gap below one is none: here, a tenth of what there is to gain
        cost[largest] = _PARTS / -centre.largest
        found = session.minimise(cost, Targets(seconds=_SECONDS, whole=True))
    except SolverError:
        return None
    finally:
        session.close()
    if found.point is None:
        return None
    selection[free] = np.clip(found.point[chosen], 0.0, 1.0)
    return selection


def _rounded(selection: FloatArray, objective: Objective, budget: float) -> BoolArray:
    """Take the features with the largest shares, as far as the budget goes."""
    chosen = objective.must.copy()
    spent = float(objective.costs[chosen].sum())
    for feature in np.argsort(-selection, kind="stable"):
        allowed = not (chosen[feature] or objective.must_not[feature])
        if allowed and spent + objective.costs[feature] <= budget + 1e-9:
            chosen[feature] = True
            spent += float(objective.costs[feature])
    return chosen


def _swapped(
    rows: LinearMargins, objective: Objective, chosen: BoolArray, budget: float
) -> BoolArray:
    """Swap a feature in against one out while the largest margin sinks."""
    chosen, costs = chosen.copy(), objective.costs
    values = rows.at(chosen.astype(np.float64))
    for _ in range(_SWAPS):
        worst = rows.matrix[int(np.argmax(values))]
        inside = np.flatnonzero(chosen & ~objective.must)
        outside = np.flatnonzero(~chosen & ~objective.must_not)
        if not (inside.size and outside.size):
            break
        # those that help the worst margin most, or lose it least
        inside = inside[np.argsort(-worst[inside], kind="stable")[:_SHORT_LIST]]
        outside = outside[np.argsort(worst[outside], kind="stable")[:_SHORT_LIST]]
        change = rows.matrix[:, outside][:, :, None] - rows.matrix[:, inside][:, None, :]
        largest = np.max(values[:, None, None] + change, axis=0)
        spent = float(costs[chosen].sum()) + costs[outside][:, None] - costs[inside][None, :]
        largest = np.where(spent <= budget + 1e-9, largest, np.inf)
        i, j = np.unravel_index(int(np.argmin(largest)), largest.shape)
        if not largest[i, j] < np.max(values) - 1e-12:
            break
        chosen[outside[i]], chosen[inside[j]] = True, False
        values = rows.at(chosen.astype(np.float64))
    return chosen
