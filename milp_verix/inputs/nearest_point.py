"""The point of a mixed domain next to another one, by a small mixed-integer program.

    minimise  Σ_i t_i / (u_i − l_i)   subject to   x in the domain and in [l, u],  t_i ≥ |x_i − p_i|

It repairs points of the box that break rules. Solvers satisfy rows up to a tolerance, so
half-spaces over continuous coordinates are asked for with a little slack. Equations have none:
those that the point satisfies up to rounding are solved exactly afterwards, on a grid of the
network's type, and the ends of their coordinates keep the slack. Nothing is proven by it: whoever
uses the point decides exactly whether it is in the domain.

Points that satisfy equations exactly, with coordinates on grids that a float type has.

    A x = b,   x_i = h_i z_i,  z_i ∈ ℤ,   x near p

With the steps ``h`` powers of two, the rows become integral: ``B z = c``. Unimodular operations on
columns, Euclid's on one row after the other, turn ``B`` into ``B U = [T 0]`` with ``T`` triangular
(the Hermite normal form: Cohen, *A Course in Computational Algebraic Number Theory*, §2.4). With
``T y = c`` the solutions are ``z = U [y t]`` for all integers ``t``, and ``t`` is rounded from the
real numbers that come closest to ``p`` (Babai, Combinatorica 6, 1986).
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import lcm

import numpy as np

from verix_encodings import Interval, Program, ProgramBuilder
from verix_encodings.arrays import FloatArray
from verix_encodings.blocks.input_ball import mixed_box
from verix_encodings.bounds.mixed_domain import Clause, HalfSpace, MixedDomain

_POLISH = 3
"""Roundings towards the point: each is exact, and corrects what float64 lost in the last."""


def equations(clauses: Sequence[Clause]) -> list[HalfSpace]:
    """Return the half-spaces ``a·x ≤ b`` that occur in ``clauses`` beside ``a·x ≥ b``, one each."""
    halves = {half_key(half, 1.0): half for clause in clauses for half in clause}
    opposite = {half_key(half, -1.0) for half in halves.values()}
    both = [key for key in halves if key in opposite]
    return [halves[key] for key in both if key[1] > tuple(-a for a in key[1])]


def half_key(half: HalfSpace, sign: float) -> tuple[tuple[int, ...], tuple[float, ...], float]:
    """Return coordinates, coefficients and bound of ``half``, both times ``sign``."""
    coefficients = (sign * half.coefficients).tolist()
    return tuple(half.coordinates.tolist()), tuple(coefficients), sign * half.upper


def exact_point(
    rows: Sequence[HalfSpace], point: FloatArray, steps: FloatArray
) -> FloatArray | None:
    """Return a point near ``point``, shape (d,), at which every row ``a·x = b`` holds exactly.

    Coordinates move in multiples of ``steps``, (d,), powers of two; those with step 0 stay. None
    where no such point exists.
    """
    moving = [int(i) for i in np.unique(np.concatenate([r.coordinates for r in rows])) if steps[i]]
    matrix, right = [], []
    for row in rows:
        weights = dict(zip(row.coordinates.tolist(), row.coefficients.tolist(), strict=True))
        entries = [Fraction(weights.get(i, 0.0)) * Fraction(float(steps[i])) for i in moving]
        fixed = [
            Fraction(a) * Fraction(float(point[i])) for i, a in weights.items() if not steps[i]
        ]
        entries.append(Fraction(row.upper) - sum(fixed, Fraction()))
        unit = lcm(*(entry.denominator for entry in entries))
        *whole, end = (int(entry * unit) for entry in entries)
        matrix.append(whole)
        right.append(end)
    target = [Fraction(float(point[i])) / Fraction(float(steps[i])) for i in moving]
    try:
        found = _near_solution(matrix, right, target)
    except OverflowError:
        return None  # solutions as far apart as this are not near
    if found is None:
        return None
    exact = point.copy()
    exact[moving] = [
        float(z * Fraction(float(steps[i]))) for z, i in zip(found, moving, strict=True)
    ]
    return exact


def _near_solution(
    matrix: list[list[int]], right: list[int], target: list[Fraction]
) -> list[int] | None:
    """Return integers near ``target`` that solve the rows of ``matrix``; None if there are none."""
    size = len(target)
    unit = [[int(i == j) for j in range(size)] for i in range(size)]
    columns = [[row[i] for row in matrix] + unit[i] for i in range(size)]
    found, done = [0] * size, 0
    for k, (row, end) in enumerate(zip(matrix, right, strict=True)):
        left = end - sum(a * z for a, z in zip(row, found, strict=True))
        pivot = _pivot(columns[done:], k)
        if pivot is None:
            if left:
                return None
            continue
        if left % pivot[k]:
            return None
        found = _moved(found, left // pivot[k], pivot[len(matrix) :])
        columns.remove(pivot)
        columns.insert(done, pivot)
        done += 1
    kernel = [column[len(matrix) :] for column in columns[done:]]
    for _ in range(_POLISH if kernel else 0):
        apart = np.array([float(t - z) for t, z in zip(target, found, strict=True)])
        shares = np.linalg.lstsq(np.array(kernel, dtype=np.float64).T, apart, rcond=None)[0]
        for way, share in zip(kernel, np.rint(shares).tolist(), strict=True):
            found = _moved(found, int(share), way)
    return found


def _pivot(columns: list[list[int]], row: int) -> list[int] | None:
    """Reduce ``columns`` in place until one of them has an entry in ``row``; return it, or None."""
    while True:
        live = sorted((c for c in columns if c[row]), key=lambda c: abs(c[row]))
        if len(live) < 2:
            return live[0] if live else None
        least = live[0]
        for column in live[1:]:
            times = round(Fraction(column[row], least[row]))
            column[:] = _moved(column, -times, least)


def _moved(start: list[int], times: int, way: list[int]) -> list[int]:
    return [a + times * b for a, b in zip(start, way, strict=True)]


_SECONDS = 0.9
"""For a program: a search looks at its own limit once two of them have ended."""
_SLACK = 8.0
"""Slack inside a half-space, in roundings of its terms to the network's type."""
_LEAST_SLACK = 1e-7
_MORE_SLACK = 1e-5
"""Where a point missed a rule by the tolerance of the program, 1e-6."""
_STEPS = 64.0
"""Slack at the ends of coordinates in equations, in steps of their grid."""
_NEARLY = 1e-6
"""The share of its terms by which a solution may miss an equation that it is meant to satisfy."""


