"""Proofs by cutoff, for solvers whose own dual bound does not reach us.

A solution that such a solver calls optimal is only a point here. The proof that no point costs less
than ``t`` is a row ``c·v ≤ t``: with it, the solver must say that the program is infeasible. So a
claim costs one solve if a target is given, and an optimum at least two.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from milp_verix.base.arguments import LONGEST_CHECK
from milp_verix.base.errors import SolverError
from milp_verix.solvers.parameters import SolverParameters
from milp_verix.solvers.session import SolveResult, SolveStatus, Targets
from milp_verix.solvers.solver_work import spend_solve
from verix_encodings import Program
from verix_encodings.arrays import FloatArray

_GAP = 5e-6
_WHOLE_GAP = 0.9
_MOST_ROUNDS = 8
_VIOLATION = 1e-6


class Outcome(Enum):
    """A solver's answer on a program with a cutoff."""

    POINT = "a point"
    EMPTY = "infeasible"
    LATE = "time limit"
    FAILED = "no answer"


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """The outcome of one solve, the point that came with it, and the solver's own words."""

    outcome: Outcome
    point: FloatArray | None = None
    detail: str = ""


Solve = Callable[[float, float], Attempt]
"""Minimise with the row ``c·v ≤ cap`` (none where ``cap`` is infinite) within some seconds."""


def minimise_by_cutoff(
    program: Program, cost: FloatArray, targets: Targets, parameters: SolverParameters, solve: Solve
) -> SolveResult:
    """Minimise ``cost·v`` over ``program`` by ``solve``, with a bound proven by cutoffs.

    ``program`` is the program that the solver has, without entries that it would drop.

    Raises ``SolverError`` if the solver's answer would prove nothing: for a cost that is not
    bounded by the bounds of the columns ("infeasible" may stand for "unbounded" then), and for
    coefficients larger than the solver is trusted with.
    """
    if not program.columns:
        return SolveResult(SolveStatus.OPTIMAL, 0.0, np.zeros(0), detail="no columns")
    floor = _floor(program, cost, parameters)
    lost = _lost(program, cost, parameters)
    # they know no limit of work
    most = LONGEST_CHECK if targets.work < np.inf else np.inf
    deadline = time.monotonic() + min(targets.seconds, most)
    cap, proves = _target(targets, parameters, lost)
    best: FloatArray | None = None
    value = np.inf
    for _ in range(_MOST_ROUNDS):
        seconds = deadline - time.monotonic()
        attempt = solve(cap, seconds) if seconds > 0 else Attempt(Outcome.LATE, None, "time limit")
        spend_solve(program, program.rows)  # these solvers do not tell their iterations
        point = attempt.point if _is_point(program, attempt.point) else None
        if point is not None and cost @ point < value:
            best, value = point, float(cost @ point)
        if attempt.outcome is not Outcome.POINT:
            return _ended(attempt, cap, proves, best)
        if point is None:
            detail = f"a point that does not fit the program ({attempt.detail})"
            return SolveResult(SolveStatus.FAILED, point=best, detail=detail)
        if value < targets.violated_below:
            return SolveResult(SolveStatus.TARGET, point=best, detail=attempt.detail)
        gap = _WHOLE_GAP if targets.whole else _GAP * max(1.0, abs(value))
        cap, proves = value - gap, value - gap - _slack(parameters, value, lost)
        if cap < floor:
            return SolveResult(SolveStatus.OPTIMAL, floor, best, detail=attempt.detail)
    return SolveResult(SolveStatus.FAILED, point=best, detail="ever better points, and no end")


def _floor(program: Program, cost: FloatArray, parameters: SolverParameters) -> float:
    """Return the bound that the columns' bounds prove; check the coefficients first."""
    largest = max(float(np.max(np.abs(n), initial=0.0)) for n in (program.matrix.data, cost))
    if largest > parameters.largest_coefficient:
        raise SolverError(f"{parameters.name} is not trusted with a coefficient of {largest:.3g}")
    used = np.flatnonzero(cost)
    ends = np.stack([program.column_lower[used], program.column_upper[used]]) * cost[used]
    floor = float(np.sum(np.min(ends, axis=0)))
    if not np.isfinite(floor):
        raise SolverError("the cost is not bounded by the bounds of the columns")
    return floor - 1e-12 * float(np.sum(np.abs(ends)))


def _lost(program: Program, cost: FloatArray, parameters: SolverParameters) -> float:
    """Return the most that entries of the cutoff can contribute which the solver may drop."""
    tiny = np.flatnonzero((cost != 0) & (np.abs(cost) <= parameters.dropped))
    low, high = np.abs(program.column_lower[tiny]), np.abs(program.column_upper[tiny])
    return float(np.abs(cost[tiny]) @ np.maximum(low, high))


def _slack(parameters: SolverParameters, value: float, lost: float) -> float:
    return parameters.slack * max(1.0, abs(value)) + lost


def _target(targets: Targets, parameters: SolverParameters, lost: float) -> tuple[float, float]:
    """Return the first cutoff and the bound that it proves."""
    above = targets.holds_above
    if not np.isfinite(above):
        return np.inf, np.inf
    # a little more is asked for, so that what is proven is all that is needed
    return above + _slack(parameters, above, lost), above


def _ended(attempt: Attempt, cap: float, proves: float, best: FloatArray | None) -> SolveResult:
    """Return the result of a search whose last solve brought no better point."""
    status, bound = SolveStatus.FAILED, -np.inf
    if attempt.outcome is Outcome.LATE:
        status = SolveStatus.TIME_LIMIT
    elif attempt.outcome is Outcome.EMPTY and best is not None:
        status, bound = SolveStatus.OPTIMAL, proves
    elif attempt.outcome is Outcome.EMPTY and np.isfinite(cap):
        status, bound = SolveStatus.TARGET, proves
    elif attempt.outcome is Outcome.EMPTY:
        status = SolveStatus.INFEASIBLE
    return SolveResult(status, bound, best, detail=attempt.detail)


def filled(program: Program, values: Sequence[float | None]) -> FloatArray:
    """Return ``values`` as a point; a column in no row or cost has None, and gets any value."""
    anything = np.maximum(program.column_lower, np.minimum(program.column_upper, 0.0))
    pairs = zip(values, anything.tolist(), strict=True)
    return np.array([other if value is None else value for value, other in pairs], dtype=np.float64)


def _is_point(program: Program, point: FloatArray | None) -> bool:
    """Return whether ``point`` satisfies ``program`` up to the digits that solvers print."""
    if point is None or point.shape != (program.columns,) or not np.isfinite(point).all():
        return False
    rows, whole = program.matrix @ point, point[program.integer]
    gaps = (
        program.row_lower - rows,
        rows - program.row_upper,
        program.column_lower - point,
        point - program.column_upper,
        np.abs(whole - np.round(whole)),
    )
    worst = max(float(np.max(gap, initial=0.0)) for gap in gaps)
    return worst <= _VIOLATION * float(np.max(np.abs(point), initial=1.0))
