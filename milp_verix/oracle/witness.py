"""The only way to a VIOLATED verdict: an input in the ball, run in onnxruntime."""

import numpy as np

from milp_verix.problem.problem import Problem
from milp_verix.records.verdict import Answer, Verdict
from verix_encodings.arrays import FloatArray, IntArray


def replayed(problem: Problem, point: FloatArray, free: IntArray) -> Verdict | None:
    """Run onnxruntime next to ``point``; return VIOLATED if the prediction changes, else None.

    ``point`` is any vector of shape (d,). onnxruntime runs on the nearest input of the network's
    dtype that lies in the ball over the coordinates ``free``. None if ``point`` is not finite.
    """
    if not np.isfinite(point).all():
        return None  # slopes that overflow lead nowhere
    network, question, ball = problem.network, problem.question, problem.ball
    witness = ball.nearest_witness(point, free)
    if not ball.contains(witness, free):
        return None
    outputs = network.evaluate(witness)
    if not question.changed(outputs):
        return None
    witness = witness.reshape(network.input_shape)
    witness.flags.writeable = False
    return Verdict(Answer.VIOLATED, witness=witness, prediction=question.predicted(outputs))
