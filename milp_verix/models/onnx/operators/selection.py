"""Operators that reshape, order, split and join tensors: each element is one of the inputs'."""

from math import prod

import numpy as np

from milp_verix.models.onnx.operators.norms import concatenated
from milp_verix.models.onnx.registry import NodeContext, operator
from milp_verix.models.onnx.symbol import Shape, Symbol, Tensor, check_elements
from verix_encodings.arrays import IntArray


@operator("Identity", keeps_scores=True)
def identity(node: NodeContext, x: Tensor) -> Tensor:
    """The tensor itself."""
    return x


@operator("Dropout", attributes=("ratio", "seed", "is_test"), keeps_scores=True)
def dropout(
    node: NodeContext, x: Tensor, ratio: Tensor | None = None, training: Tensor | None = None
) -> Tensor:
    """The tensor itself: dropout does nothing at inference, and training is refused."""
    # Before opset 7 the operator trained unless told otherwise; from 12 on, an input says so.
    inference = node.opset >= 7 or node.integer("is_test", 0)
    if isinstance(training, Symbol) or (training is not None and training.any()) or not inference:
        raise node.unsupported("it is in training mode; export the model in eval mode")
    return x


@operator("Shape", attributes=("start", "end"), keeps_scores=True)
def shape(node: NodeContext, x: Tensor) -> Tensor:
    """The dimensions of the tensor: a constant."""
    end = node.integer("end", x.ndim)
    return np.array(x.shape[node.integer("start", 0) : end], dtype=np.int64)


@operator("Size", keeps_scores=True)
def size(node: NodeContext, x: Tensor) -> Tensor:
    """The number of elements: a constant."""
    return np.array(x.size, dtype=np.int64)


