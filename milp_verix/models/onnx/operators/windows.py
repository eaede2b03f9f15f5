"""The windows that a kernel sees as it slides over a tensor (N, C, *D)."""

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from milp_verix.models.onnx.node import NodeContext
from milp_verix.models.onnx.symbol import Shape, check_elements
from verix_encodings.arrays import IntArray

PADDING = -1
BEYOND = -2  # what the last window of a ceil_mode sees after the padding

WINDOW_ATTRIBUTES = ("auto_pad", "dilations", "kernel_shape", "pads", "strides")


def windows(node: NodeContext, indices: IntArray, kernel: Shape) -> IntArray:
    """Return the entries of ``indices`` (N, C, *D) seen from each position of a sliding kernel.

    The result has shape (N, C, *output, *kernel), with ``PADDING`` and ``BEYOND``, both negative,
    for entries outside of the tensor.
    """
    sizes, count = indices.shape[2:], len(kernel)
    strides, dilations = positive(node, "strides", count), positive(node, "dilations", count)
    extents = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True))
    pads = padding(node, sizes, extents, strides)
    sides = [(0, 0), (0, 0), *pads]
    check_elements(tuple(n + sum(side) for n, side in zip(indices.shape, sides, strict=True)))
    padded = np.pad(indices, sides, constant_values=PADDING)
    if node.integer("ceil_mode", 0):
        beyond = [
            _beyond(size, pad, extent, stride)
            for size, pad, extent, stride in zip(sizes, pads, extents, strides, strict=True)
        ]
        sides = [(0, 0), (0, 0), *((0, extra) for extra in beyond)]
        check_elements(tuple(n + after for n, (_, after) in zip(padded.shape, sides, strict=True)))
        padded = np.pad(padded, sides, constant_values=BEYOND)
    seen = sliding_window_view(padded, extents, axis=tuple(range(2, indices.ndim)))
    steps = (slice(None, None, step) for step in (*strides, *dilations))
    return seen[:, :, *steps]


def _beyond(size: int, pad: tuple[int, int], extent: int, stride: int) -> int:
    """Return how far the last window may reach out, if it starts in the tensor or before it."""
    rest = size + sum(pad) - extent
    steps = -(-rest // stride)
    if steps * stride >= size + pad[0]:
        steps -= 1
    return max(steps * stride - rest, 0)


def positive(node: NodeContext, name: str, count: int) -> list[int]:
    """Return an attribute with one positive integer for each dimension, by default 1."""
    values = node.integers(name) or [1] * count
    if len(values) != count or min(values) < 1:
        raise node.malformed(f"{name} {values} do not fit {count} spatial dimensions")
    return values


def padding(
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
    return [
        split(max((-(-size // stride) - 1) * stride + extent - size, 0), mode)
        for size, extent, stride in zip(sizes, extents, strides, strict=True)
    ]


def split(total: int, mode: str) -> tuple[int, int]:
    """Return ``total`` as padding before and after, the odd one where ``mode`` puts it."""
    half = total // 2
    return (half, total - half) if mode == "SAME_UPPER" else (total - half, half)
