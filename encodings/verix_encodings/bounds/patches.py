"""Matrices that are zero outside a few columns: backward coefficients in convolutional networks.

A neuron of a convolution depends on a window of the values before it, and so do its neighbours:
rows ``C`` of neurons that are near each other have few columns that are not all zero. With ``J``
these columns, and ``K`` those that the rows ``J`` of a sparse matrix ``M`` reach,

    C M = C_J M_J,   zero outside K

is a product of an ndarray and a sparse matrix. Entries are stored column by column: then SciPy adds
multiples of contiguous vectors, which is many times faster than a product of sparse matrices.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import FloatArray, IntArray, Matrix
from verix_encodings.work import spend_product

# above this share of columns reached, to copy them costs more than it saves
_MOST = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Patch:
    """A matrix of ``width`` columns that is zero outside ``columns``, which are in ascending order.

    ``entries`` holds these columns, shape (rows, columns).
    """

    entries: FloatArray
    columns: IntArray
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, those of zeros included."""
        return self.entries.shape[0], self.width

    def toarray(self) -> FloatArray:
        """Return the matrix as an ndarray."""
        result = np.zeros(self.shape)
        result[:, self.columns] = self.entries
        return result

    def __matmul__(self, vector: FloatArray) -> FloatArray:
        """Return the product with a vector, shape (width,)."""
        return np.asarray(self.entries @ vector[self.columns])

    def of(self, entries: FloatArray) -> "Patch":
        """Return the matrix with other ``entries`` in the same columns."""
        return Patch(entries, self.columns, self.width)


Rows: TypeAlias = "FloatArray | Patch"
"""Backward coefficients: an ndarray, or a patch where most columns are zero."""

Coefficients: TypeAlias = "Rows | sp.csr_array"
"""Coefficients as they are given: of some neurons, these are sparse."""


def reached(matrix: Coefficients) -> Rows:
    """Return ``matrix`` without the storage of a sparse one: with the columns that it reaches."""
    if isinstance(matrix, np.ndarray | Patch):
        return matrix
    columns, matrix = _renumbered(matrix)
    entries = np.asfortranarray(matrix.toarray())
    return entries if columns is None else Patch(entries, columns[0], columns[1])


def absolute(c: Rows) -> Rows:
    """Return the absolute values of the entries."""
    return c.of(np.abs(c.entries)) if isinstance(c, Patch) else np.abs(c)


def product(c: Coefficients, matrix: Matrix) -> Rows:
    """Return ``c @ matrix``."""
    if sp.issparse(c):
        spend_product(matrix)
        return reached(c @ matrix)
    entries, part = c, matrix
    if isinstance(c, Patch):
        entries, part = c.entries, matrix[c.columns]
    spend_product(part, entries.shape[0])
    if isinstance(part, np.ndarray):
        return np.asarray(entries @ part)
    columns, part = _renumbered(part)
    result = np.asfortranarray(entries) @ part
    return result if columns is None else Patch(result, columns[0], columns[1])


def _renumbered(matrix: sp.csr_array) -> tuple[tuple[IntArray, int] | None, sp.csr_array]:
    """Return the columns that ``matrix`` reaches, its width, and the matrix of these columns.

    None and the matrix itself if it reaches most columns.
    """
    rows, width = matrix.shape
    met = np.zeros(width, dtype=bool)
    met[matrix.indices] = True
    columns = np.flatnonzero(met)
    if columns.size > _MOST * width:
        return None, matrix
    number = np.cumsum(met, dtype=matrix.indices.dtype) - 1
    narrow = (matrix.data, number[matrix.indices], matrix.indptr)
    return (columns, width), sp.csr_array(narrow, shape=(rows, columns.size))


def total(one: Rows, other: Rows) -> Rows:
    """Return the sum of two matrices of one shape."""
    if isinstance(one, np.ndarray):
        one, other = other, one
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        result = np.array(other, order="F") if isinstance(other, np.ndarray) else other.toarray()
        if isinstance(one, np.ndarray):
            return result + one
        result[:, one.columns] += one.entries
        return result
    columns = np.union1d(one.columns, other.columns)
    entries = np.zeros((one.shape[0], columns.size), order="F")
    entries[:, np.searchsorted(columns, one.columns)] += one.entries
    entries[:, np.searchsorted(columns, other.columns)] += other.entries
    return Patch(entries, columns, one.width)
