"""The distance of a counterfactual, and counterfactuals nearer to the input.

A counterfactual ``w`` at the distance ``d = ‖w − x‖_p`` lies in the ball of every radius ``ε ≥ d``
and refutes the claim there. ``d`` is computed in exact fractions and rounded up to float64, so
``w`` lies in the ball of the number returned.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.problem.ball import Ball
from milp_verix.problem.problem import Problem
from milp_verix.records.base import Counterfactual
from milp_verix.records.verdict import Verdict
from milp_verix.results.build import counterfactual_of
from verix_encodings.arrays import IntArray

_HALVINGS = 24


def distance(ball: Ball, point: NDArray[Any]) -> float:
    """Return ``‖point − centre‖`` in the norm of ``ball``, rounded up to float64."""
    pairs = zip(point.reshape(-1).tolist(), ball.centre.tolist(), strict=True)
    moves = [abs(Fraction(there) - Fraction(here)) for there, here in pairs if there != here]
    if ball.norm == "linf":
        return _rounded_up(max(moves, default=Fraction()))
    if ball.norm == "l1":
        return _rounded_up(sum(moves, Fraction()))
    square = sum((move * move for move in moves), Fraction())
    root = math.sqrt(square)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root


def nearest(problem: Problem, verdict: Verdict, free: IntArray) -> tuple[float, Counterfactual]:
    """Return a counterfactual on the way from the input to that of ``verdict``, and its distance.

    By halving, each point run in onnxruntime: the last one that changes the prediction.
    """
    best = counterfactual_of(verdict)
    centre, ball = problem.x.astype(np.float64), problem.ball
    moved = best.input.reshape(-1).astype(np.float64) - centre
    near, far = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        point = ball.nearest_witness(centre + middle * moved, free)
        outputs = problem.network.evaluate(point)
        if problem.question.changed(outputs) and ball.contains(point, free):
            far = middle
            shaped = point.reshape(problem.network.input_shape)
            best = Counterfactual(shaped, problem.question.predicted(outputs))
        else:
            near = middle
    best.input.flags.writeable = False
    return distance(ball, best.input), best


def reach(ball: Ball, free: IntArray) -> float:
    """Return the radius from which on the ball over ``free`` holds the whole domain.

    Infinite where the domain is.
    """
    lower, upper, x = ball.domain_lower[free], ball.domain_upper[free], ball.centre[free]
    wide = x.astype(np.float64)
    corner = ball.centre.astype(np.float64)
    corner[free] = np.where(upper - wide > wide - lower, upper, lower)
    return distance(ball, corner) if np.isfinite(corner).all() else math.inf


def _rounded_up(value: Fraction) -> float:
    rounded = float(value)
    return rounded if Fraction(rounded) >= value else math.nextafter(rounded, math.inf)
