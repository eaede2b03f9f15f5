"""Climb a margin: gradients, and steps towards the farthest point of a region along one.

Frank and Wolfe's method: with ``g`` the gradient at ``x`` and ``v`` the point of the region with
the largest ``g·v``, go to the best of ``x + t (v − x)`` for ``t = 1, ½, ¼, …``. The region is
convex, so every point lies in it; none is believed before onnxruntime was run on it.
"""

import numpy as np

from verix_encodings import Interval, Network, NormBall, interval_bounds, slope_bounds
from verix_encodings.arrays import FloatArray
from verix_encodings.bounds.interval import Late, never
from verix_encodings.bounds.norm_ball import length

_STEPS = 8
_SHARES = 0.5 ** np.arange(12)


def only(network: Network, output: int) -> Network:
    """Return the network with one output alone."""
    return network.then(np.eye(network.output_size)[[output]], np.zeros(1))


def gradient(one_output: Network, x: FloatArray) -> FloatArray:
    """Return the gradient at ``x``, shape (d,); where it jumps, the middle between both sides.

    NaN where the network overflows float64 at ``x``.
    """
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


def climb(
    network: Network,
    region: Interval | NormBall,
    point: FloatArray,
    output: int,
    late: Late = never,
) -> FloatArray:
    """Return a point of ``region`` where one output is no less than at ``point``, often more.

    A point outside is pulled in first. Once ``late()``, the climb ends where it is.
    """
    one_output = only(network, output)
    x = pulled_in(region, point)
    best = one_output.evaluate(x)[0]
    for _ in range(_STEPS):
        if late():
            break
        target = region.farthest(gradient(one_output, x))
        steps = [x + share * (target - x) for share in _SHARES]
        reached = [one_output.evaluate(step)[0] for step in steps]
        index = int(np.argmax(reached))
        if not reached[index] > best:
            break
        x, best = steps[index], reached[index]
    return x
