"""Bounds on the margins over the whole ball, and over the smaller balls of checks.

One pass over the whole ball serves orders, checks and searches; bounds over larger balls hold in
smaller ones, and cut them. A *ceiling* is a ball with deeper bounds, found by an engine that needed
them. They serve every later check of a ball inside it, whoever asks: fewer coordinates are free, or
the radius is smaller.

Headroom: how far a set that is proven free is from its limits, and what each feature takes of it.
Let ``u_j < 0`` be the proven bound on margin ``j`` over the ball of the free set ``B``, and
``a_j·x + b_j`` CROWN's linear form that is above the margin there. Freeing coordinate ``k`` adds
at most ``max(a_jk (u_k − x_k), a_jk (l_k − x_k))`` to it: ``g_ij`` is the sum over feature ``i``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.base.errors import InputError
from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.bound_tightening import DEEPENED, bounds_within, resolve_bounds
from milp_verix.oracle.engines.engine import Deeper
from milp_verix.problem.problem import ProblemData
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
from verix_encodings.alpha import beyond_input
from verix_encodings.arrays import BoolArray, FloatArray, dense, unit_rows
from verix_encodings.crown import upper_form
from verix_encodings.interval_bounds import leaf_bounds

_PART = 0.2  # of the work left for optimised slopes; not measured


@dataclass(frozen=True, slots=True, eq=False)
class WholeBall:
    """The network of ``margins``, and ``bounds`` over the whole ball, wider if not ``finished``."""

    margins: Network
    bounds: Bounds
    finished: bool = True

    def only(self, chosen: BoolArray) -> "WholeBall":
        """Return the same bounds with the ``chosen`` margins alone."""
        *inner, last = self.bounds
        part = self.margins.then(
            unit_rows(np.flatnonzero(chosen), chosen.size), np.zeros(int(chosen.sum()))
        )
        outputs = Interval(last.lower[chosen], last.upper[chosen])
        return WholeBall(part, (*inner, outputs), self.finished)


def whole_ball(
    problem: ProblemData, deadline: Deadline = NO_LIMIT, method: BoundMethod = crown_bounds
) -> WholeBall:
    """Bound the margins of ``problem`` over its ball, as tightly as there is time for.

    Where CROWN leaves a margin open and ``method`` is :func:`alpha_bounds` or
    :func:`branched_bounds`, it has a small part of the time. Raises ``OverflowError`` where a bound
    leaves the range of float64.
    """
    region = problem.ball.region(np.arange(problem.x.size))
    # a pass that ends right after the deadline, with nothing left out, is finished
    stopped = False

    def late() -> bool:
        nonlocal stopped
        stopped = stopped or deadline.passed()
        return stopped

    if problem.margins.stepped:
        # there are no lines around jumps
        return WholeBall(problem.margins, leaf_bounds(problem.margins, region))
    bounds = crown_bounds(problem.margins, region, late=late)
    if method in (alpha_bounds, branched_bounds) and bounds[-1].upper.max() >= 0:
        part = deadline.share(_PART)
        bounds = bounds_within(method, problem.margins, region, part, bounds)
    return WholeBall(problem.margins, bounds, not stopped)


_LATE = 1.0
"""Seconds behind a deadline after which no pass is made inside bounds that are known: a check of a
transformer of 256 tokens took 8.8 s at a limit of 0.01 s, half of them for a second pass."""
_MOST = 100.0  # by how much faster margins may be expected to grow; not measured


@dataclass(frozen=True, slots=True, eq=False)
class Headroom:
    """The bounds ``u``, shape (m,), and the growth ``g``, shape (m, features)."""

    upper: FloatArray
    growth: FloatArray

    def fitting(self, features: Sequence[int]) -> list[int]:
        """Return those of ``features`` that the form leaves headroom for, one at a time."""
        fits = np.all(self.upper[:, None] + self.growth[:, list(features)] < 0, axis=0)
        return [feature for feature, fit in zip(features, fits.tolist(), strict=True) if fit]

    def together(self, features: Sequence[int], factor: float) -> int:
        """Return how many of ``features``, from the first on, have headroom together; at least one.

        The margins are expected to grow ``factor`` times as fast as the form.
        """
        grown = factor * np.cumsum(self.growth[:, list(features)], axis=1)
        fits = np.all(self.upper[:, None] + grown < 0, axis=0)
        return len(features) if fits.all() else max(1, int(np.argmin(fits)))

    def factor(self, features: Sequence[int], later: FloatArray) -> float:
        """Return the ratio of the margins' growth to the form's, with ``features`` free.

        ``later`` are the bounds of the margins then. The ratio is the largest of all margins, at
        least 1 and at most 100.
        """
        expected = np.sum(self.growth[:, list(features)], axis=1)
        grown = (later - self.upper) / np.where(expected > 0, expected, np.inf)
        return float(np.clip(np.max(grown, initial=1.0), 1.0, _MOST))


def rises_of(problem: ProblemData, slopes: FloatArray) -> FloatArray:
    """Return how far each coordinate raises each margin by its ``slopes``; both (m, d)."""
    x, outer = problem.x.astype(np.float64), problem.ball.outer
    with np.errstate(over="ignore"):  # beyond float64 is infinite, and comes last
        return np.maximum(slopes * (outer.upper - x), slopes * (outer.lower - x))


def form_rises(problem: ProblemData, margins: Network, bounds: Bounds) -> FloatArray:
    """Return how far each coordinate raises the margins by CROWN's forms; shape (m, d)."""
    every = unit_rows(range(margins.output_size), margins.output_size)
    form = upper_form(margins, bounds, len(margins.nodes), every)
    return rises_of(problem, dense(form.coefficients))


