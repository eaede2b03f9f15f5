"""Planes around a softmax over a box of scores.

With ``d_j = s_j − s_i ∈ [l_j, u_j]`` for ``j ≠ i``, and ``q = 1 + Σ_j exp(d_j)``, the probability
is ``p_i = 1 / q``:

    bounds   1 / (1 + Σ exp(u_j)) ≤ p_i ≤ 1 / (1 + Σ exp(l_j))
    below    q ≤ Q(d), the chords of the exponentials;  1 / q ≥ (2 − q / t) / t for every t > 0:
             p_i ≥ (2 − Q(d) / t) / t,  t = Q in the middle
    above    log p_i = −log q is concave: it is at most its tangent T(d) in the middle;
             p_i = exp(log p_i) ≤ a + b T(d), the chord of the exponential between the bounds

(Wei, Wu, Wu, Chen, Barrett, Farchi, AISTATS 2023, have these among others.) Both planes are exact
to the first order in a narrow box. A chord of a slope that is rounded holds for that slope: its
intercept is at least both ends'. All constants are widened by ``2⁻⁴⁴`` of the terms' magnitudes.
"""

from dataclasses import dataclass

import numpy as np

from verix_encodings.arrays import FloatArray
from verix_encodings.bounds.interval import Range
from verix_encodings.work import spend_entries

_SLACK = 2.0**-44
# beyond, exponentials overflow; a difference this large leaves nothing of a probability
_FAR = 600.0


@dataclass(frozen=True, slots=True, eq=False)
class SoftmaxPlanes:
    """``B s + b ≤ p ≤ S s + t`` for each group: ``above`` and ``below`` (…, n, n), others (…, n).

    ``reach`` is at least the magnitude of all terms of a plane; ``gap`` is the distance of both in
    the middle.
    """

    above: FloatArray
    below: FloatArray
    ceiling: FloatArray
    floor: FloatArray
    reach: FloatArray
    gap: FloatArray


def softmax_range(lower: FloatArray, upper: FloatArray) -> Range:
    """Bound the probabilities of scores in these bounds, along the last axis."""
    least, most = _denominators(lower, upper)
    n = lower.shape[-1]
    low, high = 1.0 / most, 1.0 / least
    error = _SLACK * (n + 1)
    return low * (1.0 - error), np.minimum(high * (1.0 + error), 1.0)


def _differences(lower: FloatArray, upper: FloatArray) -> Range:
    """Bound ``s_j − s_i``, at [..., i, j], rounded outward; zero for ``j = i``."""
    low = np.nextafter(lower[..., None, :] - upper[..., :, None], -np.inf)
    high = np.nextafter(upper[..., None, :] - lower[..., :, None], np.inf)
    itself = np.eye(lower.shape[-1], dtype=bool)
    return np.where(itself, 0.0, low), np.where(itself, 0.0, high)


def _denominators(lower: FloatArray, upper: FloatArray) -> Range:
    low, high = _differences(lower, upper)
    spend_entries(low.size, 16)
    # an exponential beyond the cut is larger than that: the probability's lower bound is 0
    least = np.exp(np.minimum(low, _FAR)).sum(axis=-1)
    most = np.where((high > _FAR).any(axis=-1), np.inf, np.exp(np.minimum(high, _FAR)).sum(axis=-1))
    return least, most


def _chords(low: FloatArray, high: FloatArray, size: FloatArray) -> Range:
    """Return slopes and intercepts of lines above the exponential on intervals.

    The intercepts are valid for the slopes as they are rounded.
    """
    e_low, e_high, width = np.exp(low), np.exp(high), high - low
    some = np.where(width > 0, width, 1.0)
    rises = np.where(width < 1.0, e_low * np.expm1(np.minimum(width, 1.0)), e_high - e_low)
    chord = np.where(width > 0, rises / some, e_low)
    intercept = np.maximum(e_low - chord * low, e_high - chord * high)
    return chord, intercept + _SLACK * (e_high + chord * size)


