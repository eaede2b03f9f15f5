"""Enlarging and shrinking, by the nearest neighbour or linearly between two along each axis."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from milp_verix.models.onnx.node import NodeContext
from milp_verix.models.onnx.registry import operator
from milp_verix.models.onnx.symbol import Symbol, Tensor, as_symbol, check_elements, dot, rearrange
from verix_encodings.arrays import IntArray

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
    return _repeated(node, as_symbol(x), scales)


@operator(
    "Resize",
    attributes=(
        "antialias",
        "axes",
        "coordinate_transformation_mode",
        "cubic_coeff_a",
        "exclude_outside",
        "extrapolation_value",
        "keep_aspect_ratio_policy",
        "mode",
        "nearest_mode",
    ),
)
def resize(
    node: NodeContext,
    x: Tensor,
    roi: Tensor | None = None,
    scales: Tensor | None = None,
    sizes: Tensor | None = None,
) -> Tensor:
    """The nearest element, or the mean of near ones by distance, by ``scales`` or ``sizes``."""
    x = as_symbol(x)
    if node.opset < 11:
        return _repeated(node, x, roi)  # version 10 is Upsample by another name
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


def _repeated(node: NodeContext, x: Symbol, scales: Tensor | None) -> Symbol:
    factors = node.numbers("scales") if scales is None else _numbers(node, scales)
    if factors is None or len(factors) != x.ndim or min(factors, default=1) < 1:
        raise node.malformed(f"scales {factors} do not fit an input {x.shape}")
    sizes = [int(np.float32(n) * np.float32(s)) for n, s in zip(x.shape, factors, strict=True)]
    return _resized(node, x, sizes, factors, ("asymmetric", "floor"))


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
    return rearrange(x, lambda index: index[np.ix_(*picked)])


def _between(x: Symbol, axis: int, places: Positions) -> Symbol:
    """Return the means of the neighbours of ``places`` along an axis, by their distances."""
    last = x.shape[axis] - 1
    places = np.clip(places, 0, last)
    low = np.floor(places).astype(np.intp)
    ends = (low, np.minimum(low + 1, last))
    share = (places - low).reshape(-1, *[1] * (x.ndim - 1 - axis))
    columns = np.stack([np.take(x.indices, end, axis) for end in ends], axis=-1)
    return dot(x, columns, np.stack([1.0 - share, share], axis=-1))


def _numbers(node: NodeContext, tensor: Tensor) -> list[float]:
    if isinstance(tensor, Symbol):
        raise node.unsupported("its scales depend on the network's input")
    if tensor.ndim != 1:
        raise node.malformed(f"its scales have shape {tensor.shape}")
    return [float(value) for value in tensor]
