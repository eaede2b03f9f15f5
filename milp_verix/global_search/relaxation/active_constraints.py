"""Which parts of a program bear on an optimum of it, and what is left of them in a smaller one."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.crown import crown_bounds
from verix_encodings.models.restricted import Settled, SettledPhase, kept_pairs, reduced
from verix_encodings.models.scenario import PairedRelus, Part, Precedence, Scenario

_BEARS = 1e-7


def bearing(
    parts: Sequence[Part],
    part_of_rows: IntArray,
    multipliers: FloatArray | None,
    fixed: IntArray,
) -> set[int]:
    """Return the numbers of the parts that bear on an optimum, or whose phases are ``fixed``.

    ``part_of_rows`` is the part of each row, ``multipliers`` are its duals at the optimum, None
    where there is none. The first part, a budget, is left out; scenarios stand in for their paired
    ReLUs.
    """
    needed = set(fixed.tolist())
    if multipliers is not None:
        rows = np.flatnonzero(np.abs(multipliers) > _BEARS)
        needed |= set(part_of_rows[rows].tolist())
    for number, part in enumerate(parts):
        if isinstance(part, Precedence) or (isinstance(part, Scenario) and part.inactive):
            needed.add(number)
        elif isinstance(part, PairedRelus) and number in needed:
            needed = (needed - {number}) | {part.of, part.beside}
    return needed - {0}


def grouped(parts: Sequence[Part], part_of_rows: IntArray, multipliers: FloatArray) -> IntArray:
    """Return a number for each part, equal for scenarios whose paired ReLUs bear on an optimum."""
    used = set(part_of_rows[multipliers != 0].tolist())
    paired = {
        n: part for n, part in enumerate(parts) if isinstance(part, PairedRelus) and n in used
    }
    one = [end for part in paired.values() for end in (part.of, part.beside)]
    other = [number for number in paired for _ in range(2)]
    links = sp.coo_array((np.ones(len(one)), (one, other)), shape=(len(parts), len(parts)))
    groups: IntArray = connected_components(links, directed=False)[1]
    return groups


def left_of(
    parts: Sequence[Part],
    names: Sequence[int],
    needed: Collection[int],
    settled: Settled,
    phases: Mapping[int, Sequence[SettledPhase]],
) -> list[tuple[int, Part]] | None:
    """Return what is left of the parts ``needed``, and of their paired ReLUs, behind a first part.

    Each comes with its name among ``names``, -1 for paired ReLUs. ``phases`` are those settled in
    each part. None where nothing is left of some part, which is needed.
    """
    left: list[tuple[int, Part]] = []
    place: dict[int, int] = {}
    for number in sorted(needed):
        mine = reduced(parts[number], settled, phases.get(number, ()), crown_bounds)
        if mine is None:
            return None
        if mine:
            # the first part is another one
            place[number] = 1 + len(left)
        left.extend((names[number], part) for part in mine)
    left.extend((-1, paired) for paired in kept_pairs(parts, place))
    return left
