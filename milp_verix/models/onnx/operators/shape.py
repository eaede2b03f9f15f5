"""Operators that change the shape of a tensor or the order of its elements, and nothing else."""

from math import prod

import numpy as np
import onnx

from milp_verix.models.onnx.node import NodeContext
from milp_verix.models.onnx.registry import operator
from milp_verix.models.onnx.symbol import Shape, Symbol, Tensor, as_symbol, rearrange

FLOAT_TYPES = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16)


@operator("Identity", keeps_scores=True)
def identity(node: NodeContext, x: Tensor) -> Tensor:
    """The tensor itself."""
    return x


@operator("Dropout", attributes=("ratio", "seed", "is_test"), keeps_scores=True)
def dropout(
    node: NodeContext, x: Tensor, ratio: Tensor | None = None, training: Tensor | None = None
) -> Tensor:
    """The tensor itself: dropout does nothing at inference, and training is refused."""
    # Before opset 7 the operator trained unless told otherwise; from 12 on, an input says so.
    inference = node.opset >= 7 or node.integer("is_test", 0)
    if isinstance(training, Symbol) or (training is not None and training.any()) or not inference:
        raise node.unsupported("it is in training mode; export the model in eval mode")
    return x


@operator("Shape", attributes=("start", "end"), keeps_scores=True)
def shape(node: NodeContext, x: Tensor) -> Tensor:
    """The dimensions of the tensor: a constant."""
    end = node.integer("end", x.ndim)
    return np.array(x.shape[node.integer("start", 0) : end], dtype=np.int64)


@operator("Size", keeps_scores=True)
def size(node: NodeContext, x: Tensor) -> Tensor:
    """The number of elements: a constant."""
    return np.array(x.size, dtype=np.int64)


@operator("Flatten", attributes=("axis",), keeps_scores=True)
def flatten(node: NodeContext, x: Tensor) -> Tensor:
    """A matrix: dimensions before ``axis`` become its rows, the others its columns."""
    axis = node.integer("axis", 1)
    if not -x.ndim <= axis <= x.ndim:
        raise node.malformed(f"axis {axis} is not one of a tensor of shape {x.shape}")
    rows = prod(x.shape[: axis if axis >= 0 else x.ndim + axis])
    return rearrange(as_symbol(x), lambda index: index.reshape(rows, index.size // rows))


@operator("Reshape", attributes=("shape", "allowzero"), keeps_scores=True)
def reshape(node: NodeContext, x: Tensor, shape: Tensor | None = None) -> Tensor:
    """The same elements in another shape: 0 keeps a dimension, -1 stands for the remaining size."""
    dims = node.constant_integers("shape", shape)
    if dims is None or any(dim < -1 for dim in dims):
        raise node.malformed(f"its shape is {dims}")
    if not node.integer("allowzero", 0):
        dims = [dim or x.shape[axis] for axis, dim in enumerate(dims)]
    return rearrange(as_symbol(x), lambda index: index.reshape(dims))


@operator("Transpose", attributes=("perm",))
def transpose(node: NodeContext, x: Tensor) -> Tensor:
    """The dimensions in another order, by default reversed."""
    return rearrange(as_symbol(x), lambda index: index.transpose(node.integers("perm")))


@operator("Squeeze", attributes=("axes",), keeps_scores=True)
def squeeze(node: NodeContext, x: Tensor, axes: Tensor | None = None) -> Tensor:
    """The tensor without the dimensions ``axes``, by default all that are 1."""
    dropped: Shape | None = tuple(node.constant_integers("axes", axes) or ()) or None
    return rearrange(as_symbol(x), lambda index: np.squeeze(index, dropped))


@operator("Unsqueeze", attributes=("axes",), keeps_scores=True)
def unsqueeze(node: NodeContext, x: Tensor, axes: Tensor | None = None) -> Tensor:
    """The tensor with dimensions of 1 put in at ``axes`` of the result."""
    added = node.constant_integers("axes", axes)
    if added is None:
        raise node.malformed("it has no axes")
    return rearrange(as_symbol(x), lambda index: np.expand_dims(index, tuple(added)))
