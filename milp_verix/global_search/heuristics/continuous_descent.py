"""A local minimum of the cost over fractional selections near an explanation: sequential LP.

Near a selection, each margin under each perturbation is linear in it (:mod:`.linearised_margins`),
and the cheapest selection that survives all known perturbations is a linear program. Where no step
survives, however small, the margins bend at that selection: the rows of a step too far join the
program. The adversary attacks the selection, and so on, until it does little harm. That is a local
minimum of the continuous problem, and no bound; whole sets near it are good proposals.
"""

import numpy as np

from milp_verix.global_search.heuristics.incumbent import Incumbent
from milp_verix.global_search.heuristics.linearised_margins import (
    LinearMargins,
    largest_margin,
    linear_margins,
    minimised,
)
from milp_verix.global_search.pricing.perturbation_set import PerturbationSet
from milp_verix.global_search.search_limits import SearchLimits
from verix_encodings.arrays import FloatArray

_STEPS = 20
_HALVINGS = 5
_LITTLE = 0.02
_SURVIVED = 1e-6


def local_minimum(incumbent: Incumbent, limits: SearchLimits, deadline: float) -> FloatArray | None:
    """Return a selection near the incumbent that survives all known perturbations, if one is found.

    It survives those known before the last attack of the adversary, which remembers the others.
    """
    perturbations, objective = incumbent.perturbations, incumbent.objective
    adversary, start = incumbent.adversary, incumbent.selection
    around, most, found, again = start, 0.0, None, False
    kinks: list[LinearMargins] = []
    for _ in range(_STEPS):
        deltas = adversary.newest
        rows = linear_margins(perturbations, deltas, around).joined(*kinks)
        below = rows.matrix, -rows.constant - _SURVIVED
        cheapest = minimised(objective.costs, below, (objective.least, objective.most))
        if cheapest.x is None:
            around = (around + start) / 2.0
            continue
        around = np.clip(cheapest.x, 0.0, 1.0)
        # margins that are linear near one selection are not elsewhere
        if largest_margin(perturbations, deltas, around) > _SURVIVED:
            again = not again
            if again:
                continue
            around, beyond = _retreated(perturbations, deltas, around, start)
            if around is start and len(kinks) < limits.kinks:
                # the margins bend right here: the next step is to survive on both sides, but a row
                # that the start does not satisfy, which survives all, is of a piece further on
                kinks.append(linear_margins(perturbations, deltas, beyond).satisfied_at(start))
                again = True
                continue
        again, found, kinks = False, around, []
        harm = adversary.learn(found, deadline)
        most = max(most, harm)
        if harm <= _LITTLE * most:
            break
    return found


def _retreated(
    perturbations: PerturbationSet, deltas: FloatArray, selection: FloatArray, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return a selection between both that survives ``deltas``, and the one tried before it."""
    for _ in range(_HALVINGS):
        farther, selection = selection, (selection + start) / 2.0
        if largest_margin(perturbations, deltas, selection) <= _SURVIVED:
            return selection, farther
    return start, selection
