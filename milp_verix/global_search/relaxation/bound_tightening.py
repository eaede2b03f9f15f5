"""Optimality-based bound tightening (OBBT) of scenarios, over the sets cheaper than a limit.

Dropping constraints relaxes the program, so a bound proven over some constraints holds for all.
Each scenario is bounded layer by layer over a small program: a core of constraints and the scenario
itself. Earlier scenarios of the core, and the scenario's earlier layers, have their new bounds
already. Every bound is evaluated from row duals alone.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from milp_verix.clock import Deadline
from milp_verix.solvers import SolveStatus
from milp_verix.solvers.interrupt import deferred_interrupt
from milp_verix.solvers.phase.warm_lp import WarmLp
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.bounds.interval import Interval
from verix_encodings.models.constraints import Constraint, Scenario, row_error
from verix_encodings.models.scenario import ScenarioProgram
from verix_encodings.program.program import Expressions
from verix_encodings.proofs.obbt import tightened_range
from verix_encodings.proofs.safe_bound import SafeBound

_LEAST = 1e-7
"""Tightened bounds stay this far from zero, so that unstable neurons keep their columns."""

_NEAR = 0.05
"""A bound is not recomputed if a known point attains it up to this share of the range."""


def unstable(known: Interval) -> BoolArray:
    """Return the mask of neurons that may have both signs by the bounds ``known``."""
    return (known.lower < -_LEAST) & (known.upper > _LEAST)


def tightened(
    constraints: Sequence[Constraint],
    core: Collection[int],
    which: Iterable[int],
    grown: Callable[[Sequence[Constraint]], ScenarioProgram],
    lp: WarmLp,
    *,
    deadline: Deadline,
) -> list[Constraint]:
    """Return ``constraints`` with bounds that hold wherever all of them are satisfied.

    ``which`` has the numbers of the scenarios to tighten. ``core`` has the numbers of the
    constraints in the program of every bound; scenarios in both are tightened first. ``grown``
    builds a program of constraints, which is loaded into ``lp``. Bounds not reached by ``deadline``
    stay as they are.
    """
    # an error bound for all constraints is valid for those of each program
    error = row_error(constraints)
    tight, first = list(constraints), sorted(core)
    whole: ScenarioProgram | None = None
    for number in sorted(which, key=lambda number: number not in core):
        scenario = tight[number]
        if not isinstance(scenario, Scenario):
            continue
        open_ = [v for v in scenario.arguments if unstable(scenario.bounds[v]).any()]
        if not open_:
            continue
        if number in core:
            base = grown([tight[other] for other in first if other != number])
        else:
            base = whole = whole or grown([tight[other] for other in first])
        for value in open_:
            growing = base.followed_by(scenario)
            expressions = dict(growing.arguments[-1])[value]
            bounds = list(scenario.bounds)
            bounds[value] = _enclosed(
                growing, expressions, bounds[value], lp, row_error=error, deadline=deadline
            )
            scenario = replace(scenario, bounds=tuple(bounds))
        tight[number] = scenario
    return tight


def _enclosed(
    growing: ScenarioProgram,
    z: Expressions,
    known: Interval,
    lp: WarmLp,
    *,
    row_error: float,
    deadline: Deadline,
) -> Interval:
    """Return tighter bounds on the entries of ``z`` that may have both signs by ``known``.

    Each entry is minimised and maximised over the program of ``growing``.
    """
    program = growing.build()
    lp.load(program)
    lp.set_bounds(program.column_lower, program.column_upper)
    safe = SafeBound(program)

    def least(_: int, cost: FloatArray, constant: float) -> tuple[float, FloatArray | None]:
        return _proven_least(lp, safe, cost, constant, row_error, deadline=deadline)

    open_ = unstable(known)
    rows = np.flatnonzero(open_).tolist()
    columns = program.columns
    found = tightened_range(z, known, rows, least, columns, near=_NEAR, late=deadline.passed)
    return Interval(
        np.where(open_, np.minimum(found.lower, -_LEAST), known.lower),
        np.where(open_, np.maximum(found.upper, _LEAST), known.upper),
    )


def _proven_least(
    lp: WarmLp,
    safe: SafeBound,
    cost: FloatArray,
    constant: float,
    row_error: float,
    *,
    deadline: Deadline,
) -> tuple[float, FloatArray | None]:
    """Return a lower bound on ``cost·v + constant`` from row duals, and the LP's optimum.

    They are -inf and None if the LP is not solved by ``deadline``. ``lp`` has the program of
    ``safe`` loaded. ``row_error`` bounds the rounding of each row and of the expression.
    """
    lp.set_cost(cost)
    with deferred_interrupt() as interrupt:
        result = lp.solve(np.inf, deadline, interrupt)
    if result.status is not SolveStatus.OPTIMAL or result.multipliers is None:
        return -np.inf, None
    bound = safe.lower(cost, result.multipliers, row_error)
    return bound + (constant - row_error - 1e-12 * abs(constant)), result.point
