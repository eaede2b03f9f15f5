"""Normalisation: by stored statistics it is affine, by the statistics of the values it is not."""

import numpy as np

from milp_verix.models.onnx.operators.norms import affine_by, standardised
from milp_verix.models.onnx.operators.products import product
from milp_verix.models.onnx.registry import NodeContext, operator
from milp_verix.models.onnx.symbol import (
    Constant,
    Symbol,
    Tensor,
    add,
    as_symbol,
    dot,
    rearrange,
    times,
)
from verix_encodings.bounds.curves import SQUARE, power


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
    moved = add(as_symbol(x), as_symbol(-centre.reshape(side)))
    return add(times(moved, factor.reshape(side)), as_symbol(shift.reshape(side)))


@operator("ai.onnx.ml.Scaler", attributes=("offset", "scale"))
def scaler(node: NodeContext, x: Tensor) -> Tensor:
    """``(x − offset) · scale``, by one number or one for each feature: scikit-learn's scalers."""
    offset, scale = (_features(node, name, x.shape[-1]) for name in ("offset", "scale"))
    return times(add(as_symbol(x), as_symbol(-offset)), scale)


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
    x = as_symbol(x)
    normalised = standardised(node.builder, x, _from_axis(node, x), node.number("epsilon", 1e-5))
    shift = None if bias is None else _constant(node, bias)
    return affine_by(normalised, _constant(node, scale), shift)


@operator("RMSNormalization", attributes=("axis", "epsilon", "stash_type"))
def rms_normalization(node: NodeContext, x: Tensor, scale: Tensor) -> Tensor:
    """``x / √(mean square + epsilon) · scale`` over the axes from ``axis`` on."""
    x = as_symbol(x)
    epsilon = node.number("epsilon", 1e-5)
    normalised = standardised(node.builder, x, _from_axis(node, x), epsilon, centre=False)
    return affine_by(normalised, _constant(node, scale), None)


@operator("InstanceNormalization", attributes=("epsilon",))
def instance_normalization(node: NodeContext, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    """``(x − mean) / √(variance + epsilon) · scale + bias`` of each channel of each image."""
    x = as_symbol(x)
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
    x, groups = as_symbol(x), node.integer("num_groups", 1)
    scale, bias = (_constant(node, part) for part in (scale, bias))
    if x.ndim < 2 or groups < 1 or x.shape[1] % groups:
        raise node.malformed(f"{groups} groups do not fit an input of shape {x.shape}")
    # before opset 21 there is one number for each group
    each = x.shape[1] // groups if node.opset < 21 else 1
    shape, side = (x.shape[0], groups, -1), (-1, *(1,) * (x.ndim - 2))
    grouped = rearrange(x, lambda index: index.reshape(shape))
    normalised = standardised(node.builder, grouped, (2,), node.number("epsilon", 1e-5))
    back = rearrange(normalised, lambda index: index.reshape(x.shape))
    return affine_by(back, *(np.repeat(part, each).reshape(side) for part in (scale, bias)))


@operator("LRN", attributes=("alpha", "beta", "bias", "size"))
def lrn(node: NodeContext, x: Tensor) -> Tensor:
    """``x / (bias + alpha / size · Σ x²)^beta``, the sum over channels near by."""
    x, size = as_symbol(x), node.integer("size", 1)
    if x.ndim < 2 or size < 1:
        raise node.malformed(f"a window of {size} channels does not fit an input {x.shape}")
    channels = x.shape[1]
    before = np.arange(channels)[:, None] - (size - 1) // 2 + np.arange(size)
    inside = (before >= 0) & (before < channels)
    columns = np.moveaxis(x.indices[:, np.clip(before, 0, channels - 1)], 2, -1)
    mask = inside.reshape(channels, *(1,) * (x.ndim - 2), size)
    columns = np.where(mask, columns, -1)
    total = dot(node.builder.smooth(x, SQUARE), columns, np.ones(size))
    base = add(
        times(total, np.array(node.number("alpha", 0.0001) / size)),
        as_symbol(np.array(node.number("bias", 1.0))),
    )
    beta = node.number("beta", 0.75)
    if beta <= 0:
        raise node.unsupported("its exponent is not positive")
    return product(node.builder, x, node.builder.smooth(base, power(-beta)))


def _from_axis(node: NodeContext, x: Symbol) -> tuple[int, ...]:
    axis = node.integer("axis", -1)
    if not -x.ndim <= axis < x.ndim:
        raise node.malformed(f"axis {axis} is not one of a tensor of shape {x.shape}")
    return tuple(range(axis % x.ndim, x.ndim))


def _constant(node: NodeContext, given: Tensor) -> Constant:
    if isinstance(given, Symbol):
        raise node.unsupported("its scale or bias depends on the network's input")
    return given
