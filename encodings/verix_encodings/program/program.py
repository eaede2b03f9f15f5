"""A mixed-integer program as data, and the builder that encodings add their rows and columns to.

    minimise  c·v   subject to   r⁻ ≤ A v ≤ r⁺,   l ≤ v ≤ u,   v_j ∈ Z for j in the integer set,
                                 Σ_{j ∈ J} v_j² ≤ r²  for each quadratic row (J, r)

and, where an encoding asks for them, the logical constraints of ``program.logic``.

There is always a minimisation and never a constant in the objective: solvers and file formats
disagree about both. The cost ``c`` is not part of the program, since one program serves many.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from verix_encodings.arrays import BoolArray, FloatArray, IntArray, Matrix, dense, frozen
from verix_encodings.program.logic import Indicator, Sos1

LEAST_BIG_M = 1e-7
"""No big-M of an encoding is smaller: readers of files drop coefficients of up to 1e-9."""

_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class QuadraticRow:
    """``Σ_{j ∈ columns} v_j² ≤ radius²``."""

    columns: IntArray
    radius: float


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """The feasible set of a mixed-integer program, linear but for its quadratic rows.

    ``matrix`` is CSR, shape (rows, columns); ``row_lower``, ``row_upper`` shape (rows,);
    ``column_lower``, ``column_upper`` and ``integer`` shape (columns,). ``row_labels`` and
    ``column_labels`` hold, block by block, a prefix and the numbers behind it. Only some solvers
    take ``indicators`` and ``sos1``.
    """

    matrix: sp.csr_array
    row_lower: FloatArray
    row_upper: FloatArray
    column_lower: FloatArray
    column_upper: FloatArray
    integer: BoolArray
    row_labels: tuple[tuple[str, IntArray], ...]
    column_labels: tuple[tuple[str, IntArray], ...]
    quadratic_rows: tuple[QuadraticRow, ...] = ()
    indicators: tuple[Indicator, ...] = ()
    sos1: tuple[Sos1, ...] = ()

    @property
    def needs(self) -> frozenset[str]:
        """What a solver must take beyond linear rows and integer columns."""
        held = {
            "quadratic": self.quadratic_rows,
            "indicator": self.indicators,
            "sos1": self.sos1,
        }
        return frozenset(feature for feature, constraints in held.items() if constraints)

    @property
    def largest_big_m(self) -> float:
        """The largest constant that an integer column is multiplied by, 0.0 without any.

        It decides how far integrality tolerances can leak.
        """
        return float(np.max(np.abs(self.matrix[:, self.integer].data), initial=0.0))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    @property
    def columns(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1])

    @property
    def binaries(self) -> int:
        """Number of integer columns; every integer column of an encoding is binary."""
        return int(np.count_nonzero(self.integer))

    @property
    def relaxed(self) -> "Program":
        """The linear relaxation: the same rows and bounds, neither integrality nor logic."""
        return replace(self, integer=np.zeros(self.columns, dtype=bool), indicators=(), sos1=())

    def extends(self, other: "Program") -> bool:
        """Whether this is ``other``, bounds and all, with more columns and rows after its own.

        Only for programs of linear rows: with other ``needs`` the answer is no.
        """
        ours, theirs = self.matrix, other.matrix
        if self.columns < other.columns or self.rows < other.rows:
            return False
        if self.needs or other.needs:
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

        The rows stay: what an encoding derived from the old bounds, such as its big-Ms, holds
        wherever the new ones lie inside of them.
        """
        low, high = self.column_lower.copy(), self.column_upper.copy()
        low[columns], high[columns] = lower, upper
        return replace(self, column_lower=frozen(low), column_upper=frozen(high))

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
        return replace(
            self,
            matrix=kept,
            row_lower=frozen(self.row_lower - slack),
            row_upper=frozen(self.row_upper + slack),
        )

    @property
    def row_names(self) -> list[str]:
        """Names such as ``relu_upper_2_7``, in row order."""
        return _names(self.row_labels)

    @property
    def column_names(self) -> list[str]:
        """Names such as ``z_2_7``, in column order."""
        return _names(self.column_labels)

    def write(self, path: str | PathLike[str], cost: ArrayLike) -> None:
        """Write ``minimise cost·v`` over the program to ``path``, by its suffix .lp or .mps.

        ``cost`` has shape (columns,). Raises ``ValueError`` for another suffix or shape, and for
        what the format does not have.
        """
        from verix_encodings.program.lp_file import write_lp
        from verix_encodings.program.mps_file import write_mps

        target, weights = Path(path), np.asarray(cost, dtype=np.float64)
        writers = {".lp": write_lp, ".mps": write_mps}
        if target.suffix.lower() not in writers:
            raise ValueError(f"a program is written as .lp or .mps, not as {target.name!r}")
        if weights.shape != (self.columns,):
            raise ValueError(
                f"the cost has shape {weights.shape}, the program {self.columns} columns"
            )
        writers[target.suffix.lower()](self, weights, target)


