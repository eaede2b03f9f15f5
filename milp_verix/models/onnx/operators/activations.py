"""Functions of values, piecewise linear, in jumps or smooth, maxima of tensors, and comparisons.

Activations are chains of ReLUs, chosen so that values between two of them keep the bounds of the
function: interval arithmetic on ``hi − relu(hi − z)`` knows that it is at most ``hi``. A truth
value is the number 0 or 1. A smooth function or a power is a node, which programs enclose.
"""

from collections.abc import Callable
from functools import reduce

import numpy as np
import onnx

from milp_verix.models.onnx.builder import Builder
from milp_verix.models.onnx.model_file import FLOAT_TYPES
from milp_verix.models.onnx.operators.products import multiply, reciprocal
from milp_verix.models.onnx.registry import NodeContext, OperatorFunction, operator
from milp_verix.models.onnx.symbol import Constant, Symbol, Tensor
from verix_encodings.arrays import IntArray
from verix_encodings.bounds import curves
from verix_encodings.bounds.curves import SmoothFunction, power

_STEEP = 2.0**20  # beyond, 1 − slope loses the 1 in float64; two ReLUs lose nothing
# Beyond, end + relu(x − end) loses x; x + relu(end − x) does not. Exporters write the largest
# float32 for an end that does not limit.
_FAR = 2.0**20


_OF_ONE: dict[str, tuple[Callable[[Builder, Symbol], Symbol], str]] = {
    "Relu": (Builder.relu, "``max(x, 0)``, elementwise."),
    "Abs": (Builder.absolute, "``|x| = 2 relu(x) − x``."),
    "Neg": (lambda _, x: -x, "``-x``."),
    "Not": (lambda builder, x: builder.truth(1.0 - x), "``1 − x``."),
    "Floor": (
        lambda builder, x: builder.step(x, "floor"),
        "The greatest whole number that is not above.",
    ),
    "Ceil": (
        lambda builder, x: -builder.step(-x, "floor"),
        "The least whole number that is not below: ``−⌊−x⌋``.",
    ),
    "Round": (
        lambda builder, x: builder.step(x, "round"),
        "The nearest whole number, the even one of two.",
    ),
    "Sign": (
        lambda builder, x: builder.step(x, "above") - builder.step(-x, "above"),
        "1, 0 or −1: two steps.",
    ),
    "Sqrt": (Builder.root, "The square root; of a mean of squares it is a norm."),
    "Reciprocal": (reciprocal, "``1 / x``."),
}
"""Functions of one tensor without attributes."""


def _of_one(of: Callable[[Builder, Symbol], Symbol], text: str) -> OperatorFunction:
    def function(node: NodeContext, x: Tensor) -> Tensor:
        return of(node.builder, Symbol.of(x))

    function.__doc__ = text
    return function


for _name, _entry in _OF_ONE.items():
    operator(_name)(_of_one(*_entry))


@operator("LeakyRelu", attributes=("alpha",))
def leaky_relu(node: NodeContext, x: Tensor) -> Tensor:
    """``x`` where it is positive, ``alpha x`` elsewhere: ``alpha x + (1 − alpha) relu(x)``."""
    return _sloped(node, Symbol.of(x), np.array(node.number("alpha", 0.01)))


@operator("PRelu")
def prelu(node: NodeContext, x: Tensor, slope: Tensor) -> Tensor:
    """``x`` where it is positive, ``slope x`` elsewhere, with a slope for each element."""
    if isinstance(slope, Symbol):
        raise node.unsupported("its slope depends on the network's input")
    result = _sloped(node, Symbol.of(x), slope)
    if result.shape != x.shape:
        raise node.malformed(f"a slope of shape {slope.shape} does not fit an input {x.shape}")
    return result


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
    return clipped(node, Symbol.of(x), *ends)


@operator("HardSigmoid", attributes=("alpha", "beta"))
def hard_sigmoid(node: NodeContext, x: Tensor) -> Tensor:
    """``min(max(alpha x + beta, 0), 1)``."""
    line = Symbol.of(x) * node.number("alpha", 0.2)
    return clipped(node, line + node.number("beta", 0.5), 0.0, 1.0)


