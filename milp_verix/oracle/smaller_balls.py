"""Bounds over the balls of checks: those over larger balls hold there, and cut them.

A *ceiling* is a set of coordinates with deeper bounds over its ball, found by an engine that needed
them. They serve every later check of a part of the ceiling, whoever asks it.
"""

from dataclasses import dataclass, field

import numpy as np

from milp_verix.clock import Deadline
from milp_verix.oracle.bound_tightening import bounds_within
from milp_verix.oracle.engines.claim import Deeper
from milp_verix.oracle.whole_ball import WholeBall
from verix_encodings import (
    BoundMethod,
    Bounds,
    Interval,
    Network,
    NormBall,
    alpha_bounds,
    branched_bounds,
    crown_bounds,
)
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.propagation.alpha import beyond_input

# fewer undecided neurons than these leave programs small, and slopes little to gain
_MANY = 12
_MOST_CEILINGS = 3
# passes in a row that decide nothing, after which the time is left to programs
_MOST_MISSES = 8


# of the coordinates of a ceiling: a ball with fewer has deeper bounds of its own; not measured
_RENEWED = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class _Ceiling:
    """Bounds over the ball in which the coordinates ``free`` move, as deep as ``depth``."""

    free: IntArray
    bounds: Bounds
    depth: int | None

    def covers(self, free: IntArray) -> bool:
        """Return whether the bounds hold with the coordinates ``free`` alone free."""
        return self.free.size >= free.size and bool(np.isin(free, self.free).all())


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """``bounds`` over a ball; their ``depth``, None where they must not become deeper.

    They lie inside those of a ceiling with the depth ``within``.
    """

    bounds: Bounds
    depth: int | None
    within: int = 0


@dataclass(slots=True, eq=False)
class SmallerBalls:
    """Bounds on a network by ``method``, over one ball after the other.

    ``persistent`` says that slopes are optimised in each ball, however often in vain before;
    ``deepens``, that engines may make bounds deeper; ``deepest`` is the greatest depth so far.
    """

    method: BoundMethod
    persistent: bool
    deepens: bool = False
    deepest: int = 0
    _misses: int = 0
    _ceilings: list[_Ceiling] = field(default_factory=list)

    def bounds(
        self,
        network: Network,
        region: Interval | NormBall,
        free: IntArray,
        whole: WholeBall | None,
        deadline: Deadline,
    ) -> "Known":
        """Bound ``network`` over ``region``, where the coordinates ``free`` move.

        The bounds lie inside those over the ``whole`` ball, and over the smallest ceiling.
        """
        first = self.method
        if first is branched_bounds and whole is not None:
            first = crown_bounds
        depth = 0 if self.deepens else None
        if whole is None:
            return Known(bounds_within(first, network, region, deadline, ()), depth)
        ceiling = next((one for one in reversed(self._ceilings) if one.covers(free)), None)
        known = whole.bounds if ceiling is None else ceiling.bounds
        if ceiling is not None and free.size >= _RENEWED * ceiling.free.size:
            depth = ceiling.depth
        within = 0 if ceiling is None else ceiling.depth or 0
        backward = first in (crown_bounds, alpha_bounds)
        finished = whole.finished or ceiling is not None
        if backward and finished and _equal(region, known[0]):
            return Known(known, depth, within)
        return Known(bounds_within(first, network, region, deadline, known), depth, within)

    def deepened(self, free: IntArray, deeper: Deeper | None, bounds: Bounds) -> Bounds:
        """Keep ``deeper`` bounds over the ball where the coordinates ``free`` move.

        Returns these, or ``bounds`` where there are none.
        """
        if deeper is None:
            return bounds
        self.deepest = max(self.deepest, deeper.depth or 0)
        # those of larger balls stay for checks of other parts
        kept = [one for one in self._ceilings if one.free.size > free.size]
        self._ceilings = [*kept[-_MOST_CEILINGS:], _Ceiling(free, deeper.bounds, deeper.depth)]
        return deeper.bounds

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
        wanted = hopeful and self.method in (alpha_bounds, branched_bounds)
        if not wanted or beyond_input(network, bounds) < _MANY:
            return bounds
        found = alpha_bounds(network, region, deadline.passed, within=bounds)
        proven = np.all(np.fmin(upper, found[-1].upper) < -needed)
        self._misses = 0 if proven else self._misses + 1
        return found


def _equal(region: Interval | NormBall, box: Interval) -> bool:
    own = region.box
    return np.array_equal(own.lower, box.lower) and np.array_equal(own.upper, box.upper)
