"""A few steps on the slopes and multipliers of rows: the work at each node of a tree of phases."""

from dataclasses import dataclass

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.interval import Region
from verix_encodings.propagation.row_slopes import RowSlopes


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """Rows after steps: their ``upper`` bounds, (R,), with the ``dials`` that prove them.

    ``left`` are the numbers of the rows that are not proven below their goals.
    """

    upper: FloatArray
    dials: FloatArray
    left: IntArray


def lowered(
    rows: RowSlopes, region: Region, upper: FloatArray, goals: FloatArray, steps: tuple[int, ...]
) -> Lowered:
    """Lower the bounds of ``rows`` over ``region`` by ``steps``, until they are below ``goals``.

    ``upper`` are bounds known, shape (R,) as ``goals``. The first of ``steps`` only bounds. Rows
    below their goals are dropped from ``rows``; the bounds and points in it are those of the last
    step.
    """
    upper, best = upper.copy(), rows.dials.copy()
    left = np.flatnonzero(~(upper < goals))
    rows.keep(np.isin(np.arange(upper.size), left))
    for place, step in enumerate(steps):
        if not left.size:
            break
        if place and step:
            rows.descend(step)
        found = rows.extremes(region)
        better = found < upper[left]
        at = left[better]
        upper[at], best[at] = found[better], rows.dials[better]
        open_ = ~(upper[left] < goals[left])
        left = left[open_]
        rows.keep(open_)
    return Lowered(upper, best, left)