@operator("Flatten", attributes=("axis",), keeps_scores=True)
def flatten(node: NodeContext, x: Tensor) -> Tensor:
    """A matrix: dimensions before ``axis`` become its rows, the others its columns."""
    axis = node.integer("axis", 1)
    if not -x.ndim <= axis <= x.ndim:
        raise node.malformed(f"axis {axis} is not one of a tensor of shape {x.shape}")
    rows = prod(x.shape[: axis if axis >= 0 else x.ndim + axis])
    return Symbol.of(x).rearrange(lambda index: index.reshape(rows, index.size // rows))


@operator("Reshape", attributes=("shape", "allowzero"), keeps_scores=True)
def reshape(node: NodeContext, x: Tensor, shape: Tensor | None = None) -> Tensor:
    """The same elements in another shape: 0 keeps a dimension, -1 stands for the remaining size."""
    dims = node.constant_integers("shape", shape)
    if dims is None or any(dim < -1 for dim in dims):
        raise node.malformed(f"its shape is {dims}")
    if not node.integer("allowzero", 0):
        dims = [dim or x.shape[axis] for axis, dim in enumerate(dims)]
    return Symbol.of(x).rearrange(lambda index: index.reshape(dims))


@operator("Transpose", attributes=("perm",))
def transpose(node: NodeContext, x: Tensor) -> Tensor:
    """The dimensions in another order, by default reversed."""
    return Symbol.of(x).rearrange(lambda index: index.transpose(node.integers("perm")))


@operator("Squeeze", attributes=("axes",), keeps_scores=True)
def squeeze(node: NodeContext, x: Tensor, axes: Tensor | None = None) -> Tensor:
    """The tensor without the dimensions ``axes``, by default all that are 1."""
    dropped: Shape | None = tuple(node.constant_integers("axes", axes) or ()) or None
    return Symbol.of(x).rearrange(lambda index: np.squeeze(index, dropped))


@operator("Unsqueeze", attributes=("axes",), keeps_scores=True)
def unsqueeze(node: NodeContext, x: Tensor, axes: Tensor | None = None) -> Tensor:
    """The tensor with dimensions of 1 put in at ``axes`` of the result."""
    added = node.constant_integers("axes", axes)
    if added is None:
        raise node.malformed("it has no axes")
    return Symbol.of(x).rearrange(lambda index: np.expand_dims(index, tuple(added)))


_PAD_MODES = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "wrap"}


@operator("Concat", attributes=("axis",), of_scores=concatenated)
def concat(node: NodeContext, *xs: Tensor) -> Tensor:
    """The tensors one after the other along ``axis``."""
    axis = node.integer("axis", 1)
    return Symbol.join([Symbol.of(x) for x in xs], lambda indices: np.concatenate(indices, axis))


@operator("Split", attributes=("axis", "split", "num_outputs"))
def split(node: NodeContext, x: Tensor, split: Tensor | None = None) -> tuple[Tensor, ...]:
    """The parts of the tensor along ``axis``: of the sizes given, or equal but for the last."""
    x, axis = Symbol.of(x), node.axis(node.integer("axis", 0), x.shape)
    size, count = x.shape[axis], len(node.outputs)
    parts = node.constant_integers("split", split)
    if parts is None:
        length = -(-size // count)
        parts = [min(length, size - k * length) for k in range(count)]
    if len(parts) != count or sum(parts) != size or min(parts) < 0:
        raise node.malformed(f"parts of sizes {parts} do not make up {size} in {count} outputs")
    starts = np.cumsum([0, *parts])
    return tuple(
        _taken(x, np.arange(start, start + length), axis)
        for start, length in zip(starts, parts, strict=False)
    )


@operator("Slice", attributes=("starts", "ends", "axes"))
def slice_(  # noqa: PLR0917 (the inputs of the node)
    node: NodeContext,
    x: Tensor,
    starts: Tensor | None = None,
    ends: Tensor | None = None,
    axes: Tensor | None = None,
    steps: Tensor | None = None,
) -> Tensor:
    """Every ``steps``-th element from ``starts`` to before ``ends`` along ``axes``."""
    x = Symbol.of(x)
    first, last = node.constant_integers("starts", starts), node.constant_integers("ends", ends)
    if first is None or last is None:
        raise node.malformed("it has no starts or no ends")
    along = node.constant_integers("axes", axes) or list(range(len(first)))
    step = node.constant_integers("steps", steps) or [1] * len(first)
    if not len(first) == len(last) == len(along) == len(step):
        raise node.malformed(f"{len(first)} starts, {len(last)} ends, {len(along)} axes")
    for axis, start, end, stride in zip(along, first, last, step, strict=True):
        if not -x.ndim <= axis < x.ndim or not stride:
            raise node.malformed(f"axis {axis} with step {stride} of a tensor of shape {x.shape}")
        x = _taken(x, _range(x.shape[axis], start, end, stride), axis)
    return x


def _range(size: int, start: int, end: int, step: int) -> IntArray:
    """Return the indices that a slice takes; unlike Python's, an end may be before the first."""
    lowest, highest = (0, size) if step > 0 else (-1, size - 1)
    first = start + size if start < 0 else start
    last = end + size if end < 0 else end
    return np.arange(np.clip(first, max(lowest, 0), highest), np.clip(last, lowest, highest), step)


@operator("Gather", attributes=("axis",))
def gather(node: NodeContext, x: Tensor, indices: Tensor) -> Tensor:
    """The elements at ``indices`` along ``axis``."""
    if isinstance(indices, Symbol) or not isinstance(x, Symbol):
        raise node.unsupported("its indices depend on the network's input")
    if indices.dtype.kind not in "iu":
        raise node.malformed("its indices are not integers")
    return _taken(x, indices, node.axis(node.integer("axis", 0), x.shape))


@operator("Pad", attributes=("mode", "pads", "value", "paddings"))
def pad(
    node: NodeContext,
    x: Tensor,
    pads: Tensor | None = None,
    value: Tensor | None = None,
    axes: Tensor | None = None,
) -> Tensor:
    """The tensor with a constant, its edge or its mirror image around it; cut where negative."""
    x, mode = Symbol.of(x), node.text("mode", "constant")
    along = [a % x.ndim for a in node.constant_integers("axes", axes) or range(x.ndim)]
    given = node.constant_integers("pads", pads)
    if given is None or len(given) != 2 * len(along) or mode not in _PAD_MODES:
        raise node.malformed(f"pads {given} in mode {mode!r} do not fit an input {x.shape}")
    sides = [(0, 0)] * x.ndim
    for axis, before, after in zip(along, given, given[len(along) :], strict=False):
        sides[axis] = (before, after)
    check_elements(tuple(n + sum(side) for n, side in zip(x.shape, sides, strict=True)))
    grown = [(max(before, 0), max(after, 0)) for before, after in sides]
    cut = tuple(
        slice(max(-before, 0), n - max(-after, 0))
        for n, (before, after) in zip(x.shape, sides, strict=True)
    )
    if mode != "constant":
        return x.rearrange(lambda index: np.pad(index[cut], grown, mode=_PAD_MODES[mode]))  # type: ignore[call-overload]
    filling = Symbol.of(np.array(node.number("value", 0.0)) if value is None else value)
    if filling.size != 1 or filling.terms:
        raise node.unsupported("its filling is not one constant number")
    return Symbol.join(
        [x, filling],
        lambda indices: np.pad(indices[0][cut], grown, constant_values=indices[1].item()),
    )


@operator("Expand")
def expand(node: NodeContext, x: Tensor, shape: Tensor) -> Tensor:
    """The tensor broadcast together with ``shape``."""
    x, dims = Symbol.of(x), node.constant_integers("shape", shape) or []
    check_elements(tuple(dims))
    return x.broadcast(np.broadcast_shapes(x.shape, tuple(dims)))


@operator("Tile")
def tile(node: NodeContext, x: Tensor, repeats: Tensor) -> Tensor:
    """The tensor repeated along each dimension."""
    x, counts = Symbol.of(x), node.constant_integers("repeats", repeats) or []
    if len(counts) != x.ndim or min(counts, default=1) < 1:
        raise node.malformed(f"repeats {counts} do not fit an input {x.shape}")
    check_elements((x.size * prod(counts),))
    return x.rearrange(lambda index: np.tile(index, counts))


@operator("DepthToSpace", attributes=("blocksize", "mode"))
def depth_to_space(node: NodeContext, x: Tensor) -> Tensor:
    """Channels moved into blocks of pixels."""
    x, block = Symbol.of(x), node.integer("blocksize", 0)
    if x.ndim != 4 or block < 1 or x.shape[1] % block**2:
        raise node.malformed(f"blocks of {block} do not fit an input {x.shape}")
    n, c, h, w = x.shape
    c //= block**2
    if node.text("mode", "DCR") == "CRD":
        shape, order = (n, c, block, block, h, w), (0, 1, 4, 2, 5, 3)
    else:
        shape, order = (n, block, block, c, h, w), (0, 3, 4, 1, 5, 2)
    result = (n, c, h * block, w * block)
    return x.rearrange(lambda index: index.reshape(shape).transpose(order).reshape(result))


@operator("SpaceToDepth", attributes=("blocksize",))
def space_to_depth(node: NodeContext, x: Tensor) -> Tensor:
    """Blocks of pixels moved into channels."""
    x, block = Symbol.of(x), node.integer("blocksize", 0)
    if x.ndim != 4 or block < 1 or x.shape[2] % block or x.shape[3] % block:
        raise node.malformed(f"blocks of {block} do not fit an input {x.shape}")
    n, c, h, w = x.shape
    shape, order = (n, c, h // block, block, w // block, block), (0, 3, 5, 1, 2, 4)
    result = (n, c * block**2, h // block, w // block)
    return x.rearrange(lambda index: index.reshape(shape).transpose(order).reshape(result))


def _taken(x: Symbol, indices: IntArray, axis: int) -> Symbol:
    check_elements((x.size // max(x.shape[axis], 1) * indices.size,))
    return x.rearrange(lambda index: np.take(index, indices, axis))
