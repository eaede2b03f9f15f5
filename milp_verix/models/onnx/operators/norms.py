"""Sums, means, maxima and norms over dimensions, and what divides by them: a softmax, too.

A Softmax or Sigmoid at the end of a network is left out, because it keeps the order of scores. The
scores go on, marked with the operator left out: only operators that keep their order, too, may
follow.
"""

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import TypeAlias

import numpy as np

from milp_verix.models.onnx.builder import Builder
from milp_verix.models.onnx.operators.products import multiply, product, quotient
from milp_verix.models.onnx.registry import NodeContext, operator
from milp_verix.models.onnx.symbol import Constant, Shape, Symbol, Tail, Tensor
from verix_encodings.arrays import IntArray
from verix_encodings.bounds.curves import EXP, LOG, SIGMOID, SILU, SQUARE, power


@operator("CumSum", attributes=("exclusive", "reverse"))
def cumulative_sum(node: NodeContext, x: Tensor, axis: Tensor) -> Tensor:
    """The sums of the values up to each along ``axis``, or from each on; with it or without."""
    x = Symbol.of(x)
    (given,) = reduced_axes(node, x.shape, axis)
    length = x.shape[given]
    weights = np.tri(length, k=-1 if node.integer("exclusive", 0) else 0)
    weights = weights[::-1, ::-1] if node.integer("reverse", 0) else weights
    columns = np.moveaxis(x.indices, given, -1)
    found = x.dot(columns[..., None, :], weights)
    return found.rearrange(lambda index: np.moveaxis(index, -1, given))


def reduced_axes(node: NodeContext, shape: Shape, given: object) -> list[int]:
    """Return the axes that ``node`` reduces, ascending; ``given`` is the input with them."""
    listed = node.constant_integers("axes", given)
    if not listed and node.integer("noop_with_empty_axes", 0):
        return []
    axes = listed or range(len(shape))
    if any(not -len(shape) <= axis < len(shape) for axis in axes):
        raise node.malformed(f"axes {listed} are not those of a tensor of shape {shape}")
    return sorted({axis % len(shape) for axis in axes})


def summed(x: Symbol, columns: IntArray) -> Symbol:
    """Return the sums of the elements of ``x`` at ``columns``, along its last axis."""
    return x.dot(columns, np.ones(columns.shape[-1]))


def norm(builder: Builder, x: Symbol, columns: IntArray, form: str) -> Symbol:
    """Return a norm of the elements at ``columns``: L1, L2 or MAX, the greatest element."""
    if form == "MAX":
        return builder.maximum(x, columns)
    if form == "L2":
        return builder.root(summed(builder.smooth(x, SQUARE), columns))
    return summed(builder.absolute(x), columns)


def by_norm(node: NodeContext, x: Symbol, form: str, axis: int) -> Symbol:
    """Return ``x`` divided by its norm along ``axis``."""
    columns = x.over([node.axis(axis, x.shape)])
    if form not in ("L1", "L2", "MAX"):
        raise node.malformed(f"norm is {form!r}")
    return quotient(node.builder, x, norm(node.builder, x, columns, form))


@operator("LpNormalization", attributes=("axis", "p"))
def lp_normalization(node: NodeContext, x: Tensor) -> Tensor:
    """The values divided by their norm along ``axis``."""
    p = node.integer("p", 2)
    return by_norm(node, Symbol.of(x), f"L{p}", node.integer("axis", -1))


def _product(builder: Builder, x: Symbol, columns: IntArray) -> Symbol:
    """Return the product of the elements at ``columns``, two by two."""

    def factor(k: int) -> Symbol:
        return x.rearrange(lambda _: columns[..., k])

    parts = [factor(k) for k in range(columns.shape[-1])]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        left = parts[-1:] if len(parts) % 2 else []
        parts = [multiply(builder, a, b) for a, b in pairs] + left
    return parts[0]


_Reduction: TypeAlias = Callable[[Builder, Symbol, IntArray], Symbol]
_REDUCED: dict[str, _Reduction] = {
    "ReduceMax": Builder.maximum,
    "ReduceMean": lambda _, x, columns: x.dot(
        columns, np.full(columns.shape[-1], 1 / columns.shape[-1])
    ),
    "ReduceMin": lambda builder, x, columns: -builder.maximum(-x, columns),
    "ReduceProd": _product,
    "ReduceSum": lambda _, x, columns: summed(x, columns),
}
_OF_EACH: dict[str, _Reduction] = {
    "ReduceL1": lambda builder, x, columns: norm(builder, x, columns, "L1"),
    "ReduceL2": lambda builder, x, columns: norm(builder, x, columns, "L2"),
    "ReduceSumSquare": lambda builder, x, columns: summed(builder.smooth(x, SQUARE), columns),
    "ReduceLogSum": lambda builder, x, columns: builder.smooth(summed(x, columns), LOG),
    "ReduceLogSumExp": lambda builder, x, columns: builder.smooth(
        summed(builder.smooth(x, EXP), columns), LOG
    ),
}
"""Reductions that change a single element, too."""


