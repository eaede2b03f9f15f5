"""The ball that some features of bounded cost can move in, whichever these are.

A change of features that cost ``k`` together moves the coordinates by no more than a budget: over
an L∞ ball, ``‖x' − x‖₁ ≤ b(k)``, where ``b(k)`` is the most room that features of cost ``k`` have.
So a check over the box with that L1 ball proves that every contrastive set costs more, with no
binary for any feature; for a linear network it is exact.
"""

from dataclasses import dataclass, replace

import numpy as np

from milp_verix.problem.ball import Ball
from milp_verix.problem.problem import Problem
from verix_encodings import Interval, NormBall
from verix_encodings.arrays import FloatArray, IntArray, relative_error
from verix_encodings.bounds.norm_ball import filled_up


@dataclass(frozen=True, slots=True, eq=False)
class KnapsackBall(Ball):
    """An L∞ ball, its claims about moves of at most ``budget`` in L1; witnesses may go beyond."""

    budget: float

    def region(self, free: IntArray) -> Interval | NormBall:
        """Return the inputs that a claim is about, with the coordinates ``free`` free."""
        return NormBall(self.box(free), self.centre.astype(np.float64), self.budget, 1)


def budgeted(problem: Problem, costs: FloatArray, cost: float) -> Problem:
    """Return ``problem`` over a ball that holds every change of features of total cost ``cost``.

    The ball of ``problem`` must be one of L∞; ``costs`` has shape (features,).
    """
    ball = problem.ball
    room = np.maximum(ball.outer.upper - ball.centre, ball.centre - ball.outer.lower)
    rooms = np.array([room[group].sum() for group in problem.features.groups])
    # the knapsack with fractions of features
    fractions = filled_up(rooms / costs, costs, cost) / costs
    budget = float(np.sum(fractions * rooms)) * (1 + relative_error(room.size))
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
    return replace(problem, ball=within)
