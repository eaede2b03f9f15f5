"""Matrices of large convolutions, held by their kernels and by the entries that windows read.

With the kernels ``W_g`` (M, K) of a group ``g`` and the places ``s(g, k, p)`` that its window ``p``
reads, row ``(g, m, p)`` of the matrix ``C`` has the entries ``W_g[m, k]`` at ``s(g, k, p)``:

    (C v)[g, m, p] = Σ_k W_g[m, k] v[s(g, k, p)]
    (Cᵀ u)[s] = Σ_{s(g, k, p) = s} (W_gᵀ u_g)[k, p]

Windows are read into one array, which BLAS multiplies by the kernels (im2col: Chellapilla, Puri,
Simard, *High Performance Convolutional Neural Networks for Document Processing*, IWFHR 2006).
The sums are those of a stored matrix in another order, so bounds on rounding by the number of terms
hold of both.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

_AT_ONCE = 1 << 22
"""Entries of windows that are held at once, 32 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class Convolution:
    """The matrix of ``kernels`` (G, M, K) at ``places`` (G, K, P), with ``width`` columns.

    A place equal to ``width`` is padding: zero. The places of one window differ from each other.
    Rows are indexed as those of an array; the result is a ``csr_array``.
    """

    kernels: NDArray[np.float64]
    places: NDArray[np.int32]
    width: int

    __array_ufunc__ = None  # a product with an array on the left is ours

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        (groups, channels, _), positions = self.kernels.shape, self.places.shape[2]
        return groups * channels * positions, self.width

    @property
    def nnz(self) -> int:
        """Number of entries that a stored matrix has at most."""
        return int(self.kernels.shape[1]) * self.places.size

    @property
    def T(self) -> "Transposed":  # noqa: N802 - as arrays have it
        """The transpose, for products."""
        return Transposed(self)

    @property
    def row_starts(self) -> NDArray[np.intp]:
        """The first column that each row reads."""
        first = np.minimum(self.places.min(axis=1), self.width - 1)[:, None]
        channels = self.kernels.shape[1]
        return np.broadcast_to(first, (len(first), channels, first.shape[2])).reshape(-1)

    def __abs__(self) -> "Convolution":
        return replace(self, kernels=np.abs(self.kernels))

    def __neg__(self) -> "Convolution":
        return replace(self, kernels=-self.kernels)

    def dual_norms(self, norm: int, columns: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Bound from above ``max {r·d : ‖d‖_p ≤ 1}`` of each row ``r``, ``d`` zero elsewhere.

        ``norm`` is ``p``, 1 or 2; ``columns``, shape (width,), are those in which ``d`` may differ
        from zero. The largest entry of a row for ``p = 1``, its length for ``p = 2``.
        """
        largest = np.abs(self.kernels).max(axis=2, keepdims=True)
        if norm == 2:
            # in units of the largest entry, so that squares are too small only where they are lost
            unit = np.where(largest > 0, largest, 1.0)
            lengths = np.sqrt(
                replace(self, kernels=(self.kernels / unit) ** 2) @ columns.astype(float)
            )
            rounded = lengths * (1.0 + 2.0**-52 * (8 + self.kernels.shape[2])) + 2.0**-400
            found = rounded.reshape(*unit.shape[:2], -1) * unit * (1.0 + 2.0**-50)
            return np.asarray(found.reshape(-1))
        result = np.zeros((*largest.shape[:2], self.places.shape[2]))
        free = np.append(columns, False)
        for k in range(self.kernels.shape[2]):
            met = np.abs(self.kernels[:, :, k, None]) * free[self.places[:, k]][:, None]
            np.maximum(result, met, out=result)
        return result.reshape(-1)

    def sum(self, axis: int) -> NDArray[np.float64]:
        """Return the sums of the rows, ``axis=1``."""
        assert axis == 1
        return self @ np.ones(self.width)

    def __matmul__(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        padded = np.concatenate([right, np.zeros((1, *right.shape[1:]))])
        columns, (groups, channels, size) = padded[0].size, self.kernels.shape
        padded = padded.reshape(-1, columns)
        result = np.empty((groups, channels, self.places.shape[2], columns))
        for some in self._blocks(columns):
            read = padded.take(self.places[:, :, some], axis=0).reshape(groups, size, -1)
            result[:, :, some] = (self.kernels @ read).reshape(groups, channels, -1, columns)
        return result.reshape(-1, *right.shape[1:])

    def __rmatmul__(self, left: Any) -> Any:
        if sp.issparse(left):
            met = np.unique(left.indices)
            return sp.csr_array(left)[:, met] @ self[met]
        return (self.T @ left.T).T

    def transposed(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``Cᵀ @ right``."""
        (groups, channels, _), positions = self.kernels.shape, self.places.shape[2]
        result = np.zeros((self.width + 1, right.size // (groups * channels * positions)))
        parts = right.reshape(groups, channels, positions, -1)
        backward = self.kernels.swapaxes(1, 2)
        for some in self._blocks(result.shape[1]):
            part = parts[:, :, some].reshape(groups, channels, -1)
            written = (backward @ part).reshape(-1, result.shape[1])
            places = self.places[:, :, some].reshape(-1)
            entries = np.ones(places.size), places, np.arange(places.size + 1, dtype=np.int32)
            result += sp.csr_array(entries, shape=(places.size, self.width + 1)).T @ written
        return result[:-1].reshape(-1, *right.shape[1:])

    def _blocks(self, columns: int) -> list[slice]:
        """Return the windows in blocks that are held at once."""
        groups, size, positions = self.places.shape
        step = max(_AT_ONCE // (groups * size * columns), 1)
        return [slice(first, first + step) for first in range(0, positions, step)]

    def __getitem__(self, key: Any) -> "sp.csr_array | Convolution":
        """Return the rows, or those of a pair of rows and columns."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if isinstance(rows, slice) and rows == slice(None):
            number = np.full(self.width + 1, self.width)
            kept = np.arange(self.width)[columns]
            number[kept] = np.arange(kept.size)
            number[number == self.width] = kept.size
            return Convolution(self.kernels, number[self.places].astype(np.int32), kept.size)
        (groups, channels, _), positions = self.kernels.shape, self.places.shape[2]
        chosen = np.arange(self.shape[0])[rows]
        group, channel, place = np.unravel_index(chosen, (groups, channels, positions))
        entries, read = self.kernels[group, channel], self.places[group, :, place]
        kept = (read < self.width) & (entries != 0)
        starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int32)
        found = sp.csr_array((entries[kept], read[kept], starts), shape=(chosen.size, self.width))
        found.sort_indices()
        return found[:, columns] if isinstance(key, tuple) else found

    def toarray(self) -> NDArray[np.float64]:
        """Return all entries."""
        return np.asarray(self.tocsr().toarray())

    def tocsr(self) -> sp.csr_array:
        """Return the stored matrix."""
        return self[np.arange(self.shape[0])]


@dataclass(frozen=True, slots=True, eq=False)
class Transposed:
    """The transpose of a convolution, for products."""

    of: Convolution

    __array_ufunc__ = None

    def __matmul__(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.of.transposed(right)

    def __rmatmul__(self, left: NDArray[np.float64]) -> NDArray[np.float64]:
        return (self.of @ left.T).T