@operator(*_REDUCED, *_OF_EACH, attributes=("axes", "keepdims", "noop_with_empty_axes"))
def reduce_(node: NodeContext, x: Tensor, axes: Tensor | None = None) -> Tensor:
    """The sum, mean, product, greatest or least value, or a norm, over ``axes``."""
    x = Symbol.of(x)
    along, single = reduced_axes(node, x.shape, axes), node.operator in _OF_EACH
    operation = (_REDUCED | _OF_EACH)[node.operator]
    if not along:
        return operation(node.builder, x, x.indices[..., None]) if single else x
    columns = x.over(along)
    if not columns.shape[-1]:
        raise node.malformed(f"it reduces nothing: a tensor of shape {x.shape}")
    if not node.integer("keepdims", 1):
        columns = np.squeeze(columns, tuple(along))
    return operation(node.builder, x, columns)


def standardised(
    builder: Builder, x: Symbol, axes: tuple[int, ...], epsilon: float, *, centre: bool = True
) -> Symbol:
    """Return ``(x − mean) / √(variance + ε)`` over ``axes``; without ``centre``, by the squares."""
    columns = x.over(axes)
    weights = np.full(columns.shape[-1], 1.0 / columns.shape[-1])
    x = x - x.dot(columns, weights) if centre else x
    variance = builder.smooth(x, SQUARE).dot(columns, weights)
    shifted = variance + epsilon
    return quotient(builder, x, builder.root(shifted))


def affine_by(x: Symbol, gain: Tensor | None, shift: Tensor | None) -> Symbol:
    """Return ``gain x + shift`` of constants, broadcast."""
    result = x if gain is None else x * np.asarray(gain)
    return result if shift is None else result + shift


@operator(
    "BatchNormalization",
    attributes=("epsilon", "momentum", "spatial", "training_mode", "is_test", "consumed_inputs"),
)
def batch_normalization(  # noqa: PLR0917 (the inputs of the node)
    node: NodeContext, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor
) -> Tensor:
    """``(x − mean) / √(variance + epsilon) · scale + bias``, for each channel: axis 1."""
    trains = node.integer("training_mode", 0) or not (node.opset >= 7 or node.integer("is_test", 0))
    if trains:
        raise node.unsupported("it is in training mode; export the model in eval mode")
    if node.integer("spatial", 1) != 1:
        raise node.unsupported("it normalises every position by its own statistics (spatial = 0)")
    channels = x.shape[1] if x.ndim > 1 else 1
    statistics = []
    for tensor in (scale, bias, mean, variance):
        if isinstance(tensor, Symbol):
            raise node.unsupported("its statistics depend on the network's input")
        if tensor.shape != (channels,):
            raise node.malformed(f"statistics of shape {tensor.shape} do not fit {x.shape}")
        statistics.append(tensor.astype(np.float64))
    gain, shift, centre, spread = statistics
    spread = spread + node.number("epsilon", 1e-5)
    if not np.all(spread > 0):
        raise node.malformed("a variance is not positive")
    factor = gain / np.sqrt(spread)
    side = (channels, *(1,) * (x.ndim - 2)) if x.ndim > 1 else (channels,)
    moved = Symbol.of(x) - centre.reshape(side)
    return moved * factor.reshape(side) + shift.reshape(side)


@operator("ai.onnx.ml.Scaler", attributes=("offset", "scale"))
def scaler(node: NodeContext, x: Tensor) -> Tensor:
    """``(x − offset) · scale``, by one number or one for each feature: scikit-learn's scalers."""
    offset, scale = (_features(node, name, x.shape[-1]) for name in ("offset", "scale"))
    return (Symbol.of(x) - offset) * scale


def _features(node: NodeContext, name: str, features: int) -> Constant:
    values = node.numbers(name)
    if values is None or len(values) not in (1, features):
        raise node.malformed(f"{name} {values} does not fit {features} features")
    return np.array(values)


@operator("LayerNormalization", attributes=("axis", "epsilon", "stash_type"))
def layer_normalization(
    node: NodeContext, x: Tensor, scale: Tensor, bias: Tensor | None = None
) -> Tensor:
    """``(x − mean) / √(variance + epsilon) · scale + bias`` over the axes from ``axis`` on."""
    x = Symbol.of(x)
    axes = tuple(range(node.axis(node.integer("axis", -1), x.shape), x.ndim))
    epsilon, centre = node.number("epsilon", 1e-5), node.operator == "LayerNormalization"
    normalised = standardised(node.builder, x, axes, epsilon, centre=centre)
    moved = None if bias is None else _constant(node, bias)
    return affine_by(normalised, _constant(node, scale), moved)


