"""Counterfactuals nearer to the input."""

import numpy as np

from milp_verix.oracle.verdict import Verdict, violated_by
from milp_verix.problem.problem import PosedProblem
from milp_verix.results.build import counterfactual_of
from milp_verix.results.records.base import Counterfactual
from verix_encodings.arrays import IntArray

_HALVINGS = 24  # to the precision of float32


def nearest(problem: PosedProblem, verdict: Verdict, free: IntArray) -> Counterfactual:
    """Return a counterfactual on the way from the input to that of ``verdict``.

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
            best = counterfactual_of(violated_by(problem.question, shaped, outputs))
        else:
            near = middle
    best.input.flags.writeable = False
    return best
