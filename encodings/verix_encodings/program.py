"""A mixed-integer program as data, and the builder that encodings add their rows and columns to.

    minimise  c·v   subject to   r⁻ ≤ A v ≤ r⁺,   l ≤ v ≤ u,   v_j ∈ Z for j in the integer set,
                                 Σ_{j ∈ J} v_j² ≤ r²  for each quadratic row (J, r)

and, where an encoding asks for them, the logical constraints of ``program_files``.

Costs are always minimised, without a constant: solvers and file formats disagree about both. The
cost ``c`` is not part of the program, since one program serves many costs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import starmap
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from verix_encodings.arrays import BoolArray, FloatArray, IntArray, Matrix, dense, frozen
from verix_encodings.program_files import (
    Indicator,
    Maximum,
    ProgramData,
    QuadraticRow,
    Sos1,
    write_lp,
    write_mps,
)
from verix_encodings.work import spend_entries

LEAST_BIG_M = 1e-7
"""No big-M of an encoding is smaller: readers of files drop coefficients of up to 1e-9."""

_NEGLIGIBLE, _WIDE = 1e-12, 1e3
_WRITERS = {".lp": write_lp, ".mps": write_mps}


@dataclass(frozen=True, slots=True, eq=False)
class Program(ProgramData):
    """A mixed-integer program without a cost: its data, and programs derived from it."""

    @property
    def needs(self) -> frozenset[str]:
        """Capabilities that a solver needs beyond linear rows and integer columns."""
        held = {
            "quadratic": self.quadratic_rows,
            "indicator": self.indicators,
            "sos1": self.sos1,
            "general": self.maxima,
        }
        return frozenset(feature for feature, constraints in held.items() if constraints)

    @property
    def largest_big_m(self) -> float:
        """The largest constant that an integer column is multiplied by, 0.0 without any.

        It decides how far integrality tolerances can leak.
        """
        return float(np.max(np.abs(self.matrix[:, self.integer].data), initial=0.0))

    @property
    def binaries(self) -> int:
        """Number of integer columns; every integer column of an encoding is binary."""
        return int(np.count_nonzero(self.integer))

    @property
    def relaxed(self) -> "Program":
        """The linear relaxation: the same rows and bounds, neither integrality nor logic."""
        continuous = np.zeros(self.columns, dtype=bool)
        return replace(self, integer=continuous, indicators=(), sos1=(), maxima=())

    def extends(self, other: "Program") -> bool:
        """Return whether this is ``other``, its bounds included, with columns and rows added.

        False for programs with ``needs`` beyond linear rows.
        """
        ours, theirs = self.matrix, other.matrix
        fewer = self.columns < other.columns or self.rows < other.rows
        if fewer or self.needs or other.needs:
            return False
        rows, columns, entries = other.rows, other.columns, theirs.nnz
        # indptr has one more number than rows
        pairs = (
            (ours.indptr[: rows + 1], theirs.indptr),
            (ours.indices[:entries], theirs.indices),
            (ours.data[:entries], theirs.data),
            (self.row_lower[:rows], other.row_lower),
            (self.row_upper[:rows], other.row_upper),
            (self.column_lower[:columns], other.column_lower),
            (self.column_upper[:columns], other.column_upper),
            (self.integer[:columns], other.integer),
        )
        return all(np.array_equal(a, b) for a, b in pairs)

    def with_bounds(self, columns: IntArray, lower: ArrayLike, upper: ArrayLike) -> "Program":
        """Return this program with other bounds on ``columns``, of their shape or scalars.

        The rows stay: numbers that an encoding derived from the old bounds, such as big-Ms, hold
        if the new bounds lie inside of them.
        """
        low, high = self.column_lower.copy(), self.column_upper.copy()
        low[columns], high[columns] = lower, upper
        return replace(self, column_lower=frozen(low), column_upper=frozen(high))

    def scaled(self) -> tuple["Program", FloatArray]:
        """Return this program of linear rows in other units, and the unit of each column.

        A number in the old program is one in the new program times its column's unit, a power of
        two: what is wide gets numbers of up to 2, as tolerances of solvers are absolute.
        """
        size = np.maximum(np.abs(self.column_lower), np.abs(self.column_upper))
        wide = ~self.integer & (size > _WIDE) & np.isfinite(size)
        units = np.where(wide, 2.0 ** np.floor(np.log2(np.where(wide, size, 1.0))), 1.0)
        lower, upper = frozen(self.column_lower / units), frozen(self.column_upper / units)
        matrix = self.matrix.copy()
        matrix.data = matrix.data * units[matrix.indices]
        return replace(self, matrix=matrix, column_lower=lower, column_upper=upper), units

    def without_tiny(self, least: float) -> "Program":
        """Return a program without matrix entries of at most ``least``; it holds this one's points.

        Each row is widened by as much as these could contribute, ``Σ |a_j| max |v_j|``, unless
        that is far below every solver's tolerance. For solvers that drop such entries silently.
        """
        tiny = np.abs(self.matrix.data) <= least
        if not tiny.any():
            return self
        reach = np.maximum(np.abs(self.column_lower), np.abs(self.column_upper))
        lost, kept = self.matrix.copy(), self.matrix.copy()
        lost.data = np.where(tiny, np.abs(lost.data) * reach[lost.indices], 0.0)
        slack = np.asarray(lost.sum(axis=1)) * (1 + 1e-9)
        slack = np.where(slack > _NEGLIGIBLE, slack, 0.0)
        kept.data[tiny] = 0.0
        kept.eliminate_zeros()
        lower, upper = frozen(self.row_lower - slack), frozen(self.row_upper + slack)
        return replace(self, matrix=kept, row_lower=lower, row_upper=upper)

    def permuted(self, rows: IntArray, columns: IntArray) -> "Program":
        """Return the same program with its ``rows`` and ``columns`` in another order.

        Column ``k`` of the result is column ``columns[k]`` of this program, and so are the rows.
        """
        place = np.empty_like(columns)
        place[columns] = np.arange(columns.size)
        matrix = self.matrix[rows, :][:, columns]
        matrix.sort_indices()
        return replace(
            self,
            matrix=matrix,
            row_lower=frozen(self.row_lower[rows]),
            row_upper=frozen(self.row_upper[rows]),
            column_lower=frozen(self.column_lower[columns]),
            column_upper=frozen(self.column_upper[columns]),
            integer=self.integer[columns],
            row_labels=(("row", rows),),
            column_labels=(("column", columns),),
            quadratic_rows=tuple(replace(q, columns=place[q.columns]) for q in self.quadratic_rows),
            indicators=tuple(
                replace(rule, binary=int(place[rule.binary]), columns=place[rule.columns])
                for rule in self.indicators
            ),
            sos1=tuple(replace(one, columns=place[one.columns]) for one in self.sos1),
            maxima=tuple(
                replace(one, result=int(place[one.result]), columns=place[one.columns])
                for one in self.maxima
            ),
        )

    def digest(self, cost: FloatArray) -> str:
        """Return the SHA-256 of ``minimise cost·v`` over this program, in hexadecimal digits.

        It is that of its parts in the order of the builder, in ASCII, with 17 significant digits,
        a space between numbers and a line for each part: costs, ends of columns, integer columns,
        ends of rows, and the entries of the matrix (how many before each row, their columns, their
        values); then a line for each quadratic row, implication, ordered set and maximum.
        """
        matrix = self.matrix
        ends = (self.column_lower, self.column_upper, self.integer, self.row_lower, self.row_upper)
        parts: list[ArrayLike] = [cost, *ends, matrix.indptr, matrix.indices, matrix.data]
        parts += [[q.radius, *q.columns] for q in self.quadratic_rows]
        parts += [
            [rule.binary, rule.value, rule.upper, *rule.columns, *rule.coefficients]
            for rule in self.indicators
        ]
        parts += [one.columns for one in self.sos1]
        parts += [
            [one.result, np.nan if one.constant is None else one.constant, *one.columns]
            for one in self.maxima
        ]
        text = sha256()
        for part in parts:
            # +0.0: a zero has no sign
            numbers = np.asarray(part, dtype=np.float64) + 0.0
            text.update(f"{' '.join(map('{:.17g}'.format, numbers.tolist()))}\n".encode("ascii"))
        return text.hexdigest()

    def write(
        self, path: str | PathLike[str], cost: ArrayLike, comments: Sequence[str] = ()
    ) -> None:
        """Write ``minimise cost·v`` over the program to ``path``, by its suffix .lp or .mps.

        ``cost`` has shape (columns,). ``comments`` are lines at the top of the file. Raises
        ``ValueError`` for another suffix or shape, and for constraints that the format does not
        have.
        """
        target, weights = Path(path), np.asarray(cost, dtype=np.float64)
        if target.suffix.lower() not in _WRITERS:
            raise ValueError(f"a program is written as .lp or .mps, not as {target.suffix!r}")
        if weights.shape != (self.columns,):
            raise ValueError(
                f"the cost has shape {weights.shape}, the program {self.columns} columns"
            )
        _WRITERS[target.suffix.lower()](self, weights, target, comments)


@dataclass(frozen=True, slots=True, eq=False)
class Expressions:
    """A vector of affine expressions ``e = C v_J + k`` in the columns ``J`` of a program.

    ``columns`` is ``J``; ``matrix`` is ``C``, shape (size, len(J)); ``constant`` is ``k``.
    """

    columns: IntArray
    matrix: Matrix
    constant: FloatArray

    @classmethod
    def of_columns(cls, columns: IntArray) -> "Expressions":
        """Return the ``columns`` themselves, one expression each."""
        one = sp.eye_array(columns.size, format="csr")
        return cls(columns, one, np.zeros(columns.size))

    def at(self, point: FloatArray) -> FloatArray:
        """Evaluate the expressions at ``point``, a value for each column of the program."""
        return self.matrix @ point[self.columns] + self.constant

    def row(self, index: int, total_columns: int) -> tuple[FloatArray, float]:
        """Return expression ``index`` as (coefficients of all the program's columns, constant)."""
        row = self.matrix[[index], :]
        coefficients = np.zeros(total_columns)
        # a column may stand in J more than once
        np.add.at(coefficients, self.columns, dense(row).reshape(-1))
        return coefficients, float(self.constant[index])


Terms: TypeAlias = "Sequence[tuple[Matrix | float, IntArray]]"
"""Pairs of factors and columns: a vector stands for a diagonal matrix, a number for one of it."""


@dataclass(slots=True)
class ProgramBuilder:
    """Collects columns and rows in the order in which encodings add them."""

    _columns: list[tuple[str, IntArray, FloatArray, FloatArray]] = field(default_factory=list)
    _integer: list[BoolArray] = field(default_factory=list)
    _rows: list[tuple[str, IntArray, FloatArray, FloatArray]] = field(default_factory=list)
    _entries: list[tuple[IntArray, IntArray, FloatArray]] = field(default_factory=list)
    _quadratic_rows: list[QuadraticRow] = field(default_factory=list)
    _indicators: list[Indicator] = field(default_factory=list)
    _sos1: list[Sos1] = field(default_factory=list)
    _maxima: list[Maximum] = field(default_factory=list)
    _built: sp.csr_array = field(default_factory=lambda: sp.csr_array((0, 0)))
    _column_count: int = 0
    _row_count: int = 0

    def add_columns(
        self,
        prefix: str,
        numbers: IntArray,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        integer: bool = False,
    ) -> IntArray:
        """Add one column for each of ``numbers`` with the bounds given; return their indices."""
        size = len(numbers)
        ends = np.full(size, lower, dtype=np.float64), np.full(size, upper, dtype=np.float64)
        self._columns.append((prefix, numbers, *ends))
        self._integer.append(np.full(size, integer))
        first, self._column_count = self._column_count, self._column_count + size
        return np.arange(first, self._column_count)

    def add_rows(
        self,
        prefix: str,
        numbers: IntArray,
        terms: Terms,
        lower: ArrayLike,
        upper: ArrayLike,
    ) -> None:
        """Add the rows ``lower ≤ Σ_k C_k v_{J_k} ≤ upper``, for ``terms`` the pairs (C_k, J_k)."""
        size = len(numbers)
        ends = np.full(size, lower, dtype=np.float64), np.full(size, upper, dtype=np.float64)
        self._rows.append((prefix, numbers, *ends))
        for row, column, data in starmap(_entries_of, terms):
            self._entries.append((row + self._row_count, column, data))
        self._row_count += size

    def add_row(self, prefix: str, number: int, terms: Terms, lower: float, upper: float) -> None:
        """Add the row ``lower ≤ Σ_k c_k·v_{J_k} ≤ upper``: a vector ``c_k`` stands for itself."""
        flat = [(c if sp.issparse(c) else np.atleast_2d(c), columns) for c, columns in terms]
        self.add_rows(prefix, np.array([number]), flat, lower, upper)

    def add_quadratic_row(self, columns: IntArray, radius: float) -> None:
        """Add the row ``Σ v_j² ≤ radius²`` over ``columns``."""
        self._quadratic_rows.append(QuadraticRow(columns, radius))

    def add_indicators(
        self,
        prefix: str,
        numbers: IntArray,
        binaries: IntArray,
        terms: Terms,
        *,
        value: int,
        upper: float,
    ) -> None:
        """Add ``v_b = value ⇒ Σ_k C_k v_{J_k} ≤ upper``, row by row, for ``b`` in ``binaries``."""
        row, members, data = map(np.concatenate, _by_part([*starmap(_entries_of, terms)], 3))
        order = np.argsort(row, kind="stable")
        starts = np.searchsorted(row[order], np.arange(len(numbers) + 1))
        for k, number in enumerate(numbers):
            name, own = f"{prefix}_{number}", order[starts[k] : starts[k + 1]]
            rule = Indicator(name, int(binaries[k]), value, members[own], data[own], upper)
            self._indicators.append(rule)

    def add_sos1(self, prefix: str, numbers: IntArray, columns: IntArray) -> None:
        """Add a set for each row of ``columns``, shape (sets, columns in a set)."""
        for number, members in zip(numbers, columns, strict=True):
            self._sos1.append(Sos1(f"{prefix}_{number}", members))

    def add_maxima(
        self,
        prefix: str,
        numbers: IntArray,
        results: IntArray,
        columns: IntArray,
        constant: float | None = None,
    ) -> None:
        """Add ``v_r = max(v_J, constant)`` for each ``r`` of ``results`` and row ``J``."""
        for number, result, members in zip(numbers, results, columns, strict=True):
            self._maxima.append(Maximum(f"{prefix}_{number}", int(result), members, constant))

    def column_bounds(self, columns: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper bounds of ``columns``."""
        _, _, lower, upper = _by_part(self._columns, 4)
        return _joined(lower)[columns], _joined(upper)[columns]

    def build(self) -> Program:
        """Return the :class:`Program` of all columns and rows added."""
        matrix = self._matrix()
        row_prefixes, rows, row_lower, row_upper = _by_part(self._rows, 4)
        prefixes, columns, lower, upper = _by_part(self._columns, 4)
        spend_entries(matrix.nnz + sum(matrix.shape), 32)
        return Program(
            matrix=matrix,
            row_lower=frozen(_joined(row_lower)),
            row_upper=frozen(_joined(row_upper)),
            column_lower=frozen(_joined(lower)),
            column_upper=frozen(_joined(upper)),
            integer=_joined(self._integer, bool),
            row_labels=tuple(zip(row_prefixes, rows, strict=True)),
            column_labels=tuple(zip(prefixes, columns, strict=True)),
            quadratic_rows=tuple(self._quadratic_rows),
            indicators=tuple(self._indicators),
            sos1=tuple(self._sos1),
            maxima=tuple(self._maxima),
        )

    def _matrix(self) -> sp.csr_array:
        """Return the matrix of all rows: programs grow, so new ones join those built before."""
        built = self._built
        first = built.shape[0]
        rows, columns, data = _by_part(self._entries, 3)
        places = _joined(rows, np.intp) - first, _joined(columns, np.intp)
        shape = self._row_count - first, self._column_count
        further = sp.csr_array((_joined(data), places), shape=shape)
        further.eliminate_zeros()
        further.sort_indices()
        joined = (
            np.concatenate([built.data, further.data]),
            np.concatenate([built.indices, further.indices]),
            np.concatenate([built.indptr, built.indptr[-1] + further.indptr[1:]]),
        )
        self._built = sp.csr_array(joined, shape=(self._row_count, self._column_count))
        self._entries.clear()
        return self._built


def _entries_of(
    factors: "Matrix | float", columns: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return rows, columns and values of a term, fast for the many small ones of programs."""
    if isinstance(factors, float):
        factors = np.full(columns.size, factors)
    if isinstance(factors, np.ndarray) and factors.ndim == 1:
        return np.arange(factors.size), columns, factors
    if isinstance(factors, np.ndarray):
        row, column = np.nonzero(factors)
        return row, columns[column], factors[row, column]
    if isinstance(factors, sp.csr_array):
        row = np.repeat(np.arange(factors.shape[0]), np.diff(factors.indptr))
        return row, columns[factors.indices], factors.data
    block = sp.coo_array(factors)
    return block.row, columns[block.col], block.data


def _by_part(blocks: Sequence[tuple[Any, ...]], parts: int) -> Sequence[tuple[Any, ...]]:
    """Return the first parts of all blocks, their second ones, and so on."""
    return [*zip(*blocks, strict=True)] or [()] * parts


def _joined(parts: Iterable[NDArray[Any]], kind: type = float) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, kind), *parts])
