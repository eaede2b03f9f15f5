"""Symbolic tensors: affine expressions for tensors that depend on the network's input.

A :class:`Symbol` is an affine expression over values of the network, one row per element in C
order. Affine operators compose symbols, so that runs of them fold into one matrix. The
rounding of a fold is bounded along the way, row by row, and every bound is widened by it.

``+``, ``-``, ``*`` and ``/`` broadcast by numpy's rules; factors and divisors are constants. The
functions here raise ``ValueError`` where shapes do not fit or the result would be too large;
the tracer turns that into a ``ModelError`` that names the node.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from verix_encodings.arrays import FloatArray, IntArray, relative_error
from verix_encodings.bounds.curves import SmoothFunction

Shape: TypeAlias = tuple[int, ...]
Constant: TypeAlias = NDArray[Any]

COMPUTED = 2.0**-49
"""The relative error that a constant may have which was computed, 1/9 or a product of two, and the
rounding of one product with it."""
UNDERFLOW = 2.0**-900
"""More than a row of products can lose because they are too small for float64."""

MAX_ELEMENTS = 10**7
MAX_NONZEROS = 2 * 10**8

STORED, _CHANNELS = 1 << 20, 8
"""Entries up to which the matrix of a convolution is stored, and its fewest channels of a group
otherwise: products by windows took 0.05 to 0.5 of the time of stored ones, 3 to 16 with one."""


def by_windows(entries: int, channels: int) -> bool:
    """Return whether a convolution of so many entries, and channels of a group, is not stored."""
    return entries > STORED and channels >= _CHANNELS


Parts: TypeAlias = tuple[tuple[object, float], ...]
"""Tokens of tensors, each with a factor."""

_MOST_PARTS = 2


@dataclass(frozen=True, slots=True)
class Tail:
    """A node that was left out because it keeps the order of the class scores.

    ``operator`` is its ONNX operator, ``label`` its name in messages. ``function``, applied to each
    score, computes the node; None if no function of single scores does: ``axes`` are then those of
    the scores that it normalises together, none if all of them, whatever shape they have by then;
    None if it can only end the network.
    """

    operator: str
    label: str
    function: SmoothFunction | None = None
    axes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """A tensor of ``shape`` whose flat elements are ``Σ_k terms[k] @ v_k + bias``.

    ``terms[k]`` has shape (size, size of ``v_k``), ``bias`` shape (size,). ``rounding[k]``, shape
    (size,), bounds the sum of errors of the entries of each row of ``terms[k]``, ``bias_rounding``
    the errors of the bias. ``tail`` is the Softmax or Sigmoid that was left out on the way here, if
    any: the elements are then scores in the same order as the true ones. ``token`` stands for
    the elements, in any shape. ``parts`` are tokens and factors, if the elements are known as a sum
    of multiples of others, up to ``COMPUTED`` of each.
    """

    shape: Shape
    terms: Mapping[int, sp.csr_array]
    bias: FloatArray
    rounding: Mapping[int, FloatArray]
    bias_rounding: FloatArray
    tail: Tail | None = field(default=None, kw_only=True)
    token: object = field(default_factory=object, kw_only=True)
    parts: "Parts" = field(default=(), kw_only=True)

    __array_ufunc__ = None  # what numpy's arrays add to themselves is a symbol

    def __add__(self, other: "Tensor | float") -> "Symbol":
        x, y = self, Symbol.of(other)
        shape = np.broadcast_shapes(x.shape, y.shape)
        parts = (*x.known_parts, *y.known_parts) if x.shape == y.shape else ()
        x, y = x.broadcast(shape), y.broadcast(shape)
        terms, rounding = {**x.terms, **y.terms}, {**x.rounding, **y.rounding}
        once = relative_error(1)
        for value in x.terms.keys() & y.terms.keys():
            a, b = x.terms[value], y.terms[value]
            terms[value] = a + b
            lost = once * (_row_sizes(a) + _row_sizes(b))
            rounding[value] = x.rounding[value] + y.rounding[value] + lost
        lost = once * np.where((x.bias != 0) & (y.bias != 0), np.abs(x.bias) + np.abs(y.bias), 0.0)
        bias_rounding = x.bias_rounding + y.bias_rounding + lost
        parts = parts if len(parts) <= _MOST_PARTS else ()
        return Symbol(shape, terms, x.bias + y.bias, rounding, bias_rounding, parts=parts)

    def __neg__(self) -> "Symbol":
        return self * -1.0

    def __sub__(self, other: "Tensor | float") -> "Symbol":
        return self + -Symbol.of(other)

    def __rsub__(self, other: "Constant | float") -> "Symbol":
        return Symbol.of(other) + -self

    def __mul__(self, factors: "Constant | float") -> "Symbol":
        return _multiple(self, np.asarray(factors), np.multiply)

    def __truediv__(self, divisors: "Constant | float") -> "Symbol":
        if not np.all(divisors):
            raise ValueError("it divides by zero")
        return _multiple(self, np.asarray(divisors), np.divide)

    @staticmethod
    def of(tensor: "Tensor | float") -> "Symbol":
        """Return ``tensor`` as a symbol: a constant is a symbol with no terms."""
        if isinstance(tensor, Symbol):
            return tensor
        shape = np.shape(tensor)
        check_elements(shape)
        bias = np.asarray(tensor, dtype=np.float64).reshape(-1)
        return Symbol(shape, {}, bias, {}, COMPUTED * np.abs(bias))

    @staticmethod
    def of_value(value: int, shape: Shape) -> "Symbol":
        """Return the value ``v_value`` of the network itself, seen in ``shape``."""
        size = check_elements(shape)
        identity, zero = sp.eye_array(size, format="csr"), np.zeros(size)
        return Symbol(shape, {value: identity}, zero, {value: zero}, zero)

    @staticmethod
    def join(xs: "Sequence[Symbol]", operation: Callable[[list[IntArray]], IntArray]) -> "Symbol":
        """Return the symbol whose elements are picked from all of ``xs``, as numpy picks indices.

        ``operation`` gets an array of indices for each symbol, in its shape: a concatenation, or a
        stack.
        """
        sizes = [x.size for x in xs]
        check_elements((sum(sizes),))
        starts = np.cumsum([0, *sizes[:-1]])
        index = operation([x.indices + start for x, start in zip(xs, starts, strict=True)])
        widths = {value: matrix.shape[1] for x in xs for value, matrix in x.terms.items()}
        terms, rounding = {}, {}
        for value, width in widths.items():
            blocks = [
                x.terms[value] if value in x.terms else sp.csr_array((x.size, width)) for x in xs
            ]
            terms[value] = sp.csr_array(sp.vstack(blocks, format="csr"))
            rounding[value] = np.concatenate([x.rounding.get(value, np.zeros(x.size)) for x in xs])
        bias = np.concatenate([x.bias for x in xs])
        bias_rounding = np.concatenate([x.bias_rounding for x in xs])
        flat = Symbol((sum(sizes),), terms, bias, rounding, bias_rounding)
        return flat.rearrange(lambda _: index)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def indices(self) -> IntArray:
        """The flat index of each element, in the tensor's shape."""
        return np.arange(self.size).reshape(self.shape)

    def over(self, axes: Sequence[int]) -> IntArray:
        """Return the indices with those along ``axes`` in the last dimension; these have size 1."""
        kept = [axis for axis in range(self.ndim) if axis not in axes]
        shape = [1 if axis in axes else self.shape[axis] for axis in range(self.ndim)]
        width = prod(self.shape[axis] for axis in axes)
        return self.indices.transpose(*kept, *axes).reshape(*shape, width)

    @property
    def finite(self) -> bool:
        """True if every coefficient is a finite number."""
        parts = (
            self.bias,
            self.bias_rounding,
            *(matrix.data for matrix in self.terms.values()),
            *self.rounding.values(),
        )
        return all(bool(np.isfinite(part).all()) for part in parts)

    @property
    def exact_value(self) -> int | None:
        """The index of the network's value that it equals element by element, or None."""
        line = self.line
        return line[0] if line is not None and line[1:] == (1.0, 0.0) else None

    @property
    def line(self) -> tuple[int, float, float] | None:
        """``v``, ``a``, ``b`` if its elements are ``a v_i + b``, in order; None otherwise."""
        if len(self.terms) != 1:
            return None
        ((value, matrix),) = self.terms.items()
        rows, columns = matrix.shape
        slope = float(matrix.data[0]) if matrix.nnz else 1.0
        shift = float(self.bias[0]) if self.size else 0.0
        is_line = (
            rows == columns == matrix.nnz
            and np.array_equal(matrix.indices, np.arange(rows))
            and np.array_equal(matrix.indptr, np.arange(rows + 1))
            and bool((matrix.data == slope).all())
            and bool((self.bias == shift).all())
        )
        return (value, slope, shift) if is_line else None

    @property
    def known_parts(self) -> Parts:
        """Its parts: itself, if no others are known."""
        return self.parts or ((self.token, 1.0),)

    def ratio(self, other: "Symbol") -> float | None:
        """Return ``r`` if it is ``r`` times ``other``, both known as multiples of one tensor."""
        (mine, *more), (theirs, *others) = self.known_parts, other.known_parts
        if self.shape != other.shape or more or others or mine[0] is not theirs[0]:
            return None
        return mine[1] / theirs[1]

    def rearrange(self, operation: Callable[[IntArray], IntArray]) -> "Symbol":
        """Return the symbol whose elements are picked from this one as ``operation`` picks indices.

        ``operation`` is any numpy operation that moves, drops or repeats elements: a reshape, a
        transpose, a slice, a broadcast.
        """
        index = operation(self.indices)
        rows = index.reshape(-1)
        if rows.size == self.size and np.array_equal(rows, np.arange(self.size)):
            return replace(self, shape=index.shape)
        for matrix in self.terms.values():
            check_nonzeros(int(np.diff(matrix.indptr)[rows].sum()))
        return replace(
            self,
            token=object(),
            parts=(),
            shape=index.shape,
            terms={value: matrix[rows] for value, matrix in self.terms.items()},
            bias=self.bias[rows],
            rounding={value: r[rows] for value, r in self.rounding.items()},
            bias_rounding=self.bias_rounding[rows],
        )

    def broadcast(self, shape: Shape) -> "Symbol":
        """Return it broadcast to ``shape`` by numpy's rules."""
        check_elements(shape)
        return self.rearrange(lambda index: np.broadcast_to(index, shape))

    def dot(self, columns: IntArray, weights: Constant, contracted: int = 1) -> "Symbol":
        """Return the tensor of dot products ``Σ_k weights[..., k] * self[columns[..., k]]``.

        ``columns`` holds flat indices, or -1 for a zero that is not there (padding). The two arrays
        broadcast against each other; the last ``contracted`` axes, which must agree, are summed
        over. Dense layers, products of matrices and convolutions are of this form.
        """
        if columns.shape[-contracted:] != weights.shape[-contracted:]:
            raise ValueError(
                f"{weights.shape[-contracted:]} weights cannot multiply "
                f"{columns.shape[-contracted:]} values"
            )
        full = np.broadcast_shapes(columns.shape, weights.shape)
        check_nonzeros(prod(full))
        shape, width = full[:-contracted], prod(full[-contracted:])
        rows = check_elements(shape)
        picked = np.broadcast_to(columns.astype(np.int32), full).reshape(rows, width)
        factors = np.broadcast_to(weights.astype(np.float64), full).reshape(rows, width)
        kept = (picked >= 0) & (factors != 0)
        starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        starts = starts.astype(np.int32)  # with indices of as many bytes
        matrix = sp.csr_array((factors[kept], picked[kept], starts), shape=(rows, self.size))
        del picked, factors, kept  # together they are larger than the matrix
        return self.linear(matrix, shape)

    def linear(self, matrix: sp.csr_array, shape: Shape) -> "Symbol":
        """Return ``matrix`` times the flat elements, in ``shape``."""
        value, entries = self.exact_value, matrix.nnz
        matrix.sum_duplicates()
        if value is not None and matrix.nnz == entries:
            # the product is the matrix itself, and rounds nothing
            rounding = {value: COMPUTED * _row_sizes(matrix) + UNDERFLOW}
            nothing = np.zeros(matrix.shape[0])
            return Symbol(shape, {value: matrix}, nothing, rounding, nothing)
        terms = {k: _product(matrix, term) for k, term in self.terms.items()}
        most = int(np.diff(matrix.indptr).max(initial=0)) + entries - matrix.nnz
        weight, relative = abs(matrix), COMPUTED + relative_error(most)

        def lost(known: FloatArray, size: FloatArray) -> FloatArray:
            return np.asarray(weight @ (known + relative * size) + UNDERFLOW)

        rounding = {k: lost(self.rounding[k], _row_sizes(term)) for k, term in self.terms.items()}
        bias_rounding = lost(self.bias_rounding, np.abs(self.bias))
        return Symbol(shape, terms, matrix @ self.bias, rounding, bias_rounding)