@dataclass(frozen=True, slots=True, eq=False)
class Preparation:
    """The ``margins`` that checks are about, with bounds over the whole ball.

    ``margins`` leaves out margins that cannot reach zero anywhere; ``highest`` is the highest bound
    on these. ``whole`` bounds all margins, ``left`` those in ``margins``; None before there are
    bounds. ``proven`` says that every margin is proven: then every check holds.
    """

    margins: Network
    whole: WholeBall | None = None
    left: WholeBall | None = None
    highest: float = -np.inf
    proven: bool = False


def prepared(
    problem: ProblemData,
    tolerances: Tolerances,
    deadline: Deadline,
    method: BoundMethod = crown_bounds,
) -> Preparation:
    """Bound the margins over the whole ball as :func:`whole_ball` does, and drop those proven."""
    whole = whole_ball(problem, deadline, method)
    last = whole.bounds[-1]
    open_ = ~(last.upper < -tolerances.needed(last.magnitude))
    proven = not open_.any()
    if proven:
        open_[np.argmax(last.upper)] = True  # the one that decides the others
    left = whole.only(open_)
    highest = float(np.max(last.upper[~open_], initial=-np.inf))
    return Preparation(left.margins, whole, left, highest, proven)


def notes_on(margins: Network, exactness: str, segments: int) -> tuple[str, ...]:
    """Return notes for readers on checks that leave more features undecided than exact ones."""
    if exactness != "exact":
        return (
            f"exactness {exactness!r}: what holds is proven, and counterfactuals are "
            "real, but a check that needs a mixed-integer program is undecided",
        )
    if margins.exact:
        return ()
    names = ", ".join(sorted(margins.enclosed))
    return (
        f"the functions {names} are enclosed, smooth ones by {segments} segments each: what "
        "holds is proven, and counterfactuals are real, but a feature may be undecided for no "
        "other reason than the enclosure; more segments decide more",
    )


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
    ``deepest`` is the greatest depth so far; ``name`` is that of the method.
    """

    method: BoundMethod
    persistent: bool
    deepens: bool = False
    keeps: bool = True
    deepest: int = 0
    name: str = ""
    _misses: int = 0
    _ceilings: list[_Ceiling] = field(default_factory=list)

    @classmethod
    def of(cls, problem: ProblemData, search: Search) -> "SmallerBalls":
        """Return the bounds of checks; ``InputError`` for a method that does not fit."""
        name, method = resolve_bounds(search.bounds)
        mixed = problem.ball.mixed
        if problem.margins.stepped:
            if name not in ("interval", "crown", USUAL.bounds):
                raise InputError(
                    f"bounds={name!r} tightens the values of neurons, and trees have none: leave "
                    "bounds out"
                )
            integral = None if mixed is None else mixed.integral
            name, method = "interval", partial(leaf_bounds, integral=integral)
        deepens = name in DEEPENED and mixed is None
        return cls(method, search.exactness == "bounds", deepens, search.reuse, name=name)

    def bounds(
        self,
        network: Network,
        region: Interval | NormBall,
        whole: WholeBall | None,
        deadline: Deadline,
    ) -> Deeper:
        """Bound ``network`` over ``region``, inside bounds over the balls around it."""
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
            own, box, known = region.box, whole.bounds[0], whole.bounds
            same = np.array_equal(own.lower, box.lower) and np.array_equal(own.upper, box.upper)
            finished = whole.finished and same
        else:
            known, finished = (), False
        late = known and deadline.seconds < -_LATE
        if late or (finished and first in (crown_bounds, alpha_bounds)):
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
