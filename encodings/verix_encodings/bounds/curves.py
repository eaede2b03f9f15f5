"""Functions of one number without a bound on their slope, or with one of their own.

    exp(x)                          convex
    log(x)         x > 0            concave
    sin(x), cos(x) |x| ≤ 40 π       convex and concave in turns; elsewhere between −1 and 1
    x^a            a ≥ 2 even       convex
                   a ≥ 3 odd        concave, convex from 0 on
                   a ≤ −1 whole     convex for x > 0; for x < 0 convex (a even) or concave (a odd)
                   0 < a < 1        concave, for x ≥ 0
                   a > 1, a < 0     convex, for x ≥ 0 and x > 0

``1 / x`` and ``√x`` are powers. Values and slopes have errors of some units in the last place of
their ``sizes``. The slope of ``x^a`` with 0 < a < 2 has no bound at 0, or a curvature without one:
it is taken at ``2⁻¹⁰⁰`` instead there, which moves a tangent by less than ``2⁻¹⁰⁰ᵃ``; what the
sizes add for it is ``2⁻⁵⁰`` times more than ``2⁻¹⁰⁰ᵃ`` is at most.

Smooth activation functions: values, slopes, and intervals of convexity.

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
from functools import lru_cache

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


_NEAREST = 2.0**-100
_TURNS = 40


def _exp_sizes(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    size = np.exp(x)
    return size, size


def _log_sizes(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    return 1.0 + np.abs(np.log(x)), 1.0 / x


def _positive(lower: FloatArray, upper: FloatArray) -> BoolArray:
    return np.asarray(lower > 0)


def _not_negative(lower: FloatArray, upper: FloatArray) -> BoolArray:
    return np.asarray(lower >= 0)


def _not_zero(lower: FloatArray, upper: FloatArray) -> BoolArray:
    return (lower > 0) | (upper < 0)


def _near(lower: FloatArray, upper: FloatArray) -> BoolArray:
    return (lower > -_TURNS * math.pi) & (upper < _TURNS * math.pi)


def _wave_sizes(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.ones(x.shape), np.ones(x.shape)


def _minus_sine(x: FloatArray) -> FloatArray:
    return -np.sin(x)


EXP = SmoothFunction("exp", np.exp, np.exp, (), True, sizes=_exp_sizes, least=0.0)
LOG = SmoothFunction("log", np.log, np.reciprocal, (), False, sizes=_log_sizes, defined=_positive)
# between −40 π and its first inflection the sine is positive, and so is the cosine
_OF_SINE = tuple(k * math.pi for k in range(-_TURNS + 1, _TURNS))
_OF_COSINE = tuple((k + 0.5) * math.pi for k in range(-_TURNS, _TURNS))
SIN = SmoothFunction("sin", np.sin, np.cos, _OF_SINE, False, _wave_sizes, _near, -1.0, 1.0)
COS = SmoothFunction("cos", np.cos, _minus_sine, _OF_COSINE, False, _wave_sizes, _near, -1.0, 1.0)


@lru_cache(maxsize=256)
def power(a: float) -> SmoothFunction:
    """Return ``x^a``, for a finite ``a`` that is neither 0 nor 1.

    It is known for all ``x`` if ``a`` is whole and positive, for all but 0 if it is whole and
    negative, else for ``x ≥ 0``, or ``x > 0`` if it is negative.
    """
    if not math.isfinite(a) or a in (0.0, 1.0):
        raise ValueError(f"{a} is no power of a curve")
    whole = a == int(a)
    odd = whole and int(a) % 2 == 1
    steep_at_zero = 0 < a < 2 and not whole

    def evaluate(x: FloatArray) -> FloatArray:
        if a == 2.0:
            return x * x
        if a == 0.5:
            return np.sqrt(x)
        return np.asarray(1.0 / x if a == -1.0 else np.power(x, a))

    def slope(x: FloatArray) -> FloatArray:
        if a == 2.0:
            return 2.0 * x
        x = np.maximum(x, _NEAREST) if steep_at_zero else x
        return np.asarray(a * np.power(x, a - 1.0))

    def sizes(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        offset = 2.0**-6 * (2.0 ** (50.0 - 100.0 * a) if a < 0.5 else 1.0) if steep_at_zero else 0.0
        return np.abs(evaluate(x)) + offset, np.abs(slope(x))

    defined: Callable[[FloatArray, FloatArray], BoolArray] | None = None
    if whole and a < 0:
        defined = _not_zero
    elif not whole:
        defined = _not_negative if a > 0 else _positive
    return SmoothFunction(
        {2.0: "square", 0.5: "sqrt", -1.0: "reciprocal"}.get(a, f"power {a:g}"),
        evaluate,
        slope,
        (0.0,) if odd else (),
        (not odd) and not 0 < a < 1,
        sizes=sizes,
        defined=defined,
        least=-math.inf if odd else 0.0,
    )


SQUARE, SQRT, RECIPROCAL = power(2.0), power(0.5), power(-1.0)
