"""The rows, columns and logic of a mixed-integer program, and files of it.

Rows and columns have labels, block by block: a prefix, and the numbers behind it. Constraints
besides rows are implications of a binary, special ordered sets, and maxima: not every solver takes
them, so a program lists the kinds that it has (``Program.needs``).

Files are in the CPLEX LP format, which people read as well, or in free-format MPS.

LP: numbers are written with 17 significant digits, so that a file holds exactly the program in
memory; a two-sided row becomes two rows, which all readers take. Quadratic rows, special ordered
sets, indicator constraints and maxima are extensions: Gurobi reads them, CPLEX all but the last,
CBC the sets, HiGHS none of them.

MPS is the format that every solver reads the same way, with as many digits. The sections SOS and
INDICATORS are extensions: Gurobi reads both, CBC the first, HiGHS neither.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import BoolArray, FloatArray, IntArray

Labels: TypeAlias = tuple[tuple[str, IntArray], ...]


def names(labels: Labels) -> list[str]:
    """Return a name for each row or column, such as ``relu_upper_2_7``, in their order."""
    return [f"{prefix}_{number}" for prefix, numbers in labels for number in numbers]


def blocks(labels: Labels) -> dict[str, tuple[IntArray, IntArray]]:
    """Return for each prefix the columns or rows that have it, and the numbers behind it."""
    found, first = {}, 0
    for prefix, numbers in labels:
        found[prefix] = np.arange(first, first + len(numbers)), numbers
        first += len(numbers)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Indicator:
    """``v_b = s  ⇒  Σ_k a_k v_{j_k} ≤ r`` for a binary column ``b`` and ``s ∈ {0, 1}``.

    ``binary`` is ``b``, ``value`` is ``s``; ``columns`` and ``coefficients`` are ``j`` and ``a``,
    of one shape; ``upper`` is ``r``.
    """

    name: str
    binary: int
    value: int
    columns: IntArray
    coefficients: FloatArray
    upper: float


@dataclass(frozen=True, slots=True, eq=False)
class Sos1:
    """At most one of the ``columns`` is not zero: a special ordered set of type 1."""

    name: str
    columns: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Maximum:
    """``v_r = max(v_{j_1}, v_{j_2}, …, c)``.

    ``result`` is ``r``; ``columns`` are ``j``; ``constant`` is ``c``, None where there is none.
    """

    name: str
    result: int
    columns: IntArray
    constant: float | None


@dataclass(frozen=True, slots=True, eq=False)
class QuadraticRow:
    """``Σ_{j ∈ columns} v_j² ≤ radius²``."""

    columns: IntArray
    radius: float


@dataclass(frozen=True, slots=True, eq=False)
class ProgramData:
    """The feasible set of a mixed-integer program, linear but for its quadratic rows.

    ``matrix`` is CSR, shape (rows, columns); ``row_lower``, ``row_upper`` shape (rows,);
    ``column_lower``, ``column_upper`` and ``integer`` shape (columns,). ``row_labels`` and
    ``column_labels`` hold, block by block, a prefix and the numbers behind it. Only some solvers
    take ``indicators``, ``sos1`` and ``maxima``.
    """

    matrix: sp.csr_array
    row_lower: FloatArray
    row_upper: FloatArray
    column_lower: FloatArray
    column_upper: FloatArray
    integer: BoolArray
    row_labels: Labels
    column_labels: Labels
    quadratic_rows: tuple[QuadraticRow, ...] = ()
    indicators: tuple[Indicator, ...] = ()
    sos1: tuple[Sos1, ...] = ()
    maxima: tuple[Maximum, ...] = ()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    @property
    def columns(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1])

    @property
    def row_names(self) -> list[str]:
        """Names such as ``relu_upper_2_7``, in row order."""
        return names(self.row_labels)

    @property
    def column_names(self) -> list[str]:
        """Names such as ``z_2_7``, in column order."""
        return names(self.column_labels)


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
        free = low == -high == -np.inf
        yield f" {name} free" if free else f" {_end(low)} <= {name} <= {_end(high)}"
    # the section Binaries would widen the bounds of a binary that is fixed
    integers = [f" {columns[j]}" for j in np.flatnonzero(program.integer)]
    sets, maxima = [], []
    for chosen in program.sos1:
        members = " ".join(f"{columns[j]}:{k}" for k, j in enumerate(chosen.columns, start=1))
        sets.append(f" {chosen.name}: S1:: {members}")
    for one in program.maxima:
        among = [columns[j] for j in one.columns]
        among += [] if one.constant is None else [f"{one.constant:.17g}"]
        maxima.append(f" {one.name}: {columns[one.result]} = MAX ( {' , '.join(among)} )")
    yield from _section("Generals", integers)
    yield from _section("SOS", sets)
    yield from _section("General Constraints", maxima)
    yield "End"


def _section(head: str, lines: list[str]) -> list[str]:
    return [head, *lines] if lines else []


def _rows(program: ProgramData, columns: list[str]) -> Iterator[str]:
    matrix = program.matrix
    for i, (name, low, high) in enumerate(_named_rows(program)):
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


def write_mps(
    program: ProgramData, cost: FloatArray, path: Path, comments: Sequence[str] = ()
) -> None:
    """Write ``minimise cost·v`` over ``program`` to ``path``, below ``comments``, a line each.

    Raises ``ValueError`` for a program with quadratic rows or maxima.
    """
    for parts, what in ((program.quadratic_rows, "a quadratic row"), (program.maxima, "maxima")):
        if parts:
            raise ValueError(f"MPS files here are linear; the program has {what}: write .lp")
    lines = (*(f"* {ascii_text(one)}" for one in comments), *_mps_lines(program, cost))
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def _mps_lines(program: ProgramData, cost: FloatArray) -> Iterator[str]:
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
    for j, (name, low, high) in enumerate(columns):
        if program.integer[j] and (low, high) == (0.0, 1.0):
            yield f" BV bound {name}"  # some readers take implications of such columns alone
            continue
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
