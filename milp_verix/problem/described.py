"""The ball of a described input: an interval for each coordinate, whole numbers, and rules.

{ x' : |x'_i − x_i| ≤ ε_i,  l_i ≤ x'_i ≤ u_i,  x'_i ∈ ℤ for whole features,  all rules hold }

A missing value is the number next to ``u_i``. It is at no distance from any number: it is in the
ball of others if ``ε_i = ∞`` alone.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.radii import ends_around, radii_of_coordinates
from milp_verix.problem.ball import Ball


def make_described_ball(x: NDArray[Any], radii: Sequence[float], norm: str, inputs: Inputs) -> Ball:
    """Return the ball around ``x``, an array in the network's own dtype, with a radius a feature.

    Raises ``InputError`` for an ``x`` that is not such an input, for a norm other than L∞, for
    whole numbers that the dtype does not hold, and for a feature that may move without end.
    """
    if norm != "linf":
        raise InputError(
            f"a radius for each feature goes with norm 'linf' alone, not with {norm!r}"
        )
    flat = np.array(x).reshape(-1)
    inputs.refuse(flat)
    reach, wide = radii_of_coordinates(inputs, radii), flat.astype(np.float64)
    ends = ends_around(inputs, wide, radii)
    lower, upper = np.maximum(wide - reach, ends[0]), np.minimum(wide + reach, ends[1])
    magnitude = np.maximum(np.abs(lower), np.abs(upper))
    largest = 2.0 ** (np.finfo(flat.dtype).nmant + 1)
    for feature, group in zip(inputs.features, inputs.groups, strict=True):
        if not np.isfinite(magnitude[group]).all():
            raise InputError(
                f"{feature.name} may move without end: give its lower and upper, or a finite "
                "epsilon"
            )
        if feature.whole and np.any(magnitude[group] > largest):
            raise InputError(
                f"{feature.name} reaches beyond {largest:.0f}, up to which {flat.dtype} has all "
                "whole numbers: give a smaller range, or call it continuous"
            )
    epsilon = float(max(radii))
    return Ball(flat, epsilon, norm, *ends, radii=reach, mixed=inputs.mixed)
