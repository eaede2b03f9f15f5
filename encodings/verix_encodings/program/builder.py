"""The builder that encodings add their rows and columns to."""

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from verix_encodings.arrays import FloatArray, IntArray, Matrix, frozen
from verix_encodings.program.data import Indicator, Maximum, QuadraticRow, Sos1
from verix_encodings.program.program import Program
from verix_encodings.work import spend_entries


@dataclass(slots=True)
class ProgramBuilder:
    """Collects columns and rows in the order in which encodings add them."""

    _columns: list[tuple[str, IntArray, FloatArray, FloatArray, bool]] = field(default_factory=list)
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
        self._columns.append((prefix, numbers, _filled(lower, size), _filled(upper, size), integer))
        first, self._column_count = self._column_count, self._column_count + size
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
        lower = np.concatenate([np.zeros(0), *(low for _, _, low, _, _ in self._columns)])
        upper = np.concatenate([np.zeros(0), *(high for _, _, _, high, _ in self._columns)])
        return lower[columns], upper[columns]

    def build(self) -> Program:
        """Return the :class:`Program` of all columns and rows added."""
        matrix = self._matrix()
        spend_entries(matrix.nnz + sum(matrix.shape), 32)
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
            maxima=tuple(self._maxima),
        )

    def _matrix(self) -> sp.csr_array:
        """Return the matrix of all rows; new rows are appended to the matrix built before.

        A program that grows constraint by constraint is built after each.
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
    """Return rows, columns and values of a matrix, fast for the many small ones of programs."""
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
