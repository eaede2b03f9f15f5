"""Rows of backward bounds: zero outside a few columns, and with phases that they suppose.

A neuron of a convolution depends on a window of the values before it, and so do its neighbours:
rows ``C`` of neurons that are near each other have few columns that are not all zero. With ``J``
these columns, and ``K`` those that the rows ``J`` of a sparse matrix ``M`` reach,

    C M = C_J M_J,   zero outside K

is a product of an ndarray and a sparse matrix. Entries are stored column by column: then SciPy adds
multiples of contiguous vectors, which is many times faster than a product of sparse matrices.

A row that supposes the phase of ``v = max(z, 0)`` replaces ``v`` exactly, and adds a multiple of
its supposition, for any ``β ≥ 0``:

    z ≥ 0     c·v ≤ c z + β z          z ≤ 0     c·v ≤ 0 − β z
    d ≥ 0     c·max(z_p, z_q) ≤ c z_q + β d                                    d = z_q − z_p
    d ≤ 0     c·max(z_p, z_q) ≤ c z_p − β d

A row that supposes that ``l ≤ z ≤ u`` leaves any coefficient ``w`` at ``z``:

    c z ≤ w z + max((c − w) l, (c − w) u)

The bound of such a row holds wherever all of its suppositions do (β-CROWN: Wang, Zhang, Xu, Lin,
Jana, Hsieh, Kolter, NeurIPS 2021).

Products of ranges of slopes: how a node hands ranges of derivatives back to its sources.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import BoolArray, FloatArray, IntArray, Matrix, relative_error
from verix_encodings.bounds.interval import Range
from verix_encodings.work import spend_product

# above this share of columns reached, to copy them costs more than it saves
_MOST = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Patch:
    """A matrix of ``width`` columns, zero but for ``entries`` in ascending ``columns``."""

    entries: FloatArray
    columns: IntArray
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.entries.shape[0], self.width

    def toarray(self) -> FloatArray:
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
    if not sp.issparse(part):
        return np.asarray(entries @ part)
    columns, part = _renumbered(part)
    result = np.asfortranarray(entries) @ part
    return result if columns is None else Patch(result, columns[0], columns[1])


def _renumbered(matrix: sp.csr_array) -> tuple[tuple[IntArray, int] | None, sp.csr_array]:
    """Return the columns reached and the width, None if they are most, and the matrix of these."""
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


def by_phase(
    lower: FloatArray, upper: FloatArray, always: BoolArray, ever: BoolArray | np.bool_
) -> Range:
    """Multiply slopes by the derivative of a phase: 1 if ``always``, 0 unless ``ever``."""
    least = np.where(always, lower, np.minimum(lower, 0.0))
    most = np.where(always, upper, np.maximum(upper, 0.0))
    return np.where(ever, least, 0.0), np.where(ever, most, 0.0)


def outward(lower: FloatArray, upper: FloatArray, least: FloatArray, most: FloatArray) -> Range:
    """Return ``[lower, upper] · [least, most]``, rounded outward."""
    products = np.stack([lower * least, lower * most, upper * least, upper * most])
    error = relative_error(1) * np.abs(products).max(axis=0)
    return products.min(axis=0) - error, products.max(axis=0) + error


def centred(middle: FloatArray, half: FloatArray, least: FloatArray, most: FloatArray) -> Range:
    """Return ``[middle ± half] · [least, most]`` as a middle and a half width, not rounded."""
    ends = [(middle + side) * factor for side in (-half, half) for factor in (least, most)]
    low, high = np.minimum.reduce(ends), np.maximum.reduce(ends)
    return (low + high) / 2, (high - low) / 2


def add_at(
    totals: Sequence[FloatArray] | FloatArray, entries: IntArray, parts: Sequence[FloatArray]
) -> None:
    """Add ``parts``, each (N, *entries), to ``totals``, each (N, size); entries may recur."""
    for total, part in zip(totals, parts, strict=True):
        np.add.at(total.T, entries, np.moveaxis(part, 0, -1))


@dataclass(frozen=True, slots=True, eq=False)
class RowPhases:
    """Suppositions about one activation: row ``rows[k]`` supposes a phase of ``neurons[k]``.

    The neuron's lower slope in that row tells the phase: 1 for active, 0 for inactive. In its phase
    the line is exact.
    """

    rows: IntArray
    neurons: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Parts of ranges of the entries of a value that rows suppose, all of shape (R, size).

    A row whose entry is ``supposed`` to lie between ``low`` and ``high`` leaves the coefficient
    ``way`` there. ``paid`` receives, at ``value``, the ends at which it pays for the change.
    """

    supposed: BoolArray
    way: FloatArray
    low: FloatArray
    high: FloatArray
    paid: dict[int, FloatArray]
    value: int

    def left(self, c: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the coefficients left of ``c``, the constant that they cost, and its rounding."""
        change = np.where(self.supposed, c - self.way, 0.0)
        self.paid[self.value] = np.where(change > 0, self.high, self.low)
        cost = change * self.paid[self.value]
        error = relative_error(c.shape[1]) * np.abs(cost).sum(axis=1)
        return np.where(self.supposed, self.way, c), cost.sum(axis=1), error


@dataclass(frozen=True, slots=True, eq=False)
class RowSplits:
    """Suppositions by the number of the activation, and multiples and parts by that of ``z``.

    ``multipliers`` are the coefficients ``β`` where ``z ≥ 0`` is supposed, ``−β`` where ``z ≤ 0``
    is, and zero elsewhere; shape (R, neurons).
    """

    phases: Mapping[int, RowPhases] = field(default_factory=dict)
    multipliers: Mapping[int, FloatArray] = field(default_factory=dict)
    parts: Mapping[int, Parts] = field(default_factory=dict)


def entries_of(first: IntArray, second: IntArray, size: int) -> sp.csr_array:
    """Return the matrix that adds coefficients of first and second entries, of ``size``."""
    columns = np.concatenate([first, second])
    ones = np.ones(columns.size)
    return sp.csr_array((ones, columns, np.arange(columns.size + 1)), shape=(columns.size, size))