@operator("RMSNormalization", attributes=("axis", "epsilon", "stash_type"))
def rms_normalization(node: NodeContext, x: Tensor, scale: Tensor) -> Tensor:
    """``x / √(mean square + epsilon) · scale`` over the axes from ``axis`` on."""
    return layer_normalization(node, x, scale)


@operator("InstanceNormalization", attributes=("epsilon",))
def instance_normalization(node: NodeContext, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    """``(x − mean) / √(variance + epsilon) · scale + bias`` of each channel of each image."""
    x = Symbol.of(x)
    scale, bias = (_constant(node, part) for part in (scale, bias))
    if x.ndim < 3 or scale.shape != (x.shape[1],) or bias.shape != scale.shape:
        raise node.malformed(f"statistics of shape {scale.shape} do not fit {x.shape}")
    epsilon, axes = node.number("epsilon", 1e-5), tuple(range(2, x.ndim))
    side = (-1, *(1,) * len(axes))
    normalised = standardised(node.builder, x, axes, epsilon)
    return affine_by(normalised, scale.reshape(side), bias.reshape(side))


@operator("GroupNormalization", attributes=("epsilon", "num_groups", "stash_type"))
def group_normalization(node: NodeContext, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    """``(x − mean) / √(variance + epsilon) · scale + bias``, by groups of channels."""
    x, groups = Symbol.of(x), node.integer("num_groups", 1)
    scale, bias = (_constant(node, part) for part in (scale, bias))
    if x.ndim < 2 or groups < 1 or x.shape[1] % groups:
        raise node.malformed(f"{groups} groups do not fit an input of shape {x.shape}")
    # before opset 21 there is one number for each group
    each = x.shape[1] // groups if node.opset < 21 else 1
    shape, side = (x.shape[0], groups, -1), (-1, *(1,) * (x.ndim - 2))
    grouped = x.rearrange(lambda index: index.reshape(shape))
    normalised = standardised(node.builder, grouped, (2,), node.number("epsilon", 1e-5))
    back = normalised.rearrange(lambda index: index.reshape(x.shape))
    return affine_by(back, *(np.repeat(part, each).reshape(side) for part in (scale, bias)))


@operator("LRN", attributes=("alpha", "beta", "bias", "size"))
def lrn(node: NodeContext, x: Tensor) -> Tensor:
    """``x / (bias + alpha / size · Σ x²)^beta``, the sum over channels near by."""
    x, size = Symbol.of(x), node.integer("size", 1)
    if x.ndim < 2 or size < 1:
        raise node.malformed(f"a window of {size} channels does not fit an input {x.shape}")
    channels = x.shape[1]
    before = np.arange(channels)[:, None] - (size - 1) // 2 + np.arange(size)
    inside = (before >= 0) & (before < channels)
    columns = np.moveaxis(x.indices[:, np.clip(before, 0, channels - 1)], 2, -1)
    mask = inside.reshape(channels, *(1,) * (x.ndim - 2), size)
    columns = np.where(mask, columns, -1)
    total = node.builder.smooth(x, SQUARE).dot(columns, np.ones(size))
    base = total * (node.number("alpha", 0.0001) / size) + node.number("bias", 1.0)
    beta = node.number("beta", 0.75)
    if beta <= 0:
        raise node.unsupported("its exponent is not positive")
    return product(node.builder, x, node.builder.smooth(base, power(-beta)))


def _constant(node: NodeContext, given: Tensor) -> Constant:
    if isinstance(given, Symbol):
        raise node.unsupported("its scale or bias depends on the network's input")
    return given


@operator("Softmax", "LogSoftmax", attributes=("axis",))
def softmax(node: NodeContext, x: Tensor) -> Tensor:
    """The scores themselves, marked, where they are all normalised: the largest stays the largest.

    In front of an operator that does not keep it so, and elsewhere, it is a node of the network.
    """
    x = Symbol.of(x)
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
    return replace(Symbol.of(x), tail=Tail(node.operator, str(node), SIGMOID))


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
    joined = Symbol.join(symbols, lambda indices: np.concatenate(indices, axis))
    return replace(joined, tail=symbols[0].tail)


def _is_sigmoid(x: Symbol) -> bool:
    return x.tail is not None and x.tail.function is SIGMOID


def gated(node: NodeContext, a: Tensor, b: Tensor) -> Symbol | None:
    """``x σ(x)``, which exporters write for SiLU, as one function."""
    for x, gate in ((a, b), (b, a)):
        if not isinstance(x, Symbol) or not isinstance(gate, Symbol):
            continue
        # a Sigmoid goes on as the very expression that it was applied to
        c = gate.ratio(x)
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
    return by_norm(node, Symbol.of(x), node.text("norm", "MAX"), -1)
