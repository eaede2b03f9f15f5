"""Piecewise linear functions: activations are affine maps of ReLUs; maxima of several tensors.

The chains are chosen so that values between two ReLUs keep the bounds of the function:
interval arithmetic on ``hi − relu(hi − z)`` knows that it is at most ``hi``.
"""

from functools import reduce

import numpy as np

from milp_verix.models.onnx.registry import NodeContext, operator
from milp_verix.models.onnx.symbol import (
    Constant,
    Symbol,
    Tensor,
    add,
    as_symbol,
    broadcast,
    join,
    ratio,
    scale,
    times,
)

_STEEP = 2.0**20  # beyond, 1 − slope loses the 1 in float64; two ReLUs lose nothing
# Beyond, end + relu(x − end) loses x; x + relu(end − x) does not. Exporters write the largest
# float32 for an end that does not limit.
_FAR = 2.0**20


@operator("Relu")
def relu(node: NodeContext, x: Tensor) -> Tensor:
    """``max(x, 0)``, elementwise."""
    return node.builder.relu(as_symbol(x))


@operator("LeakyRelu", attributes=("alpha",))
def leaky_relu(node: NodeContext, x: Tensor) -> Tensor:
    """``x`` where it is positive, ``alpha x`` elsewhere: ``alpha x + (1 − alpha) relu(x)``."""
    return _sloped(node, as_symbol(x), np.array(node.number("alpha", 0.01)))


@operator("PRelu")
def prelu(node: NodeContext, x: Tensor, slope: Tensor) -> Tensor:
    """``x`` where it is positive, ``slope x`` elsewhere, with a slope for each element."""
    if isinstance(slope, Symbol):
        raise node.unsupported("its slope depends on the network's input")
    result = _sloped(node, as_symbol(x), slope)
    if result.shape != x.shape:
        raise node.malformed(f"a slope of shape {slope.shape} does not fit an input {x.shape}")
    return result


@operator("Abs")
def abs_(node: NodeContext, x: Tensor) -> Tensor:
    """``|x| = 2 relu(x) − x``."""
    return node.builder.absolute(as_symbol(x))


@operator("Clip", attributes=("min", "max"))
def clip(
    node: NodeContext, x: Tensor, low: Tensor | None = None, high: Tensor | None = None
) -> Tensor:
    """``min(max(x, low), high)``; an end that is not given does not limit."""
    ends = []
    for name, given in (("min", low), ("max", high)):
        end = given
        if given is None and name in node.attributes:
            end = np.array(node.number(name, 0.0))
        if isinstance(end, Symbol) or (end is not None and end.size != 1):
            raise node.unsupported(f"its {name} is not one constant number")
        ends.append(None if end is None else float(end.reshape(-1)[0]))
    return clipped(node, as_symbol(x), *ends)


@operator("HardSigmoid", attributes=("alpha", "beta"))
def hard_sigmoid(node: NodeContext, x: Tensor) -> Tensor:
    """``min(max(alpha x + beta, 0), 1)``."""
    line = scale(as_symbol(x), node.number("alpha", 0.2))
    return clipped(node, add(line, as_symbol(np.array(node.number("beta", 0.5)))), 0.0, 1.0)


@operator("Shrink", attributes=("lambd", "bias"))
def shrink(node: NodeContext, x: Tensor) -> Tensor:
    """``x`` drawn towards zero by ``bias`` beyond ``lambd``, and 0 between.

    ``relu(x − lambd) − relu(−x − lambd)``, and steps of ``lambd − bias`` where these differ.
    """
    threshold = node.number("lambd", 0.5)
    jump = threshold - node.number("bias", 0.0)
    if threshold < 0:
        raise node.unsupported("its lambd is negative")
    shift = as_symbol(np.array(-threshold))
    sides = []
    for side in (as_symbol(x), scale(as_symbol(x), -1.0)):
        beyond = add(side, shift)
        drawn = node.builder.relu(beyond)
        if jump:
            drawn = add(drawn, scale(node.builder.step(beyond, "above"), jump))
        sides.append(drawn)
    return add(sides[0], scale(sides[1], -1.0))


@operator("Max")
def max_(node: NodeContext, *xs: Tensor) -> Tensor:
    """The greatest of any number of tensors, broadcast; constants among them are one ReLU."""
    symbols = [x for x in xs if isinstance(x, Symbol)]
    constants = [x for x in xs if not isinstance(x, Symbol)]
    greatest = _greatest(node, symbols)
    return at_least(node, greatest, reduce(np.maximum, constants)) if constants else greatest


@operator("Min")
def min_(node: NodeContext, *xs: Tensor) -> Tensor:
    """The least of any number of tensors, broadcast; constants among them are one ReLU."""
    symbols = [scale(x, -1.0) for x in xs if isinstance(x, Symbol)]
    constants = [x for x in xs if not isinstance(x, Symbol)]
    least = scale(_greatest(node, symbols), -1.0)
    return at_most(node, least, reduce(np.minimum, constants)) if constants else least


def _sloped(node: NodeContext, x: Symbol, slope: Constant) -> Symbol:
    slope = slope.astype(np.float64)
    if np.any(np.abs(slope) > _STEEP):
        below = node.builder.relu(scale(x, -1.0))
        return add(node.builder.relu(x), scale(times(below, slope), -1.0))
    return add(times(x, slope), times(node.builder.relu(x), 1.0 - slope))


def clipped(node: NodeContext, x: Symbol, low: float | None, high: float | None) -> Symbol:
    """Return ``min(max(x, low), high)``; None does not limit."""
    if low is not None and high is not None and low > high:
        # ONNX takes the maximum first
        return add(scale(x, 0.0), as_symbol(np.array(high)))
    if low is not None:
        x = at_least(node, x, np.array(low))
    return x if high is None else at_most(node, x, np.array(high))


def at_least(node: NodeContext, x: Symbol, low: Constant) -> Symbol:
    """Return ``max(x, low) = low + relu(x − low)``, broadcast."""
    end = as_symbol(low)
    if np.any(np.abs(low) > _FAR):
        return add(x, node.builder.relu(add(end, scale(x, -1.0))))
    return add(end, node.builder.relu(add(x, scale(end, -1.0))))


def at_most(node: NodeContext, x: Symbol, high: Constant) -> Symbol:
    """Return ``min(x, high) = high − relu(high − x)``, broadcast."""
    return scale(at_least(node, scale(x, -1.0), -high.astype(np.float64)), -1.0)


def _greatest(node: NodeContext, xs: list[Symbol]) -> Symbol:
    if len(xs) == 1:
        return xs[0]
    if len(xs) == 2 and ratio(*xs) == -1.0:
        return node.builder.absolute(xs[0])
    shape = np.broadcast_shapes(*(x.shape for x in xs))
    stacked = join([broadcast(as_symbol(x), shape) for x in xs], lambda index: np.stack(index, -1))
    return node.builder.maximum(stacked, stacked.indices)
