"""Thresholds of libraries in the normal form ``x <= θ'`` of float64.

Let ``f`` be the greatest float32 that goes to the left (the greatest one ``≤ θ``, or ``< θ``). A
float64 ``x`` is rounded to the nearest float32, and a midpoint to the neighbour whose last bit is
zero. So ``θ'`` is the midpoint of ``f`` and the float32 behind it if the last bit of ``f`` is zero,
else the float64 before that midpoint. Midpoints are exact in float64.
"""

import numpy as np
from numpy.typing import ArrayLike

from verix_encodings.arrays import FloatArray


def last_left(threshold: ArrayLike, *, strict: bool = False) -> FloatArray:
    """Return the greatest float64 ``x`` with ``float32(x) <= threshold``; ``<`` if ``strict``.

    ``threshold`` holds float32 or float64 numbers, compared exactly. Infinite ones stay so.
    """
    exact = np.asarray(threshold, dtype=np.float64)
    with np.errstate(over="ignore"):
        f = exact.astype(np.float32)
    beyond = f.astype(np.float64) >= exact if strict else f.astype(np.float64) > exact
    f = np.where(beyond, np.nextafter(f, np.float32(-np.inf)), f)
    with np.errstate(over="ignore"):
        following = np.nextafter(f, np.float32(np.inf)).astype(np.float64)
    # beyond the largest float32, rounding goes on as if there were another one
    largest = float(np.finfo(np.float32).max)
    following = np.where(f == np.float32(largest), 2.0**128, following)
    low = f.astype(np.float64)
    low = np.where(np.isneginf(low), -(2.0**128), low)
    middle = low / 2 + following / 2
    even = (f.view(np.uint32) & 1) == 0
    result = np.where(even, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isinf(exact), exact, result)
