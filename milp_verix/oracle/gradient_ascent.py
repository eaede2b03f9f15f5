"""Climb a margin: gradients, and steps towards the farthest point of a region along one.

Frank and Wolfe's method: with ``g`` the gradient at ``x`` and ``v`` the point of the region with
the largest ``g·v``, go to the best of ``x + t (v − x)`` for ``t = 1, ½, ¼, …``. The region is
convex, so every point lies in it; a point counts only once onnxruntime was run on it.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from verix_encodings import Interval, Network, NormBall, interval_bounds, slope_bounds
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.interval import Late, never
from verix_encodings.bounds.norm_ball import length
from verix_encodings.network.batch import batch_outputs, batch_slopes

_STEPS = 8  # of a climb; not measured
_SHARES = tuple(0.5 ** np.arange(12))

AtPoints: TypeAlias = Callable[[FloatArray, IntArray], FloatArray]
"""A function of points, the columns of shape (d, N), and the numbers of their climbs, (N,).

Values have the shape (N,), gradients (d, N).
"""


def frank_wolfe(
    points: FloatArray,
    values: AtPoints,
    gradients: AtPoints,
    farthest: Callable[[FloatArray], FloatArray],
    *,
    steps: int = _STEPS,
    shares: Sequence[float] = _SHARES,
    gain: float = 0.0,
    enough: float = np.inf,
    late: Late = never,
) -> tuple[FloatArray, FloatArray]:
    """Climb from each column of ``points``, shape (d, N), all at once, for so many ``steps``.

    ``farthest`` returns the points of a convex set along gradients, both (d, N), such as
    ``Region.farthest``; a step goes a share of ``shares`` of the way there. A climb ends where no
    share gains more than ``gain`` or the value is above ``enough``, and all end once ``late()``.
    Returns the points reached and their values, (N,), no less than those of ``points``.
    """
    points, running = points.copy(), np.arange(points.shape[1])
    reached = values(points, running)
    for _ in range(steps):
        running = running[reached[running] <= enough]
        if late() or not running.size:
            break
        start = points[:, running]
        ends = farthest(gradients(start, running))
        # a gradient that overflows, as at a jump, leads nowhere
        ends = np.where(np.isnan(ends).any(axis=0), start, ends)
        tried = np.concatenate([start + share * (ends - start) for share in shares], axis=1)
        found = values(tried, np.tile(running, len(shares))).reshape(len(shares), -1)
        found[np.isnan(found)] = -np.inf  # undefined there
        best = np.argmax(found, axis=0)
        value = found[best, np.arange(running.size)]
        better = value > reached[running] + gain
        if not better.any():
            break
        picked = best[better] * running.size + np.flatnonzero(better)
        running = running[better]
        points[:, running], reached[running] = tried[:, picked], value[better]
    return points, reached


def only(network: Network, output: int) -> Network:
    """Return the network with one of its outputs."""
    return network.then(np.eye(network.output_size)[[output]], np.zeros(1))


def gradient(one_output: Network, x: FloatArray) -> FloatArray:
    """Return the gradient at ``x``, shape (d,); at a kink, the mean of both sides.

    NaN where the network overflows float64 at ``x``.
    """
    if one_output.stepped:
        return np.zeros(x.size)
    try:
        lower, upper = slope_bounds(one_output, interval_bounds(one_output, Interval(x, x)))
    except OverflowError:
        return np.full(x.size, np.nan)
    return np.asarray(lower[0] / 2 + upper[0] / 2)


def pulled_in(region: Interval | NormBall, point: FloatArray) -> FloatArray:
    """Return ``point``, moved towards the centre of the region until it lies inside."""
    x: FloatArray = np.clip(point, region.box.lower, region.box.upper)
    if isinstance(region, Interval):
        return x
    moved = length(x - region.centre, region.norm)
    share = min(1.0, region.radius / moved) if moved else 1.0
    return np.asarray(region.centre + share * (x - region.centre))


def margins_along(
    network: Network, outputs: IntArray, inputs: AtPoints, late: Late
) -> tuple[AtPoints, AtPoints]:
    """Return the values of ``outputs``, (N,), at the ``inputs`` of points; and gradients there."""

    def values(points: FloatArray, numbers: IntArray) -> FloatArray:
        reached = batch_outputs(network, inputs(points, numbers), late)
        return np.asarray(reached[outputs[numbers], np.arange(numbers.size)])

    def gradients(points: FloatArray, numbers: IntArray) -> FloatArray:
        return batch_slopes(network, inputs(points, numbers), outputs[numbers], late)

    return values, gradients


def climbs(
    network: Network,
    region: Interval | NormBall,
    points: FloatArray,
    outputs: IntArray,
    late: Late = never,
) -> FloatArray:
    """Climb output ``outputs[n]`` from column ``n`` of ``points``, (d, N), all side by side.

    Returns the points of ``region`` that the climbs reach, shape (d, N).
    """
    if network.stepped:
        return points

    along = margins_along(network, outputs, lambda x, _: x, late)
    return frank_wolfe(points, *along, region.farthest, late=late)[0]


def climb(
    network: Network,
    region: Interval | NormBall,
    point: FloatArray,
    output: int,
    late: Late = never,
) -> FloatArray:
    """Return a point of ``region`` where one output is no less than at ``point``, often more.

    A point outside is pulled in first. Once ``late()``, the climb returns its current point.
    """
    start = pulled_in(region, point)[:, None]
    return climbs(network, region, start, np.array([output]), late)[:, 0]
