"""The ball that changes of bounded cost can move in, whichever features they move.

A change that costs ``k`` moves the coordinates by no more than a budget: over an L∞ ball, ``‖x' −
x‖₁ ≤ b(k)``, where ``b(k)`` is the most room that units of cost ``k`` have
(:mod:`milp_verix.searches.contrast.change_measure`). So a check over the box with that L1 ball
proves that every counterfactual costs more, with no binary for any feature. It is exact for the
features of a linear network, and for a distance whose costs and scales are all equal.
"""

from dataclasses import dataclass

import numpy as np

from milp_verix.problem.ball import Ball
from milp_verix.problem.problem import PosedProblem
from milp_verix.searches.contrast.change_measure import ChangeMeasure
from verix_encodings import Interval, NormBall
from verix_encodings.arrays import IntArray, relative_error
from verix_encodings.bounds.norm_ball import filled_up


@dataclass(frozen=True, slots=True, eq=False)
class KnapsackBall(Ball):
    """An L∞ ball, its claims about moves of at most ``budget`` in L1; witnesses may go beyond."""

    budget: float

    def region(self, free: IntArray) -> Interval | NormBall:
        """Return the inputs that a claim is about, with the coordinates ``free`` free."""
        return NormBall(self.box(free), self.centre.astype(np.float64), self.budget, 1)


def budgeted(problem: PosedProblem, measure: ChangeMeasure, cost: float) -> PosedProblem:
    """Return ``problem`` over a ball that holds every change of total ``cost`` by ``measure``.

    The ball of ``problem`` must be one of L∞.
    """
    ball = problem.ball
    moving = measure.most > 0
    rooms, most = measure.rooms[moving], measure.most[moving]
    # the knapsack with fractions of units
    fractions = filled_up(rooms / most, most, cost) / most
    budget = float(np.sum(fractions * rooms)) * (1 + relative_error(ball.centre.size + 4))
    within = KnapsackBall(
        ball.centre,
        ball.epsilon,
        ball.norm,
        ball.domain_lower,
        ball.domain_upper,
        budget,
        radii=ball.radii,
        mixed=ball.mixed,
    )
    return problem.within(within)
