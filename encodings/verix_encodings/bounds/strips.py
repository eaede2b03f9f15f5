"""Straight lines below and above a smooth function, valid in real arithmetic.

For any slope ``s``, lines ``s x + b⁻ ≤ σ(x) ≤ s x + b⁺`` on ``[p, q]`` have intercepts that bound
``g(x) = σ(x) − s x``. On each convex or concave piece ``[P, Q]`` of the interval,

    convex    g ≤ max(g(P), g(Q))                                             the chord
              g ≥ min over x ∈ {P, Q} of g(t) + (σ'(t) − s)(x − t)            a tangent, t ∈ [P, Q]
    concave   the same with ≤ and ≥, max and min exchanged

which holds for every ``t``, and is tight where ``σ'(t) = s``; bisection finds it closely enough.
All is widened by ``2⁻⁴⁴ (1 + (2 + |s|) max(|p|, |q|))``, which covers the errors that
:mod:`~verix_encodings.bounds.curves` states for ``σ`` and ``σ'`` and the roundings here.
Of functions with other sizes, ``|σ|`` and ``|σ'|`` at the points used take the place of 1 and 2.
"""

from contextlib import nullcontext
from itertools import pairwise

import numpy as np

from verix_encodings.arrays import FloatArray
from verix_encodings.bounds.curves import SmoothFunction
from verix_encodings.bounds.interval import Range, TwoLines
from verix_encodings.work import spend_entries

_SLACK = 2.0**-44
# far above what underflow loses
_SMALLEST = 2.0**-900
_BISECTIONS = 30
# of a function's values and slopes on a piece, as calls on entries: 0.1 to 0.4 µs an entry
_CALLS = 100
_GRID = 65


