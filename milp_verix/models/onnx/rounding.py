"""Constants, stored or computed from these alone, and arithmetic on them with bounded rounding.

A network means its stored weights in real arithmetic. Sums of products are computed in exact
integers and rounded once, because a float64 sum has no bound that survives cancellation. Constants
of floating-point types are held in float64, which holds stored ones of at most 64 bits exactly;
integers keep their type, because integer arithmetic depends on it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any, NamedTuple

import numpy as np
import onnx

from milp_verix.base.errors import ModelError, first_line
from milp_verix.models.onnx.operators.norms import reduced_axes
from milp_verix.models.onnx.registry import NodeContext
from milp_verix.models.onnx.symbol import COMPUTED, Constant

TOLERATED = COMPUTED - 2.0**-52
"""The relative error that a computed constant may have.

Bounds allow for ``COMPUTED``, which includes the rounding of one product.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A tensor that does not depend on the network's input.

    ``array`` holds its values, floating-point ones in float64; ``dtype`` is their type in the
    model. Each value is within the relative ``error`` of its value in real arithmetic. An error of
    0 says that it is exact, and that ``dtype`` holds it.
    """

    array: Constant
    dtype: np.dtype[Any]
    error: float = 0.0

    @property
    def is_float(self) -> bool:
        """True if the values are floating-point numbers."""
        return self.dtype.kind == "f"


def known(array: Constant, label: str, error: float = 0.0) -> Known:
    """Return ``array`` as a constant. Raises ``ModelError`` where it holds no real numbers."""
    if array.dtype.kind not in "biuf":
        raise ModelError(f"{label} has type {array.dtype}, which is not supported")
    return Known(array.astype(np.float64) if array.dtype.kind == "f" else array, array.dtype, error)


def stored(tensor: onnx.TensorProto) -> Known:
    """Return the weights in ``tensor``; ``ModelError`` if missing, damaged or not numbers."""
    label = f"initializer {tensor.name!r}"
    try:
        array = onnx.numpy_helper.to_array(tensor)
    except Exception as error:  # onnx raises what its parsers and numpy raise, and plain C++ errors
        raise ModelError(f"{label} cannot be read: {first_line(error)}") from error
    return known(array, label)


MAX_PRODUCTS = 10**7
_MAX_TERMS = 10**6
_MAX_COMPARED = 1000  # elements of a result that is compared with the exact one

_UNIT = 2.0**-53  # the relative error of one rounding
_LIBRARY = 2.0**-50  # that of numpy's functions: four units in the last place
_SLACK = 1.001  # for products of errors, and for the rounding of bounds themselves
_TINY = float(np.finfo(np.float64).tiny)  # below, rounding is not relative


class _Exact(NamedTuple):
    """The numbers ``whole * 2 ** exponent / divisor``, with ``whole`` an array of Python's ints."""

    whole: Constant
    exponent: int
    divisor: int = 1


def computed(node: NodeContext, inputs: Sequence[Known | None]) -> Known:
    """Evaluate a node of :data:`ARITHMETIC` with floating-point inputs.

    Raises ``UnsupportedOperatorError`` where there is too much to compute exactly, or where inputs
    are rounded already and the function may magnify that; ``ModelError`` for infinite inputs.
    """
    given = [x for x in inputs if x is not None]
    if not all(np.isfinite(x.array).all() for x in given):
        raise node.malformed("it computes with NaN or infinite constants")
    if not given[0].is_float:
        raise node.unsupported("it takes constant integers to powers that are no integers")
    if node.operator in _ELEMENTWISE:
        return _elementwise(node.operator, *given)
    if node.operator in _FUNCTIONS:
        return _function(node, given)
    if node.operator in _ROOTS:
        return _root(node.operator, given[0])
    if node.operator == "ReduceL2":
        return _root("Sqrt", _summed(replace(node, operator="ReduceSumSquare"), inputs))
    return _summed(node, inputs)


