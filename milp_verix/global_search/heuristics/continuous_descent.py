"""A local minimum of the cost over fractional selections near an explanation: sequential LP.

Near a selection, each margin under each perturbation is linear in it (:mod:`.linearised_margins`),
and the cheapest selection that survives all known perturbations is the optimum of a linear program.
The adversary attacks that selection, and the program is solved again with the perturbations that it
finds, until they do little harm. The last selection is a local minimum of the continuous problem.
It proves no bound, but whole sets near it are good proposals.
"""

import numpy as np

from milp_verix.clock import Deadline
from milp_verix.global_search.heuristics.incumbent import Incumbent
from milp_verix.global_search.heuristics.linearised_margins import (
    largest_margin,
    linear_margins,
    minimised,
)
from milp_verix.oracle.perturbation_set import PerturbationSet
from verix_encodings.arrays import FloatArray

_STEPS = 20  # linear programs of a descent; not measured
_HALVINGS = 5  # of a step that is too long; not measured
_LITTLE = 0.02  # harm that ends a descent, as a share of the most so far; not measured
_SURVIVED = 1e-6  # a margin up to this, in logits, counts as survived


def local_minimum(incumbent: Incumbent, deadline: Deadline) -> FloatArray | None:
    """Return a selection near the incumbent that survives the known perturbations.

    It has shape (features,); None if none is found. It need not survive the perturbations that the
    last attack has found, which the adversary remembers.
    """
    perturbations, objective = incumbent.perturbations, incumbent.objective
    adversary, start = incumbent.adversary, incumbent.selection
    around, most, found, again = start, 0.0, None, False
    if not adversary.newest.size:
        return None  # there is no perturbation to survive yet
    for _ in range(_STEPS):
        deltas = adversary.newest
        rows = linear_margins(perturbations, deltas, around)
        below = rows.matrix, -rows.constant - _SURVIVED
        cheapest = minimised(objective.costs, below, (objective.least, objective.most))
        if cheapest.x is None:
            around = (around + start) / 2.0
            continue
        around = np.clip(cheapest.x, 0.0, 1.0)
        # the linear model is exact only near the selection it was made at
        if largest_margin(perturbations, deltas, around) > _SURVIVED:
            again = not again
            if again:
                continue
            around = _retreated(perturbations, deltas, around, start)
        again, found = False, around
        harm = adversary.learn(found, deadline)
        most = max(most, harm)
        if harm <= _LITTLE * most:
            break
    return found


def _retreated(
    perturbations: PerturbationSet, deltas: FloatArray, selection: FloatArray, start: FloatArray
) -> FloatArray:
    """Return a selection between ``selection`` and ``start`` that survives ``deltas``.

    It is ``start`` if no midpoint survives.
    """
    for _ in range(_HALVINGS):
        selection = (selection + start) / 2.0
        if largest_margin(perturbations, deltas, selection) <= _SURVIVED:
            return selection
    return start
