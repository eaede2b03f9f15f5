"""The least cost of shares of features near an explanation: where cheaper ones may be.

Near some shares each margin under each perturbation is linear in them
(``heuristics.linearised_margins``). The cheapest shares that survive all perturbations known are a
linear program then. Where no step survives, however small, the margins bend at those shares: the
rows of a step too far join, too. What the cheapest shares do not survive is found by the search for
the worst case, and so on, until that hurts little. That is a local minimum of the continuous
problem, and no bound; whole sets near it are good proposals.
"""

from collections.abc import Callable

import numpy as np

from milp_verix.global_search.heuristics.linearised_margins import (
    LinearMargins,
    largest_margin,
    linear_margins,
    minimised,
)
from milp_verix.global_search.pricing.perturbation_set import Perturbations
from milp_verix.problem.objective import Objective
from verix_encodings.arrays import FloatArray

_STEPS = 20
_HALVINGS = 5
_KINKS = 10
_LITTLE = 0.02
_SURVIVED = 1e-6


def local_minimum(
    perturbations: Perturbations,
    objective: Objective,
    start: FloatArray,
    known: Callable[[], FloatArray],
    attack: Callable[[FloatArray], float],
) -> FloatArray | None:
    """Return shares of features near those of an explanation, ``start``.

    They survive what is ``known``, shape (d, N), before the last attack. ``attack`` adds to that
    what shares do not survive, and returns the largest margin, at most zero where there is nothing
    to add. None where no shares are found.
    """
    around, most, found, again = start, 0.0, None, False
    kinks: list[LinearMargins] = []
    for _ in range(_STEPS):
        deltas = known()
        rows = linear_margins(perturbations, deltas, around).joined(*kinks)
        below = rows.matrix, -rows.constant - _SURVIVED
        cheapest = minimised(objective.costs, below, (objective.least, objective.most))
        if cheapest.x is None:
            around = (around + start) / 2.0
            continue
        around = np.clip(cheapest.x, 0.0, 1.0)
        # what is linear near some shares is not elsewhere
        if largest_margin(perturbations, deltas, around) > _SURVIVED:
            again = not again
            if again:
                continue
            around, beyond = _retreated(perturbations, deltas, around, start)
            if around is start and len(kinks) < _KINKS:
                # the margins bend right here: the next step is to survive on both sides, but a row
                # that the start does not satisfy, which survives all, is of a piece further on
                kinks.append(linear_margins(perturbations, deltas, beyond).satisfied_at(start))
                again = True
                continue
        again, found, kinks = False, around, []
        harm = attack(found)
        most = max(most, harm)
        if harm <= _LITTLE * most:
            break
    return found


def _retreated(
    perturbations: Perturbations, deltas: FloatArray, selection: FloatArray, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return shares between both that survive ``deltas``, as ``start`` does, and some farther."""
    for _ in range(_HALVINGS):
        farther, selection = selection, (selection + start) / 2.0
        if largest_margin(perturbations, deltas, selection) <= _SURVIVED:
            return selection, farther
    return start, selection
