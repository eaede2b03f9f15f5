"""The rows, columns and logic of a mixed-integer program, from which files are written.

Rows and columns have labels, block by block: a prefix, and the numbers behind it. Constraints
besides rows are implications of a binary, special ordered sets, and maxima: not every solver takes
them, so a program lists the kinds that it has (``Program.needs``).
"""

from dataclasses import dataclass
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
