"""Programs as free-format MPS files, the format that every solver reads the same way.

Numbers are written with 17 significant digits, so that a file holds exactly the program in memory.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import FloatArray
from verix_encodings.program import Program


def write_mps(program: Program, cost: FloatArray, path: Path) -> None:
    """Write ``minimise cost·v`` over ``program`` to ``path``.

    Raises ``ValueError`` for a program with quadratic rows.
    """
    if program.features:
        raise ValueError(f"MPS files here are linear; the program has {sorted(program.features)}")
    path.write_text("\n".join(_lines(program, cost)) + "\n", encoding="ascii")


def _lines(program: Program, cost: FloatArray) -> Iterator[str]:
    rows, columns = program.row_names, program.column_names
    yield "NAME milp_verix"
    yield "ROWS"
    yield " N cost"
    senses = [
        _sense(low, high) for low, high in zip(program.row_lower, program.row_upper, strict=True)
    ]
    for name, sense in zip(rows, senses, strict=True):
        yield f" {sense} {name}"

    yield "COLUMNS"
    by_column = sp.csc_array(program.matrix)
    integer = False
    for j, name in enumerate(columns):
        if program.integer[j] != integer:
            integer = not integer
            yield f" MARKER 'MARKER' '{'INTORG' if integer else 'INTEND'}'"
        # a column without any entry must still be declared
        yield f" {name} cost {cost[j]:.17g}"
        for k in range(by_column.indptr[j], by_column.indptr[j + 1]):
            yield f" {name} {rows[by_column.indices[k]]} {by_column.data[k]:.17g}"
    if integer:
        yield " MARKER 'MARKER' 'INTEND'"

    yield "RHS"
    for name, sense, low, high in zip(
        rows, senses, program.row_lower, program.row_upper, strict=True
    ):
        if sense != "N":
            yield f" rhs {name} {high if sense == 'L' else low:.17g}"
    yield "RANGES"
    for name, low, high in zip(rows, program.row_lower, program.row_upper, strict=True):
        if np.isfinite(low) and np.isfinite(high) and low < high:
            yield f" range {name} {high - low:.17g}"
    yield "BOUNDS"
    for name, low, high in zip(columns, program.column_lower, program.column_upper, strict=True):
        yield f" LO bound {name} {low:.17g}" if np.isfinite(low) else f" MI bound {name}"
        yield f" UP bound {name} {high:.17g}" if np.isfinite(high) else f" PL bound {name}"
    yield "ENDATA"


def _sense(low: float, high: float) -> str:
    if low == high:
        return "E"
    if np.isfinite(low):
        return "G"
    return "L" if np.isfinite(high) else "N"
