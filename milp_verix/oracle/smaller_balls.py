"""Bounds over the balls of checks: those over the whole ball hold there, and cut them."""

from dataclasses import dataclass

import numpy as np

from milp_verix.clock import Deadline
from milp_verix.oracle.bound_tightening import bounds_within
from milp_verix.oracle.whole_ball import WholeBall
from verix_encodings import (
    BoundMethod,
    Bounds,
    Interval,
    Network,
    NormBall,
    alpha_bounds,
    crown_bounds,
)
from verix_encodings.arrays import FloatArray
from verix_encodings.propagation.alpha import beyond_input

# fewer undecided neurons than these leave programs small, and slopes little to gain
_MANY = 12
# passes in a row that decide nothing, after which the time is left to programs
_MOST_MISSES = 8


@dataclass(slots=True, eq=False)
class SmallerBalls:
    """Bounds on a network by ``method``, over one ball after the other.

    ``persistent`` says that slopes are optimised in each ball, however often in vain before.
    """

    method: BoundMethod
    persistent: bool
    _misses: int = 0

    def bounds(
        self,
        network: Network,
        region: Interval | NormBall,
        whole: WholeBall | None,
        deadline: Deadline,
    ) -> Bounds:
        """Bound ``network`` over ``region``, inside the bounds over the ``whole`` ball."""
        if whole is None:
            return bounds_within(self.method, network, region, deadline, ())
        backward = self.method in (crown_bounds, alpha_bounds)
        if backward and whole.finished and _equal(region, whole.bounds[0]):
            return whole.bounds
        return bounds_within(self.method, network, region, deadline, whole.bounds)

    def with_slopes(
        self,
        network: Network,
        region: Interval | NormBall,
        bounds: Bounds,
        *,
        upper: FloatArray,
        needed: FloatArray,
        deadline: Deadline,
    ) -> Bounds:
        """Optimise slopes, inside ``bounds``, to prove outputs below ``-needed``.

        ``upper`` are bounds on the outputs known otherwise, shape (m,) as ``needed``. Returns
        ``bounds`` where slopes are not asked for, or hopeless.
        """
        hopeful = self.persistent or self._misses < _MOST_MISSES
        wanted = self.method is alpha_bounds and hopeful
        if not wanted or beyond_input(network, bounds) < _MANY:
            return bounds
        found = alpha_bounds(network, region, deadline.passed, within=bounds)
        proven = np.all(np.fmin(upper, found[-1].upper) < -needed)
        self._misses = 0 if proven else self._misses + 1
        return found


def _equal(region: Interval | NormBall, box: Interval) -> bool:
    own = region.box
    return np.array_equal(own.lower, box.lower) and np.array_equal(own.upper, box.upper)
