"""What one check leaves for the next: proven bounds, worst points, and how fast margins can grow.

A traversal frees more and more coordinates, and a check on a larger set can use what was proven on
a smaller one, ``B ⊆ B'``:

    sup_{B'} m_j  ≤  sup_B m_j + Σ_{i ∈ B' − B} max(s⁺_ij h⁺_i, −s⁻_ij h⁻_i, 0)

with ``[s⁻, s⁺]`` bounds on ``∂m_j/∂x_i`` over ``B'`` and ``h`` the room of coordinate ``i`` on each
side; and an input that is bad for margin ``j`` on ``B`` is a good start for a counterfactual on
``B'``, with the coordinates that are new moved to one of their ends.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from milp_verix.ascent import climb
from verix_encodings import Bounds, Interval, Network, slope_bounds
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds import relative_error

# each costs two evaluations of the network for each margin
_ONE_BY_ONE = 64


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """What is known of the margins of ``network`` with the coordinates ``free`` free.

    ``upper`` are proven bounds on the margins over that ball, shape (m,); ``points`` are inputs of
    it, one for each margin, shape (m, d), with the values ``reached`` there, shape (m,).
    """

    network: Network
    centre: FloatArray
    free: IntArray
    upper: FloatArray
    points: FloatArray
    reached: FloatArray

    def extra(self, free: IntArray) -> IntArray | None:
        """Return the coordinates in ``free`` that are new, or None where an old one is missing."""
        if not np.isin(self.free, free).all():
            return None
        return np.setdiff1d(free, self.free)

    def grown(self, extra: IntArray, bounds: Bounds) -> FloatArray:
        """Return proven bounds on the margins with ``extra`` free too; ``bounds`` hold there.

        Infinite or NaN where slopes overflow.
        """
        low, high = slope_bounds(self.network, bounds)
        box, centre = bounds[0], self.centre
        up = np.nextafter(box.upper[extra] - centre[extra], np.inf)
        down = np.nextafter(centre[extra] - box.lower[extra], np.inf)
        with np.errstate(over="ignore"):
            ways = np.maximum(np.maximum(high[:, extra] * up, -low[:, extra] * down), 0.0)
            growth = np.sum(ways, axis=1) * (1.0 + relative_error(extra.size))
            error = relative_error(1) * (np.abs(self.upper) + growth)
            return np.asarray(self.upper + growth + error)

    def flips(self, extra: IntArray, box: Interval) -> Iterator[tuple[int, FloatArray, float]]:
        """Yield (margin, input, value there), the new coordinates at the ends that are worse.

        The ends are chosen coordinate by coordinate, or, where these are many, along the gradient;
        the margins that came closest are first.
        """
        for margin in np.argsort(-self.reached, kind="stable"):
            if extra.size > _ONE_BY_ONE:
                point = climb(self.network, box, self.points[margin], int(margin))
                yield int(margin), point, float(self.network.evaluate(point)[margin])
                continue
            point, value = self.points[margin].copy(), float(self.reached[margin])
            for i in extra:
                worst = point[i]
                for end in (box.lower[i], box.upper[i]):
                    point[i] = end
                    there = float(self.network.evaluate(point)[margin])
                    if there > value:
                        value, worst = there, end
                point[i] = worst
            yield int(margin), point, value
