"""Inputs of trees at the optimum of a program, whose binaries tell the side of each threshold.

In a program cells are closed: at a threshold ``x`` is on both sides of it, up to tolerances. So the
input is read from the binaries: the nearest one in the cells that they name.
"""

import numpy as np

from milp_verix.oracle.engines.leaf_search import Clique
from milp_verix.oracle.engines.leaves import Reach, cells_for
from milp_verix.problem.problem import PosedProblem
from verix_encodings import Interval, Program
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.kinds.tree_ensemble import TreeEnsemble


def point_of_cells(
    problem: PosedProblem,
    free: IntArray,
    point: FloatArray,
    *,
    program: Program,
    trees: TreeEnsemble,
    box: Interval,
    found: FloatArray,
) -> FloatArray:
    """Return the input in the cells that the binaries of ``point`` name, (d,).

    ``point`` has a value for each column of ``program``, which encodes ``trees`` over ``box``;
    ``found`` is the input by its own columns, returned where the cells hold no input.
    """
    cells = cells_for(problem)
    reach = Reach.of(problem, cells, free)
    lower, upper = reach.lower.copy(), reach.upper.copy()
    thresholds = trees.open_thresholds(box.lower, box.upper)
    start = 0
    for prefix, numbers in program.column_labels:
        y = point[start : start + len(numbers)] > 0.5
        start += len(numbers)
        head, _, feature = prefix.rpartition("_")
        if not head.startswith("y_"):
            continue
        own = thresholds[f := int(feature)]
        side = int(np.argmax(y)) if y.any() else y.size
        if side > 0:
            lower[f] = max(lower[f], np.nextafter(own[side - 1], np.inf))
        if side < y.size:
            upper[f] = min(upper[f], own[side])
    mixed = problem.ball.mixed
    if mixed is not None:
        lower = np.where(mixed.integral, np.ceil(lower), lower)
        upper = np.where(mixed.integral, np.floor(upper), upper)
    if np.any(lower > upper):
        return found
    features = reach.boxes.features
    lo, hi = cells.cell(lower)[features], cells.cell(upper)[features]
    words = None
    if reach.blocks is not None and mixed is not None:
        words = mixed.snapped(found)[reach.words] >= 1
    inside, _ = reach.point(Clique(0.0, lo, hi, words))
    return found if inside is None else inside
