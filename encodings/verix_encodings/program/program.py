"""A mixed-integer program as data.

    minimise  c·v   subject to   r⁻ ≤ A v ≤ r⁺,   l ≤ v ≤ u,   v_j ∈ Z for j in the integer set,
                                 Σ_{j ∈ J} v_j² ≤ r²  for each quadratic row (J, r)

and, where an encoding asks for them, the logical constraints of ``program.data``.

Costs are always minimised, without a constant: solvers and file formats disagree about both. The
cost ``c`` is not part of the program, since one program serves many costs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from verix_encodings.arrays import FloatArray, IntArray, Matrix, dense, frozen
from verix_encodings.program.data import ProgramData
from verix_encodings.program.files import write_lp, write_mps

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
        return replace(
            self,
            matrix=kept,
            row_lower=frozen(self.row_lower - slack),
            row_upper=frozen(self.row_upper + slack),
        )

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
            raise ValueError(f"a program is written as .lp or .mps, not as {target.name!r}")
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