@operator("Shrink", attributes=("lambd", "bias"))
def shrink(node: NodeContext, x: Tensor) -> Tensor:
    """``x`` drawn towards zero by ``bias`` beyond ``lambd``, and 0 between.

    ``relu(x − lambd) − relu(−x − lambd)``, and steps of ``lambd − bias`` where these differ.
    """
    threshold = node.number("lambd", 0.5)
    jump = threshold - node.number("bias", 0.0)
    if threshold < 0:
        raise node.unsupported("its lambd is negative")

    def drawn(side: Symbol) -> Symbol:
        beyond = side - threshold
        line = node.builder.relu(beyond)
        return line + node.builder.step(beyond, "above") * jump if jump else line

    return drawn(Symbol.of(x)) - drawn(-Symbol.of(x))


@operator("Max")
def greatest(node: NodeContext, *xs: Tensor) -> Symbol:
    """The greatest of any number of tensors, broadcast; constants among them are one ReLU."""
    symbols = [x for x in xs if isinstance(x, Symbol)]
    constants = [x for x in xs if not isinstance(x, Symbol)]
    greatest = symbols[0]
    if len(symbols) == 2 and symbols[0].ratio(symbols[1]) == -1.0:
        greatest = node.builder.absolute(greatest)
    elif len(symbols) > 1:
        shape = np.broadcast_shapes(*(x.shape for x in symbols))
        wide = [x.broadcast(shape) for x in symbols]
        stacked = Symbol.join(wide, lambda index: np.stack(index, -1))
        greatest = node.builder.maximum(stacked, stacked.indices)
    return at_least(node, greatest, reduce(np.maximum, constants)) if constants else greatest


@operator("Min")
def min_(node: NodeContext, *xs: Tensor) -> Tensor:
    """The least of any number of tensors, broadcast; constants among them are one ReLU."""
    opposite = [-x if isinstance(x, Symbol) else -x.astype(np.float64) for x in xs]
    return -greatest(node, *opposite)


def _sloped(node: NodeContext, x: Symbol, slope: Constant) -> Symbol:
    slope = slope.astype(np.float64)
    if np.any(np.abs(slope) > _STEEP):
        below = node.builder.relu(-x)
        return node.builder.relu(x) - below * slope
    return x * slope + node.builder.relu(x) * (1.0 - slope)


def clipped(node: NodeContext, x: Symbol, low: float | None, high: float | None) -> Symbol:
    """Return ``min(max(x, low), high)``; None does not limit."""
    if low is not None and high is not None and low > high:
        # ONNX takes the maximum first
        return x * 0.0 + high
    if low is not None:
        x = at_least(node, x, np.array(low))
    return x if high is None else at_most(node, x, np.array(high))


def at_least(node: NodeContext, x: Symbol, low: Constant) -> Symbol:
    """Return ``max(x, low) = low + relu(x − low)``, broadcast."""
    end = Symbol.of(low)
    if np.any(np.abs(low) > _FAR):
        return x + node.builder.relu(end - x)
    return end + node.builder.relu(x - end)


def at_most(node: NodeContext, x: Symbol, high: Constant) -> Symbol:
    """Return ``min(x, high) = high − relu(high − x)``, broadcast."""
    return -at_least(node, -x, -high.astype(np.float64))


_WHOLE_TYPES = [onnx.TensorProto.DataType.Value(f"INT{bits}") for bits in (8, 16, 32, 64)]


@operator("ThresholdedRelu", attributes=("alpha",))
def thresholded_relu(node: NodeContext, x: Tensor) -> Tensor:
    """``x`` where it is above ``alpha``, 0 elsewhere: a ReLU of ``x − alpha``, and its step."""
    alpha = node.number("alpha", 1.0)
    beyond = Symbol.of(x) - alpha
    return node.builder.relu(beyond) + node.builder.step(beyond, "above") * alpha


