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
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.bounds.smooth_functions import SmoothFunction

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


def _reciprocal_slope(x: FloatArray) -> FloatArray:
    return 1.0 / x


def _minus_sine(x: FloatArray) -> FloatArray:
    return -np.sin(x)


EXP = SmoothFunction("exp", np.exp, np.exp, (), True, sizes=_exp_sizes, least=0.0)
LOG = SmoothFunction(
    "log", np.log, _reciprocal_slope, (), False, sizes=_log_sizes, defined=_positive
)
# between −40 π and its first inflection the sine is positive, and so is the cosine
SIN = SmoothFunction(
    "sin",
    np.sin,
    np.cos,
    tuple(k * math.pi for k in range(-_TURNS + 1, _TURNS)),
    False,
    sizes=_wave_sizes,
    defined=_near,
    least=-1.0,
    most=1.0,
)
COS = SmoothFunction(
    "cos",
    np.cos,
    _minus_sine,
    tuple((k + 0.5) * math.pi for k in range(-_TURNS, _TURNS)),
    False,
    sizes=_wave_sizes,
    defined=_near,
    least=-1.0,
    most=1.0,
)


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
