"""The only way to a VIOLATED verdict: an input in the ball, run in onnxruntime."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.oracle.verdict import Answer, Verdict
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.question import Question
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.work import spend_calls


def replayed(problem: PosedProblem, point: FloatArray, free: IntArray) -> Verdict | None:
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
    spend_calls(40)
    # a solver's zero may be -0.0, which is the same number, and reads "-0"
    witness = np.where(witness == ball.centre, ball.centre, witness + witness.dtype.type(0))
    outputs = network.evaluate(witness)
    if not question.changed(outputs):
        return None
    witness = witness.reshape(network.input_shape)
    witness.flags.writeable = False
    return violated_by(question, witness, outputs)


def violated_by(question: Question, witness: NDArray[Any], outputs: NDArray[Any]) -> Verdict:
    """Return VIOLATED with a ``witness`` that changes the prediction to that of ``outputs``."""
    return Verdict(
        Answer.VIOLATED,
        witness=witness,
        prediction=question.predicted(outputs),
        rival=question.rival(outputs),
    )