def intercepts(
    function: SmoothFunction,
    lower: FloatArray,
    upper: FloatArray,
    slope: FloatArray,
    touching: FloatArray | None = None,
) -> Range:
    """Return ``b⁻`` and ``b⁺`` for each interval ``[lower, upper]`` and each slope.

    Tangents touch the function at the points ``touching``, near the best ones if None.
    """
    below, above = np.full(lower.shape, np.inf), np.full(lower.shape, -np.inf)
    # of functions with sizes of their own: what overflows is no bound, and is met as such
    quiet = nullcontext() if function.sizes is None else np.errstate(all="ignore")
    with quiet:
        value, steep = np.full(lower.shape, _SMALLEST), np.zeros(lower.shape)
        convex = function.convex_first
        for start, end in pairwise((-np.inf, *function.inflections, np.inf)):
            here = (lower <= end) & (upper >= start)
            if not here.any():
                convex = not convex
                continue
            P, Q = np.clip(lower, start, end)[here], np.clip(upper, start, end)[here]
            s = slope[here]
            spend_entries(P.size, _CALLS if touching is None else _CALLS // 3)
            at_ends = np.stack([function.evaluate(x) - s * x for x in (P, Q)])
            if touching is None:
                t = _where_slope_is(function, P, Q, s, convex)
            else:
                t = np.clip(touching[here], P, Q)
            tilt, at_t = function.slope(t) - s, function.evaluate(t) - s * t
            tangent = np.stack([at_t + tilt * (x - t) for x in (P, Q)])
            low, high = (tangent, at_ends) if convex else (at_ends, tangent)
            below[here] = np.minimum(below[here], low.min(axis=0))
            above[here] = np.maximum(above[here], high.max(axis=0))
            convex = not convex
            if function.sizes is not None:
                ends, (at_point, tilted) = np.stack([P, Q]), function.sizes(t)
                value[here] += np.maximum(function.sizes(ends)[0].max(axis=0), at_point)
                steep[here] = np.maximum(steep[here], tilted)
        magnitude = np.maximum(np.abs(lower), np.abs(upper))
        if function.sizes is None:
            value, steep = np.ones(lower.shape), np.full(lower.shape, 2.0)
        slack = _SLACK * (value + (steep + np.abs(slope)) * magnitude)
        return below - slack, above + slack


def _where_slope_is(
    function: SmoothFunction, P: FloatArray, Q: FloatArray, s: FloatArray, convex: bool
) -> FloatArray:
    """Return points of ``[P, Q]`` where ``σ'`` is close to ``s``, or the end that is closest."""
    left, right = P.copy(), Q.copy()
    for _ in range(_BISECTIONS):
        middle = left / 2 + right / 2
        go_right = (function.slope(middle) < s) == convex
        left, right = np.where(go_right, middle, left), np.where(go_right, right, middle)
    # an end of the piece is reached exactly, where a tangent is a tangent at the end
    t = np.where(right >= Q, Q, np.where(left <= P, P, left / 2 + right / 2))
    return np.clip(t, P, Q)


def value_range(function: SmoothFunction, lower: FloatArray, upper: FloatArray) -> Range:
    """Return bounds on ``σ`` over each interval: the intercepts of lines with slope zero."""
    low, high = intercepts(function, lower, upper, np.zeros_like(lower))
    return np.maximum(low, function.least), np.minimum(high, function.most)


def slope_range(function: SmoothFunction, lower: FloatArray, upper: FloatArray) -> Range:
    """Return bounds on ``σ'`` over each interval: it is monotone between inflections."""
    points = [np.clip(x, lower, upper) for x in function.inflections]
    slopes = np.stack([function.slope(x) for x in (lower, *points, upper)])
    if function.sizes is None:
        slack = _SLACK * (1.0 + np.maximum(np.abs(lower), np.abs(upper)))
    else:
        slack = _SLACK * (np.abs(slopes).max(axis=0) + _SMALLEST)
    return slopes.min(axis=0) - slack, slopes.max(axis=0) + slack


def chord_slope(function: SmoothFunction, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the slope of the chord of each interval, rounded; that of ``σ`` in a point."""
    wide = upper > lower
    rise = function.evaluate(upper) - function.evaluate(lower)
    run = np.where(wide, upper - lower, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        slope = np.where(wide, rise / run, function.slope(lower))
    if function.sizes is None:
        steepest: FloatArray | float = 2.0
    else:
        steepest = np.maximum(*(np.abs(function.slope(x)) for x in (lower, upper)))
    clipped: FloatArray = np.clip(np.nan_to_num(slope), -steepest, steepest)
    return clipped


def best_lines(function: SmoothFunction, lower: FloatArray, upper: FloatArray) -> TwoLines:
    """Return ``s⁻``, ``b⁻``, ``s⁺``, ``b⁺`` with ``s⁻ x + b⁻ ≤ σ(x) ≤ s⁺ x + b⁺`` on each interval.

    The slopes are chosen from the chord's and those of ``σ`` at the ends and in the middle: the
    lines closest to ``σ`` in the middle of the interval are closest on average. On a convex or
    concave piece these are the chord and the tangent in the middle.
    """
    result, left = np.empty((4, *lower.shape)), np.ones(lower.shape, dtype=bool)
    convex = function.convex_first
    for start, end in pairwise((-np.inf, *function.inflections, np.inf)):
        here = left & (lower >= start) & (upper <= end)
        if here.any():
            result[:, here] = _on_piece(function, lower[here], upper[here], convex)
            left &= ~here
        convex = not convex
    if left.any():
        result[:, left] = _closest(function, lower[left], upper[left])
    s_low, b_low, s_high, b_high = result
    return s_low, b_low, s_high, b_high


def _on_piece(
    function: SmoothFunction, lower: FloatArray, upper: FloatArray, convex: bool
) -> TwoLines:
    """Return the best lines on intervals of a piece that is convex, or concave."""
    middle, chord = lower / 2 + upper / 2, chord_slope(function, lower, upper)
    tangent = function.slope(middle)
    of_chord = intercepts(function, lower, upper, chord, middle)
    of_tangent = intercepts(function, lower, upper, tangent, middle)
    if convex:
        return tangent, of_tangent[0], chord, of_chord[1]
    return chord, of_chord[0], tangent, of_tangent[1]


def _closest(function: SmoothFunction, lower: FloatArray, upper: FloatArray) -> TwoLines:
    """Return the lines that are closest to ``σ`` in the middle of each interval."""
    middle = lower / 2 + upper / 2
    candidates = [
        chord_slope(function, lower, upper),
        *(function.slope(x) for x in (lower, middle, upper)),
    ]
    found = [intercepts(function, lower, upper, s) for s in candidates]
    slopes = np.stack(candidates)
    below, above = (np.stack(parts) for parts in zip(*found, strict=True))
    highest = np.argmax(slopes * middle + below, axis=0)[None]
    lowest = np.argmin(slopes * middle + above, axis=0)[None]
    parts = ((slopes, highest), (below, highest), (slopes, lowest), (above, lowest))
    s_low, b_low, s_high, b_high = (np.take_along_axis(x, i, axis=0)[0] for x, i in parts)
    return s_low, b_low, s_high, b_high


def breakpoints(
    function: SmoothFunction, lower: FloatArray, upper: FloatArray, segments: int
) -> FloatArray:
    """Return ``segments + 1`` ascending points of each interval, shape (segments + 1, size).

    The first and the last are its ends. A segment of length ``h`` is enclosed to about
    ``|σ''| h² / 8``, so the points share out ``∫ √|σ''|`` evenly.
    """
    grid = lower + (upper - lower) * np.linspace(0.0, 1.0, _GRID)[:, None]
    turning = np.abs(np.diff(function.slope(grid), axis=0)) / (_GRID - 1)
    # a little everywhere, so that no interval is without
    density = np.sqrt(turning) + 1e-3 * np.sqrt(turning).sum(axis=0) / _GRID + 1e-12
    share = np.concatenate([np.zeros((1, lower.size)), np.cumsum(density, axis=0)])
    points = np.empty((segments + 1, lower.size))
    for i in range(lower.size):
        wanted = np.linspace(0.0, share[-1, i], segments + 1)
        points[:, i] = np.interp(wanted, share[:, i], grid[:, i])
    points[0], points[-1] = lower, upper
    ascending: FloatArray = np.maximum.accumulate(np.clip(points, lower, upper), axis=0)
    return ascending
