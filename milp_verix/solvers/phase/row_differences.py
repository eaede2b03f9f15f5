"""Rows given as differences from earlier ones, if these have fewer entries.

Scenarios run one network on perturbations that are mostly equal, so the rows of their first layers
are mostly equal, too. With ``r`` the row referred to, an equality,

    a_i v − a_r v = b_i − b_r    instead of    a_i v = b_i,    y_r − Σ y_i    instead of    y_r

is the same program with the same optima, but a linear program with fewer entries is faster.
"""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray, frozen

_LONG = 200
_WORTH = 0.6
_MOST_ENTRIES = 2_000_000

NO_REFERENCES: IntArray = np.zeros(0, dtype=np.intp)


def references(program: Program, known: IntArray = NO_REFERENCES) -> IntArray:
    """Return the number of the row that each row refers to, or -1; ``known`` are the first ones.

    Short rows refer to none. No row refers to another if comparing them would take long.
    """
    found = np.full(program.rows, -1)
    found[: known.size] = known
    entries = np.diff(program.matrix.indptr)
    rows = np.flatnonzero((entries >= _LONG) & (program.row_lower == program.row_upper))
    new = int(np.searchsorted(rows, known.size))
    if new == rows.size or rows.size * program.columns > _MOST_ENTRIES:
        return found
    values = program.matrix[rows, :].toarray()
    for place in range(max(new, 1), rows.size):
        differ = np.count_nonzero(values[:place] != values[place], axis=1)
        nearest = int(np.argmin(differ))
        if differ[nearest] <= _WORTH * entries[rows[place]]:
            found[rows[place]] = rows[nearest]
    return found


def relative(program: Program, of_rows: IntArray) -> Program:
    """Return ``program`` with each row as its difference from the row that it refers to.

    ``of_rows`` has the number of that row, -1 for none, as :func:`references` returns it.
    """
    rows = np.flatnonzero(of_rows >= 0)
    if not rows.size:
        return program
    referred = of_rows[rows]
    taken = sp.csr_array((np.ones(rows.size), (rows, referred)), shape=(program.rows, program.rows))
    lower, upper = program.row_lower.copy(), program.row_upper.copy()
    lower[rows] -= program.row_lower[referred]
    upper[rows] -= program.row_upper[referred]
    matrix = sp.csr_array(program.matrix - taken @ program.matrix)
    return replace(program, matrix=matrix, row_lower=frozen(lower), row_upper=frozen(upper))


def absolute(multipliers: FloatArray, of_rows: IntArray) -> FloatArray:
    """Return the multipliers of the original rows, from multipliers of :func:`relative`'s rows."""
    rows = np.flatnonzero(of_rows >= 0)
    shared = np.bincount(of_rows[rows], weights=multipliers[rows], minlength=multipliers.size)
    return multipliers - shared
