"""Counterfactuals of trees with few changes, each just beyond a threshold.

Between two thresholds a tree says the same, so the only values worth a try are those next to the
input explained in each cell. Trees are evaluated for many candidates at once; the library runs the
last one alone.
"""

import numpy as np

from milp_verix.oracle.engines.leaves import cells_for
from milp_verix.problem.ball import rounded_to
from milp_verix.problem.problem import PosedProblem
from milp_verix.results.few_digits import Condition, Point, first_changed, replaced
from verix_encodings.network import batch_outputs

_MOST_TRIED = 24
"""Values of a coordinate that are tried, the nearest first."""


def plain_tree_point(problem: PosedProblem, found: Point, allowed: Condition) -> Point:
    """Return an input near ``found``, flat, that changes no other features, and fewer if it can.

    The prediction changes there as far as sums without rounding tell.
    """
    point = put_back(problem, found, allowed)
    unordered = np.zeros(point.size, dtype=bool)
    if problem.inputs is not None:
        for feature, group in zip(problem.inputs.features, problem.inputs.groups, strict=True):
            unordered[group] = feature.unordered
    moved = np.flatnonzero((point != problem.x) & ~unordered).tolist()
    nearer = {at: _nearer(problem, point, at) for at in moved}
    return replaced(problem, point, nearer, allowed)


def put_back(problem: PosedProblem, point: Point, allowed: Condition) -> Point:
    """Return ``point``, of any network, with groups back at the input, the least missed first."""
    x = problem.x
    while True:
        groups = [group for group in problem.features.groups if np.any(point[group] != x[group])]
        alone = np.tile(point, (len(groups), 1))
        for row, group in enumerate(groups):
            alone[row, group] = x[group]
        worst = batch_outputs(problem.margins, alone.T.astype(np.float64)).max(axis=0)
        ranked = [groups[row] for row in np.argsort(-worst, kind="stable") if worst[row] > 0]
        # all beginnings of the ranking at once, the longest first
        candidates = np.tile(point, (len(ranked), 1))
        for row, group in enumerate(ranked):
            candidates[row:, group] = x[group]
        kept = first_changed(problem, candidates[::-1], allowed)
        if kept is None:
            return point
        point = candidates[::-1][kept]


def _nearer(problem: PosedProblem, point: Point, at: int) -> Point:
    """Return the values of coordinate ``at`` next to the input in each cell on the way to it."""
    x, own = float(problem.x[at]), cells_for(problem).of_feature(at)
    mixed = problem.ball.mixed
    whole = mixed is not None and bool(mixed.integral[at])
    if point[at] > x:
        beyond = own[(own >= x) & (own < point[at])][:_MOST_TRIED]
        return rounded_to(
            np.floor(beyond) + 1.0 if whole else np.nextafter(beyond, np.inf), point.dtype, np.inf
        )
    before = own[(own < x) & (own >= point[at])][::-1][:_MOST_TRIED]
    return rounded_to(np.floor(before) if whole else before, point.dtype, -np.inf)
