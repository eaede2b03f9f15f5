"""What neurons can take at most and at least over a linear program, by two solves for each."""

import time

import numpy as np

from milp_verix.solvers import SolveStatus
from milp_verix.solvers.interrupt import deferred_interrupt
from milp_verix.solvers.phase.warm_lp import WarmLp
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.bounds.interval import Interval
from verix_encodings.program.program import Expressions
from verix_encodings.proofs.safe_bound import SafeBound

_LEAST = 1e-7
_NEAR = 0.05


def unstable(known: Interval) -> BoolArray:
    """Return which neurons may have both signs by the bounds ``known``."""
    return (known.lower < -_LEAST) & (known.upper > _LEAST)


def proven_least(
    lp: WarmLp,
    safe: SafeBound,
    cost: FloatArray,
    constant: float,
    row_error: float,
    *,
    off: float,
    deadline: float,
) -> tuple[float, FloatArray | None]:
    """Minimise ``cost·v + constant``, an expression that may itself be ``off`` by so much.

    Returns a bound that rests on row duals alone, and the point that the LP ends at; -inf and None
    where it is not solved, by ``deadline`` or at all. ``lp`` holds the program of ``safe``, whose
    rows are off by ``row_error`` at most.
    """
    lp.set_cost(cost)
    with deferred_interrupt() as interrupt:
        result = lp.solve(np.inf, deadline, interrupt)
    if result.status is not SolveStatus.OPTIMAL or result.multipliers is None:
        return -np.inf, None
    bound = safe.lower(cost, result.multipliers, row_error)
    return bound + (constant - off - 1e-12 * abs(constant)), result.point


def enclosed(
    lp: WarmLp,
    safe: SafeBound,
    z: Expressions,
    known: Interval,
    row_error: float,
    *,
    deadline: float,
) -> Interval:
    """Minimise and maximise those of ``z`` that may have both signs by the bounds ``known``.

    ``lp`` holds the program of ``safe``, whose rows, and ``z``, are off by ``row_error`` at most.
    Each bound rests on row duals alone. Neurons keep both signs, by ``_LEAST`` at least, so that a
    program made with the new bounds has the same columns.
    """
    program = safe.program
    lp.set_bounds(program.column_lower, program.column_upper)
    lower, upper = known.lower.copy(), known.upper.copy()
    # where a point is known that is near an end there is nothing to gain
    low, high = np.full(lower.size, np.inf), np.full(lower.size, -np.inf)
    for i in np.flatnonzero(unstable(known)).tolist():
        row, constant = z.row(i, program.columns)
        near = _NEAR * (upper[i] - lower[i])
        for sign in (1.0, -1.0):
            reached = low[i] <= lower[i] + near if sign > 0 else high[i] >= upper[i] - near
            if reached or time.monotonic() >= deadline:
                continue
            # the expression is off by no more than a row
            bound, point = proven_least(
                lp,
                safe,
                sign * row,
                sign * constant,
                row_error,
                off=row_error,
                deadline=deadline,
            )
            if point is not None:
                there = z.at(point)
                low, high = np.minimum(low, there), np.maximum(high, there)
            if sign > 0:
                lower[i] = max(lower[i], min(bound, -_LEAST))
            else:
                upper[i] = min(upper[i], max(-bound, _LEAST))
    return Interval(lower, upper)
