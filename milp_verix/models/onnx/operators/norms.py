"""Sums, means, maxima, minima and norms over dimensions, and tensors divided by norms."""

from collections.abc import Callable
from math import prod

import numpy as np

from milp_verix.models.onnx.builder import Builder
from milp_verix.models.onnx.operators.products import quotient
from milp_verix.models.onnx.registry import NodeContext, operator
from milp_verix.models.onnx.symbol import (
    Shape,
    Symbol,
    Tensor,
    add,
    as_symbol,
    centred,
    dot,
    rearrange,
    scale,
    times,
)
from verix_encodings.arrays import IntArray
from verix_encodings.bounds.curves import EXP, LOG, SQUARE

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


def summed(x: Symbol, columns: IntArray) -> Symbol:
    """Return the sums of the elements of ``x`` at ``columns``, along its last axis."""
    return dot(x, columns, np.ones(columns.shape[-1]))


def norm(builder: Builder, x: Symbol, columns: IntArray, form: str) -> Symbol:
    """Return a norm of the elements at ``columns``, along its last axis.

    It is L1, L2 or MAX, the greatest element, as ONNX has it for its Normalizer.
    """
    if form == "MAX":
        return builder.maximum(x, columns)
    if form == "L2":
        return builder.root(summed(builder.smooth(x, SQUARE), columns))
    return summed(builder.absolute(x), columns)


def by_norm(node: NodeContext, x: Symbol, form: str, axis: int) -> Symbol:
    """Return ``x`` divided by its norm along ``axis``."""
    if not -x.ndim <= axis < x.ndim:
        raise node.malformed(f"axis {axis} is not one of a tensor of shape {x.shape}")
    if form not in ("L1", "L2", "MAX"):
        raise node.malformed(f"norm is {form!r}")
    columns = np.moveaxis(np.expand_dims(x.indices, -1), axis % x.ndim, -1)
    columns = np.moveaxis(columns, -2, axis % x.ndim)
    lengths = norm(node.builder, x, columns, form)
    return quotient(node.builder, x, lengths)


@operator("LpNormalization", attributes=("axis", "p"))
def lp_normalization(node: NodeContext, x: Tensor) -> Tensor:
    """The values divided by their norm along ``axis``."""
    p = node.integer("p", 2)
    return by_norm(node, as_symbol(x), f"L{p}", node.integer("axis", -1))


_REDUCED: dict[str, Callable[[Builder, Symbol, IntArray], Symbol]] = {
    "ReduceL1": lambda builder, x, columns: norm(builder, x, columns, "L1"),
    "ReduceL2": lambda builder, x, columns: norm(builder, x, columns, "L2"),
    "ReduceSumSquare": lambda builder, x, columns: summed(builder.smooth(x, SQUARE), columns),
    "ReduceLogSum": lambda builder, x, columns: builder.smooth(summed(x, columns), LOG),
    "ReduceLogSumExp": lambda builder, x, columns: builder.smooth(
        summed(builder.smooth(x, EXP), columns), LOG
    ),
}


@operator(*_REDUCED, attributes=REDUCTION)
def reduce_norm(node: NodeContext, x: Tensor, axes: Tensor | None = None) -> Tensor:
    """A norm, or another sum, of the values over ``axes``."""
    form = _REDUCED[node.operator]
    return reduced(node, x, axes, lambda x, columns: form(node.builder, x, columns), single=True)


def standardised(
    builder: Builder, x: Symbol, axes: tuple[int, ...], epsilon: float, *, centre: bool = True
) -> Symbol:
    """Return ``(x − mean) / √(variance + ε)`` over ``axes``; without ``centre``, by the squares."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    shape = tuple(1 if axis in axes else x.shape[axis] for axis in range(x.ndim))
    columns = x.indices.transpose(*kept, *axes).reshape(*shape, -1)
    weights = np.full(columns.shape[-1], 1.0 / columns.shape[-1])
    x = centred(x, axes) if centre else x
    variance = dot(builder.smooth(x, SQUARE), columns, weights)
    shifted = add(variance, as_symbol(np.array(epsilon)))
    return quotient(builder, x, builder.root(shifted))


def affine_by(x: Symbol, gain: Tensor | None, shift: Tensor | None) -> Symbol:
    """Return ``gain x + shift`` of constants, broadcast."""
    result = x if gain is None else times(x, np.asarray(gain))
    return result if shift is None else add(result, as_symbol(shift))