def nearest_point(
    domain: MixedDomain, box: Interval, point: FloatArray, precision: float = 0.0
) -> FloatArray | None:
    """Return a point of ``domain`` in the finite ``box`` near ``point``, shape (d,), or None.

    Coordinates whose ends coincide stay there. ``precision`` is that of the type that the point
    will be rounded to; 0 asks for no slack. None where the program has no point, or takes long.
    """
    if not precision:
        return _nearest(domain, box, point)
    tied = [h for h in equations(domain.rules) if not domain.integral[h.coordinates].all()]
    equal = {half_key(half, sign) for half in tied for sign in (1.0, -1.0)}
    magnitude = box.magnitude

    def tightened(half: HalfSpace, least: float) -> HalfSpace:
        if half_key(half, 1.0) in equal or domain.integral[half.coordinates].all():
            return half
        size = float(np.abs(half.coefficients) @ magnitude[half.coordinates])
        upper = half.upper - max(_SLACK * precision, least) * size
        terms = half.least(box.lower[None], box.upper[None])[0]
        # one that holds at an end of the box alone has no slack, such as a missing value
        return half if terms.sum() > upper else replace(half, upper=upper)

    def inner(least: float) -> MixedDomain:
        return replace(
            domain, rules=tuple(tuple(tightened(h, least) for h in c) for c in domain.rules)
        )

    inside = inner(_LEAST_SLACK)
    if not tied:
        found = _nearest(inside, box, point)
        missed = found is not None and not domain.contains(domain.snapped(found))
        return _nearest(inner(_MORE_SLACK), box, point) if missed else found
    # slack at the ends of wide real coordinates that are in equations
    headroom = np.zeros(box.lower.size)
    for half in (half for half in tied if half.coordinates.size > 1):
        headroom[half.coordinates] = _STEPS * precision * magnitude[half.coordinates].max()
    headroom[domain.integral | (box.upper - box.lower < 4 * headroom)] = 0.0
    for ends in (Interval(box.lower + headroom, box.upper - headroom), box):
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
