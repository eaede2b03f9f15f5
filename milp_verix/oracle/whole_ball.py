"""Bounds on the margins over the whole ball: one pass that orders, checks and searches share.

Room: how far a set that is proven free is from its limits, and what each feature takes of it.

Let ``u_j < 0`` be the proven bound on margin ``j`` over the ball of the free set ``B``, and
``a_j·x + b_j`` CROWN's linear form that is above the margin there. Freeing coordinate ``k`` adds
at most ``max(a_jk (u_k − x_k), a_jk (l_k − x_k))`` to it: ``g_ij`` is the sum over feature ``i``.

Preparation of many checks on one problem: bounds over the whole ball, and the margins left.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.bound_tightening import bounds_within
from milp_verix.problem.problem import PosedProblem
from verix_encodings import (
    BoundMethod,
    Bounds,
    Interval,
    Network,
    alpha_bounds,
    branched_bounds,
    crown_bounds,
)
from verix_encodings.arrays import BoolArray, FloatArray, dense
from verix_encodings.propagation.crown import upper_form
from verix_encodings.propagation.interval_bounds import leaf_bounds

_PART = 0.2  # of the work left for optimised slopes; not measured


@dataclass(frozen=True, slots=True, eq=False)
class WholeBall:
    """The network of ``margins``, and ``bounds`` on its values with every feature free.

    ``finished`` says whether the pass ended in time; if not, the bounds hold but are wider.
    """

    margins: Network
    bounds: Bounds
    finished: bool = True

    def only(self, chosen: BoolArray) -> "WholeBall":
        """Return the same bounds with the ``chosen`` margins alone."""
        *inner, last = self.bounds
        part = self.margins.then(np.eye(chosen.size)[chosen], np.zeros(int(chosen.sum())))
        outputs = Interval(last.lower[chosen], last.upper[chosen])
        return WholeBall(part, (*inner, outputs), self.finished)


def whole_ball(
    problem: PosedProblem, deadline: Deadline = NO_LIMIT, method: BoundMethod = crown_bounds
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


_MOST = 100.0  # by how much faster margins may be expected to grow; not measured


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """The bounds ``u``, shape (m,), and the growth ``g``, shape (m, features)."""

    upper: FloatArray
    growth: FloatArray

    def fitting(self, features: Sequence[int]) -> list[int]:
        """Return those of ``features`` that the form leaves room for, one at a time."""
        fits = np.all(self.upper[:, None] + self.growth[:, list(features)] < 0, axis=0)
        return [feature for feature, fit in zip(features, fits.tolist(), strict=True) if fit]

    def together(self, features: Sequence[int], factor: float) -> int:
        """Return how many of ``features``, from the first on, have room together; at least one.

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


def room_of(problem: PosedProblem, margins: Network, bounds: Bounds, upper: FloatArray) -> Room:
    """Return the room of a set: ``bounds`` hold over its L∞ ball, ``upper`` bound its margins."""
    every = np.eye(margins.output_size)
    slopes = dense(upper_form(margins, bounds, len(margins.nodes), every).coefficients)
    centre, box = problem.x.astype(np.float64), problem.ball.outer
    ways = np.maximum(slopes * (box.upper - centre), slopes * (box.lower - centre))
    return Room(upper, problem.features.totals(ways))


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
    problem: PosedProblem,
    tolerances: Tolerances,
    deadline: Deadline,
    method: BoundMethod = crown_bounds,
) -> Preparation:
    """Bound the margins of ``problem`` over the whole ball, as tightly as there is time for.

    ``method`` is that of :func:`whole_ball`.

    Raises ``OverflowError`` where a bound leaves the range of float64.
    """
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
