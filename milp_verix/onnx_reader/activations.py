"""Activation functions, and the Softmax that may end a network."""

from dataclasses import replace
from math import prod

from milp_verix.onnx_reader.node import NodeContext
from milp_verix.onnx_reader.registry import operator
from milp_verix.onnx_reader.symbol import Tensor, as_symbol


@operator("Relu")
def relu(node: NodeContext, x: Tensor) -> Tensor:
    """``max(x, 0)``, elementwise."""
    return node.builder.relu(as_symbol(x))


@operator("Softmax", "LogSoftmax", attributes=("axis",))
def softmax(node: NodeContext, x: Tensor) -> Tensor:
    """The scores themselves, marked: the largest stays the largest, so nothing else may follow."""
    x = as_symbol(x)
    default = 1 if node.opset < 13 else -1
    axis = node.integer("axis", default)
    if not -x.ndim <= axis < max(x.ndim, 1):
        raise node.malformed(f"axis {axis} is not one of a tensor of shape {x.shape}")
    # Before opset 13 the tensor is seen as a matrix whose rows are normalised, split at the axis.
    normalised = prod(x.shape[axis:]) if node.opset < 13 else x.shape[axis]
    if normalised != x.size:
        raise node.unsupported(
            f"it normalises {normalised} of the {x.size} values of a tensor of shape {x.shape}; "
            "it can only be left out where it covers all the class scores"
        )
    if normalised == 1:
        raise node.unsupported("over a single score it is constant")
    return replace(x, softmax=str(node))
