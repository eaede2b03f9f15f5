"""Climb a margin from the point of an enclosure, whose optimum is only near the network's own.

Frank and Wolfe's method: with ``g`` the gradient at ``x`` and ``v`` the point of the region with
the largest ``g·v``, go to the best of ``x + t (v − x)`` for ``t = 1, ½, ¼, …``. The region is
convex, so every point lies in it; none is believed before onnxruntime was run on it.
"""

import numpy as np

from verix_encodings import Interval, Network, NormBall, interval_bounds, slope_bounds
from verix_encodings.arrays import FloatArray

_STEPS = 8
_SHARES = 0.5 ** np.arange(12)


def climb(
    network: Network, region: Interval | NormBall, point: FloatArray, output: int
) -> FloatArray:
    """Return a point of ``region`` where one output is no less than at ``point``, often more."""
    one_output = network.then(np.eye(network.output_size)[[output]], np.zeros(1))
    box = region.box
    x = np.clip(point, box.lower, box.upper)
    best = one_output.evaluate(x)[0]
    for _ in range(_STEPS):
        lower, upper = slope_bounds(one_output, interval_bounds(one_output, Interval(x, x)))
        target = _farthest(region, lower[0] / 2 + upper[0] / 2)
        steps = [x + share * (target - x) for share in _SHARES]
        reached = [one_output.evaluate(step)[0] for step in steps]
        index = int(np.argmax(reached))
        if not reached[index] > best:
            break
        x, best = steps[index], reached[index]
    return x


def _farthest(region: Interval | NormBall, gradient: FloatArray) -> FloatArray:
    """Return a point of the region with a large ``g·v``: for a box, the largest."""
    if isinstance(region, Interval):
        return np.where(gradient > 0, region.upper, region.lower)
    way = np.where(region.box.lower < region.box.upper, gradient, 0.0)
    if region.norm == 1:
        way = np.where(np.abs(way) == np.abs(way).max(initial=0.0), way, 0.0)
    length = float(np.linalg.norm(way, region.norm))
    step = way * (region.radius / length) if length else way
    return np.clip(region.centre + step, region.box.lower, region.box.upper)
