"""Programs as free-format MPS files, the format that every solver reads the same way.

Numbers are written with 17 significant digits, so that a file holds exactly the program in memory.
The sections SOS and INDICATORS are extensions: Gurobi reads both, CBC the first, HiGHS neither.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import FloatArray
from verix_encodings.program.data import ProgramData
from verix_encodings.program.lp_file import ascii_text


def write_mps(
    program: ProgramData, cost: FloatArray, path: Path, comments: Sequence[str] = ()
) -> None:
    """Write ``minimise cost·v`` over ``program`` to ``path``, below ``comments``, a line each.

    Raises ``ValueError`` for a program with quadratic rows or maxima.
    """
    for parts, what in ((program.quadratic_rows, "a quadratic row"), (program.maxima, "maxima")):
        if parts:
            raise ValueError(f"MPS files here are linear; the program has {what}: write .lp")
    lines = (*(f"* {ascii_text(one)}" for one in comments), *_lines(program, cost))
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def _lines(program: ProgramData, cost: FloatArray) -> Iterator[str]:
    yield "NAME milp_verix"
    yield "ROWS"
    yield " N cost"
    for name, low, high in _named_rows(program):
        yield f" {_sense(low, high)} {name}"
    for rule in program.indicators:
        yield f" L {rule.name}"
    yield "COLUMNS"
    yield from _entries(program, cost)
    yield "RHS"
    for name, low, high in _named_rows(program):
        sense = _sense(low, high)
        if sense != "N":
            yield f" rhs {name} {high if sense == 'L' else low:.17g}"
    for rule in program.indicators:
        yield f" rhs {rule.name} {rule.upper:.17g}"
    yield "RANGES"
    for name, low, high in _named_rows(program):
        if np.isfinite(low) and np.isfinite(high) and low < high:
            yield f" range {name} {high - low:.17g}"
    yield "BOUNDS"
    columns = zip(program.column_names, program.column_lower, program.column_upper, strict=True)
    for name, low, high in columns:
        yield f" LO bound {name} {low:.17g}" if np.isfinite(low) else f" MI bound {name}"
        yield f" UP bound {name} {high:.17g}" if np.isfinite(high) else f" PL bound {name}"
    yield from _logic(program)
    yield "ENDATA"


def _named_rows(program: ProgramData) -> Iterator[tuple[str, float, float]]:
    return zip(program.row_names, program.row_lower, program.row_upper, strict=True)


def _entries(program: ProgramData, cost: FloatArray) -> Iterator[str]:
    """Yield the entries column by column, integer columns between markers."""
    rows, by_column = program.row_names, sp.csc_array(program.matrix)
    of_rules: dict[int, list[str]] = {}
    for rule in program.indicators:
        for j, value in zip(rule.columns, rule.coefficients, strict=True):
            of_rules.setdefault(int(j), []).append(f"{rule.name} {value:.17g}")
    integer = False
    for j, name in enumerate(program.column_names):
        if program.integer[j] != integer:
            integer = not integer
            yield f" MARKER 'MARKER' '{'INTORG' if integer else 'INTEND'}'"
        # a column without any entry must still be declared
        yield f" {name} cost {cost[j]:.17g}"
        for k in range(by_column.indptr[j], by_column.indptr[j + 1]):
            yield f" {name} {rows[by_column.indices[k]]} {by_column.data[k]:.17g}"
        for entry in of_rules.get(j, ()):
            yield f" {name} {entry}"
    if integer:
        yield " MARKER 'MARKER' 'INTEND'"


def _logic(program: ProgramData) -> Iterator[str]:
    columns = program.column_names
    if program.sos1:
        yield "SOS"
    for chosen in program.sos1:
        yield f" S1 {chosen.name}"
        for weight, j in enumerate(chosen.columns, start=1):
            yield f"    {columns[j]} {weight}"
    if program.indicators:
        yield "INDICATORS"
    for rule in program.indicators:
        yield f" IF {rule.name} {columns[rule.binary]} {rule.value}"


def _sense(low: float, high: float) -> str:
    if low == high:
        return "E"
    if np.isfinite(low):
        return "G"
    return "L" if np.isfinite(high) else "N"
