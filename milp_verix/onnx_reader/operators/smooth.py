"""Smooth activations: one node of the network each, which programs enclose instead of computing."""

from milp_verix.onnx_reader.node import NodeContext
from milp_verix.onnx_reader.registry import operator
from milp_verix.onnx_reader.symbol import Symbol, Tensor, add, as_symbol, scale
from verix_encodings.bounds.smooth_functions import (
    ELU,
    GELU,
    GELU_TANH,
    MISH,
    SILU,
    SOFTPLUS,
    SOFTSIGN,
    TANH,
)


@operator("Tanh")
def tanh(node: NodeContext, x: Tensor) -> Tensor:
    """``tanh(x)``."""
    return node.builder.smooth(as_symbol(x), TANH)


@operator("Softsign")
def softsign(node: NodeContext, x: Tensor) -> Tensor:
    """``x / (1 + |x|)``."""
    return node.builder.smooth(as_symbol(x), SOFTSIGN)


@operator("Softplus")
def softplus(node: NodeContext, x: Tensor) -> Tensor:
    """``ln(1 + exp(x))``."""
    return node.builder.smooth(as_symbol(x), SOFTPLUS)


@operator("Mish")
def mish(node: NodeContext, x: Tensor) -> Tensor:
    """``x tanh(softplus(x))``."""
    return node.builder.smooth(as_symbol(x), MISH)


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
        return scale(as_symbol(x), 0.5)
    return scale(node.builder.smooth(scale(as_symbol(x), alpha), SILU), 1.0 / alpha)


@operator("Elu", attributes=("alpha",))
def elu(node: NodeContext, x: Tensor) -> Tensor:
    """``x`` where it is positive, ``alpha (exp(x) − 1)`` elsewhere."""
    return _elu(node, as_symbol(x), node.number("alpha", 1.0))


@operator("Selu", attributes=("alpha", "gamma"))
def selu(node: NodeContext, x: Tensor) -> Tensor:
    """``gamma elu(x)`` with an ``alpha`` of its own."""
    alpha = node.number("alpha", 1.67326319217681884765625)
    gamma = node.number("gamma", 1.05070102214813232421875)
    return scale(_elu(node, as_symbol(x), alpha), gamma)


@operator("Celu", attributes=("alpha",))
def celu(node: NodeContext, x: Tensor) -> Tensor:
    """``alpha elu(x / alpha)``, which has a continuous slope."""
    alpha = node.number("alpha", 1.0)
    if alpha == 0:
        raise node.malformed("attribute 'alpha' is zero")
    return scale(node.builder.smooth(scale(as_symbol(x), 1.0 / alpha), ELU), alpha)


def _elu(node: NodeContext, x: Symbol, alpha: float) -> Symbol:
    """``α elu₁(x) + (1 − α) relu(x)``: the kink at zero belongs to the ReLU."""
    smooth = scale(node.builder.smooth(x, ELU), alpha)
    return smooth if alpha == 1.0 else add(smooth, scale(node.builder.relu(x), 1.0 - alpha))
