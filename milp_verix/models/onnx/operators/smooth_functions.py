"""Smooth functions of one variable, and powers: one node of the network for each.

Programs enclose them instead of computing them.
"""

import numpy as np

from milp_verix.models.onnx.operators.activations import at_least, at_most
from milp_verix.models.onnx.operators.products import reciprocal
from milp_verix.models.onnx.registry import NodeContext, operator
from milp_verix.models.onnx.symbol import Symbol, Tensor, as_line, as_symbol
from verix_encodings.bounds.curves import (
    COS,
    ELU,
    ERF,
    EXP,
    GELU,
    GELU_TANH,
    LOG,
    MISH,
    SILU,
    SIN,
    SOFTPLUS,
    SOFTSIGN,
    SQUARE,
    TANH,
    power,
)

_CURVES = (COS, ERF, EXP, MISH, SIN, SOFTPLUS, SOFTSIGN, TANH)
_PLAIN = {function.name.capitalize(): function for function in _CURVES}


@operator(*_PLAIN)
def curve(node: NodeContext, x: Tensor) -> Tensor:
    """A smooth function of each value, without attributes."""
    return node.builder.smooth(as_symbol(x), _PLAIN[node.operator])


@operator("Log")
def log(node: NodeContext, x: Tensor) -> Tensor:
    """The natural logarithm; ``log(1 + exp(x))`` is a softplus."""
    x = as_symbol(x)
    line = as_line(x)
    known = None if line is None else node.builder.argument(line[0])
    if line is not None and line[1:] == (1.0, 1.0) and known is not None and known[0] is EXP:
        return node.builder.smooth(known[1], SOFTPLUS)
    return node.builder.smooth(x, LOG)


@operator("Pow")
def pow_(node: NodeContext, x: Tensor, exponent: Tensor) -> Tensor:
    """``x`` to a constant power; another constant for each element is refused."""
    if isinstance(exponent, Symbol):
        raise node.unsupported("its exponent depends on the network's input")
    x, exponents = as_symbol(x), np.unique(exponent.astype(np.float64))
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
    x, three = as_symbol(x), np.array(3.0)
    clipped = at_most(node, at_least(node, x, -three), three)
    squared = node.builder.smooth(clipped + three / 2, SQUARE)
    beyond = node.builder.relu(x - three)
    return (squared - 2.25) * (1.0 / 6.0) + beyond


@operator("Gelu", attributes=("approximate",))
def gelu(node: NodeContext, x: Tensor) -> Tensor:
    """``x Φ(x)``, or its approximation by tanh."""
    form = node.text("approximate", "none")
    if form not in ("none", "tanh"):
        raise node.malformed(f"attribute 'approximate' is {form!r}, neither 'none' nor 'tanh'")
    return node.builder.smooth(as_symbol(x), GELU if form == "none" else GELU_TANH)


@operator("Swish", attributes=("alpha",))
def swish(node: NodeContext, x: Tensor) -> Tensor:
    """``x sigmoid(alpha x) = silu(alpha x) / alpha``."""
    alpha = node.number("alpha", 1.0)
    if alpha == 0:
        return as_symbol(x) * 0.5
    return node.builder.smooth(as_symbol(x) * alpha, SILU) * (1.0 / alpha)


@operator("Elu", attributes=("alpha",))
def elu(node: NodeContext, x: Tensor) -> Tensor:
    """``x`` where it is positive, ``alpha (exp(x) − 1)`` elsewhere."""
    return _elu(node, as_symbol(x), node.number("alpha", 1.0))


@operator("Selu", attributes=("alpha", "gamma"))
def selu(node: NodeContext, x: Tensor) -> Tensor:
    """``gamma elu(x)`` with an ``alpha`` of its own."""
    alpha = node.number("alpha", 1.67326319217681884765625)
    gamma = node.number("gamma", 1.05070102214813232421875)
    return _elu(node, as_symbol(x), alpha) * gamma


@operator("Celu", attributes=("alpha",))
def celu(node: NodeContext, x: Tensor) -> Tensor:
    """``alpha elu(x / alpha)``, which has a continuous slope."""
    alpha = node.number("alpha", 1.0)
    if alpha == 0:
        raise node.malformed("attribute 'alpha' is zero")
    return node.builder.smooth(as_symbol(x) * (1.0 / alpha), ELU) * alpha


def _elu(node: NodeContext, x: Symbol, alpha: float) -> Symbol:
    """``α elu₁(x) + (1 − α) relu(x)``: the kink at zero belongs to the ReLU."""
    smooth = node.builder.smooth(x, ELU) * alpha
    return smooth if alpha == 1.0 else smooth + node.builder.relu(x) * (1.0 - alpha)
