"""Array types shared by every module, frozen copies, and the rounding of sums.

Matrices are dense ``ndarray``, ``scipy.sparse.csr_array`` or, of large convolutions,
:class:`~verix_encodings.convolution.Convolution`: all follow the same ``@``, row-indexing and
``abs`` semantics, so most code need not ask which.
"""

import itertools
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from verix_encodings.convolution import Convolution

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]
Matrix: TypeAlias = "FloatArray | sp.csr_array"

# entries up to which a sparse matrix costs more to make than a dense one to compute with
_SMALL = 4096
_BLOCK = 1 << 18
"""Entries of a sparse matrix whose absolute values are taken at once."""

UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2


def relative_error(terms: int) -> float:
    """Bound the relative rounding error of a sum of ``terms`` products and a few operations."""
    return 4 * (terms + 4) * UNIT_ROUNDOFF


def frozen(values: ArrayLike) -> FloatArray:
    """Return ``values`` as a read-only float64 array, copied so that no caller can change it."""
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


def frozen_indices(values: ArrayLike) -> IntArray:
    """Return ``values`` as a read-only array of indices, copied so that no caller can change it."""
    array = np.array(values, dtype=np.intp)
    array.flags.writeable = False
    return array


def freeze(made: object, *, numbers: Sequence[str] = (), indices: Sequence[str] = ()) -> None:
    """Copy fields of a frozen dataclass, by name, to read-only arrays of float64 or of indices."""
    for copied, names in ((frozen, numbers), (frozen_indices, indices)):
        for name in names:
            object.__setattr__(made, name, copied(getattr(made, name)))


def dense(matrix: Matrix) -> FloatArray:
    """Return ``matrix`` as an ndarray."""
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def stored(matrix: Matrix) -> Matrix:
    """Return ``matrix`` with all of its entries stored."""
    return matrix.tocsr() if isinstance(matrix, Convolution) else matrix


def times_sizes(matrix: Matrix, *vectors: FloatArray) -> list[FloatArray]:
    """Return ``|M| v`` for each vector or matrix, without another copy of a large ``M``."""
    if isinstance(matrix, np.ndarray):
        return [np.abs(matrix) @ v for v in vectors]
    if isinstance(matrix, Convolution):
        return [abs(matrix) @ v for v in vectors]
    results = [np.empty((matrix.shape[0], *v.shape[1:])) for v in vectors]
    # blocks of rows that stay in the cache: writing all of |M| took longer than its products
    ends = np.arange(0, matrix.nnz, _BLOCK)
    starts = np.unique([0, *np.searchsorted(matrix.indptr, ends), matrix.shape[0]])
    for first, last in itertools.pairwise(starts.tolist()):
        rows = matrix.indptr[first : last + 1]
        entries = slice(rows[0], rows[-1])
        block = sp.csr_array((last - first, matrix.shape[1]))  # given the slice, it copies that
        block.data, block.indices = np.abs(matrix.data[entries]), matrix.indices[entries]
        block.indptr = rows - rows[0]
        for result, v in zip(results, vectors, strict=True):
            result[first:last] = block @ v
    return results


def count_of_entries(matrix: Matrix) -> int:
    """Return the number of entries that ``matrix`` stores."""
    return matrix.size if isinstance(matrix, np.ndarray) else int(matrix.nnz)


def placed(values: ArrayLike, rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> Matrix:
    """Return the matrix of ``shape`` with ``values`` at ``rows`` and ``columns``, all distinct."""
    if shape[0] * shape[1] > _SMALL:
        entries = np.full(rows.size, values, dtype=np.float64)
        return sp.csr_array((entries, (rows, columns)), shape=shape)
    result = np.zeros(shape)
    result[rows, columns] = values
    return result


def unit_rows(places: IntArray | Sequence[int], size: int) -> Matrix:
    """Return the rows ``places`` of the identity of this ``size``."""
    columns = np.asarray(places, dtype=np.intp)
    return placed(1.0, np.arange(columns.size), columns, (columns.size, size))


def differences(rivals: Sequence[int], label: int, size: int) -> Matrix:
    """Return the matrix of ``f_j − f_c`` for the ``rivals`` ``j`` of ``label`` ``c``, in order."""
    count = len(rivals)
    signs, rows = np.repeat([1.0, -1.0], count), np.tile(np.arange(count), 2)
    return placed(signs, rows, np.append(rivals, np.full(count, label)), (count, size))


def picked(matrix: Matrix, columns: IntArray) -> Matrix:
    """Return the ``columns`` of ``matrix``."""
    if isinstance(matrix, np.ndarray) or matrix.shape[0] * columns.size > _SMALL:
        return matrix[:, columns]
    return dense(matrix)[:, columns]


def compact(matrix: Matrix) -> Matrix:
    """Return ``matrix`` in the smaller of dense and CSR storage, a read-only copy.

    Small matrices are dense.
    """
    if isinstance(matrix, Convolution):
        return matrix
    rows, columns = matrix.shape
    if rows * columns <= _SMALL:
        return frozen(dense(matrix))
    if sp.issparse(matrix):
        matrix = sp.csr_array(matrix, dtype=np.float64, copy=True)
        matrix.eliminate_zeros()
        entries = matrix.nnz
    else:
        entries = int(np.count_nonzero(matrix))
    if 12 * entries + 4 * rows >= 8 * rows * columns:
        return frozen(dense(matrix))
    result = sp.csr_array(matrix, dtype=np.float64)
    result.sort_indices()
    for part in (result.data, result.indices, result.indptr):
        part.flags.writeable = False
    return result
