"""Tighter bounds for scenarios: over those alone that bear on the optimum, one after another.

A program of some of the constraints is a relaxation of that of all, so that what its neurons can
take is a bound for all. Each scenario is bounded over a small program, of a core of constraints and
itself, in which those before it, and its own layers, have their new bounds already.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from milp_verix.global_search.relaxation.enclosing import enclosed, unstable
from milp_verix.solvers.phase.warm_lp import WarmLp
from verix_encodings.models.constraints import Constraint, Scenario, row_error
from verix_encodings.models.scenario import ScenarioProgram
from verix_encodings.proofs.safe_bound import SafeBound


def tightened(
    constraints: Sequence[Constraint],
    core: Collection[int],
    which: Iterable[int],
    grown: Callable[[Sequence[Constraint]], ScenarioProgram],
    lp: WarmLp,
    *,
    deadline: float,
) -> list[Constraint]:
    """Return ``constraints`` with bounds that hold wherever all of them are satisfied.

    ``which`` are the numbers of those to tighten, and ``core`` of the constraints that every bound
    may rest on: what is both comes first. ``grown`` makes a program, which is loaded into ``lp``.
    What there is no time for until ``deadline`` stays as it is.
    """
    # a larger error than that of a program's own constraints is one, too
    error = row_error(constraints)
    tight, first = list(constraints), sorted(core)
    whole: ScenarioProgram | None = None
    for number in sorted(which, key=lambda number: number not in core):
        constraint = tight[number]
        if not isinstance(constraint, Scenario) or not _open(constraint):
            continue
        if number in core:
            base = grown([tight[other] for other in first if other != number])
        else:
            base = whole = whole or grown([tight[other] for other in first])
        for value in _open(constraint):
            program = base.followed_by(constraint)
            constraint = _bounded(constraint, value, program, lp, error=error, deadline=deadline)
        tight[number] = constraint
    return tight


def _open(scenario: Scenario) -> list[int]:
    """Return the numbers of the values that ReLUs take of which some may have both signs."""
    return [value for value in scenario.arguments if unstable(scenario.bounds[value]).any()]


def _bounded(
    scenario: Scenario,
    value: int,
    growing: ScenarioProgram,
    lp: WarmLp,
    *,
    error: float,
    deadline: float,
) -> Scenario:
    """Return ``scenario`` with bounds for ``value`` over ``growing``, which ends with it."""
    program, z = growing.build(), dict(growing.arguments[-1])[value]
    lp.load(program)
    known, safe = scenario.bounds[value], SafeBound(program)
    bounds = list(scenario.bounds)
    bounds[value] = enclosed(lp, safe, z, known, error, deadline=deadline)
    return replace(scenario, bounds=tuple(bounds))
