"""The point of a mixed domain next to another one, by a small mixed-integer program.

    minimise  Σ_i t_i / (u_i − l_i)   subject to   x in the domain and in [l, u],  t_i ≥ |x_i − p_i|

It repairs points of the box that break rules. Solvers satisfy rows up to a tolerance, so
half-spaces over continuous coordinates are asked for with a little room. Equations leave none:
those that the point satisfies up to rounding are solved exactly afterwards, on a grid of the
network's type, and the ends of their coordinates keep the room. Nothing is proven by it: whoever
uses the point decides exactly whether it is in the domain.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from milp_verix.inputs.equations import equations, exact_point, half_key
from verix_encodings import Interval, Program, ProgramBuilder
from verix_encodings.arrays import FloatArray
from verix_encodings.blocks.mixed_domain import mixed_box
from verix_encodings.bounds.mixed_domain import HalfSpace, MixedDomain

_SECONDS = 0.9
"""For a program: a search looks at its own limit once two of them have ended."""
_ROOM = 8.0
"""Room inside a half-space, in roundings of its terms to the network's type."""
_LEAST_ROOM = 1e-7
_STEPS = 64.0
"""Room at the ends of coordinates in equations, in steps of their grid."""
_NEARLY = 1e-6
"""The share of its terms by which a solution may miss an equation that it is meant to satisfy."""


def nearest_point(
    domain: MixedDomain, box: Interval, point: FloatArray, precision: float = 0.0
) -> FloatArray | None:
    """Return a point of ``domain`` in the finite ``box`` near ``point``, shape (d,), or None.

    Coordinates whose ends coincide stay there. ``precision`` is that of the type that the point
    will be rounded to; 0 asks for no room. None where the program has no point, or takes long.
    """
    if not precision:
        return _nearest(domain, box, point)
    tied = [h for h in equations(domain.rules) if not domain.integral[h.coordinates].all()]
    equal = {half_key(half, sign) for half in tied for sign in (1.0, -1.0)}
    magnitude = box.magnitude

    def roomy(half: HalfSpace) -> HalfSpace:
        if half_key(half, 1.0) in equal or domain.integral[half.coordinates].all():
            return half
        size = float(np.abs(half.coefficients) @ magnitude[half.coordinates])
        return replace(half, upper=half.upper - max(_ROOM * precision, _LEAST_ROOM) * size)

    inside = replace(domain, rules=tuple(tuple(map(roomy, clause)) for clause in domain.rules))
    if not tied:
        return _nearest(inside, box, point)
    for ends in (_inner(box, domain, tied, precision), box):
        found = _nearest(inside, ends, point)
        if found is not None:
            return _on_equations(found, domain, box, tied, precision)
    return None


def _nearest(domain: MixedDomain, box: Interval, point: FloatArray) -> FloatArray | None:
    builder = ProgramBuilder()
    x = mixed_box(builder, box, domain)
    free = np.flatnonzero(box.lower < box.upper)
    if not free.size:
        return box.lower.copy() if domain.contains(box.lower) else None
    target = np.clip(point[free], box.lower[free], box.upper[free])
    apart = builder.add_columns("apart", free, 0.0, np.inf)
    for label, sign in (("above", 1.0), ("below", -1.0)):
        terms = [(np.full(free.size, sign), x.columns), (-np.ones(free.size), apart)]
        builder.add_rows(label, free, terms, -np.inf, sign * target)
    program = builder.build()
    cost = np.zeros(program.columns)
    cost[apart] = 1.0 / (box.upper[free] - box.lower[free])
    found = _minimised(program, cost)
    return None if found is None else x.at(found)


def _minimised(program: Program, cost: FloatArray) -> FloatArray | None:
    """Return a best point of ``program``, shape (columns,), or None if none is found."""
    # its import takes a tenth of a second, and few questions repair a point
    from scipy.optimize import Bounds, LinearConstraint, milp

    found = milp(
        cost,
        integrality=program.integer,
        bounds=Bounds(program.column_lower, program.column_upper),
        constraints=LinearConstraint(program.matrix, program.row_lower, program.row_upper),
        options={"time_limit": _SECONDS},
    )
    return None if found.x is None else np.asarray(found.x, dtype=np.float64)


def _inner(
    box: Interval, domain: MixedDomain, tied: Sequence[HalfSpace], precision: float
) -> Interval:
    """Return the box with room at the ends of wide real coordinates that are in equations."""
    room = np.zeros(box.lower.size)
    for half in (half for half in tied if half.coordinates.size > 1):
        room[half.coordinates] = _STEPS * precision * box.magnitude[half.coordinates].max()
    room[domain.integral | (box.upper - box.lower < 4 * room)] = 0.0
    return Interval(box.lower + room, box.upper - room)


def _on_equations(
    point: FloatArray,
    domain: MixedDomain,
    box: Interval,
    tied: Sequence[HalfSpace],
    precision: float,
) -> FloatArray:
    """Return ``point`` moved to where its equations hold exactly, or as it is."""
    point = np.where(domain.integral, np.rint(point), point)
    rows = [half for half in tied if _nearly_equal(half, point, box)]
    real = ~domain.integral & (box.lower < box.upper)
    rows = [half for half in rows if real[half.coordinates].any()]
    if not rows:
        return point
    size = np.abs(point)
    for coarse in (True, False):
        largest = np.full(point.size, size[real].max()) if coarse else size
        steps = precision * 2.0 ** np.ceil(np.log2(np.maximum(largest, np.finfo(float).tiny)))
        found = exact_point(rows, point, np.where(real, steps, 0.0))
        if found is not None and np.all((box.lower <= found) & (found <= box.upper)):
            return found
    return point


def _nearly_equal(half: HalfSpace, point: FloatArray, box: Interval) -> bool:
    terms = half.coefficients * point[half.coordinates]
    size = np.abs(half.coefficients) @ box.magnitude[half.coordinates] + abs(half.upper)
    return bool(abs(terms.sum() - half.upper) <= _NEARLY * size)
