"""The rows, columns and logic of a mixed-integer program, from which files are written."""

from dataclasses import dataclass

import scipy.sparse as sp

from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.program.labels import Labels, names
from verix_encodings.program.logic import Indicator, Maximum, Sos1


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
