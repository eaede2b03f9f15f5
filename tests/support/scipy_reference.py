"""Programs solved by scipy: what encodings and solver sessions are compared with."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from verix_encodings import (
    Encoding,
    Expressions,
    Interval,
    Network,
    Program,
    encode,
    interval_bounds,
)


def over(network: Network, box: Interval) -> Encoding:
    """Return the encoding of ``network`` over ``box``."""
    return encode(network, interval_bounds(network, box))


def in_rows(program: Program) -> Program:
    """Return ``program`` with its logical constraints as rows, big-Ms from the column bounds.

    A set of two gets a column that says which of them may differ from zero, after all others.
    """
    low, high = program.column_lower, program.column_upper
    rows, limits = [], []
    width = program.columns + len(program.sos1)
    for rule in program.indicators:
        a, v = rule.coefficients, rule.columns
        slack = np.sum(np.maximum(a * low[v], a * high[v])) - rule.upper
        row = np.zeros(width)
        row[v] = a
        # a·v − r ≤ slack (1 − d), or slack d
        row[rule.binary] += slack if rule.value else -slack
        rows.append(row)
        limits.append(rule.upper + (slack if rule.value else 0.0))
    for number, chosen in enumerate(program.sos1):
        first, second = chosen.columns
        assert low[first] == low[second] == 0
        which = program.columns + number
        for member, sign, limit in ((first, -1, 0.0), (second, 1, high[second])):
            row = np.zeros(width)
            row[member], row[which] = 1.0, sign * high[member]
            rows.append(row)
            limits.append(limit)
    new, count = len(program.sos1), len(rows)
    if program.maxima:
        return _with_maxima(program)
    if not rows:
        return program
    before = sp.hstack([program.matrix, sp.csr_array((program.rows, new))])
    return replace(
        program,
        matrix=sp.csr_array(sp.vstack([before, sp.csr_array(np.array(rows))])),
        row_lower=np.concatenate([program.row_lower, np.full(count, -np.inf)]),
        row_upper=np.concatenate([program.row_upper, limits]),
        column_lower=np.concatenate([low, np.zeros(new)]),
        column_upper=np.concatenate([high, np.ones(new)]),
        integer=np.concatenate([program.integer, np.ones(new, dtype=bool)]),
        row_labels=(*program.row_labels, ("logic", np.arange(count))),
        column_labels=(*program.column_labels, ("which", np.arange(new))),
        indicators=(),
        sos1=(),
    )


def _with_maxima(program: Program) -> Program:
    """Return ``program`` with a binary for each member of a maximum: which of them it is."""
    width = program.columns
    low, high = [*program.column_lower], [*program.column_upper]
    rows, least, most = [], [], []

    def add(terms: dict[int, float], below: float, above: float) -> None:
        rows.append(terms)
        least.append(below)
        most.append(above)

    for one in program.maxima:
        members = [(j, 0.0) for j in one.columns.tolist()]
        members += [] if one.constant is None else [(-1, one.constant)]
        chosen = range(width, width + len(members))
        width += len(members)
        low += [0.0] * len(members)
        high += [1.0] * len(members)
        add(dict.fromkeys(chosen, 1.0), 1.0, 1.0)
        for which, (j, constant) in zip(chosen, members, strict=True):
            minus = {} if j < 0 else {j: -1.0}
            gap = high[one.result] - (constant if j < 0 else low[j])
            add({one.result: 1.0, **minus}, constant, np.inf)
            # r ≤ v + gap (1 − d)
            add({one.result: 1.0, **minus, which: gap}, -np.inf, constant + gap)
    new = width - program.columns
    matrix = sp.lil_array((len(rows), width))
    for i, terms in enumerate(rows):
        for j, value in terms.items():
            matrix[i, j] = value
    before = sp.hstack([program.matrix, sp.csr_array((program.rows, new))])
    return replace(
        program,
        matrix=sp.csr_array(sp.vstack([before, matrix])),
        row_lower=np.concatenate([program.row_lower, least]),
        row_upper=np.concatenate([program.row_upper, most]),
        column_lower=np.array(low),
        column_upper=np.array(high),
        integer=np.concatenate([program.integer, np.ones(new, dtype=bool)]),
        row_labels=(*program.row_labels, ("logic", np.arange(len(rows)))),
        column_labels=(*program.column_labels, ("which", np.arange(new))),
        maxima=(),
    )


def optimum(program: Program, cost: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the least cost over ``program``, proven optimal, and a point that attains it."""
    if program.needs:
        columns = cost.size
        program = in_rows(program)
        cost = np.concatenate([cost, np.zeros(program.columns - columns)])
        least, point = optimum(program, cost)
        return least, point[:columns]
    key = b"|".join(array.tobytes() for array in (*_arrays(program), cost))
    if key not in _KNOWN:
        _KNOWN[key] = _solved(program, cost)
    least, point = _KNOWN[key]
    return least, point.copy()


_KNOWN: dict[bytes, tuple[float, NDArray[np.float64]]] = {}
"""The optima found: tests ask every solver and formulation the same."""


def _arrays(program: Program) -> tuple[NDArray[Any], ...]:
    """Return all that a program without logical constraints is made of."""
    matrix, ends = program.matrix, (program.column_lower, program.column_upper)
    entries = (matrix.data, matrix.indices, matrix.indptr)
    return *entries, program.row_lower, program.row_upper, *ends, program.integer


def _solved(program: Program, cost: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    rows = LinearConstraint(program.matrix, program.row_lower, program.row_upper)
    result = milp(
        cost,
        integrality=program.integer.astype(int),
        bounds=Bounds(program.column_lower, program.column_upper),
        constraints=[rows] if program.rows else [],
        options={"mip_rel_gap": 0.0},
    )
    assert result.success, result.message
    return float(result.fun), result.x


def extremes(program: Program, expressions: Expressions, index: int) -> tuple[float, float]:
    """Return the least and the greatest value of one expression over ``program``."""
    row, constant = expressions.row(index, program.columns)
    if not program.columns:
        return constant, constant
    return constant + optimum(program, row)[0], constant - optimum(program, -row)[0]


def pinned(program: Program, columns: NDArray[np.intp], values: NDArray[np.float64]) -> Program:
    """Return ``program`` with ``columns`` fixed at ``values``."""
    lower, upper = program.column_lower.copy(), program.column_upper.copy()
    lower[columns] = upper[columns] = values
    return replace(program, column_lower=lower, column_upper=upper)


def violation(program: Program, point: NDArray[np.float64]) -> float:
    """Return by how much ``point`` fails the rows, bounds and integrality of ``program``.

    Relative to its largest coordinate, since some solvers print eight digits.
    """
    rows = program.matrix @ point
    whole = point[program.integer]
    gaps = [
        program.row_lower - rows,
        rows - program.row_upper,
        program.column_lower - point,
        point - program.column_upper,
        np.abs(whole - np.round(whole)),
    ]
    worst = max(np.max(gap, initial=0.0) for gap in gaps)
    return float(worst / np.max(np.abs(point), initial=1.0))
