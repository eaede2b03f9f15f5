"""Optima of small programs in exact arithmetic.

A program is a union of polyhedra: one for each value of the binaries, each member of a special
ordered set that may differ from zero, and each argument that attains a maximum. Over each of them
Fourier and Motzkin's elimination of one column after the other leaves the range of the cost.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import chain, product
from math import ceil, floor, gcd, inf, lcm
from typing import TypeAlias

import numpy as np

from verix_encodings import Program
from verix_encodings.arrays import FloatArray

Optimum: TypeAlias = Fraction | float | None
"""The least cost: ``-inf`` where costs have no bound, None where no point is feasible."""
_Row: TypeAlias = tuple[tuple[int, ...], int]
"""``a·v ≤ b``, as ``a`` and ``b``; the last entry of ``v`` is the cost."""


def optimum(program: Program, cost: FloatArray) -> Optimum:
    """Return the least ``cost·v`` over ``program``, which has no quadratic rows."""
    whole, unit = np.flatnonzero(program.integer), np.eye(program.columns + 1)
    kept = [*np.flatnonzero(~program.integer).tolist(), program.columns]
    matrix = np.zeros((program.rows, program.columns + 1))
    matrix[:, :-1] = program.matrix.toarray()
    rows = _sides(np.append(cost, -1.0), 0.0, 0.0)
    for row in zip(matrix, program.row_lower, program.row_upper, strict=True):
        rows += _sides(*row)
    ends = list(zip(unit[:-1], program.column_lower, program.column_upper, strict=True))
    rows += chain(*(_sides(*one) for one in ends))
    rules = {
        (one.binary, one.value): _sides(unit[one.columns].T @ one.coefficients, -inf, one.upper)
        for one in program.indicators
    }
    values = [range(ceil(ends[j][1]), floor(ends[j][2]) + 1) for j in whole]
    cases, found = list(product(*_choices(program, unit))), []
    for value in product(*values):
        fixed = dict(zip(whole.tolist(), value, strict=True))
        held = [*rows, *chain(*(rules.get(one, []) for one in fixed.items()))]
        for case in cases:
            left = {
                (tuple(a[j] for j in kept), b - sum(a[j] * v for j, v in fixed.items()))
                for a, b in chain(held, *case)
            }
            found.append(_least(left, len(kept) - 1))
    return min((one for one in found if one is not None), default=None)


def _choices(program: Program, unit: FloatArray) -> Iterator[list[list[_Row]]]:
    """Yield for each set and each maximum the rows of its cases."""
    for chosen in program.sos1:
        zero = {j: _sides(unit[j], 0.0, 0.0) for j in chosen.columns}
        yield [list(chain(*(zero[j] for j in zero if j != k))) for k in zero]
    for one in program.maxima:
        gaps = [(unit[one.result] - unit[j], 0.0) for j in one.columns]
        gaps += [] if one.constant is None else [(unit[one.result], one.constant)]
        above = [row for a, least in gaps for row in _sides(a, least, inf)]
        yield [[*above, *_sides(a, least, least)] for a, least in gaps]


def _sides(vector: FloatArray, low: float, high: float) -> list[_Row]:
    """Return ``low ≤ vector·v ≤ high`` in whole numbers."""
    rows = []
    for sign, limit in ((1, high), (-1, -low)):
        if limit < inf:
            numbers = [Fraction(float(number)) for number in (*sign * vector, limit)]
            factor = lcm(*(number.denominator for number in numbers))
            *a, b = (int(number * factor) for number in numbers)
            rows.append((tuple(a), b))
    return rows


def _least(rows: Iterable[_Row], last: int) -> Optimum:
    """Return the least value of column ``last`` over ``rows``, the others eliminated."""
    held, left = set(rows), set(range(last))
    while left:
        at = {j: ([r for r in held if r[0][j] > 0], [r for r in held if r[0][j] < 0]) for j in left}
        j = min(left, key=lambda j: len(at[j][0]) * len(at[j][1]))
        left.remove(j)
        held = {row for row in held if not row[0][j]}
        for (a, b), (c, d) in product(*at[j]):
            sums = [a[k] * -c[j] + c[k] * a[j] for k in range(last + 1)]
            total = b * -c[j] + d * a[j]
            if any(sums) or total < 0:
                common = gcd(*sums, total)
                held.add((tuple(k // common for k in sums), total // common))
    low = max((Fraction(b, a[last]) for a, b in held if a[last] < 0), default=-inf)
    high = min((Fraction(b, a[last]) for a, b in held if a[last] > 0), default=inf)
    empty = low > high or any(b < 0 for a, b in held if not a[last])
    return None if empty else low
