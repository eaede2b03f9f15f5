"""A few steps on the slopes and multipliers of rows: the work at each node of a tree of phases."""

from contextlib import suppress
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
    above = np.zeros(left.size)
    rows.keep(np.isin(np.arange(upper.size), left))
    for place, step in enumerate(steps):
        if not left.size:
            break
        if place and step:
            rows.descend(step, above)
        found = rows.extremes(region)
        if not place:
            best[left] = rows.dials  # with the coefficients met
        better = found < upper[left]
        at = left[better]
        upper[at], best[at] = found[better], rows.dials[better]
        open_ = ~(upper[left] < goals[left])
        above = (found - goals[left])[open_]
        left = left[open_]
        rows.keep(open_)
    return Lowered(upper, best, left)


def least(
    rows: RowSlopes, region: Region, found: Lowered, goals: FloatArray, evaluations: int
) -> Lowered:
    """Minimise the bounds of ``rows`` that ``found`` has left, until they are below ``goals``.

    ``goals`` are those of all rows, shape (R,). One row after the other has so many
    ``evaluations`` of L-BFGS-B: over a ball of L2 the bound is smooth in the multipliers, and
    the steps of :func:`lowered` stop short of its minimum. Rows below their goals are dropped from
    ``rows``, whose points are those of the least bounds.
    """
    upper, dials = found.upper.copy(), found.dials.copy()
    for place, row in enumerate(found.left.tolist()):
        one = rows.only(place, dials[row])
        least = _least(one, region, float(goals[row]), evaluations)
        if least < upper[row]:
            upper[row], dials[row] = least, one.dials[0]
            rows.points[place] = one.points[0]
    open_ = ~(upper[found.left] < goals[found.left])
    rows.keep(open_)
    return Lowered(upper, dials, found.left[open_])


def _least(one: RowSlopes, region: Region, goal: float, evaluations: int) -> float:
    """Minimise the bound of a single row; the row keeps the dials and the point of the least."""
    from scipy.optimize import minimize

    best, kept, point = np.inf, one.dials, one.points

    def bound(dials: FloatArray) -> tuple[float, FloatArray]:
        nonlocal best, kept, point
        one.dials = dials[None].copy()  # bounds put the coefficients met into it
        upper = float(one.extremes(region)[0])
        if upper < best:
            best, kept, point = upper, one.dials.copy(), one.points
        if upper < goal:
            raise StopIteration
        return upper, one.derivatives()[0]

    phases = one.signs[0, : one.relaxed.phases].tolist()
    ends: list[tuple[float | None, float | None]] = [
        (0.0, None if sign else 1.0) for sign in phases
    ]
    ends += [(None, None)] * one.relaxed.points
    options = {"maxfun": evaluations, "ftol": 1e-10, "gtol": 1e-10}
    with suppress(StopIteration):
        minimize(bound, kept[0], jac=True, method="L-BFGS-B", bounds=ends, options=options)
    one.dials, one.points = kept, point
    return best
