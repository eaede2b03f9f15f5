"""Constraints that are active at an optimum, and their restriction to a smaller program."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.crown import crown_bounds
from verix_encodings.models.constraints import Constraint, PairedRelus, Precedence, Scenario
from verix_encodings.models.restricted import FixedPhase, Restriction, kept_pairs, reduced

_BEARS = 1e-7


def bearing(
    constraints: Sequence[Constraint],
    constraint_of_rows: IntArray,
    multipliers: FloatArray | None,
    fixed: IntArray,
) -> set[int]:
    """Return the numbers of the constraints that bear on an optimum, or whose phases are ``fixed``.

    ``constraint_of_rows`` is the constraint of each row, ``multipliers`` are its duals at the
    optimum, None where there is none. The first constraint, a budget, is left out; scenarios stand
    in for their paired ReLUs.
    """
    needed = set(fixed.tolist())
    if multipliers is not None:
        rows = np.flatnonzero(np.abs(multipliers) > _BEARS)
        needed |= set(constraint_of_rows[rows].tolist())
    for number, constraint in enumerate(constraints):
        if isinstance(constraint, Precedence) or (
            isinstance(constraint, Scenario) and constraint.inactive
        ):
            needed.add(number)
        elif isinstance(constraint, PairedRelus) and number in needed:
            needed = (needed - {number}) | {constraint.of, constraint.beside}
    return needed - {0}


def grouped(
    constraints: Sequence[Constraint], constraint_of_rows: IntArray, multipliers: FloatArray
) -> IntArray:
    """Return a number for each constraint, equal for scenarios coupled by active paired ReLUs."""
    used = set(constraint_of_rows[multipliers != 0].tolist())
    paired = {
        n: constraint
        for n, constraint in enumerate(constraints)
        if isinstance(constraint, PairedRelus) and n in used
    }
    one = [end for constraint in paired.values() for end in (constraint.of, constraint.beside)]
    other = [number for number in paired for _ in range(2)]
    links = sp.coo_array(
        (np.ones(len(one)), (one, other)), shape=(len(constraints), len(constraints))
    )
    groups: IntArray = connected_components(links, directed=False)[1]
    return groups


def left_of(
    constraints: Sequence[Constraint],
    names: Sequence[int],
    needed: Collection[int],
    restriction: Restriction,
    phases: Mapping[int, Sequence[FixedPhase]],
) -> list[tuple[int, Constraint]] | None:
    """Return the constraints ``needed``, restricted, and their paired ReLUs, behind a first one.

    Each comes with its name among ``names``, -1 for paired ReLUs. ``phases`` are those settled in
    each constraint. None where nothing is left of some constraint, which is needed.
    """
    left: list[tuple[int, Constraint]] = []
    place: dict[int, int] = {}
    for number in sorted(needed):
        mine = reduced(constraints[number], restriction, phases.get(number, ()), crown_bounds)
        if mine is None:
            return None
        if mine:
            # the first constraint is another one
            place[number] = 1 + len(left)
        left.extend((names[number], constraint) for constraint in mine)
    left.extend((-1, paired) for paired in kept_pairs(constraints, place))
    return left
