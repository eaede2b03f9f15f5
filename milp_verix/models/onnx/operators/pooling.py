"""Pooling and resizing: windows that a kernel sees as it slides over a tensor (N, C, *D).

Max-pooling is a maximum of a window, average pooling an affine map. Enlarging and shrinking go by
the nearest neighbour, or linearly between two along each axis.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from milp_verix.models.onnx.registry import NodeContext, operator
from milp_verix.models.onnx.symbol import Shape, Symbol, Tensor, check_elements
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
    padded = _padded(indices, pads, PADDING)
    if node.integer("ceil_mode", 0):
        each = zip(sizes, pads, extents, strides, strict=True)
        padded = _padded(padded, [(0, _beyond(*one)) for one in each], BEYOND)
    seen = sliding_window_view(padded, extents, axis=tuple(range(2, indices.ndim)))
    steps = (slice(None, None, step) for step in (*strides, *dilations))
    return seen[:, :, *steps]


def _padded(indices: IntArray, pads: Sequence[tuple[int, int]], value: int) -> IntArray:
    sides = [(0, 0), (0, 0), *pads]
    check_elements(tuple(n + sum(side) for n, side in zip(indices.shape, sides, strict=True)))
    return np.pad(indices, sides, constant_values=value)


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


@operator("MaxPool", attributes=(*WINDOW_ATTRIBUTES, "ceil_mode", "storage_order"))
def max_pool(node: NodeContext, x: Tensor) -> Tensor:
    """The greatest value in each window; padding does not count."""
    x = Symbol.of(x)
    return node.builder.maximum(x, _seen(node, x))


@operator("AveragePool", attributes=(*WINDOW_ATTRIBUTES, "ceil_mode", "count_include_pad"))
def average_pool(node: NodeContext, x: Tensor) -> Tensor:
    """The mean of each window; padding counts, as zeros, if ``count_include_pad`` says so."""
    x = Symbol.of(x)
    columns = _seen(node, x)
    counted = columns >= (PADDING if node.integer("count_include_pad", 0) else 0)
    count = counted.sum(axis=-1, keepdims=True)
    if not count.all():
        raise node.malformed("a window sees nothing but padding")
    return x.dot(columns, np.broadcast_to(1 / count, columns.shape))


@operator("GlobalMaxPool", "GlobalAveragePool")
def global_pool(node: NodeContext, x: Tensor) -> Tensor:
    """The greatest value of each channel, or its mean."""
    x = Symbol.of(x)
    if x.ndim < 3 or not x.size:
        raise node.malformed(f"an input of shape {x.shape} has no channels to pool")
    columns = x.indices.reshape(*x.shape[:2], *(1,) * (x.ndim - 2), -1)
    if node.operator == "GlobalMaxPool":
        return node.builder.maximum(x, columns)
    return x.dot(columns, np.full(columns.shape[-1:], 1 / columns.shape[-1]))


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


Positions: TypeAlias = NDArray[np.floating]

# Where the output position i is in an input of n elements that becomes one of m, scaled by s. As
# onnxruntime does, in float32: which neighbour is nearest may hang on the rounding.
_HALF, _ONE = np.float32(0.5), np.float32(1)
_COORDINATES: dict[str, Callable[[Positions, int, int, np.floating], Positions]] = {
    "asymmetric": lambda i, n, m, s: i / s,
    "half_pixel": lambda i, n, m, s: (i + _HALF) / s - _HALF,
    "pytorch_half_pixel": lambda i, n, m, s: (i + _HALF) / s - _HALF if m > 1 else 0 * i,
    "align_corners": lambda i, n, m, s: (
        i * (np.float32(n) - _ONE) / (np.float32(m) - _ONE) if m > 1 else 0 * i
    ),
}

# "round_prefer_ceil" is left out: onnxruntime rounds some halves down.
_NEAREST: dict[str, Callable[[Positions], Positions]] = {
    "round_prefer_floor": lambda v: np.ceil(v - _HALF),
    "floor": np.floor,
    "ceil": np.ceil,
}


@operator("Upsample", attributes=("mode", "scales"))
def upsample(node: NodeContext, x: Tensor, scales: Tensor | None = None) -> Tensor:
    """Every element repeated, ``scales`` times along each dimension, or means of near ones."""
    x, factors = Symbol.of(x), node.numbers("scales") if scales is None else _numbers(node, scales)
    if factors is None or len(factors) != x.ndim or min(factors, default=1) < 1:
        raise node.malformed(f"scales {factors} do not fit an input {x.shape}")
    sizes = [int(np.float32(n) * np.float32(s)) for n, s in zip(x.shape, factors, strict=True)]
    return _resized(node, x, sizes, factors, ("asymmetric", "floor"))


_RESIZING = (
    *("antialias", "axes", "coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside"),
    *("extrapolation_value", "keep_aspect_ratio_policy", "mode", "nearest_mode"),
)


@operator("Resize", attributes=_RESIZING)
def resize(
    node: NodeContext,
    x: Tensor,
    roi: Tensor | None = None,
    scales: Tensor | None = None,
    sizes: Tensor | None = None,
) -> Tensor:
    """The nearest element, or the mean of near ones by distance, by ``scales`` or ``sizes``."""
    x = Symbol.of(x)
    if node.opset < 11:
        return upsample(node, x, roi)  # version 10 is Upsample by another name
    if node.integers("axes") is not None or node.integer("antialias", 0):
        raise node.unsupported("it resizes only some axes, or smooths")
    if node.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise node.unsupported("it keeps the aspect ratio")
    wanted, factors = None, None
    if sizes is not None:
        wanted = node.constant_integers("sizes", sizes)
    if wanted:
        factors = [m / n for m, n in zip(wanted, x.shape, strict=True)]
    elif scales is not None:
        factors = _numbers(node, scales)
        wanted = [int(np.float32(n) * np.float32(s)) for n, s in zip(x.shape, factors, strict=True)]
    if not wanted or not factors or min(wanted) < 1 or min(factors) <= 0:
        raise node.malformed("it has neither scales nor sizes that fit its input")
    coordinates = node.text("coordinate_transformation_mode", "half_pixel")
    rounding = node.text("nearest_mode", "round_prefer_floor")
    return _resized(node, x, wanted, factors, (coordinates, rounding))


def _resized(
    node: NodeContext,
    x: Symbol,
    sizes: Sequence[int],
    factors: Sequence[float],
    modes: tuple[str, str],
) -> Symbol:
    mode = node.text("mode", "nearest")
    coordinates, rounding = _COORDINATES.get(modes[0]), _NEAREST.get(modes[1])
    known = mode == "linear" or (mode == "nearest" and rounding is not None)
    if not known or coordinates is None:
        raise node.unsupported(
            f"it resizes in mode {mode!r} by {modes[0]!r} and {modes[1]!r}; linear and nearest by "
            f"{', '.join(_COORDINATES)} and, of nearest, {', '.join(_NEAREST)} are supported"
        )
    check_elements(tuple(sizes))
    if tuple(sizes) == x.shape:
        return x  # whatever the scales: onnxruntime copies
    places: list[Positions] = []
    for n, m, s in zip(x.shape, sizes, factors, strict=True):
        place = np.arange(m, dtype=np.float32)
        places.append(place if s == 1 else coordinates(place, n, m, np.float32(s)))
    if mode == "linear" or rounding is None:
        for axis, place in enumerate(places):
            x = _between(x, axis, place.astype(np.float64)) if factors[axis] != 1 else x
        return x
    picked: list[IntArray] = [
        np.clip(rounding(place), 0, n - 1).astype(np.intp)
        for place, n in zip(places, x.shape, strict=True)
    ]
    return x.rearrange(lambda index: index[np.ix_(*picked)])


def _between(x: Symbol, axis: int, places: Positions) -> Symbol:
    """Return the means of the neighbours of ``places`` along an axis, by their distances."""
    last = x.shape[axis] - 1
    places = np.clip(places, 0, last)
    low = np.floor(places).astype(np.intp)
    ends = (low, np.minimum(low + 1, last))
    share = (places - low).reshape(-1, *[1] * (x.ndim - 1 - axis))
    columns = np.stack([np.take(x.indices, end, axis) for end in ends], axis=-1)
    return x.dot(columns, np.stack([1.0 - share, share], axis=-1))


def _numbers(node: NodeContext, tensor: Tensor) -> list[float]:
    if isinstance(tensor, Symbol):
        raise node.unsupported("its scales depend on the network's input")
    if tensor.ndim != 1:
        raise node.malformed(f"its scales have shape {tensor.shape}")
    return [float(value) for value in tensor]
