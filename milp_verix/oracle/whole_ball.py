"""Bounds on the margins over the whole ball: one pass that orders, checks and searches share."""

from dataclasses import dataclass

import numpy as np

from milp_verix.base.clock import NO_LIMIT, Deadline
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
from verix_encodings.arrays import BoolArray
from verix_encodings.propagation.leaf_bounds import leaf_bounds

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
