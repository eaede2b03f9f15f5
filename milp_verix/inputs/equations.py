"""Points that satisfy equations exactly, with coordinates on grids that a float type has.

    A x = b,   x_i = h_i z_i,  z_i ∈ ℤ,   x near p

With the steps ``h`` powers of two, the rows become integral: ``B z = c``. Unimodular operations on
columns, Euclid's on one row after the other, turn ``B`` into ``B U = [T 0]`` with ``T`` triangular
(the Hermite normal form: Cohen, *A Course in Computational Algebraic Number Theory*, §2.4). With
``T y = c`` the solutions are ``z = U [y t]`` for all integers ``t``, and ``t`` is rounded from the
real numbers that come closest to ``p`` (Babai, Combinatorica 6, 1986).
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from verix_encodings.arrays import FloatArray
from verix_encodings.bounds.mixed_domain import Clause, HalfSpace

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