@operator("Greater", "GreaterOrEqual", "Less", "LessOrEqual")
def compare(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """The truth of a comparison: a step of the difference."""
    one, other = (a, b) if node.operator.startswith("Greater") else (b, a)
    form = "reached" if node.operator.endswith("Equal") else "above"
    gap = Symbol.of(one) - other
    return node.builder.truth(node.builder.step(gap, form))


@operator("Equal")
def equal(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """The truth of an equation: neither is above the other."""
    return _is_zero(node, Symbol.of(a) - b)


def _is_zero(node: NodeContext, x: Symbol) -> Symbol:
    above, below = (node.builder.step(side, "reached") for side in (x, -x))
    return node.builder.truth(above + below - 1.0)


@operator("And", "Or", "Xor")
def combine(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """Both: ``relu(a + b − 1)``; one at least: ``a + b`` less that; one alone: less it twice."""
    one, other = (Symbol.of(x if isinstance(x, Symbol) else x.astype(float)) for x in (a, b))
    total = one + other
    both = node.builder.relu(total - 1.0)
    if node.operator == "And":
        return node.builder.truth(both)
    return node.builder.truth(total + both * (-1.0 if node.operator == "Or" else -2.0))


@operator("Where")
def where(node: NodeContext, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """``a`` where the condition is true, ``b`` elsewhere."""
    shape = np.broadcast_shapes(condition.shape, a.shape, b.shape)
    one, other = Symbol.of(a), Symbol.of(b)
    if not isinstance(condition, Symbol):
        chosen = np.broadcast_to(condition.astype(bool), shape)

        def pick(indices: list[IntArray]) -> IntArray:
            return np.where(chosen, *(np.broadcast_to(index, shape) for index in indices))

        return Symbol.join([one, other], pick)
    gap = one - other
    if gap.terms:
        return other + multiply(node.builder, condition, gap)
    return other + condition.broadcast(shape) * gap.bias.reshape(gap.shape)


@operator("Cast", attributes=("to", "saturate", "round_mode"), keeps_scores=True)
def cast(node: NodeContext, x: Tensor) -> Tensor:
    """The tensor itself to a floating-point type, which in real arithmetic is no restriction.

    To integers, it is cut towards zero; to truth values, it is whether it is not zero.
    """
    to, x = node.integer("to", 0), Symbol.of(x)
    if to in FLOAT_TYPES or (
        to in (*_WHOLE_TYPES, onnx.TensorProto.BOOL) and x.token in node.builder.truths
    ):
        return x
    if x.tail is not None:
        raise node.unsupported("a cast of scores to anything but a floating-point type rounds")
    if to == onnx.TensorProto.BOOL:
        return node.builder.truth(1.0 - _is_zero(node, x))
    if to not in _WHOLE_TYPES:
        raise node.unsupported("it casts to a type that is neither floating-point nor signed")
    if node.builder.is_whole(x):
        return x
    sides = (node.builder.relu(side) for side in (x, -x))
    low, high = (node.builder.step(side, "floor") for side in sides)
    return low - high


_SMOOTH = ("Cos", "Erf", "Exp", "Mish", "Sin", "Softplus", "Softsign", "Tanh")
_PLAIN: dict[str, SmoothFunction] = {name: getattr(curves, name.upper()) for name in _SMOOTH}


@operator(*_PLAIN)
def curve(node: NodeContext, x: Tensor) -> Tensor:
    """A smooth function of each value, without attributes."""
    return node.builder.smooth(Symbol.of(x), _PLAIN[node.operator])


@operator("Log")
def log(node: NodeContext, x: Tensor) -> Tensor:
    """The natural logarithm; ``log(1 + exp(x))`` is a softplus."""
    x = Symbol.of(x)
    line = x.line
    known = None if line is None else node.builder.argument(line[0])
    if line is not None and line[1:] == (1.0, 1.0) and known is not None and known[0] is curves.EXP:
        return node.builder.smooth(known[1], curves.SOFTPLUS)
    return node.builder.smooth(x, curves.LOG)


@operator("Pow")
def pow_(node: NodeContext, x: Tensor, exponent: Tensor) -> Tensor:
    """``x`` to a constant power; another constant for each element is refused."""
    if isinstance(exponent, Symbol):
        raise node.unsupported("its exponent depends on the network's input")
    x, exponents = Symbol.of(x), np.unique(exponent.astype(np.float64))
    if exponents.size != 1:
        raise node.unsupported("its exponents are not one number")
    shape, a = np.broadcast_shapes(x.shape, exponent.shape), float(exponents[0])
    if shape != x.shape:
        x = x * np.ones(shape)
    if a == 1.0:
        return x
    if a == 0.0:
        return x * 0.0 + 1.0
    if a == 0.5:
        return node.builder.root(x)
    if a == -0.5:
        return reciprocal(node.builder, node.builder.root(x))
    return reciprocal(node.builder, x) if a == -1.0 else node.builder.smooth(x, power(a))


@operator("HardSwish")
def hard_swish(node: NodeContext, x: Tensor) -> Tensor:
    """``x min(max(x / 6 + 1 / 2, 0), 1)``.

    With ``c = min(max(x, −3), 3)`` it is ``((c + 3 / 2)² − 9 / 4) / 6 + relu(x − 3)``.
    """
    x, three = Symbol.of(x), np.array(3.0)
    clipped = at_most(node, at_least(node, x, -three), three)
    squared = node.builder.smooth(clipped + three / 2, curves.SQUARE)
    beyond = node.builder.relu(x - three)
    return (squared - 2.25) * (1.0 / 6.0) + beyond


@operator("Gelu", attributes=("approximate",))
def gelu(node: NodeContext, x: Tensor) -> Tensor:
    """``x Φ(x)``, or its approximation by tanh."""
    form = node.text("approximate", "none")
    if form not in ("none", "tanh"):
        raise node.malformed(f"attribute 'approximate' is {form!r}, neither 'none' nor 'tanh'")
    return node.builder.smooth(Symbol.of(x), curves.GELU if form == "none" else curves.GELU_TANH)


@operator("Swish", attributes=("alpha",))
def swish(node: NodeContext, x: Tensor) -> Tensor:
    """``x sigmoid(alpha x) = silu(alpha x) / alpha``."""
    alpha = node.number("alpha", 1.0)
    if alpha == 0:
        return Symbol.of(x) * 0.5
    return node.builder.smooth(Symbol.of(x) * alpha, curves.SILU) * (1.0 / alpha)


@operator("Elu", attributes=("alpha",))
def elu(node: NodeContext, x: Tensor) -> Tensor:
    """``x`` where it is positive, ``alpha (exp(x) − 1)`` elsewhere."""
    return _elu(node, Symbol.of(x), node.number("alpha", 1.0))


@operator("Selu", attributes=("alpha", "gamma"))
def selu(node: NodeContext, x: Tensor) -> Tensor:
    """``gamma elu(x)`` with an ``alpha`` of its own."""
    alpha = node.number("alpha", 1.67326319217681884765625)
    gamma = node.number("gamma", 1.05070102214813232421875)
    return _elu(node, Symbol.of(x), alpha) * gamma


@operator("Celu", attributes=("alpha",))
def celu(node: NodeContext, x: Tensor) -> Tensor:
    """``alpha elu(x / alpha)``, which has a continuous slope."""
    alpha = node.number("alpha", 1.0)
    if alpha == 0:
        raise node.malformed("attribute 'alpha' is zero")
    return node.builder.smooth(Symbol.of(x) * (1.0 / alpha), curves.ELU) * alpha


def _elu(node: NodeContext, x: Symbol, alpha: float) -> Symbol:
    """``α elu₁(x) + (1 − α) relu(x)``: the kink at zero belongs to the ReLU."""
    smooth = node.builder.smooth(x, curves.ELU) * alpha
    return smooth if alpha == 1.0 else smooth + node.builder.relu(x) * (1.0 - alpha)
