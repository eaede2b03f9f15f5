"""Optimality-based bound tightening (OBBT): ranges of expressions over a program, by solving it.

Each entry of an expression vector is minimised and maximised (Tjeng, Xiao, Tedrake, ICLR 2019,
§4.2). A range rests on the bound that each solve proves, not on its optimum.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np

from verix_encodings.arrays import FloatArray
from verix_encodings.bounds.interval import Interval, Late, never
from verix_encodings.program.program import Expressions

Least: TypeAlias = Callable[[int, FloatArray, float], tuple[float, FloatArray | None]]
"""Proves a lower bound on ``±z_i`` over a program, given ``i``, and ``cost`` and ``constant`` with
``±z_i = cost·v + constant``; with the point that the solve ended at. -inf and None for nothing."""


def tightened_range(
    z: Expressions,
    known: Interval,
    rows: Iterable[int],
    least: Least,
    columns: int,
    *,
    near: float = 0.0,
    late: Late = never,
) -> Interval:
    """Return ``known``, bounds on ``z``, with the entries ``rows`` tightened one after another.

    ``least`` proves bounds over a program with so many ``columns``. An end is not tightened if a
    point of an earlier solve comes near it (within ``near`` of the range), nor once ``late()``.
    """
    lower, upper = known.lower.copy(), known.upper.copy()
    lowest, highest = np.full(lower.size, np.inf), np.full(lower.size, -np.inf)
    for i in rows:
        if late():
            break
        row, constant = z.row(i, columns)
        room = near * (upper[i] - lower[i])
        low, high = lower[i], upper[i]
        for sign in (1.0, -1.0):
            reached = lowest[i] <= lower[i] + room if sign > 0 else highest[i] >= upper[i] - room
            if reached or late():
                continue
            bound, point = least(i, sign * row, sign * constant)
            if point is not None:
                there = z.at(point)
                lowest, highest = np.minimum(lowest, there), np.maximum(highest, there)
            if sign > 0:
                low = max(low, bound)
            else:
                high = min(high, -bound)
        # proofs that contradict one another are noise
        if low <= high:
            lower[i], upper[i] = low, high
    return Interval(lower, upper)
