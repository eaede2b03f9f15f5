"""Refute every way to complete a set of features, one perturbation after the other.

Each perturbation is evaluated for all sets that are left at once, in float64, and refutes a set
where a margin is above zero by more than the error that the evaluation can have. The first layer is
a sum over the features that are in: it is evaluated for each half of a set that there is
(:mod:`~milp_verix.global_search.enumeration.set_products`), and a set adds two of these sums.
"""

import time

import numpy as np

from milp_verix.global_search.enumeration.first_layer import FirstLayer
from milp_verix.global_search.enumeration.set_products import CandidateSets
from milp_verix.global_search.pricing.perturbation_set import Perturbations
from verix_encodings import Interval, interval_bounds
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.models.restricted import Restriction
from verix_encodings.models.scenario import SLACK
from verix_encodings.network.batch import batch_values
from verix_encodings.proofs.safe_bound import evaluation_error

# what is evaluated at once stays in the cache
_CHUNK = 100_000
_FEWEST = 64


def refuting_margins(perturbations: Perturbations) -> FloatArray:
    """Return the value from which on each margin, evaluated in float64, refutes a set.

    Raises ``OverflowError`` where no error of an evaluation can be told.
    """
    p = perturbations
    box = Interval(p.centre + p.lower, p.centre + p.upper)
    error = evaluation_error(p.margins, interval_bounds(p.margins, box))
    # The error holds for sums in any order, and allows 4(d + 5)u (|W||x| + |b|) in the first layer.
    # A set is evaluated by 2d + 1 terms there, W(x + δ) + b less W_i δ_i for what is taken; with
    # |δ_i| ≤ 2 max|x_i| these are 3|W||x| + |b| in all, and the error is below 6(d + 2)u of
    # |W||x| + |b|: four times what is allowed is more than twice that. All that follows is
    # evaluated as in the network.
    return SLACK + 4.0 * error


class Completions:
    """Sets of features that are left to be refuted: ``sets`` of the free ones.

    ``least`` are the margins that refute a set (:func:`refuting_margins`).
    """

    def __init__(
        self,
        perturbations: Perturbations,
        restriction: Restriction,
        sets: CandidateSets,
        least: FloatArray,
    ) -> None:
        self._layer = FirstLayer(perturbations, restriction)
        self._restriction = restriction
        self.sets = sets
        self._least = least[:, None]

    @property
    def first(self) -> BoolArray:
        """One of the sets left, among all features."""
        chosen = self._restriction.fixed_in.copy()
        chosen[self._restriction.free[self.sets.members(0)]] = True
        return chosen

    def refute(self, delta: FloatArray) -> bool:
        """Leave only the sets that survive ``delta``, shape (d,); return whether some do not."""
        matrix, bias, network = self._layer.at(delta)
        sets = self.sets
        one, two = sets.halves(matrix, bias)
        size = max(_CHUNK // sum(network.sizes), _FEWEST)
        survive = np.zeros(len(sets), dtype=bool)
        for first in range(0, len(sets), size):
            some = slice(first, first + size)
            reading = one.take(sets.of_first[some], axis=0)
            reading += two.take(sets.of_second[some], axis=0)
            reached = batch_values(network, reading.T)[-1]
            survive[some] = ~np.any(reached > self._least, axis=0)
        if np.all(survive):
            return False
        self.sets = sets.kept(survive)
        return True

    def refute_all(self, deltas: FloatArray, deadline: float) -> None:
        """Leave only the sets that survive all of ``deltas``, shape (d, N), as far as time goes."""
        for delta in deltas.T:
            if not len(self.sets) or time.monotonic() >= deadline:
                break
            self.refute(delta)
