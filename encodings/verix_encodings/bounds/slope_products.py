"""Products of ranges of slopes: how a node hands ranges of derivatives back to its sources."""

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, relative_error
from verix_encodings.bounds.interval import Range


def by_phase(
    lower: FloatArray, upper: FloatArray, always: BoolArray, ever: BoolArray | np.bool_
) -> Range:
    """Multiply slopes by the derivative of a phase: 1 if ``always``, 0 unless ``ever``."""
    least = np.where(always, lower, np.minimum(lower, 0.0))
    most = np.where(always, upper, np.maximum(upper, 0.0))
    return np.where(ever, least, 0.0), np.where(ever, most, 0.0)


def outward(lower: FloatArray, upper: FloatArray, least: FloatArray, most: FloatArray) -> Range:
    """Return ``[lower, upper] · [least, most]``, rounded outward."""
    products = np.stack([lower * least, lower * most, upper * least, upper * most])
    error = relative_error(1) * np.abs(products).max(axis=0)
    return products.min(axis=0) - error, products.max(axis=0) + error


def centred(middle: FloatArray, half: FloatArray, least: FloatArray, most: FloatArray) -> Range:
    """Return ``[middle ± half] · [least, most]`` as a middle and a half width, not rounded."""
    ends = [(middle + side) * factor for side in (-half, half) for factor in (least, most)]
    low, high = np.minimum.reduce(ends), np.maximum.reduce(ends)
    return (low + high) / 2, (high - low) / 2