Tensor: TypeAlias = Symbol | Constant


def moved(x: Tensor, operation: Callable[[Any], Any]) -> Tensor:
    """Return ``x``, a constant or not, with its elements moved as :meth:`Symbol.rearrange` does."""
    return x.rearrange(operation) if isinstance(x, Symbol) else operation(x)


def _multiple(x: Symbol, constants: Constant, operation: np.ufunc) -> Symbol:
    """Return ``x`` times or by ``constants``, marked as a multiple of ``x`` if these are equal."""
    shape = np.broadcast_shapes(x.shape, constants.shape)
    parts: Parts = ()
    first = constants.reshape(-1)[0] if constants.size and shape == x.shape else 0.0
    if first and np.all(constants == first):
        parts = tuple((t, float(operation(f, first))) for t, f in x.known_parts)
    x = x.broadcast(shape)
    values = np.broadcast_to(constants.astype(np.float64), shape).reshape(-1)
    size = np.abs(values)
    # a change of sign rounds nothing
    relative, tiny = np.where(size == 1.0, [[0.0], [0.0]], [[COMPUTED], [UNDERFLOW]])
    terms, rounding = {}, {}
    for value, matrix in x.terms.items():
        data = operation(matrix.data, np.repeat(values, np.diff(matrix.indptr)))
        product = sp.csr_array((data, matrix.indices, matrix.indptr), matrix.shape)
        terms[value] = product
        lost = relative * _row_sizes(product) + tiny
        rounding[value] = operation(x.rounding[value], size) + lost
    bias = operation(x.bias, values)
    bias_rounding = operation(x.bias_rounding, size) + relative * np.abs(bias) + tiny
    return Symbol(shape, terms, bias, rounding, bias_rounding, tail=x.tail, parts=parts)


