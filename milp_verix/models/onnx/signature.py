"""The input and the output of a model: names, shape and type."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from operator import index
from typing import Any

import numpy as np
import onnx

from milp_verix.base.errors import InputError, ModelError
from milp_verix.models.onnx.outputs import scores_of
from milp_verix.models.onnx.symbol import MAX_ELEMENTS, Shape

_FLOAT_TYPES: dict[int, np.dtype[Any]] = {
    onnx.TensorProto.FLOAT16: np.dtype(np.float16),
    onnx.TensorProto.FLOAT: np.dtype(np.float32),
    onnx.TensorProto.DOUBLE: np.dtype(np.float64),
}


@dataclass(frozen=True, slots=True)
class Signature:
    """The one input and the one output of a model that is read; ``input_shape`` is concrete.

    ``scores_name`` is the tensor with the scores: the output, unless that holds labels or a map.
    """

    input_name: str
    input_shape: Shape
    dtype: np.dtype[np.floating]
    output_name: str
    scores_name: str


def read_signature(
    graph: onnx.GraphProto, *, input_shape: Sequence[int] | None = None, output: str | None = None
) -> Signature:
    """Return the signature of ``graph``.

    ``input_shape`` fixes dynamic dimensions; without it, a single dynamic one is the batch and
    becomes 1. ``output`` chooses among several outputs; without it, labels do not count.

    Raises ``ModelError`` where the graph has not exactly one input of floating-point numbers and
    known shape, or several outputs and none is chosen; ``InputError`` where an argument does not
    fit the graph.
    """
    source = _only_input(graph)
    tensor = source.type.tensor_type
    if not source.type.HasField("tensor_type") or tensor.elem_type not in _FLOAT_TYPES:
        raise ModelError(
            f"input {source.name!r} is not a tensor of float16, float32 or float64 numbers"
        )
    shape = _concrete(source.name, _declared(tensor), input_shape)
    if prod(shape) > MAX_ELEMENTS:
        raise ModelError(
            f"input {source.name!r} of shape {shape} has more than {MAX_ELEMENTS:,} entries"
        )
    return Signature(source.name, shape, _FLOAT_TYPES[tensor.elem_type], *scores_of(graph, output))


def _only_input(graph: onnx.GraphProto) -> onnx.ValueInfoProto:
    stored = {tensor.name for tensor in graph.initializer}
    stored |= {tensor.values.name for tensor in graph.sparse_initializer}
    inputs: list[onnx.ValueInfoProto] = [value for value in graph.input if value.name not in stored]
    if len(inputs) != 1:
        names = ", ".join(repr(value.name) for value in inputs) or "none"
        raise ModelError(f"the model must have exactly one input, it has {len(inputs)}: {names}")
    return inputs[0]


def _declared(tensor: onnx.TypeProto.Tensor) -> list[int | str] | None:
    """Return the declared dimensions, a dynamic one by its name or as ``"?"``."""
    if not tensor.HasField("shape"):
        return None
    return [
        dim.dim_value if dim.dim_value > 0 else str(dim.dim_param) or "?"  # bytes, if damaged
        for dim in tensor.shape.dim
    ]


def _concrete(
    name: str, declared: list[int | str] | None, given: Sequence[int] | None
) -> tuple[int, ...]:
    if given is not None:
        return _given(name, declared, given)
    if declared is None:
        raise ModelError(f"input {name!r} has no declared shape; give it as input_shape=")
    dynamic = sum(isinstance(dim, str) for dim in declared)
    if dynamic > 1:
        raise ModelError(
            f"input {name!r} has shape ({', '.join(map(str, declared))}), of which {dynamic} "
            "dimensions are dynamic; give the shape as input_shape="
        )
    return tuple(1 if isinstance(dim, str) else dim for dim in declared)


def _given(name: str, declared: list[int | str] | None, given: Sequence[int]) -> tuple[int, ...]:
    try:
        shape = tuple(index(dim) for dim in given)
    except TypeError as error:
        raise InputError(f"input_shape is {given!r}, expected positive integers") from error
    if any(dim < 1 for dim in shape):
        raise InputError(f"input_shape is {shape}, expected positive integers")
    fits = declared is None or (
        len(shape) == len(declared)
        and all(isinstance(d, str) or d == s for d, s in zip(declared, shape, strict=True))
    )
    if not fits:
        raise InputError(
            f"input_shape is {shape}, but input {name!r} has shape "
            f"({', '.join(map(str, declared or ()))})"
        )
    return shape
