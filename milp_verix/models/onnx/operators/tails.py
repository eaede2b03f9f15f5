"""Operators at the end of a network that are left out, because they keep the order of scores.

The scores go on, marked with the operator left out: only operators that keep their order, too, may
follow.
"""

from dataclasses import replace
from math import prod

import numpy as np

from milp_verix.models.onnx.operators.norms import by_norm
from milp_verix.models.onnx.registry import NodeContext, operator
from milp_verix.models.onnx.symbol import Symbol, Tail, Tensor, as_symbol, join, ratio
from verix_encodings.bounds.curves import SIGMOID, SILU


@operator("Softmax", "LogSoftmax", attributes=("axis",))
def softmax(node: NodeContext, x: Tensor) -> Tensor:
    """The scores themselves, marked, where they are all normalised: the largest stays the largest.

    In front of an operator that does not keep it so, and elsewhere, it is a node of the network.
    """
    x = as_symbol(x)
    default = 1 if node.opset < 13 else -1
    axis = node.integer("axis", default)
    if not -x.ndim <= axis < max(x.ndim, 1):
        raise node.malformed(f"axis {axis} is not one of a tensor of shape {x.shape}")
    if x.size == 1:
        raise node.unsupported("over a single score it is constant")
    # Before opset 13 the tensor is seen as a matrix whose rows are normalised, split at the axis.
    axes = tuple(range(axis % x.ndim, x.ndim)) if node.opset < 13 else (axis % x.ndim,)
    if prod(x.shape[k] for k in axes) == x.size:
        return replace(x, tail=Tail(node.operator, str(node), axes=()))
    return node.builder.normalised(x, Tail(node.operator, str(node), axes=axes))


@operator("Sigmoid")
def sigmoid(node: NodeContext, x: Tensor) -> Tensor:
    """The scores themselves, marked: ``σ`` grows, so it keeps their order; ``σ(0) = ½``.

    In front of an operator that does not keep it, it becomes a node of the network.
    """
    return replace(as_symbol(x), tail=Tail(node.operator, str(node), SIGMOID))


def complement(node: NodeContext, a: Tensor, b: Tensor) -> Symbol | None:
    """``1 − σ(s) = σ(−s)``: the probability of the other of two classes, as exporters write it."""
    if isinstance(a, Symbol) or not isinstance(b, Symbol) or not np.all(a == 1):
        return None
    same_shape = np.broadcast_shapes(a.shape, b.shape) == b.shape
    return -b if _is_sigmoid(b) and same_shape else None


def concatenated(node: NodeContext, *xs: Tensor) -> Symbol | None:
    """``(σ(s), σ(t)) = σ((s, t))``: the scores of two classes side by side."""
    symbols = [x for x in xs if isinstance(x, Symbol) and _is_sigmoid(x)]
    if len(symbols) != len(xs):
        return None
    axis = node.integer("axis", 1)
    joined = join(symbols, lambda indices: np.concatenate(indices, axis))
    return replace(joined, tail=symbols[0].tail)


def _is_sigmoid(x: Symbol) -> bool:
    return x.tail is not None and x.tail.function is SIGMOID


def gated(node: NodeContext, a: Tensor, b: Tensor) -> Symbol | None:
    """``x σ(x)``, which exporters write for SiLU, as one function."""
    for x, gate in ((a, b), (b, a)):
        if not isinstance(x, Symbol) or not isinstance(gate, Symbol):
            continue
        # a Sigmoid goes on as the very expression that it was applied to
        c = ratio(gate, x)
        if x.tail is None and _is_sigmoid(gate) and c is not None and c > 0:
            # x σ(c x) = silu(c x) / c
            inner = x if c == 1.0 else x * c
            return node.builder.smooth(inner, SILU) * (1.0 / c)
    return None


def normalised(node: NodeContext, x: Tensor) -> Symbol | None:
    """Probabilities divided by their norm, a positive number: in the same order."""
    if not isinstance(x, Symbol) or x.tail is None or x.shape[-1:] != (x.size,):
        return None
    if x.size == 1 or x.tail.operator == "LogSoftmax":
        return None  # a constant; a maximum that is negative
    return replace(x, tail=replace(x.tail, function=None))


@operator("ai.onnx.ml.Normalizer", attributes=("norm",), of_scores=normalised)
def normalizer(node: NodeContext, x: Tensor) -> Tensor:
    """The rows divided by their norm."""
    return by_norm(node, as_symbol(x), node.text("norm", "MAX"), -1)
