"""What is known against sets of features, and what finds more: perturbations.

A search by gradients (``pricing.perturbation_set``) begins at those known last, and where it
matters that there is nothing worse, programs look further (``pricing.exact_pricing``).
"""

import numpy as np

from milp_verix.clock import NO_LIMIT, Deadline
from milp_verix.global_search.pricing.exact_pricing import WorstCase
from milp_verix.global_search.pricing.perturbation_set import Perturbations
from verix_encodings.arrays import BoolArray, FloatArray

_NEWEST = 300
_CLIMBS = 3
_MORE_CLIMBS = 16
_HARMLESS = 1e-6
_JUST = 1e-4


class Adversary:
    """``pool`` are the perturbations known, shape (d, N); searches end at the ``deadline``."""

    def __init__(
        self,
        perturbations: Perturbations,
        worst_case: WorstCase,
        deadline: Deadline = NO_LIMIT,
    ) -> None:
        self._late = deadline.passed
        self._perturbations = perturbations
        self._worst_case = worst_case
        self.pool = np.zeros((perturbations.centre.size, 0))

    @property
    def newest(self) -> FloatArray:
        """The perturbations found last, shape (d, N)."""
        return self.pool[:, -_NEWEST:]

    def just_survived(self, selection: FloatArray) -> FloatArray:
        """Return the newest perturbations near the limit of ``selection``, shape (d, k)."""
        return self.newest[:, self.harm(selection) > -_JUST]

    def harm(self, selection: FloatArray) -> FloatArray:
        """Return the largest margin under each of the newest perturbations, shape (N,)."""
        p = self._perturbations
        worst: FloatArray = np.max(p.reached(p.weight(selection), self.newest), axis=0)
        return worst

    def know(self, deltas: FloatArray) -> None:
        """Add perturbations, shape (d,) or (d, N), to the pool."""
        new = deltas.reshape(self.pool.shape[0], -1)
        self.pool = np.concatenate([self.pool, new], axis=1)

    def know_worse(self, chosen: BoolArray, witness: FloatArray, deadline: float) -> None:
        """Add what a search makes of a counterfactual: a check takes any, however near.

        The worst one that there is comes last.
        """
        p = self._perturbations
        moved = witness.reshape(-1).astype(np.float64) - p.centre
        start = np.clip(moved, p.lower, p.upper)[:, None]
        deltas, values = p.worst(p.weight(chosen), start, 1, self._late)
        self.know(deltas[:, values > 0] if np.any(values > 0) else start)
        delta, value = self.worst(chosen.astype(np.float64), deadline)
        if value > 0:
            self.know(delta)

    def attacked(self, selection: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the worst perturbation found for each margin, shape (d, m), and its value."""
        zero = np.zeros((self.pool.shape[0], 1))
        starts = np.concatenate([zero, self.newest], axis=1)
        weight = self._perturbations.weight(selection)
        deltas, values = self._perturbations.worst(weight, starts, _CLIMBS, self._late)
        whole = bool(np.all((selection == 0) | (selection == 1)))
        if whole and np.max(values) <= 0 and not self._late():
            # a check costs much more than another look
            found = self._perturbations.worst(weight, starts, _MORE_CLIMBS, self._late)
            better = found[1] > values
            deltas = np.where(better, found[0], deltas)
            values = np.maximum(values, found[1])
        return deltas, values

    def worst(self, selection: FloatArray, deadline: float) -> tuple[FloatArray, float]:
        """Return the worst perturbation for any margin, shape (d,), and its value.

        It is the worst there is where that can be found out soon, and the worst found elsewhere.
        """
        return self._worse(selection, *self.attacked(selection), deadline)

    def learn(self, selection: FloatArray, deadline: float) -> float:
        """Add what ``selection`` does not survive; return the largest margin, zero if none is."""
        deltas, values = self.attacked(selection)
        if np.any(values > _HARMLESS):
            self.know(deltas[:, values > _HARMLESS])
            return float(np.max(values))
        delta, value = self._worse(selection, deltas, values, deadline)
        if value <= _HARMLESS:
            return 0.0
        self.know(delta)
        return value

    def _worse(
        self, selection: FloatArray, deltas: FloatArray, values: FloatArray, deadline: float
    ) -> tuple[FloatArray, float]:
        """Return what is worse than all of ``deltas``, or the worst of them."""
        least = max(float(np.max(values)), 0.0) + _HARMLESS
        further = self._worst_case.against(selection, least, deadline)
        if further is not None:
            # what is not felt may hurt yet, once it is
            p = self._perturbations
            deltas, values = p.worst(p.weight(selection), further[:, None], 1, self._late)
        margin = int(np.argmax(values))
        return deltas[:, margin], float(values[margin])
