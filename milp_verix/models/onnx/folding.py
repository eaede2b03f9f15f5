"""Nodes whose inputs are constant, shape arithmetic and computed weights, with bounded rounding.

A network means its stored weights in real arithmetic. ONNX's reference implementation evaluates all
but arithmetic on floating-point numbers, whose sums of products are computed in exact integers and
rounded once, because a float64 sum has no bound that survives cancellation. Constants of
floating-point types are held in float64, which holds stored ones of at most 64 bits exactly;
integers keep their type, because integer arithmetic depends on it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isqrt, prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import onnx

from milp_verix.base.errors import ModelError, first_line, listed, refusing
from milp_verix.models.onnx.operators.norms import reduced_axes
from milp_verix.models.onnx.registry import NodeContext
from milp_verix.models.onnx.symbol import COMPUTED, Constant, Shape

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
    # onnx raises what its parsers and numpy raise, and plain C++ errors
    with refusing(f"{label} cannot be read", Exception, kind=ModelError, brief=True):
        array = onnx.numpy_helper.to_array(tensor)
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


MAX_CONSTANT_ELEMENTS = 10**8
_MAX_LOOPED = 10**5
_MAX_DESCRIBED = 1024  # elements; what is longer is no shape


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Elements are moved, chosen or change their sign: each keeps its relative error.
COPYING = _names(
    """Abs Clip Compress Concat Constant ConstantOfShape DepthToSpace Expand EyeLike Flatten Gather
    GatherElements GatherND Identity Max Min Neg Pad ReduceMax ReduceMin Relu Reshape
    ReverseSequence ScatterElements ScatterND Shape Size Slice SpaceToDepth Split Squeeze Tile
    Transpose Trilu Unsqueeze Where"""
)
# Results jump where an element crosses a threshold, so it must be known on which side it is.
STEPPING = frozenset(("Cast", "Ceil", "Floor", "Round", "Sign"))
CHOOSING = _names(
    """And ArgMax ArgMin BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CumSum Equal Greater
    GreaterOrEqual IsInf IsNaN Less LessOrEqual Mod NonZero Not OneHot Or Range Xor"""
)
FOLDED = COPYING | STEPPING | CHOOSING | ARITHMETIC

_LOOPING = frozenset(("GatherElements", "GatherND", "ScatterElements", "ScatterND"))
_SHRINKING = frozenset(("Compress", "NonZero"))  # to a size that depends on values
_ROUNDINGS = 16  # of its own type, which onnxruntime may have made on the way to a threshold

_Outline: TypeAlias = tuple[np.dtype[Any] | None, Shape | None]
_Outlines: TypeAlias = Sequence[_Outline]


def fold(node: NodeContext, proto: onnx.NodeProto, inputs: Mapping[str, Known]) -> list[Known]:
    """Evaluate the named outputs of a node whose ``inputs`` (by name) are all constant.

    Raises ``UnsupportedOperatorError`` for operators that are random, not numeric or not known to
    be accurate, and for results that are not; ``ModelError`` where a result would be huge or the
    evaluation fails.
    """
    if node.operator not in FOLDED:
        raise node.unsupported(
            "its inputs are all constant, and it is not among the operators evaluated on constants "
            f"({listed(sorted(FOLDED))}); fold the constants of the model, for example with "
            "onnxsim"
        )
    try:
        outlines = _outlines(node, proto, inputs)
        _check_work(node, [inputs[name] for name in proto.input if name], outlines)
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            results = _evaluated(node, proto, inputs, outlines)
    except ModelError:
        raise
    except Exception as error:  # the reference implementation raises whatever its operators raise
        raise ModelError(f"{node} cannot be evaluated: {first_line(error)}") from error
    if not all(result.error <= TOLERATED for result in results):
        raise node.unsupported(
            "it computes a constant that float64 does not hold accurately, by cancellation or "
            "underflow; store its result in the model instead"
        )
    return results


def _evaluated(
    node: NodeContext, proto: onnx.NodeProto, inputs: Mapping[str, Known], outlines: _Outlines
) -> list[Known]:
    floats = [x for x in inputs.values() if x.is_float]
    if node.operator in ARITHMETIC and floats:
        return [computed(node, [inputs[name] if name else None for name in proto.input])]
    error = max((x.error for x in floats), default=0.0)
    if node.operator in CHOOSING and floats:
        _check_choice(node, floats)
    if node.operator == "Cast" and floats:
        to = outlines[0][0]
        if to is not None and to.kind == "f" and np.can_cast(floats[0].dtype, to):
            return [replace(floats[0], dtype=to)]  # it rounds nothing in real arithmetic
    results = _reference(node, proto, inputs, outlines)
    if node.operator in STEPPING and floats:
        _check_steps(node, proto, floats[0], results[0], outlines)
        return results
    if node.attributes.get("reduction", "none") != "none" and floats:
        raise node.unsupported("it combines floating-point constants")
    return [replace(x, error=error) if x.is_float else x for x in results]


def _reference(
    node: NodeContext, proto: onnx.NodeProto, inputs: Mapping[str, Known], outlines: _Outlines
) -> list[Known]:
    from onnx.reference import ReferenceEvaluator  # it takes long to load; few models need it

    arrays = {name: x.array for name, x in inputs.items()}
    model = _alone(node, proto, [onnx.helper.make_empty_tensor_value_info(name) for name in arrays])
    results = []
    for array, (dtype, _) in zip(
        ReferenceEvaluator(model).run(None, arrays), outlines, strict=True
    ):
        result = known(np.asarray(array), f"the result of {node}")
        if dtype is not None and result.is_float == (dtype.kind == "f"):
            whole = result.array if result.is_float else result.array.astype(dtype)
            result = Known(whole, dtype)
        results.append(result)
    return results


def _check_choice(node: NodeContext, floats: Sequence[Known]) -> None:
    if any(x.error for x in floats):
        raise node.unsupported("its result jumps, and its constant inputs are rounded")
    whole = all((x.array == np.trunc(x.array)).all() for x in floats)
    summing = node.operator == "CumSum" or (node.operator == "Range" and not whole)
    if summing or (node.operator == "Mod" and not node.integer("fmod", 0)):
        raise node.unsupported("it is evaluated on constants that are whole numbers only")


def _check_steps(
    node: NodeContext, proto: onnx.NodeProto, x: Known, result: Known, outlines: _Outlines
) -> None:
    """Raise if ``result``, of a step function, jumps close to ``x`` or is out of range."""
    if result.dtype.kind in "iu" and not np.array_equal(np.trunc(x.array), result.array):
        raise node.malformed(f"constants are out of the range of {result.dtype}")
    if not x.error:
        return
    margin = max(x.error, _ROUNDINGS * float(np.finfo(x.dtype).eps))
    for factor in (1 - margin, 1 + margin):
        beside = {proto.input[0]: Known(x.array * factor, x.dtype)}
        (other,) = _reference(node, proto, beside, outlines)
        if not np.array_equal(other.array, result.array):
            raise node.unsupported("its result jumps where its rounded constant input is")


def _outlines(
    node: NodeContext, proto: onnx.NodeProto, inputs: Mapping[str, Known]
) -> list[_Outline]:
    """Return the type and shape of each output, as far as these follow from types and shapes."""
    short = {name: x for name, x in inputs.items() if x.array.size <= _MAX_DESCRIBED}
    model = _alone(
        node,
        proto,
        [
            onnx.helper.make_tensor_value_info(
                name, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.array.shape
            )
            for name, x in inputs.items()
        ],
        [onnx.numpy_helper.from_array(x.array.astype(x.dtype), n) for n, x in short.items()],
    )
    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    outlines: list[_Outline] = []
    for value in inferred.graph.output:
        tensor = value.type.tensor_type
        dims = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in tensor.shape.dim]
        known_shape = tensor.HasField("shape") and min(dims, default=0) >= 0
        kind = tensor.elem_type
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(kind)) if kind else None
        outlines.append((dtype, tuple(dims) if known_shape else None))
    return outlines


def _check_work(node: NodeContext, inputs: Sequence[Known], outlines: _Outlines) -> None:
    """Raise ``ModelError`` where evaluating the node would take too much memory or time."""
    sizes = [x.array.size for x in inputs]
    results = [None if shape is None else prod(shape) for _, shape in outlines]
    if node.operator in _SHRINKING:
        results = [sum(x.array.size * max(x.array.ndim, 1) for x in inputs)]
    for size in results:
        if size is None:
            raise node.malformed("the size of its result is not known before it is computed")
        if size > MAX_CONSTANT_ELEMENTS:
            raise node.malformed(f"it computes a constant of {size:,} elements")
    whole = [size or 0 for size in results]
    if node.operator in _LOOPING and sum((*sizes, *whole)) > _MAX_LOOPED:
        raise node.unsupported(f"it picks from more than {_MAX_LOOPED:,} constants one by one")
    if (
        node.operator in ("MatMul", "Gemm")
        and isqrt(prod((*sizes[:2], *whole))) > 10 * MAX_PRODUCTS
    ):
        raise node.unsupported(f"it needs more than {10 * MAX_PRODUCTS:,} products of constants")


def _alone(
    node: NodeContext,
    proto: onnx.NodeProto,
    inputs: Sequence[onnx.ValueInfoProto],
    initializers: Sequence[onnx.TensorProto] = (),
) -> onnx.ModelProto:
    """Return a model that consists of one node."""
    outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in proto.output if name]
    graph = onnx.helper.make_graph([proto], "constant", inputs, outputs, initializers)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", node.opset)])
