"""Bounds over the balls of checks: those over larger balls hold there, and cut them.

A *ceiling* is a ball with deeper bounds, found by an engine that needed them. They serve every
later check of a ball inside it, whoever asks: fewer coordinates are free, or the radius is smaller.
"""

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.base.errors import InputError
from milp_verix.oracle.bound_tightening import DEEPENED, bounds_within, resolve_bounds
from milp_verix.oracle.engines.claim import Deeper
from milp_verix.oracle.whole_ball import WholeBall
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import USUAL, Search
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
from verix_encodings.arrays import FloatArray
from verix_encodings.propagation.alpha import beyond_input
from verix_encodings.propagation.interval_bounds import leaf_bounds

# fewer undecided neurons than these leave programs small, and slopes little to gain
_MANY = 12
_MOST_CEILINGS = 12  # that are kept; not measured
# passes in a row that decide nothing, after which the time is left to programs
_MOST_MISSES = 8


@dataclass(frozen=True, slots=True, eq=False)
class _Ceiling:
    """Bounds over a ball, as deep as ``depth``."""

    region: Interval | NormBall
    bounds: Bounds
    depth: int | None

    @property
    def size(self) -> tuple[float, float]:
        """The sum of the widths of the ball's box, and its radius in another norm than L∞."""
        box = self.region.box
        radius = self.region.radius if isinstance(self.region, NormBall) else 0.0
        return float(np.sum(box.upper - box.lower)), radius


@dataclass(slots=True, eq=False)
class SmallerBalls:
    """Bounds on a network by ``method``, over one ball after the other.

    ``persistent`` says that slopes are optimised in each ball, however often in vain before;
    ``deepens``, that engines may make bounds deeper; ``keeps``, that these serve later balls;
    ``deepest`` is the greatest depth so far.
    """

    method: BoundMethod
    persistent: bool
    deepens: bool = False
    keeps: bool = True
    deepest: int = 0
    _misses: int = 0
    _ceilings: list[_Ceiling] = field(default_factory=list)

    @classmethod
    def of(cls, problem: PosedProblem, search: Search) -> "SmallerBalls":
        """Return the bounds of checks on ``problem``, before any check.

        Raises ``InputError`` for bounds that do not fit.
        """
        name, method = named_bounds(problem, search)
        deepens = name in DEEPENED and problem.ball.mixed is None
        return cls(method, search.exactness == "bounds", deepens, search.reuse)

    def bounds(
        self,
        network: Network,
        region: Interval | NormBall,
        whole: WholeBall | None,
        deadline: Deadline,
    ) -> Deeper:
        """Bound ``network`` over ``region``.

        The bounds lie inside those over the ``whole`` ball, and over the smallest ceiling.
        """
        first = self.method
        if first is branched_bounds and whole is not None:
            first = crown_bounds
        depth = 0 if self.deepens else None
        around = [one for one in self._ceilings if _inside(region, one.region)]
        if around:
            ceiling = min(around, key=lambda one: one.size)
            known, finished = ceiling.bounds, _inside(ceiling.region, region)
            depth = ceiling.depth
        elif whole is not None:
            known, finished = whole.bounds, whole.finished and _equal(region, whole.bounds[0])
        else:
            known, finished = (), False
        if finished and first in (crown_bounds, alpha_bounds):
            return Deeper(known, depth)
        return Deeper(bounds_within(first, network, region, deadline, known), depth)

    def deepened(
        self, region: Interval | NormBall, deeper: Deeper | None, bounds: Bounds
    ) -> Bounds:
        """Keep ``deeper`` bounds over ``region``; return these, or ``bounds`` without any."""
        if deeper is None:
            return bounds
        self.deepest = max(self.deepest, deeper.depth or 0)
        if self.keeps:
            others = [
                one
                for one in self._ceilings
                if not (_inside(region, one.region) and _inside(one.region, region))
            ]
            newest = _Ceiling(region, deeper.bounds, deeper.depth)
            self._ceilings = [*others[1 - _MOST_CEILINGS :], newest]
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


def named_bounds(problem: PosedProblem, search: Search) -> tuple[str, BoundMethod]:
    """Return the name of the method that bounds neurons of ``problem`` first, and the method.

    Raises ``InputError`` for bounds that do not fit.
    """
    name, method = resolve_bounds(search.bounds)
    if not problem.margins.stepped:
        return name, method
    if name not in ("interval", "crown", USUAL.bounds):
        raise InputError(
            f"bounds={name!r} tightens the values of neurons, and trees have none: leave bounds out"
        )
    mixed = problem.ball.mixed
    integral = None if mixed is None else mixed.integral
    return "interval", partial(leaf_bounds, integral=integral)


def _equal(region: Interval | NormBall, box: Interval) -> bool:
    own = region.box
    return np.array_equal(own.lower, box.lower) and np.array_equal(own.upper, box.upper)


def _inside(inner: Interval | NormBall, outer: Interval | NormBall) -> bool:
    """Return whether ``outer`` holds ``inner``, as far as their boxes, norms and radii tell."""
    low, high = inner.box, outer.box
    if np.any(low.lower < high.lower) or np.any(low.upper > high.upper):
        return False
    if not isinstance(outer, NormBall):
        return True
    if not isinstance(inner, NormBall) or inner.norm != outer.norm:
        return False
    return inner.radius <= outer.radius and np.array_equal(inner.centre, outer.centre)
