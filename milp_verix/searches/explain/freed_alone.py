"""Orders by bounds over the set where one feature is free and all others are fixed.

For each feature ``i`` the score is

    max_k (upper bound of L_k(x') over x' with x'_j = x_j for j ≠ i)  −  max_k L_k(x)

| order | L | bounds |
|---|---|---|
| ``bound`` | the loss: minus the score of the predicted class | interval arithmetic |
| ``bound_crown`` | the loss | CROWN |
| ``margin`` | the margins of all rivals | CROWN |

The first two are those of VeriX+ (Wu, Li, Wu, Barrett, 2024, arXiv:2409.03060): features are freed
in descending order of the lower bound on the predicted class's score. Its authors' program takes
intervals for dense networks and CROWN for convolutional ones. ``margin`` knows the rivals, too.
A run of affine operators counts as one layer.
"""

from collections.abc import Sequence

import numpy as np

from milp_verix.base.clock import NO_LIMIT, Deadline, OutOfTimeError
from milp_verix.problem.problem import PosedProblem
from verix_encodings import crown_bounds, interval_bounds
from verix_encodings.arrays import FloatArray

BOUND_ORDERS = ("bound", "bound_crown", "margin")

_PART = 0.2
"""The part of the work left that bounds may take: the checks need the rest."""


def rises(
    problem: PosedProblem, order: str, turn: Sequence[int], deadline: Deadline = NO_LIMIT
) -> FloatArray:
    """Return scores of features, computed until a fifth of the remaining work is spent.

    ``order`` is one of ``BOUND_ORDERS``; ``turn`` is the sequence in which features are bounded.
    Scores have the shape (features,) and the units of the network's outputs, NaN for features
    that were not reached. Raises ``OutOfTimeError`` if there is no time for a single one,
    ``OverflowError`` where a bound leaves the range of float64.
    """
    deadline.check()
    deadline = deadline.share(_PART)
    losses = problem.question.losses(problem.network.ir)
    network = problem.margins if order == "margin" else losses
    highest = np.full(problem.features.count, np.nan)
    for feature in turn:
        region = problem.ball.region(problem.features.groups[feature])
        if order == "bound":
            bounds = interval_bounds(network, region)
        else:
            bounds = crown_bounds(network, region, late=deadline.passed)
        if deadline.passed():  # the last bounds may have been cut short
            break
        highest[feature] = bounds[-1].upper.max()
    if np.isnan(highest).all():
        raise OutOfTimeError
    return highest - float(network.evaluate(problem.x).max())