def _elementwise(operator: str, a: Known, b: Known) -> Known:
    operation, x, y = _ELEMENTWISE[operator], a.array, b.array
    values = np.asarray(operation(x, y))
    error = a.error + b.error
    if operator in ("Add", "Sub"):
        error = _relative(a.error * np.abs(x) + b.error * np.abs(y), values)
    elif np.any((np.abs(values) < _TINY) & (x != 0) & ((y != 0) | (operator == "Div"))):
        error = inf
    if not error and values.size <= _MAX_COMPARED:
        exact = np.asarray(operation(_fractions(_whole(x)), _fractions(_whole(y))))
        error = 0.0 if _held(values, exact, a.dtype) else _UNIT
    else:
        error = (error + _UNIT) * _SLACK
    return Known(values, a.dtype, error)


def _function(node: NodeContext, inputs: Sequence[Known]) -> Known:
    if any(x.error for x in inputs):
        raise node.unsupported("its constant inputs are rounded, and it may magnify that")
    x = inputs[0]
    values = np.asarray(_FUNCTIONS[node.operator](*(x.array for x in inputs)))
    root = 1 if node.operator == "Log" else 0  # where alone the result may be zero
    vanishing = np.any((np.abs(values) < _TINY) & (x.array != root))
    return Known(values, x.dtype, inf if vanishing else _LIBRARY)


def _root(operator: str, x: Known) -> Known:
    values = np.asarray(_ROOTS[operator](x.array))
    vanishing = np.any((np.abs(values) < _TINY) & (x.array != 0))
    return Known(values, x.dtype, inf if vanishing else (x.error + _UNIT) * _SLACK)


def _summed(node: NodeContext, inputs: Sequence[Known | None]) -> Known:
    given = [x for x in inputs if x is not None]
    limit = _MAX_COMPARED if node.operator == "ReduceProd" else _MAX_TERMS
    if sum(x.array.size for x in given) > limit:
        raise node.unsupported(
            f"it combines more than {limit:,} constants, which are computed exactly; store its "
            "result in the model instead"
        )
    arrays = [None if x is None else x.array for x in inputs]
    exact = _SUMS[node.operator](node, *arrays)
    values, dtype = _rounded(exact), given[0].dtype
    if np.any((np.abs(values) < _TINY) & (exact.whole != 0)):
        return Known(values, dtype, inf)
    error = float(sum(x.error for x in given))
    if error:
        # what cancels in the result does not in the same sum of absolute values
        attributes = {k: abs(v) if isinstance(v, float) else v for k, v in node.attributes.items()}
        sizes = [x if x is None or x.dtype.kind != "f" else np.abs(x) for x in arrays]
        spread = _rounded(_SUMS[node.operator](replace(node, attributes=attributes), *sizes))
        factors = given[0].array.size if node.operator == "ReduceProd" else 2
        error = (factors * error * _relative(spread, values) + _UNIT) * _SLACK
    elif values.size > _MAX_COMPARED or not _held(values, _fractions(exact), dtype):
        error = _UNIT
    return Known(values, dtype, error)


