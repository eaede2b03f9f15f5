"""The least cost of shares of features near an explanation: where cheaper ones may be.

Near some shares each margin under each perturbation is linear in them
(:mod:`~milp_verix.linear_margins`). The cheapest shares that survive all perturbations known are a
linear program then. What they do not survive is found by the search for the worst case, and so on,
until that hurts little. That is a local minimum of the continuous problem, and no bound; whole sets
near it are good proposals.
"""

from collections.abc import Callable

import numpy as np

from milp_verix.linear_margins import largest_margin, linear_margins, minimised
from milp_verix.perturbations import Perturbations
from milp_verix.wishes import Wishes
from verix_encodings.arrays import FloatArray

_STEPS = 20
_LITTLE = 0.02
_SURVIVED = 1e-6


def local_minimum(
    perturbations: Perturbations,
    wishes: Wishes,
    shares: FloatArray,
    known: Callable[[], FloatArray],
    attack: Callable[[FloatArray], float],
) -> FloatArray | None:
    """Return shares of features near ``shares``, which survive what is ``known``, shape (d, N).

    ``attack`` adds to that what shares do not survive, and returns the largest margin, at most zero
    where there is nothing to add. None where no shares survive.
    """
    most, found = 0.0, None
    for _ in range(_STEPS):
        deltas = known()
        rows = linear_margins(perturbations, deltas, shares)
        below = rows.matrix, -rows.constant - _SURVIVED
        cheapest = minimised(wishes.costs, below, (wishes.least, wishes.most))
        if cheapest.x is None:
            break
        shares = np.clip(cheapest.x, 0.0, 1.0)
        # what is linear near some shares is not elsewhere
        if largest_margin(perturbations, deltas, shares) > _SURVIVED:
            continue
        found, harm = shares, attack(shares)
        most = max(most, harm)
        if harm <= _LITTLE * most:
            break
    return found
