"""Elementwise maxima and minima of several tensors."""

from functools import reduce

import numpy as np

from milp_verix.onnx_reader.node import NodeContext
from milp_verix.onnx_reader.operators.activations import at_least, at_most
from milp_verix.onnx_reader.registry import operator
from milp_verix.onnx_reader.symbol import Symbol, Tensor, as_symbol, broadcast, join, scale


@operator("Max")
def max_(node: NodeContext, *xs: Tensor) -> Tensor:
    """The greatest of any number of tensors, broadcast; constants among them are one ReLU."""
    symbols = [x for x in xs if isinstance(x, Symbol)]
    constants = [x for x in xs if not isinstance(x, Symbol)]
    greatest = _greatest(node, symbols)
    return at_least(node, greatest, reduce(np.maximum, constants)) if constants else greatest


@operator("Min")
def min_(node: NodeContext, *xs: Tensor) -> Tensor:
    """The least of any number of tensors, broadcast; constants among them are one ReLU."""
    symbols = [scale(x, -1.0) for x in xs if isinstance(x, Symbol)]
    constants = [x for x in xs if not isinstance(x, Symbol)]
    least = scale(_greatest(node, symbols), -1.0)
    return at_most(node, least, reduce(np.minimum, constants)) if constants else least


def _greatest(node: NodeContext, xs: list[Symbol]) -> Symbol:
    if len(xs) == 1:
        return xs[0]
    shape = np.broadcast_shapes(*(x.shape for x in xs))
    stacked = join([broadcast(as_symbol(x), shape) for x in xs], lambda index: np.stack(index, -1))
    return node.builder.maximum(stacked, stacked.indices)
