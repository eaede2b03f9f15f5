"""Affine maps of earlier values, and differences of pairs of entries.

    z = Σ_k M_k v_k + b

    enclosure   v_k ∈ [m_k − r_k, m_k + r_k]   ⇒   z ∈ Σ_k M_k m_k + b ± Σ_k |M_k| r_k
    backward    c·z = Σ_k (c M_k)·v_k + c·b
    gradients   ∂f/∂v_k += ∂f/∂z · M_k
    evaluation  γ (|b| + Σ_k |M_k| |v_k|) more than the errors carried on

``γ`` bounds the rounding of a sum (Higham, *Accuracy and Stability of Numerical Algorithms*, §3.1),
so that all of these hold in real arithmetic. Where large terms cancel it is far above the rounding
of the result.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    Matrix,
    compact,
    frozen,
    frozen_indices,
    relative_error,
    times_sizes,
)
from verix_encodings.blocks.layers import substitute
from verix_encodings.bounds.interval import Bounds, Interval, Pair, Range, Region
from verix_encodings.bounds.lines import ByValue, Products, Replaced
from verix_encodings.bounds.rows import Coefficients, RowPhases, absolute, product, reached
from verix_encodings.convolution import Convolution
from verix_encodings.kinds import node as kind
from verix_encodings.program import Expressions
from verix_encodings.work import spend_entries, spend_product

# more than rounding takes from zero, relative to the terms; more than numbers near underflow lose
_CLOSE, _TINY = 2.0**-30, 2.0**-800


@dataclass(frozen=True, slots=True, eq=False)
class Affine(kind.Node):
    """``z = Σ_k M_k v_{s_k} + b``: an affine map of one or several earlier values.

    ``terms`` holds the pairs ``(s_k, M_k)`` with ``M_k`` of shape (size of z, size of v_{s_k});
    ``bias`` is ``b``, shape (size of z,). No terms at all is a constant.

    Coefficients that were computed, not stored, are rounded. ``rounding`` holds a vector ``r_k``
    for each term and ``e`` last, all of the shape of ``b``: row ``i`` of the true map is within
    ``Σ_k r_k,i max|v_{s_k}| + e_i`` of the one here. It is empty where nothing was rounded.

    No entry of the true map is below ``least``, a number or one for each entry, whatever the bounds
    of its sources are: that of ``|x| = 2 relu(x) − x`` is zero, which follows from no bounds on
    ``x`` and ``relu(x)``.
    """

    plural: ClassVar[str] = ""
    exact: ClassVar[bool] = True

    terms: tuple[tuple[int, Matrix], ...]
    bias: FloatArray
    rounding: tuple[FloatArray, ...] = ()
    least: float | FloatArray = field(default=-np.inf, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", tuple((s, compact(m)) for s, m in self.terms))
        object.__setattr__(self, "bias", frozen(self.bias))
        object.__setattr__(self, "rounding", tuple(frozen(r) for r in self.rounding))
        if self.rounding and len(self.rounding) != len(self.terms) + 1:
            raise ValueError("an affine map has one rounding for each term and one for its bias")
        if any(r.shape != self.bias.shape for r in self.rounding):
            raise ValueError(f"the rounding of an affine map has the shape {self.bias.shape}")
        if self.bias.ndim != 1:
            raise ValueError(f"an affine bias has shape (size,), not {self.bias.shape}")
        for source, matrix in self.terms:
            if matrix.shape[0] != self.bias.size:
                raise ValueError(
                    f"the matrix on value {source} has {matrix.shape[0]} rows, "
                    f"the bias {self.bias.size} entries"
                )

    @property
    def sources(self) -> tuple[int, ...]:
        return tuple(source for source, _ in self.terms)

    @property
    def matrices(self) -> tuple[tuple[int, Matrix], ...]:
        return self.terms

    @property
    def roundings(self) -> tuple[FloatArray, ...]:
        """The vectors of ``rounding``, zeros if nothing was rounded."""
        return self.rounding or (np.zeros(self.bias.size),) * (len(self.terms) + 1)

    def deviation(self, reach: Callable[[int], FloatArray]) -> FloatArray:
        """Bound how far the true map is off, row by row; ``reach(k)`` is at least ``|v_k|``."""
        if not self.rounding:
            return np.zeros(self.bias.size)
        total = self.rounding[-1].copy()
        for source, r in zip(self.sources, self.rounding, strict=False):
            total += r * np.max(reach(source), initial=0.0)
        return total * (1 + relative_error(len(self.rounding)))

    def size(self, sizes: Sequence[int], nodes: Sequence[kind.Node]) -> int:
        for source, matrix in self.terms:
            if matrix.shape[1] != sizes[source]:
                raise ValueError(
                    f"multiplies value {source} of size {sizes[source]} "
                    f"by a matrix with {matrix.shape[1]} columns"
                )
        return self.bias.size

    def renumbered(self, number: Callable[[int], int]) -> "Affine":
        return replace(self, terms=tuple((number(source), matrix) for source, matrix in self.terms))

    def value(self, values: kind.Arrays) -> FloatArray:
        columns = values[0].shape[1:]
        for _, matrix in self.terms:
            spend_product(matrix, *columns)
        if columns:
            spend_entries(self.bias.size * columns[0])
        bias = self.bias[:, None] if columns else self.bias
        if not self.terms:
            return np.broadcast_to(bias, self.bias.shape + columns).copy()
        # in place: no array is written twice
        (first, matrix), *others = self.terms
        result: FloatArray = matrix @ values[first]
        result += bias
        for source, matrix in others:
            result += matrix @ values[source]
        return result

    def add_gradients(self, slopes: kind.Arrays, slope: FloatArray, values: kind.Arrays) -> None:
        """Add ``Mᵀ`` times the gradient to that of each source."""
        for source, matrix in self.terms:
            spend_product(matrix, slope.shape[1])
            spend_entries(slopes[source].size)
            slopes[source][:] += matrix.T @ slope

    def enclosure(self, of: kind.Ranges) -> Range:

        def magnitude(k: int) -> FloatArray:
            ends: FloatArray = np.abs(np.stack(of(k)))
            return np.asarray(ends.reshape(-1, ends.shape[-1]).max(axis=0))

        return self.over_boxes(of, magnitude)

    def interval(self, region: Region, bounds: kind.Intervals) -> Range:
        """Bound the map over ``region``: forms in the input over the region itself."""
        with np.errstate(over="ignore", invalid="ignore"):  # the caller reports these
            lower, upper, reach = self.bias.copy(), self.bias.copy(), np.abs(self.bias)
            for source, matrix in self.terms:
                low, high = (region if source == 0 else bounds[source]).extremes(matrix)
                lower += low
                upper += high
                reach += np.maximum(np.abs(low), np.abs(high))
            error = relative_error(len(self.terms)) * reach
            error += self.deviation(lambda source: bounds[source].magnitude)
            lower -= error
            # rounding alone takes a sum of terms below zero none of which is negative
            close = np.flatnonzero((lower < 0) & (lower > -_CLOSE * reach))
            if close.size:
                lower[close[self._never_negative(close, bounds)]] = 0.0
            return np.maximum(lower, self.least), upper + error

    def _never_negative(self, rows: IntArray, bounds: kind.Intervals) -> BoolArray:
        """Return which of the ``rows`` add up terms that their signs keep from being negative."""
        *errors, last = (r[rows] for r in self.roundings)
        signed = self.bias[rows] >= np.where(last > _TINY, last, 0.0)
        for (source, matrix), error in zip(self.terms, errors, strict=True):
            part, of = sp.csr_array(matrix[rows]), bounds[source]
            row, entry = np.repeat(np.arange(rows.size), np.diff(part.indptr)), part.indices
            astray = np.where(part.data > 0, of.lower[entry] < 0, of.upper[entry] > 0)
            # the sign of a coefficient that its rounding may hold is not known
            signed[row[astray | (np.abs(part.data) < error[row])]] = False
        return signed

    def over_boxes(self, of: kind.Ranges, magnitude: Callable[[int], FloatArray]) -> Range:
        sets = of(0)[0].shape[:-1]
        middle = np.tile(self.bias, (*sets, 1))
        # the rounding of M m + b ± |M| r: |m| + r is the magnitude of a range
        gamma = 2.0 * relative_error(2 + sum(matrix.shape[1] for _, matrix in self.terms))
        radius = np.tile(self.backward_error(gamma, magnitude), (*sets, 1))
        for source, matrix in self.terms:
            lower, upper = of(source)
            middle += _times_transposed(lower / 2 + upper / 2, matrix)
            spend_product(matrix, lower.shape[0])
            radius += times_sizes(matrix, (upper / 2 - lower / 2).T)[0].T
        return np.maximum(middle - radius, self.least), middle + radius

    @property
    def watched(self) -> tuple[int, ...]:
        return ()

    def windows(self, before: Callable[[int], IntArray | None]) -> IntArray | None:
        """Return the first entry that each row of the first sparse matrix reads."""
        for _, matrix in self.terms:
            if isinstance(matrix, Convolution):
                return matrix.row_starts
            if not isinstance(matrix, np.ndarray):
                return np.asarray(np.append(matrix.indices, 0)[matrix.indptr[:-1]])
        return None

    def relaxation(self, bounds: kind.Intervals) -> "AffineForm":
        gamma = relative_error(self.bias.size)
        return AffineForm(self, self.backward_error(gamma, lambda k: bounds[k].magnitude))

    def batch_relaxation(self, of: kind.Ranges, *, flat: bool) -> "Affine":
        return self

    def replaced(self, row: FloatArray, owner: IntArray) -> tuple[FloatArray, Products]:
        """Replace ``row·z`` by ``Σ_k (row M_k)·v_k + row·b``, for batches."""
        return row @ self.bias, [(source, times(row, matrix)) for source, matrix in self.terms]

    def backward_error(self, gamma: float, magnitude: Callable[[int], FloatArray]) -> FloatArray:
        total = np.abs(self.bias)
        for source, matrix in self.terms:
            total = total + times_sizes(matrix, magnitude(source))[0]
        return np.asarray(gamma * total + self.deviation(magnitude))

    def slopes(self, bounds: Bounds, lower: FloatArray, upper: FloatArray) -> kind.BySource:
        middle, half = lower / 2 + upper / 2, upper / 2 - lower / 2
        most = np.abs(middle) + half
        for number, (source, matrix) in enumerate(self.terms):
            weight = abs(matrix)
            spend_product(matrix, 3 * middle.shape[0])
            centre, radius = middle @ matrix, half @ weight
            radius += relative_error(self.bias.size) * (most @ weight)
            if self.rounding:
                # no entry of a row is off by more than all of them are together
                radius += (most @ self.rounding[number])[:, None]
            yield source, (centre - radius, centre + radius)

    def slope_ranges(self, of: kind.Ranges, middle: FloatArray, half: FloatArray) -> kind.BySource:
        for source, matrix in self.terms:
            spend_product(matrix, 2 * middle.shape[0])
            yield source, (middle @ matrix, half @ abs(matrix))

    def mark(self, masks: kind.Masks, mask: BoolArray, bounds: Bounds) -> None:
        """Mark the entries with weights in these rows that are not zero by their bounds."""
        for source, matrix in self.terms:
            read = np.asarray(abs(matrix[mask]).sum(axis=0)) > 0
            masks[source][:] |= read & (bounds[source].magnitude > 0)

    def kept(self, masks: kind.Masks, mask: BoolArray) -> BoolArray:
        return mask

    def part(self, rows: IntArray, cut: kind.Cut) -> kind.Node:
        number, kept, bounds = cut.number, cut.kept, cut.bounds
        terms = tuple((number[s], m[rows][:, kept[s]]) for s, m in self.terms if s in number)
        # the errors are proportional to the largest entry of a source, which may not be kept
        off = self.deviation(lambda source: bounds[source].magnitude)[rows]
        none = (np.zeros(rows.size),) * len(terms)
        least = np.broadcast_to(self.least, self.bias.shape)[rows]
        return Affine(terms, self.bias[rows], (*none, off), least=least)

    def rows(self, context: kind.EncodingContext) -> Expressions:
        """Return the map as expressions in the columns of its sources: it needs no rows."""
        return substitute(self.terms, self.bias, context.values, context.late)

    def encoding_error(self, before: Sequence[kind.Rounded], interval: Interval) -> kind.Rounded:
        reach, error = np.abs(self.bias), np.zeros(self.bias.size)
        terms = 1
        for source, matrix in self.terms:
            off, most = times_sizes(matrix, *before[source])
            error, reach = error + off, reach + most
            terms += matrix.shape[1]
        off = self.deviation(lambda source: before[source][1])
        return (error + off + relative_error(terms) * reach) * (1 + 1e-9), reach + off

    def evaluation_error(self, errors: kind.Arrays, bounds: kind.Intervals) -> FloatArray:
        """Bound the error: ``γ (|W| |v| + |b|)`` more than the errors that the map carries on."""
        gamma = relative_error(1 + sum(matrix.shape[1] for _, matrix in self.terms))
        error = gamma * np.abs(self.bias)
        for source, matrix in self.terms:
            reach = errors[source] + gamma * bounds[source].magnitude
            error = error + times_sizes(matrix, reach)[0]
        return error + self.deviation(lambda source: bounds[source].magnitude)


@dataclass(frozen=True, slots=True, eq=False)
class AffineForm:
    """An affine map in backward bounds, with the rounding ``error`` of one unit of each row."""

    node: Affine
    error: FloatArray

    def replaced(
        self, c: Coefficients, slopes: FloatArray | None, phases: RowPhases | None
    ) -> Replaced:
        """Replace ``c·z`` by ``Σ_k (c M_k)·v_k + c·b``."""
        products = [(source, product(c, matrix)) for source, matrix in self.node.terms]
        c = reached(c)
        return c @ self.node.bias, absolute(c) @ self.error, products

    def followed(self, values: ByValue, met: FloatArray | None, slopes: FloatArray | None) -> Pair:
        result = np.tile(self.node.bias, (values[0].shape[0], 1))
        for source, matrix in self.node.terms:
            spend_product(matrix, values[0].shape[0])
            result += values[source] @ matrix.T
        return result, result


@dataclass(frozen=True, slots=True, eq=False)
class Difference(Affine):
    """``d_i = z_q − z_p`` for entries ``p = first[i]``, ``q = second[i]`` of one value ``z``.

    An affine map, with bounds that are exact up to one rounding: zero stays zero, so that entries
    whose ranges touch are ordered.
    """

    first: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    second: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    @classmethod
    def of(cls, entries: int, size: int, first: IntArray, second: IntArray) -> "Difference":
        """Return the differences of pairs of entries of the value ``entries``, of ``size``."""
        signs = np.repeat([1.0, -1.0], first.size)
        rows, columns = np.tile(np.arange(first.size), 2), np.concatenate([second, first])
        # entries of a pair with itself add up to zero
        matrix = sp.csr_array((signs, (rows, columns)), shape=(first.size, size))
        pairs = frozen_indices(first), frozen_indices(second)
        return cls(((entries, matrix),), np.zeros(first.size), (), *pairs)

    def interval(self, region: Region, bounds: kind.Intervals) -> Range:
        entries = bounds[self.sources[0]]
        return self._between(entries.lower, entries.upper)

    def over_boxes(self, of: kind.Ranges, magnitude: Callable[[int], FloatArray]) -> Range:
        return self._between(*of(self.sources[0]))

    def _between(self, low: FloatArray, high: FloatArray) -> Range:
        """Bound the differences, given bounds on the entries: (size,), or (N, size) of N sets."""
        first, second = self.first, self.second
        lower, upper = low[..., second] - high[..., first], high[..., second] - low[..., first]
        # a difference of floats is zero only if they are equal
        lower = np.where(lower == 0, 0.0, np.nextafter(lower, -np.inf))
        upper = np.where(upper == 0, 0.0, np.nextafter(upper, np.inf))
        alone = first == second
        return np.where(alone, 0.0, lower), np.where(alone, 0.0, upper)

    def windows(self, before: Callable[[int], IntArray | None]) -> IntArray | None:
        places = before(self.sources[0])
        return None if places is None else places[self.first]

    def mark(self, masks: kind.Masks, mask: BoolArray, bounds: Bounds) -> None:
        for pairs in (self.first, self.second):
            masks[self.sources[0]][pairs[mask]] = True

    def part(self, rows: IntArray, cut: kind.Cut) -> kind.Node:
        (source,) = self.sources
        kept = cut.kept[source]
        pairs = (np.searchsorted(kept, p[rows]) for p in (self.first, self.second))
        return Difference.of(cut.number[source], kept.size, *pairs)


def times(rows: FloatArray, matrix: Matrix) -> FloatArray:
    """Return ``rows @ M`` as an ndarray."""
    spend_product(matrix, rows.shape[0])
    return rows @ matrix if isinstance(matrix, np.ndarray) else np.asarray((matrix.T @ rows.T).T)


def _times_transposed(rows: FloatArray, matrix: Matrix) -> FloatArray:
    """Return ``rows @ Mᵀ`` as an ndarray."""
    spend_product(matrix, rows.shape[0])
    return rows @ matrix.T if isinstance(matrix, np.ndarray) else np.asarray((matrix @ rows.T).T)
