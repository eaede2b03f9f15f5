"""Programs as files in the CPLEX LP format, which people read as well.

Numbers are written with 17 significant digits, so that a file holds exactly the program in memory;
a two-sided row becomes two rows, which all readers take. Quadratic rows, special ordered sets,
indicator constraints and maxima are extensions: Gurobi reads them, CPLEX all but the last, CBC the
sets, HiGHS none of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from verix_encodings.arrays import FloatArray
from verix_encodings.program.data import ProgramData

_TERMS_IN_A_LINE = 5


def write_lp(
    program: ProgramData, cost: FloatArray, path: Path, comments: Sequence[str] = ()
) -> None:
    """Write ``minimise cost·v`` over ``program`` to ``path``, below ``comments``, a line each."""
    lines = (*(f"\\ {ascii_text(one)}" for one in comments), *_lines(program, cost))
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def ascii_text(comment: str) -> str:
    """Return one line of ASCII: readers of files differ in what they make of other text."""
    plain = " ".join(comment.split())
    return plain.encode("ascii", "backslashreplace").decode("ascii")


def _lines(program: ProgramData, cost: FloatArray) -> Iterator[str]:
    columns = program.column_names
    yield "Minimize"
    # with every column, so that each is declared, and in this order
    yield from _wrapped("cost:", zip(cost, columns, strict=True))
    yield "Subject To"
    yield from _rows(program, columns)
    for number, row in enumerate(program.quadratic_rows):
        squares = " + ".join(f"{columns[j]} ^2" for j in row.columns)
        yield f" quadratic_{number}: [ {squares} ] <= {row.radius**2:.17g}"
    for rule in program.indicators:
        terms = zip(rule.coefficients, (columns[j] for j in rule.columns), strict=True)
        yield from _wrapped(f"{rule.name}: {columns[rule.binary]} = {rule.value} ->", terms)
        yield f" <= {rule.upper:.17g}"
    yield "Bounds"
    for name, low, high in zip(columns, program.column_lower, program.column_upper, strict=True):
        yield (
            f" {name} free"
            if low == -high == -np.inf
            else f" {_end(low)} <= {name} <= {_end(high)}"
        )
    # the section Binaries would widen the bounds of a binary that is fixed
    integers = [columns[j] for j in np.flatnonzero(program.integer)]
    if integers:
        yield "Generals"
    for name in integers:
        yield f" {name}"
    if program.sos1:
        yield "SOS"
    for chosen in program.sos1:
        members = " ".join(f"{columns[j]}:{k}" for k, j in enumerate(chosen.columns, start=1))
        yield f" {chosen.name}: S1:: {members}"
    if program.maxima:
        yield "General Constraints"
    for one in program.maxima:
        among = [columns[j] for j in one.columns]
        among += [] if one.constant is None else [f"{one.constant:.17g}"]
        yield f" {one.name}: {columns[one.result]} = MAX ( {' , '.join(among)} )"
    yield "End"


def _rows(program: ProgramData, columns: list[str]) -> Iterator[str]:
    matrix = program.matrix
    rows = zip(program.row_names, program.row_lower, program.row_upper, strict=True)
    for i, (name, low, high) in enumerate(rows):
        entries = range(matrix.indptr[i], matrix.indptr[i + 1])
        terms = [(matrix.data[k], columns[matrix.indices[k]]) for k in entries]
        # an empty row still wants a column
        terms = terms or [(0.0, columns[0])]
        sides = [(">=", low, "_low"), ("<=", high, "_high")]
        if low == high:
            sides = [("=", low, "")]
        finite = [side for side in sides if np.isfinite(side[1])]
        for sense, limit, suffix in finite:
            yield from _wrapped(f"{name}{suffix if len(finite) > 1 else ''}:", terms)
            yield f" {sense} {limit:.17g}"


def _wrapped(start: str, terms: Iterable[tuple[float, str]]) -> Iterator[str]:
    """Yield a sum in short lines: some readers end at 560 characters."""
    texts = [f"{'-' if value < 0 else '+'} {abs(value):.17g} {name}" for value, name in terms]
    yield f" {start}"
    for first in range(0, len(texts), _TERMS_IN_A_LINE):
        yield "  " + " ".join(texts[first : first + _TERMS_IN_A_LINE])


def _end(value: float) -> str:
    return f"{value:.17g}" if np.isfinite(value) else "-inf" if value < 0 else "+inf"