def _names(labels: tuple[tuple[str, IntArray], ...]) -> list[str]:
    return [f"{prefix}_{number}" for prefix, numbers in labels for number in numbers]


@dataclass(frozen=True, slots=True, eq=False)
class Expressions:
    """A vector of affine expressions ``e = C v_J + k`` in the columns ``J`` of a program.

    ``columns`` is ``J``; ``matrix`` is ``C``, shape (size, len(J)); ``constant`` is ``k``.
    """

    columns: IntArray
    matrix: Matrix
    constant: FloatArray

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


@dataclass(slots=True)
class ProgramBuilder:
    """Collects columns and rows in the order in which encodings add them."""

    _columns: list[tuple[str, IntArray, FloatArray, FloatArray, bool]] = field(default_factory=list)
    _rows: list[tuple[str, IntArray, FloatArray, FloatArray]] = field(default_factory=list)
    _entries: list[tuple[IntArray, IntArray, FloatArray]] = field(default_factory=list)
    _quadratic_rows: list[QuadraticRow] = field(default_factory=list)
    _indicators: list[Indicator] = field(default_factory=list)
    _sos1: list[Sos1] = field(default_factory=list)
    _blocks: dict[str, tuple[IntArray, int]] = field(default_factory=dict)
    _built: sp.csr_array = field(default_factory=lambda: sp.csr_array((0, 0)))
    _column_count: int = 0
    _row_count: int = 0

    def copy(self) -> "ProgramBuilder":
        """Return one with the same columns and rows, to add others to."""
        return replace(
            self,
            _columns=[*self._columns],
            _rows=[*self._rows],
            _entries=[*self._entries],
            _quadratic_rows=[*self._quadratic_rows],
            _indicators=[*self._indicators],
            _sos1=[*self._sos1],
            _blocks={**self._blocks},
        )

    @property
    def rows(self) -> int:
        """Number of rows so far."""
        return self._row_count

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
        self._columns.append((prefix, numbers, _filled(lower, size), _filled(upper, size), integer))
        first, self._column_count = self._column_count, self._column_count + size
        self._blocks[prefix] = numbers, first
        return np.arange(first, self._column_count)

    def add_rows(
        self,
        prefix: str,
        numbers: IntArray,
        terms: list[tuple[Matrix, IntArray]],
        lower: ArrayLike,
        upper: ArrayLike,
    ) -> None:
        """Add the rows ``lower ≤ Σ_k C_k v_{J_k} ≤ upper``, for ``terms`` the pairs (C_k, J_k).

        A vector ``C_k`` stands for the diagonal matrix with its entries.
        """
        size = len(numbers)
        self._rows.append((prefix, numbers, _filled(lower, size), _filled(upper, size)))
        for matrix, columns in terms:
            row, column, data = _entries_of(matrix)
            self._entries.append((row + self._row_count, columns[column], data))
        self._row_count += size

    def add_quadratic_row(self, columns: IntArray, radius: float) -> None:
        """Add the row ``Σ v_j² ≤ radius²`` over ``columns``."""
        self._quadratic_rows.append(QuadraticRow(columns, radius))

    def add_indicators(
        self,
        prefix: str,
        numbers: IntArray,
        binaries: IntArray,
        terms: list[tuple[Matrix, IntArray]],
        *,
        value: int,
        upper: float,
    ) -> None:
        """Add ``v_b = value ⇒ Σ_k C_k v_{J_k} ≤ upper``, row by row, for ``b`` in ``binaries``."""
        joined = sp.csr_array(sp.hstack([sp.csr_array(matrix) for matrix, _ in terms]))
        columns = np.concatenate([columns for _, columns in terms])
        for k, number in enumerate(numbers):
            entries = slice(joined.indptr[k], joined.indptr[k + 1])
            self._indicators.append(
                Indicator(
                    f"{prefix}_{number}",
                    int(binaries[k]),
                    value,
                    columns[joined.indices[entries]],
                    joined.data[entries],
                    upper,
                )
            )

    def add_sos1(self, prefix: str, numbers: IntArray, columns: IntArray) -> None:
        """Add a set for each row of ``columns``, shape (sets, columns in a set)."""
        for number, members in zip(numbers, columns, strict=True):
            self._sos1.append(Sos1(f"{prefix}_{number}", members))

    @property
    def column_blocks(self) -> Mapping[str, tuple[IntArray, int]]:
        """By prefix, the block of columns added last: its numbers, and the index of the first."""
        return self._blocks

    def column_bounds(self, columns: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper bounds of ``columns``."""
        lower = np.concatenate([np.zeros(0), *(low for _, _, low, _, _ in self._columns)])
        upper = np.concatenate([np.zeros(0), *(high for _, _, _, high, _ in self._columns)])
        return lower[columns], upper[columns]

    def build(self) -> Program:
        """Return what was added as a :class:`Program`."""
        matrix = self._matrix()
        return Program(
            matrix=matrix,
            row_lower=_joined([lower for _, _, lower, _ in self._rows]),
            row_upper=_joined([upper for _, _, _, upper in self._rows]),
            column_lower=_joined([lower for _, _, lower, _, _ in self._columns]),
            column_upper=_joined([upper for _, _, _, upper, _ in self._columns]),
            integer=np.concatenate(
                [
                    np.zeros(0, dtype=bool),
                    *(np.full(len(numbers), flag) for _, numbers, _, _, flag in self._columns),
                ]
            ),
            row_labels=tuple((prefix, numbers) for prefix, numbers, _, _ in self._rows),
            column_labels=tuple((prefix, numbers) for prefix, numbers, _, _, _ in self._columns),
            quadratic_rows=tuple(self._quadratic_rows),
            indicators=tuple(self._indicators),
            sos1=tuple(self._sos1),
        )

    def _matrix(self) -> sp.csr_array:
        """Return the matrix of all rows: those that were built before are only followed by others.

        A program that grows part by part is built after each.
        """
        built = self._built
        empty, first = np.zeros(0, dtype=np.intp), built.shape[0]
        rows = np.concatenate([empty, *(r for r, _, _ in self._entries)]) - first
        columns = np.concatenate([empty, *(c for _, c, _ in self._entries)])
        data = np.concatenate([np.zeros(0), *(d for _, _, d in self._entries)])
        shape = self._row_count - first, self._column_count
        further = sp.csr_array((data, (rows, columns)), shape=shape)
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


def _entries_of(matrix: Matrix) -> tuple[IntArray, IntArray, FloatArray]:
    """Return rows, columns and values of a matrix; programs of small parts are made of many."""
    if isinstance(matrix, np.ndarray) and matrix.ndim == 1:
        diagonal = np.arange(matrix.size)
        return diagonal, diagonal, matrix
    if isinstance(matrix, np.ndarray):
        row, column = np.nonzero(matrix)
        return row, column, matrix[row, column]
    if isinstance(matrix, sp.csr_array):
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        return row, matrix.indices, matrix.data
    block = sp.coo_array(matrix)
    return block.row, block.col, block.data


def _filled(values: ArrayLike, size: int) -> FloatArray:
    return np.full(size, values, dtype=np.float64)


def _joined(parts: list[FloatArray]) -> FloatArray:
    return frozen(np.concatenate([np.zeros(0), *parts]))