def _relative(spread: Constant, values: Constant) -> float:
    """Return the greatest of ``spread / |values|``, with 0/0 = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(spread == 0, 0.0, spread / np.abs(values))
    return float(np.max(ratios, initial=0.0))


def _held(values: Constant, exact: Constant, dtype: np.dtype[Any]) -> bool:
    """Return whether ``values`` are ``exact``, and ``dtype`` holds them."""
    with np.errstate(over="ignore"):
        narrow = values.astype(dtype)
    return np.array_equal(narrow, values) and np.array_equal(_fractions(_whole(values)), exact)


def _whole(x: Constant) -> _Exact:
    mantissa, exponent = np.frexp(x.astype(np.float64))
    exponents = np.where(x == 0, np.max(exponent, initial=0), exponent) - 53
    least = int(np.min(exponents, initial=0))
    whole = (mantissa * 2.0**53).astype(np.int64).astype(object)
    return _Exact(np.asarray(whole << (exponents - least).astype(object), dtype=object), least)


def _rounded(x: _Exact) -> Constant:
    up, down = 2 ** max(x.exponent, 0), 2 ** max(-x.exponent, 0) * x.divisor
    return np.asarray(x.whole * up / down, dtype=np.float64)  # Python rounds a quotient once


def _fractions(x: _Exact) -> Constant:
    unit = Fraction(2) ** x.exponent / x.divisor
    return np.asarray(x.whole * unit, dtype=object)


def _total(xs: Sequence[_Exact]) -> _Exact:
    least = min(x.exponent for x in xs)
    whole = sum(x.whole * 2 ** (x.exponent - least) for x in xs)
    return _Exact(np.asarray(whole, dtype=object), least)


def _product(node: NodeContext, a: _Exact, b: _Exact) -> _Exact:
    columns = b.whole.shape[-1] if b.whole.ndim > 1 else 1
    if a.whole.size * columns > MAX_PRODUCTS:
        raise node.unsupported(f"it needs more than {MAX_PRODUCTS:,} products of constants")
    return _Exact(np.asarray(np.matmul(a.whole, b.whole), dtype=object), a.exponent + b.exponent)


def _gemm(node: NodeContext, a: Constant, b: Constant, c: Constant | None = None) -> _Exact:
    a = a.T if node.integer("transA", 0) else a
    b = b.T if node.integer("transB", 0) else b
    alpha, beta = (_whole(np.array(node.number(name, 1.0))) for name in ("alpha", "beta"))
    product = _times(alpha, _product(node, _whole(a), _whole(b)))
    return product if c is None else _total([product, _times(beta, _whole(c))])


def _times(a: _Exact, b: _Exact) -> _Exact:
    return _Exact(np.asarray(a.whole * b.whole, dtype=object), a.exponent + b.exponent)


def _reduction(
    terms: Callable[[_Exact], _Exact], ufunc: np.ufunc = np.add, *, mean: bool = False
) -> Callable[..., _Exact]:
    """Return the reduction by ``ufunc`` of ``terms`` of a tensor over the axes of a node."""

    def reduce(node: NodeContext, x: Constant, axes: Constant | None = None) -> _Exact:
        along = tuple(reduced_axes(node, x.shape, axes))
        if x.ndim and not along:
            raise node.unsupported("it reduces no axis")
        over = terms(_whole(x))
        keep = bool(node.integer("keepdims", 1))
        whole = np.asarray(ufunc.reduce(over.whole, axis=along, keepdims=keep), dtype=object)
        count = x.size // max(whole.size, 1)
        exponent = over.exponent * (count if ufunc is np.multiply else 1)
        return _Exact(whole, exponent, count if mean else 1)

    return reduce


_ELEMENTWISE: dict[str, np.ufunc] = {
    "Add": np.add,
    "Div": np.divide,
    "Mul": np.multiply,
    "Sub": np.subtract,
}
_FUNCTIONS: dict[str, np.ufunc] = {"Exp": np.exp, "Log": np.log, "Pow": np.power, "Tanh": np.tanh}
_ROOTS: dict[str, np.ufunc] = {"Reciprocal": np.reciprocal, "Sqrt": np.sqrt}
_SUMS: dict[str, Callable[..., _Exact]] = {
    "Gemm": _gemm,
    "MatMul": lambda node, a, b: _product(node, _whole(a), _whole(b)),
    "Mean": lambda node, *xs: _total([_whole(x) for x in xs])._replace(divisor=len(xs)),
    "ReduceL1": _reduction(lambda x: x._replace(whole=np.abs(x.whole))),
    "ReduceMean": _reduction(lambda x: x, mean=True),
    "ReduceProd": _reduction(lambda x: x, np.multiply),
    "ReduceSum": _reduction(lambda x: x),
    "ReduceSumSquare": _reduction(lambda x: _times(x, x)),
    "Sum": lambda node, *xs: _total([_whole(x) for x in xs]),
}
ARITHMETIC = frozenset((*_ELEMENTWISE, *_FUNCTIONS, *_ROOTS, *_SUMS, "ReduceL2"))
"""Operators that round floating-point constants."""
