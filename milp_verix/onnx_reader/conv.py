"""Convolution in any number of spatial dimensions."""

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from milp_verix.onnx_reader.node import NodeContext
from milp_verix.onnx_reader.registry import operator
from milp_verix.onnx_reader.symbol import (
    Shape,
    Symbol,
    Tensor,
    add,
    as_symbol,
    check_elements,
    dot,
    rearrange,
)
from verix_encodings.arrays import IntArray


@operator("Conv", attributes=("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"))
def conv(node: NodeContext, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    """Cross-correlate ``x`` (N, C, *D) with ``w`` (M, C / group, *K) and add ``b`` (M,)."""
    if not isinstance(x, Symbol) or isinstance(w, Symbol) or isinstance(b, Symbol):
        raise node.unsupported("its weights are not constants")
    group, kernel, spatial = node.integer("group", 1), w.shape[2:], x.ndim - 2
    if spatial < 1 or w.ndim != x.ndim:
        raise node.malformed(f"weights of shape {w.shape} do not fit an input {x.shape}")
    if group < 1 or w.shape[0] % group or x.shape[1] != group * w.shape[1]:
        raise node.malformed(
            f"weights of shape {w.shape} in {group} groups do not fit an input {x.shape}"
        )
    if tuple(node.integers("kernel_shape") or kernel) != kernel:
        raise node.malformed(f"kernel_shape disagrees with weights of shape {w.shape}")
    columns = windows(node, x, kernel)
    # To (N, group, 1, *output, C / group, *K) and (group, M / group, *1, C / group, *K).
    columns = columns.reshape(x.shape[0], group, w.shape[1], *columns.shape[2:])
    columns = np.moveaxis(columns, 2, 2 + spatial)[:, :, None]
    weights = w.reshape(group, -1, *(1,) * spatial, *w.shape[1:])
    product = dot(x, columns, weights, contracted=1 + spatial)
    shape = (x.shape[0], w.shape[0], *product.shape[3:])
    result = rearrange(product, lambda index: index.reshape(shape))
    if b is None:
        return result
    if b.shape != w.shape[:1]:
        raise node.malformed(f"a bias of shape {b.shape} does not fit weights {w.shape}")
    return add(result, as_symbol(b.reshape(-1, *(1,) * spatial)))


def windows(node: NodeContext, x: Symbol, kernel: Shape) -> IntArray:
    """Return the flat indices into ``x`` (N, C, *D) seen from each position of a sliding kernel.

    The result has shape (N, C, *output, *kernel), with -1 for padding.
    """
    strides = _positive(node, "strides", len(kernel))
    dilations = _positive(node, "dilations", len(kernel))
    extents = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True))
    pads = _pads(node, x.shape[2:], extents, strides)
    sides = [(0, 0), (0, 0), *pads]
    check_elements(tuple(n + sum(side) for n, side in zip(x.shape, sides, strict=True)))
    padded = np.pad(x.indices, sides, constant_values=-1)
    seen = sliding_window_view(padded, extents, axis=tuple(range(2, x.ndim)))
    steps = (slice(None, None, step) for step in (*strides, *dilations))
    return seen[:, :, *steps]


def _positive(node: NodeContext, name: str, count: int) -> list[int]:
    values = node.integers(name) or [1] * count
    if len(values) != count or min(values) < 1:
        raise node.malformed(f"{name} {values} do not fit {count} spatial dimensions")
    return values


def _pads(
    node: NodeContext, sizes: Shape, extents: Shape, strides: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the padding before and after each spatial dimension."""
    mode, pads = node.text("auto_pad", "NOTSET"), node.integers("pads") or [0] * 2 * len(sizes)
    if len(pads) != 2 * len(sizes) or min(pads) < 0:
        raise node.malformed(f"pads {pads} do not fit {len(sizes)} spatial dimensions")
    if mode != "NOTSET" and any(pads):
        raise node.malformed(f"it has both auto_pad {mode!r} and pads {pads}")
    if mode in ("NOTSET", "VALID"):
        return list(zip(pads[: len(sizes)], pads[len(sizes) :], strict=True))
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise node.malformed(f"auto_pad is {mode!r}")
    result = []
    for size, extent, stride in zip(sizes, extents, strides, strict=True):
        total = max((-(-size // stride) - 1) * stride + extent - size, 0)
        half = total // 2
        result.append((half, total - half) if mode == "SAME_UPPER" else (total - half, half))
    return result
