"""Products and quotients of two tensors that depend on the input, and functions made of them."""

import math
from dataclasses import replace

import numpy as np

from milp_verix.models.onnx.builder import Builder
from milp_verix.models.onnx.symbol import COMPUTED, Symbol, Tensor, check_nonzeros
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds import curves
from verix_encodings.bounds.curves import SmoothFunction, power

_TANH_SCALE = math.sqrt(2.0 / math.pi)
_TANH_CUBIC = 0.044715
# constants of a GELU that differ by more are no rounding
_ROUNDED = 1e-6


def multiply(builder: Builder, a: Symbol, b: Symbol) -> Symbol:
    """Return ``a * b``, broadcast; a square or an activation where it is one."""
    factor = a.ratio(b)
    if factor is not None:
        return builder.smooth(b, curves.SQUARE) * factor
    for x, gate in ((a, b), (b, a)):
        found = _cube(builder, x, gate) or _gated(builder, x, gate)
        if found is not None:
            return found
    return product(builder, a, b)


def product(builder: Builder, a: Symbol, b: Symbol, limit: FloatArray | None = None) -> Symbol:
    """Return ``a * b``, broadcast, as products; ``limit`` is that of :meth:`Builder.product`."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    first, second = (np.broadcast_to(x.indices, shape)[..., None] for x in (a, b))
    return builder.product(a, b, first, second, limit)


def contracted(builder: Builder, a: Symbol, b: Symbol, first: IntArray, second: IntArray) -> Symbol:
    """Return ``Σ_k a[first[..., k]] b[second[..., k]]``, broadcast against each other."""
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(f"{first.shape[-1]} values cannot multiply {second.shape[-1]} values")
    full = np.broadcast_shapes(first.shape, second.shape)
    check_nonzeros(math.prod(full))
    return builder.product(a, b, np.broadcast_to(first, full), np.broadcast_to(second, full))


def reciprocal(builder: Builder, x: Symbol) -> Symbol:
    """Return ``1 / x``: one function where ``x`` is a root, or ``1 + exp``."""
    line = x.line
    known = None if line is None else builder.argument(line[0])
    if line is not None and known is not None:
        function, argument = known
        if function.name == "sqrt" and line[2] == 0.0:
            return builder.smooth(argument, power(-0.5)) * (1.0 / line[1])
        if function is curves.EXP and line[1] == line[2]:
            return builder.smooth(-argument, curves.SIGMOID) * (1.0 / line[1])
    return builder.smooth(x, curves.RECIPROCAL)


def quotient(builder: Builder, a: Tensor, b: Symbol) -> Symbol:
    """Return ``a / b``, broadcast."""
    inverse = reciprocal(builder, b)
    if not isinstance(a, Symbol):
        return inverse * a
    limit = _limit(builder, a, b)
    if limit is None:
        return multiply(builder, a, inverse)
    return product(builder, a, inverse, limit)


def _limit(builder: Builder, a: Symbol, b: Symbol) -> FloatArray | None:
    """Bound ``|a_i| / b_i``, where ``b_i = √(w a_i² + more)`` and ``w`` is positive: ``1 / √w``.

    None if ``b`` is no such root; infinite where ``w`` is zero.
    """
    line = b.line
    known = None if line is None else builder.norms.get(line[0])
    if line is None or known is None or line[2] != 0 or line[1] <= 0:
        return None
    argument, entries, weight = known
    factor = a.ratio(argument)
    if factor is None:
        return None
    shape = np.broadcast_shapes(a.shape, b.shape)
    of_a, of_b = (np.broadcast_to(x.indices, shape).reshape(-1) for x in (a, b))
    inside = (entries[of_b] == of_a[:, None]).any(axis=1)
    most = abs(factor) / (np.sqrt(weight[of_b]) * line[1]) * (1.0 + 1e-9)
    return np.where(inside, most, np.inf).reshape(shape)


def _cube(builder: Builder, x: Symbol, squared: Symbol) -> Symbol | None:
    """Return ``x * squared`` if that is the square of a multiple of ``x``, else None."""
    parts = squared.known_parts
    known = builder.argument(parts[0][0]) if len(parts) == 1 else None
    inner = known[1].ratio(x) if known is not None and known[0] is curves.SQUARE else None
    if inner is None or squared.shape != x.shape:
        return None
    return builder.smooth(x, power(3.0)) * (parts[0][1] * inner**2)


def _gated(builder: Builder, x: Symbol, gate: Symbol) -> Symbol | None:
    """Return ``x * gate`` if it is an activation function that exporters take apart, else None."""
    line = gate.line
    known = None if line is None else builder.argument(line[0])
    if line is None or known is None or x.shape != gate.shape:
        return None
    (function, argument), (_, slope, shift) = known, line
    if function is curves.ERF and slope == shift:
        # x (1 + erf(c x)) = 2 / (√2 c) gelu(√2 c x)
        c = argument.ratio(x)
        if not c or c < 0:
            return None
        return _of_multiple(builder, x, curves.GELU, math.sqrt(2.0) * c, 2.0 * slope)
    if function is curves.TANH and slope == shift:
        return _gelu_tanh(builder, x, argument, slope)
    if function is curves.TANH and shift == 0.0:
        inner = argument.line
        before = None if inner is None or inner[1:] != (1.0, 0.0) else builder.argument(inner[0])
        if before is not None and before[0] is curves.SOFTPLUS and before[1].ratio(x) == 1.0:
            return builder.smooth(x, curves.MISH) * slope
    return None


def _of_multiple(
    builder: Builder, x: Symbol, function: SmoothFunction, c: float, factor: float
) -> Symbol:
    """Return ``factor / c · function(c x)``."""
    # a factor of one would be taken as exact
    argument = x * (math.nextafter(1.0, 2.0) if c == 1.0 else c)
    return builder.smooth(argument, function) * (factor / c)


def _gelu_tanh(builder: Builder, x: Symbol, argument: Symbol, factor: float) -> Symbol | None:
    """Return ``factor x (1 + tanh(a x + b x³))`` as a GELU, where ``a`` and ``b`` are its own.

    With ``s = a / √(2/π)``, it is ``2 factor / s gelu_tanh(s x)`` but for the error of ``b``, as
    constants are rounded: ``|∂/∂b x tanh(a x + b x³)| = |x⁴ / cosh²(…)| ≤ 6 / a⁴``, as ``|u⁴| ≤ 6
    cosh²(u)`` and ``|a x + b x³| ≥ |a x|``.
    """
    parts = argument.known_parts
    if len(parts) != 2:
        return None
    for (line, slope), (cube, cubic) in (parts, parts[::-1]):
        known, own = builder.argument(cube), x.known_parts
        if known is None or known[0] is not power(3.0) or len(own) != 1 or own[0][0] is not line:
            continue
        inner = known[1].ratio(x)
        if inner is None:
            continue
        a, b = slope / own[0][1], cubic * inner**3
        s = a / _TANH_SCALE
        expected = _TANH_SCALE * _TANH_CUBIC * s**3
        if a <= 0 or abs(b - expected) > _ROUNDED * expected:
            return None
        result = _of_multiple(builder, x, curves.GELU_TANH, s, 2.0 * factor)
        off = abs(factor) * 6.0 / a**4 * (abs(b - expected) + 8.0 * COMPUTED * expected) * 1.001
        return replace(result, bias_rounding=result.bias_rounding + off)
    return None
