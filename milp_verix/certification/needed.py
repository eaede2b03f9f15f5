"""Features that a counterfactual shows to be needed in exact arithmetic.

Whether a point is in the ball is decided exactly. A margin that float64 puts far above zero, in
units of its rounding, needs no fractions; the checker evaluates any other one exactly.
"""

import numpy as np

from milp_verix.certification.claims import ball_of
from milp_verix.certification.neurons import Neurons
from milp_verix.records.explanation import Explanation
from verix_check import Claim
from verix_encodings.arrays import FloatArray
from verix_encodings.network.batch import batch_values

# the rounding of float64 is a ten-billionth of that, in units of the largest value
_FAR = 1e-6


def needed_features(explanation: Explanation, claim: Claim) -> tuple[int, ...]:
    """Return the features whose counterfactuals the checker accepts, ascending."""
    found = sorted(explanation.counterfactuals.items())
    if not found:
        return ()
    neurons = Neurons.of(claim, range(len(claim.margins)))
    points = np.stack([point.input.ravel().astype(np.float64) for _, point in found])
    with np.errstate(over="ignore", invalid="ignore"):
        values = batch_values(neurons.network, points.T)
    far = _FAR * max(float(np.max(np.abs(value), initial=1e-300)) for value in values)
    ball = ball_of(explanation)
    groups, kept = explanation.groups, []
    for place, (feature, point) in enumerate(found):
        features = [*explanation.irrelevant, feature]
        free = np.sort(np.concatenate([np.asarray(groups[one]) for one in features]))
        if not ball.contains(point.input.ravel(), free):
            continue
        if values[-1][:, place].max() > far or _changes(claim, points[place]):
            kept.append(feature)
    return tuple(kept)


def _changes(claim: Claim, point: FloatArray) -> bool:
    """Return whether a margin is above zero at ``point``, exactly."""
    exact = [claim.one, *map(claim.net.number, point.tolist())]
    return bool(max(claim.net.values(exact, claim.margins)) * claim.one > 1 + claim.limit)
