"""Smooth activation functions: values, slopes, and intervals of convexity.

    sigmoid(x)   = 1 / (1 + e⁻ˣ)              convex, then concave from 0 on
    tanh(x)                                   convex, then concave from 0 on
    softsign(x)  = x / (1 + |x|)              convex, then concave from 0 on
    softplus(x)  = ln(1 + eˣ)                 convex
    elu(x)       = max(x, 0) + e^min(x,0) − 1 convex (ELU with α = 1: the slope is continuous at 0)
    gelu(x)      = x Φ(x)                     concave, convex on ±√2, concave
    gelu_tanh(x) = x sigmoid(√(8/π) (x + 0.044715 x³))       concave, convex on ±1.4185…, concave
    silu(x)      = x sigmoid(x)               concave, convex on ±2.3993…, concave
    mish(x)      = x tanh(softplus(x))        concave, convex on [−2.2563…, 1.4905…], concave
    erf(x)                                    convex, then concave from 0 on

Each function has ``|σ(x)| ≤ 1 + 2 |x|`` and ``|σ'(x)| ≤ 2``. Values and slopes computed here have
errors of at most ``2⁻⁴⁶ (1 + |x|)``: a few roundings of numbers of that size each, by a libm that
is right to some units in the last place (the tests compare with 50 digits). The inflection points
are the float64 numbers next to the true ones; between the two the curvature is below 10⁻¹⁵, so that
mistaking its sign changes a value by less than 10⁻³⁰.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # loads scipy.special once a function needs it

from verix_encodings.arrays import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class SmoothFunction:
    """A function with a continuous slope, convex and concave in turns.

    The curvature changes its sign at the ``inflections``, ascending; ``convex_first`` says whether
    it is positive before the first. ``evaluate`` and ``slope`` work elementwise.

    ``sizes`` bounds ``|σ|`` and ``|σ'|`` at points: their errors are at most ``2⁻⁴⁶`` of these.
    None says that the bounds above hold. ``defined`` tells on which intervals the function is
    known, None for all; elsewhere it lies between ``least`` and ``most``, as everywhere.
    """

    name: str
    evaluate: Callable[[FloatArray], FloatArray]
    slope: Callable[[FloatArray], FloatArray]
    inflections: tuple[float, ...]
    convex_first: bool
    sizes: Callable[[FloatArray], tuple[FloatArray, FloatArray]] | None = None
    defined: Callable[[FloatArray, FloatArray], BoolArray] | None = None
    least: float = -math.inf
    most: float = math.inf


# beyond this every slope is what it is in the limit, to far more than float64 can tell
_FAR = 700.0


def _sigmoid(x: FloatArray) -> FloatArray:
    return np.asarray(scipy.special.expit(x))


def _normal(x: FloatArray) -> FloatArray:
    return np.asarray(scipy.special.ndtr(x))


def _sigmoid_slope(x: FloatArray) -> FloatArray:
    return _sigmoid(x) * _sigmoid(-x)


def _tanh_slope(x: FloatArray) -> FloatArray:
    return 4.0 * _sigmoid(2.0 * x) * _sigmoid(-2.0 * x)


def _softsign(x: FloatArray) -> FloatArray:
    return x / (1.0 + np.abs(x))


def _softsign_slope(x: FloatArray) -> FloatArray:
    return np.square(1.0 / (1.0 + np.abs(x)))


def _softplus(x: FloatArray) -> FloatArray:
    return np.asarray(np.logaddexp(0.0, x))


def _elu(x: FloatArray) -> FloatArray:
    return np.maximum(x, 0.0) + np.expm1(np.minimum(x, 0.0))


def _elu_slope(x: FloatArray) -> FloatArray:
    return np.exp(np.minimum(x, 0.0))


_NORMAL_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


def _gelu(x: FloatArray) -> FloatArray:
    return x * _normal(x)


def _gelu_slope(x: FloatArray) -> FloatArray:
    x = np.clip(x, -_FAR, _FAR)
    return _normal(x) + x * np.exp(-0.5 * x * x) * _NORMAL_DENSITY


_GELU_SCALE = math.sqrt(8.0 / math.pi)
_GELU_CUBIC = 0.044715


def _gelu_tanh(x: FloatArray) -> FloatArray:
    near = np.clip(x, -_FAR, _FAR)
    return x * _sigmoid(_GELU_SCALE * near * (1.0 + _GELU_CUBIC * near * near))


def _gelu_tanh_slope(x: FloatArray) -> FloatArray:
    x = np.clip(x, -_FAR, _FAR)
    inner = _GELU_SCALE * x * (1.0 + _GELU_CUBIC * x * x)
    inner_slope = _GELU_SCALE * (1.0 + 3.0 * _GELU_CUBIC * x * x)
    return _sigmoid(inner) + x * _sigmoid(inner) * _sigmoid(-inner) * inner_slope


def _silu(x: FloatArray) -> FloatArray:
    return x * _sigmoid(x)


def _silu_slope(x: FloatArray) -> FloatArray:
    x = np.clip(x, -_FAR, _FAR)
    return _sigmoid(x) + x * _sigmoid(x) * _sigmoid(-x)


def _mish(x: FloatArray) -> FloatArray:
    return x * np.tanh(_softplus(x))


def _mish_slope(x: FloatArray) -> FloatArray:
    x = np.clip(x, -_FAR, _FAR)
    squashed = np.tanh(_softplus(x))
    return squashed + x * _tanh_slope(_softplus(x)) * _sigmoid(x)


_ERF_SLOPE = 2.0 / math.sqrt(math.pi)


def _erf(x: FloatArray) -> FloatArray:
    return np.asarray(scipy.special.erf(x))


def _erf_slope(x: FloatArray) -> FloatArray:
    x = np.clip(x, -_FAR, _FAR)
    return np.asarray(_ERF_SLOPE * np.exp(-x * x))


SIGMOID = SmoothFunction("sigmoid", _sigmoid, _sigmoid_slope, (0.0,), True)
TANH = SmoothFunction("tanh", np.tanh, _tanh_slope, (0.0,), True)
SOFTSIGN = SmoothFunction("softsign", _softsign, _softsign_slope, (0.0,), True)
SOFTPLUS = SmoothFunction("softplus", _softplus, _sigmoid, (), True)
ELU = SmoothFunction("elu", _elu, _elu_slope, (), True)
GELU = SmoothFunction("gelu", _gelu, _gelu_slope, (-1.4142135623730951, 1.4142135623730951), False)
GELU_TANH = SmoothFunction(
    "gelu_tanh", _gelu_tanh, _gelu_tanh_slope, (-1.4185040087908284, 1.4185040087908284), False
)
SILU = SmoothFunction("silu", _silu, _silu_slope, (-2.3993572805154677, 2.3993572805154677), False)
MISH = SmoothFunction("mish", _mish, _mish_slope, (-2.2563763963607931, 1.4905711794854285), False)
ERF = SmoothFunction("erf", _erf, _erf_slope, (0.0,), True)

SMOOTH_FUNCTIONS: dict[str, SmoothFunction] = {
    f.name: f for f in (SIGMOID, TANH, SOFTSIGN, SOFTPLUS, ELU, GELU, GELU_TANH, SILU, MISH, ERF)
}
"""Every smooth function with these bounds, by its name; ``bounds.curves`` has others."""
