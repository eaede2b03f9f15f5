"""Refute every way to complete a set of features, one perturbation after the other.

Where a search has settled most features, few sets are left: those that hold the features ``inside``
and some of the ``free`` ones. What a set does not survive, a smaller one does not survive either,
so that only sets to which no free feature can be added for the budget matter. Each perturbation is
evaluated for all that are left at once, in float64, and refutes a set where a margin is above zero
by more than the error that the evaluation can have.
"""

from functools import lru_cache

import numpy as np

from milp_verix.perturbations import Perturbations
from verix_encodings import Interval, interval_bounds
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.batch import batch_values
from verix_encodings.safe_bound import evaluation_error
from verix_encodings.scenario import SLACK, network_of_shares
from verix_encodings.settled import Settled

_ROUNDING = 1e-9


def largest_subsets(costs: FloatArray, budget: float, most: int) -> BoolArray | None:
    """Return the subsets that cost ``budget`` at most and to which nothing can be added.

    One row for each, shape (N, costs); None where there are more than ``most``.
    """
    return _largest_subsets(tuple(costs.tolist()), budget, most)


@lru_cache(maxsize=64)
def _largest_subsets(costs: tuple[float, ...], budget: float, most: int) -> BoolArray | None:
    budget += _ROUNDING * max(1.0, abs(budget))
    sets = np.zeros((1 if budget >= 0 else 0, len(costs)), dtype=bool)
    spent, cheapest_out = np.zeros(len(sets)), np.full(len(sets), np.inf)
    left = sum(costs)
    for feature, cost in enumerate(costs):
        left -= cost
        taken = spent + cost <= budget
        least = np.minimum(cheapest_out, cost)
        # otherwise what is left out could be added in the end
        passed = spent + left + least > budget
        with_it = sets[taken]
        with_it[:, feature] = True
        sets = np.concatenate([with_it, sets[passed]])
        spent, cheapest_out = (
            np.concatenate([spent[taken] + cost, spent[passed]]),
            np.concatenate([cheapest_out[taken], least[passed]]),
        )
        if len(sets) > most:
            return None
    largest: BoolArray = sets[spent + cheapest_out > budget]
    largest.flags.writeable = False
    return largest


def refuting_margins(perturbations: Perturbations) -> FloatArray:
    """Return the value from which on each margin, evaluated in float64, refutes a set.

    Raises ``OverflowError`` where no error of an evaluation can be told.
    """
    p = perturbations
    box = Interval(p.centre + p.lower, p.centre + p.upper)
    error = evaluation_error(p.margins, interval_bounds(p.margins, box))
    # what is folded is rounded as what an evaluation forms
    return SLACK + 4.0 * error


class Completions:
    """Sets of features that are left to be refuted: ``sets`` of the free ones, a row for each.

    ``least`` are the margins that refute a set (:func:`refuting_margins`).
    """

    def __init__(
        self, perturbations: Perturbations, settled: Settled, sets: BoolArray, least: FloatArray
    ) -> None:
        self._p = perturbations
        self._settled = settled
        self.sets = sets
        self._least = least[:, None]

    @property
    def first(self) -> BoolArray:
        """One of the sets left, among all features."""
        chosen = self._settled.inside.copy()
        chosen[self._settled.free[self.sets[0]]] = True
        return chosen

    def refute(self, delta: FloatArray) -> bool:
        """Leave only the sets that survive ``delta``, shape (d,); return whether some do not."""
        p, settled = self._p, self._settled
        moved = p.weight(settled.inside) * delta
        network = network_of_shares(
            p.margins,
            p.centre + moved,
            moved,
            settled.position[p.feature_of],
            settled.free.size,
        )
        reached = batch_values(network, self.sets.T.astype(np.float64))[-1]
        survive = np.all(reached <= self._least, axis=0)
        self.sets = self.sets[survive]
        return not bool(np.all(survive))
