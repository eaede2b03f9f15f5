"""Thresholds in float64 for libraries that round inputs to float32 before they compare.

Rounding to the nearest, ties to even, is monotone: the float64 numbers that round to a float32
``p`` or less end at the middle between ``p`` and the next float32 above, which is one of them if
the last bit of ``p`` is 0.
"""

import numpy as np

from verix_encodings.arrays import FloatArray


def largest_rounded_below(threshold: FloatArray) -> FloatArray:
    """Return the largest float64 ``x`` with ``float32(x) < threshold``, for float32 thresholds."""
    t = np.asarray(threshold, dtype=np.float32)
    return _last_rounded_to(np.nextafter(t, np.float32(-np.inf)))


def largest_rounded_to_at_most(threshold: FloatArray) -> FloatArray:
    """Return the largest float64 ``x`` with ``float32(x) <= threshold``, a float64."""
    wide = np.asarray(threshold, dtype=np.float64)
    with np.errstate(over="ignore"):
        near = wide.astype(np.float32)
    above = near.astype(np.float64) > wide
    return _last_rounded_to(np.where(above, np.nextafter(near, np.float32(-np.inf)), near))


def _last_rounded_to(p: FloatArray) -> FloatArray:
    """Return the largest float64 that rounds to the float32 ``p``; infinity for the largest."""
    p = np.asarray(p, dtype=np.float32)
    with np.errstate(over="ignore"):
        following = np.nextafter(p, np.float32(np.inf))
    middle = (p.astype(np.float64) + following.astype(np.float64)) / 2
    even = (p.view(np.uint32) & 1) == 0
    found = np.where(even, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isinf(middle), middle, found)
