"""Sums, means, maxima and minima over some dimensions of a tensor."""

from collections.abc import Callable
from math import prod

import numpy as np

from milp_verix.models.onnx.node import NodeContext
from milp_verix.models.onnx.registry import operator
from milp_verix.models.onnx.symbol import Shape, Symbol, Tensor, as_symbol, dot, rearrange, scale
from verix_encodings.arrays import IntArray

REDUCTION = ("axes", "keepdims", "noop_with_empty_axes")
"""The attributes of every reduction."""


@operator("ReduceSum", attributes=REDUCTION)
def reduce_sum(node: NodeContext, x: Tensor, axes: Tensor | None = None) -> Tensor:
    """The sum over ``axes``."""
    return reduced(node, x, axes, lambda x, columns: dot(x, columns, np.ones(columns.shape[-1])))


@operator("ReduceMean", attributes=REDUCTION)
def reduce_mean(node: NodeContext, x: Tensor, axes: Tensor | None = None) -> Tensor:
    """The mean over ``axes``."""

    def mean(x: Symbol, columns: IntArray) -> Symbol:
        count = columns.shape[-1]
        return dot(x, columns, np.full(count, 1 / count))

    return reduced(node, x, axes, mean)


@operator("ReduceMax", attributes=REDUCTION)
def reduce_max(node: NodeContext, x: Tensor, axes: Tensor | None = None) -> Tensor:
    """The greatest value over ``axes``."""
    return reduced(node, x, axes, node.builder.maximum)


@operator("ReduceMin", attributes=REDUCTION)
def reduce_min(node: NodeContext, x: Tensor, axes: Tensor | None = None) -> Tensor:
    """The least value over ``axes``."""
    negative = scale(as_symbol(x), -1.0)
    return scale(as_symbol(reduced(node, negative, axes, node.builder.maximum)), -1.0)


@operator("CumSum", attributes=("exclusive", "reverse"))
def cumulative_sum(node: NodeContext, x: Tensor, axis: Tensor) -> Tensor:
    """The sums of the values up to each along ``axis``, or from each on; with it or without."""
    x = as_symbol(x)
    (given,) = reduced_axes(node, x.shape, axis)
    length = x.shape[given]
    weights = np.tri(length, k=-1 if node.integer("exclusive", 0) else 0)
    weights = weights[::-1, ::-1] if node.integer("reverse", 0) else weights
    columns = np.moveaxis(x.indices, given, -1)
    found = dot(x, columns[..., None, :], weights)
    return rearrange(found, lambda index: np.moveaxis(index, -1, given))


def reduced_axes(node: NodeContext, shape: Shape, given: object) -> list[int]:
    """Return the axes of a tensor of ``shape`` that ``node`` reduces, ascending.

    ``given`` is the input that holds them, None where there is none.
    """
    listed = node.constant_integers("axes", given)
    if not listed and node.integer("noop_with_empty_axes", 0):
        return []
    axes = listed or range(len(shape))
    if any(not -len(shape) <= axis < len(shape) for axis in axes):
        raise node.malformed(f"axes {listed} are not those of a tensor of shape {shape}")
    return sorted({axis % len(shape) for axis in axes})


def reduced(
    node: NodeContext,
    x: Tensor,
    given: Tensor | None,
    operation: Callable[[Symbol, IntArray], Symbol],
    *,
    single: bool = False,
) -> Symbol:
    """Return ``operation`` of ``x`` and the elements that it takes together, in the last axis.

    Over no axes it is ``x`` itself; if ``single``, the operation of each element.
    """
    x = as_symbol(x)
    axes = reduced_axes(node, x.shape, given)
    if not axes:
        return operation(x, x.indices[..., None]) if single else x
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    width = prod(x.shape[axis] for axis in axes)
    if not width:
        raise node.malformed(f"it reduces nothing: a tensor of shape {x.shape}")
    keep = node.integer("keepdims", 1)
    shape = [1 if axis in axes else x.shape[axis] for axis in range(x.ndim) if keep or axis in kept]
    return operation(x, x.indices.transpose(*kept, *axes).reshape(*shape, width))
