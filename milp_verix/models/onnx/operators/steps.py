"""Functions that jump: rounding, signs, comparisons, and choices by them.

A truth value is the number 0 or 1.
"""

import numpy as np
import onnx

from milp_verix.models.onnx.operators.products import multiply
from milp_verix.models.onnx.operators.selection import FLOAT_TYPES
from milp_verix.models.onnx.registry import NodeContext, operator
from milp_verix.models.onnx.symbol import (
    Symbol,
    Tensor,
    add,
    as_symbol,
    broadcast,
    join,
    scale,
    times,
)
from verix_encodings.arrays import IntArray

_WHOLE_TYPES = (
    onnx.TensorProto.INT8,
    onnx.TensorProto.INT16,
    onnx.TensorProto.INT32,
    onnx.TensorProto.INT64,
)


def _one() -> Symbol:
    return as_symbol(np.array(1.0))


def _minus(x: Symbol) -> Symbol:
    return scale(x, -1.0)


@operator("Floor")
def floor(node: NodeContext, x: Tensor) -> Tensor:
    """The greatest whole number that is not above."""
    return node.builder.step(as_symbol(x), "floor")


@operator("Ceil")
def ceil(node: NodeContext, x: Tensor) -> Tensor:
    """The least whole number that is not below: ``−⌊−x⌋``."""
    return _minus(node.builder.step(_minus(as_symbol(x)), "floor"))


@operator("Round")
def round_(node: NodeContext, x: Tensor) -> Tensor:
    """The nearest whole number, the even one of two."""
    return node.builder.step(as_symbol(x), "round")


@operator("Sign")
def sign(node: NodeContext, x: Tensor) -> Tensor:
    """1, 0 or −1: two steps."""
    x = as_symbol(x)
    return add(node.builder.step(x, "above"), _minus(node.builder.step(_minus(x), "above")))


@operator("ThresholdedRelu", attributes=("alpha",))
def thresholded_relu(node: NodeContext, x: Tensor) -> Tensor:
    """``x`` where it is above ``alpha``, 0 elsewhere: a ReLU of ``x − alpha``, and its step."""
    alpha = node.number("alpha", 1.0)
    beyond = add(as_symbol(x), as_symbol(np.array(-alpha)))
    return add(node.builder.relu(beyond), scale(node.builder.step(beyond, "above"), alpha))


@operator("Greater", "GreaterOrEqual", "Less", "LessOrEqual")
def compare(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """The truth of a comparison: a step of the difference."""
    one, other = (a, b) if node.operator.startswith("Greater") else (b, a)
    form = "reached" if node.operator.endswith("Equal") else "above"
    gap = add(as_symbol(one), _minus(as_symbol(other)))
    return node.builder.truth(node.builder.step(gap, form))


@operator("Equal")
def equal(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """The truth of an equation: neither is above the other."""
    return _is_zero(node, add(as_symbol(a), _minus(as_symbol(b))))


def _is_zero(node: NodeContext, x: Symbol) -> Symbol:
    ends = (node.builder.step(side, "reached") for side in (x, _minus(x)))
    return node.builder.truth(add(add(*ends), _minus(_one())))


@operator("Not")
def not_(node: NodeContext, x: Tensor) -> Tensor:
    """``1 − x``."""
    return node.builder.truth(add(_one(), _minus(as_symbol(x))))


@operator("And", "Or", "Xor")
def combine(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """Both: ``relu(a + b − 1)``; one at least: ``a + b`` less that; one alone: less it twice."""
    total = add(*(as_symbol(x if isinstance(x, Symbol) else x.astype(float)) for x in (a, b)))
    both = node.builder.relu(add(total, _minus(_one())))
    if node.operator == "And":
        return node.builder.truth(both)
    return node.builder.truth(add(total, scale(both, -1.0 if node.operator == "Or" else -2.0)))


@operator("Where")
def where(node: NodeContext, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """``a`` where the condition is true, ``b`` elsewhere."""
    shape = np.broadcast_shapes(condition.shape, a.shape, b.shape)
    one, other = as_symbol(a), as_symbol(b)
    if not isinstance(condition, Symbol):
        chosen = np.broadcast_to(condition.astype(bool), shape)

        def pick(indices: list[IntArray]) -> IntArray:
            return np.where(chosen, *(np.broadcast_to(index, shape) for index in indices))

        return join([one, other], pick)
    gap = add(one, _minus(other))
    if gap.terms:
        return add(other, multiply(node.builder, condition, gap))
    return add(other, times(broadcast(condition, shape), gap.bias.reshape(gap.shape)))


@operator("Cast", attributes=("to", "saturate", "round_mode"), keeps_scores=True)
def cast(node: NodeContext, x: Tensor) -> Tensor:
    """The tensor itself to a floating-point type, which in real arithmetic is no restriction.

    To integers, it is cut towards zero; to truth values, it is whether it is not zero.
    """
    to, x = node.integer("to", 0), as_symbol(x)
    if to in FLOAT_TYPES or (
        to in (*_WHOLE_TYPES, onnx.TensorProto.BOOL) and x.token in node.builder.truths
    ):
        return x
    if x.tail is not None:
        raise node.unsupported("a cast of scores to anything but a floating-point type rounds")
    if to == onnx.TensorProto.BOOL:
        return node.builder.truth(add(_one(), _minus(_is_zero(node, x))))
    if to not in _WHOLE_TYPES:
        raise node.unsupported("it casts to a type that is neither floating-point nor signed")
    if node.builder.is_whole(x):
        return x
    sides = (node.builder.relu(side) for side in (x, _minus(x)))
    low, high = (node.builder.step(side, "floor") for side in sides)
    return add(low, _minus(high))
