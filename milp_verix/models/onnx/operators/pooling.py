"""Max-pooling is a maximum, average pooling an affine map, of windows of a tensor (N, C, *D)."""

import numpy as np

from milp_verix.models.onnx.node import NodeContext
from milp_verix.models.onnx.operators.windows import PADDING, WINDOW_ATTRIBUTES, windows
from milp_verix.models.onnx.registry import operator
from milp_verix.models.onnx.symbol import Symbol, Tensor, as_symbol, dot
from verix_encodings.arrays import IntArray


@operator("MaxPool", attributes=(*WINDOW_ATTRIBUTES, "ceil_mode", "storage_order"))
def max_pool(node: NodeContext, x: Tensor) -> Tensor:
    """The greatest value in each window; padding does not count."""
    x = as_symbol(x)
    return node.builder.maximum(x, _seen(node, x))


@operator("AveragePool", attributes=(*WINDOW_ATTRIBUTES, "ceil_mode", "count_include_pad"))
def average_pool(node: NodeContext, x: Tensor) -> Tensor:
    """The mean of each window; padding counts, as zeros, if ``count_include_pad`` says so."""
    x = as_symbol(x)
    columns = _seen(node, x)
    counted = columns >= (PADDING if node.integer("count_include_pad", 0) else 0)
    count = counted.sum(axis=-1, keepdims=True)
    if not count.all():
        raise node.malformed("a window sees nothing but padding")
    return dot(x, columns, np.broadcast_to(1 / count, columns.shape))


@operator("GlobalMaxPool")
def global_max_pool(node: NodeContext, x: Tensor) -> Tensor:
    """The greatest value of each channel."""
    x = as_symbol(x)
    return node.builder.maximum(x, _channels(node, x))


@operator("GlobalAveragePool")
def global_average_pool(node: NodeContext, x: Tensor) -> Tensor:
    """The mean of each channel."""
    x = as_symbol(x)
    columns = _channels(node, x)
    return dot(x, columns, np.full(columns.shape[-1:], 1 / columns.shape[-1]))


def _seen(node: NodeContext, x: Symbol) -> IntArray:
    """Return the flat indices in each window, shape (N, C, *output, window)."""
    kernel = node.integers("kernel_shape")
    if kernel is None or len(kernel) != x.ndim - 2 or min(kernel, default=0) < 1:
        raise node.malformed(f"kernel_shape {kernel} does not fit an input {x.shape}")
    if node.text("auto_pad", "NOTSET").startswith("SAME"):
        strides = node.integers("strides") or [1] * len(kernel)
        dilated = max(node.integers("dilations") or [1]) > 1
        if dilated or any(k < s for k, s in zip(kernel, strides, strict=False)):
            raise node.unsupported(
                "onnxruntime and the specification disagree about auto_pad where pooling windows "
                "are dilated or leave gaps; give pads instead"
            )
    columns = windows(node, x.indices, tuple(kernel))
    return columns.reshape(*columns.shape[: x.ndim], -1)


def _channels(node: NodeContext, x: Symbol) -> IntArray:
    """Return the flat indices in each channel, shape (N, C, *1, positions)."""
    if x.ndim < 3 or not x.size:
        raise node.malformed(f"an input of shape {x.shape} has no channels to pool")
    return x.indices.reshape(*x.shape[:2], *(1,) * (x.ndim - 2), -1)