def check_elements(shape: Shape) -> int:
    """Return the number of elements of ``shape``; raise ``ValueError`` where it is too large."""
    size = prod(shape)
    if size > MAX_ELEMENTS:
        raise ValueError(f"a tensor of shape {shape} has more than {MAX_ELEMENTS:,} elements")
    return size


def check_nonzeros(count: int) -> None:
    """Raise ``ValueError`` where a matrix with ``count`` entries would be too large."""
    if count > MAX_NONZEROS:
        raise ValueError(f"its matrix needs {count:,} entries, more than {MAX_NONZEROS:,}")


def _row_sizes(matrix: sp.csr_array) -> FloatArray:
    """Return the sum of the absolute values of the entries of each row."""
    return np.asarray(abs(matrix).sum(axis=1))


def _product(left: sp.csr_array, right: sp.csr_array) -> sp.csr_array:
    """Return ``left @ right``, multiplied densely where both are dense, which is far faster."""
    rows, inner = left.shape
    columns = right.shape[1]
    multiplications = int(np.diff(right.indptr)[left.indices].sum(dtype=np.int64))
    check_nonzeros(min(multiplications, rows * columns))
    if 10 * multiplications > rows * inner * columns:
        return sp.csr_array(left.toarray() @ right.toarray())
    result = left @ right
    # symbols share arrays of indices, which SciPy sorts in place, together with one matrix's data
    result.sort_indices()
    return result
