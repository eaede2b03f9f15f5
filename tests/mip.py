"""Programs solved by scipy: what encodings and solver sessions are compared with."""

from dataclasses import replace

import numpy as np
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


def optimum(program: Program, cost: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the least cost over ``program``, proven optimal, and a point that attains it."""
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
