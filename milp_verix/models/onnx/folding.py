"""Evaluation of nodes whose inputs are constant: shape arithmetic and computed weights.

ONNX's reference implementation evaluates all but sums of products; floating-point numbers are in
float64, and :mod:`~milp_verix.models.onnx.rounding` bounds their rounding.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isqrt, prod
from typing import Any, TypeAlias

import numpy as np
import onnx

from milp_verix.base.errors import ModelError, first_line, listed
from milp_verix.models.onnx.registry import NodeContext
from milp_verix.models.onnx.rounding import (
    ARITHMETIC,
    MAX_PRODUCTS,
    TOLERATED,
    Known,
    computed,
    known,
)
from milp_verix.models.onnx.symbol import Shape

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
    if node.operator == "Cast" and floats and _widens(floats[0].dtype, outlines[0][0]):
        return [replace(floats[0], dtype=outlines[0][0] or floats[0].dtype)]
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


def _widens(dtype: np.dtype[Any], to: np.dtype[Any] | None) -> bool:
    """Return whether a cast rounds nothing, so that it is no operation in real arithmetic."""
    return to is not None and to.kind == "f" and np.can_cast(dtype, to)


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