def softmax_planes(lower: FloatArray, upper: FloatArray) -> SoftmaxPlanes:
    """Return the planes for scores in these bounds, along the last axis."""
    n = lower.shape[-1]
    low, high = _differences(lower, upper)
    known = np.asarray((high <= _FAR).all(axis=-1))
    low, high = (np.where(known[..., None], end, 0.0) for end in (low, high))
    p_low, p_high = softmax_range(lower, upper)
    middle = low / 2 + high / 2
    spend_entries(low.size, 64)
    itself = np.eye(n, dtype=bool)
    size = np.maximum(np.abs(low), np.abs(high))
    chord, intercept = _chords(low, high, size)
    chord = np.where(itself, 0.0, chord)
    intercept = np.where(itself, 1.0 + _SLACK, intercept)
    total = intercept.sum(axis=-1)
    # a tangent at any t is below 1 / t; squares of that do not overflow
    t = np.minimum(total + (chord * middle).sum(axis=-1), 1e150)
    below_d = -chord / (t * t)[..., None]
    floor = 2.0 / t - total / (t * t)
    below_reach = 2.0 / t + np.abs(total) / (t * t) + (np.abs(below_d) * size).sum(axis=-1)
    # the slopes are rounded: what they lose times the differences
    floor = floor - _SLACK * (n + 1) * below_reach
    # above: the tangent of log p, and the chord of the exponential
    e_middle = np.exp(middle)
    q = e_middle.sum(axis=-1)
    share = np.where(itself, 0.0, e_middle / q[..., None])
    start = -np.log(q) + (share * middle).sum(axis=-1)
    log_reach = 1.0 + np.abs(np.log(q)) + 2.0 * (share * size).sum(axis=-1)
    start = start + _SLACK * (n + 1) * log_reach
    p_least = np.maximum(p_low, 1e-290)
    a, b = np.log(p_least), np.log(np.maximum(p_high, p_least))
    wide = b - a
    rise = np.where(wide > 1e-12, (p_high - p_least) / np.where(wide > 1e-12, wide, 1.0), p_least)
    rise = np.maximum(rise, 0.0)
    # log p lies in [a, b] widened
    a, b = a - _SLACK * (1.0 + np.abs(a)), b + _SLACK * (1.0 + np.abs(b))
    base = np.maximum(np.exp(a) - rise * a, np.exp(b) - rise * b)
    base += _SLACK * (np.exp(b) + rise * (np.abs(a) + np.abs(b)))
    above_d = -rise[..., None] * share
    ceiling = base + rise * start
    above_reach = np.abs(base) + rise * log_reach + (np.abs(above_d) * size).sum(axis=-1)
    ceiling = ceiling + _SLACK * (n + 1) * above_reach
    # in the scores: s_j has its slope, s_i minus their sum
    planes = []
    for slopes in (above_d, below_d):
        in_scores = np.where(itself, -slopes.sum(axis=-1, keepdims=True), slopes)
        planes.append(np.where(known[..., None], in_scores, 0.0))
    magnitude = np.maximum(np.abs(lower), np.abs(upper))
    reach = sum(np.einsum("...ij,...j->...i", np.abs(s), magnitude) for s in planes)
    lost = _SLACK * (n + 1) * reach
    ceiling, floor = ceiling + lost, floor - lost
    ceiling, floor = np.where(known, ceiling, p_high), np.where(known, floor, p_low)
    centre = lower / 2 + upper / 2
    open_ = np.einsum("...ij,...j->...i", planes[0] - planes[1], centre) + ceiling - floor
    reach = np.where(known, above_reach + below_reach + reach, 1.0) * (n + 1.0)
    gap = np.clip(np.nan_to_num(open_), 0.0, 1.0)
    return SoftmaxPlanes(planes[0], planes[1], ceiling, floor, reach, gap)
