"""Features without room: no input in the ball gives them another value than the original's.

A radius below one whole step leaves none, nor does one below 1 to a category, nor a range of one
value; rules may leave none either. That a rule does is proven by cutting the box of each other
value around the points of the domain: a box proven empty has no input. Features that such cuts
leave open are not listed.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from milp_verix.inputs.features import Feature
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.radii import ends_around, radii_of_coordinates
from verix_encodings.arrays import FloatArray, IntArray

_Box = tuple[FloatArray, FloatArray]


@lru_cache(maxsize=64)  # pictures and tables ask about each feature
def still_features(
    inputs: Inputs, radii: tuple[float, ...], x: tuple[float, ...]
) -> tuple[int, ...]:
    """Return the features that have the value of ``x`` all over its ball, ascending.

    ``radii`` has one for each feature, ``x`` one number for each coordinate.
    """
    reach, values = radii_of_coordinates(inputs, radii), np.array(x, dtype=np.float64)
    least, most = ends_around(inputs, values, radii)
    stuck = (reach == 0) | (least == most)
    lower = np.maximum(np.nextafter(values - reach, -np.inf), least)
    upper = np.minimum(np.nextafter(values + reach, np.inf), most)
    lower, upper = np.where(stuck, values, lower), np.where(stuck, values, upper)
    boxes: list[_Box] = []
    owners: list[int] = []
    found = [f for f, group in enumerate(inputs.groups) if stuck[group].all()]
    if inputs.rules and np.isfinite([lower, upper]).all():
        for number, (feature, group) in enumerate(zip(inputs.features, inputs.groups, strict=True)):
            if feature.whole and number not in found:
                others = [*_others(feature, group, values, (lower, upper))]
                boxes += others
                owners += [number] * len(others)
    if boxes and inputs.mixed is not None:
        ends = np.array([low for low, _ in boxes]), np.array([high for _, high in boxes])
        possible = inputs.mixed.cut(*ends)[2]
        moving = {owner for owner, can in zip(owners, possible, strict=True) if can}
        found += [owner for owner in {*owners} if owner not in moving]
    return tuple(sorted(found))


def _others(feature: Feature, group: IntArray, x: FloatArray, box: _Box) -> Iterator[_Box]:
    """Yield boxes that hold all points of ``box`` with another value of one whole feature."""
    for ends in _values(feature, x[group], box[0][group], box[1][group]):
        lower, upper = box[0].copy(), box[1].copy()
        lower[group], upper[group] = ends
        yield lower, upper


def _values(
    feature: Feature, x: FloatArray, low: FloatArray, high: FloatArray
) -> Iterator[tuple[FloatArray | float, FloatArray | float]]:
    """Yield ends of the feature's own coordinates that hold all of its values but ``x``."""
    if feature.one_hot:
        yield from ((unit, unit) for unit in np.eye(x.size) if not np.array_equal(unit, x))
    elif feature.unordered:
        yield from ((float(code), float(code)) for code in feature.codes if code != x[0])
    else:
        yield from ((a, b) for a, b in ((low[0], x[0] - 1), (x[0] + 1, high[0])) if a <= b)
