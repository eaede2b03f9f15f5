"""The perturbations known so far, and two ways to find worse ones: by gradients, and exactly.

A search by gradients (:mod:`~milp_verix.oracle.perturbation_set`) begins at the newest
perturbations. Pricing steps also search by mixed-integer programs (:mod:`.exact_pricing`), which
find the global maximum.
"""

from collections.abc import Iterable

import numpy as np

from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.oracle.perturbation_set import PerturbationSet
from milp_verix.oracle.verdict import Verdict
from milp_verix.searches.minimum.pricing.exact_pricing import ExactPricing
from milp_verix.searches.minimum.search_limits import SearchLimits
from verix_encodings.arrays import BoolArray, FloatArray

_HARMLESS = 1e-6  # a margin up to this, in logits, harms no selection


class Adversary:
    """Finds perturbations that selections do not survive, and remembers them.

    ``known`` has the perturbations found so far, shape (d, N). Searches end at the ``deadline``.
    """

    def __init__(
        self,
        perturbations: PerturbationSet,
        limits: SearchLimits,
        deadline: Deadline = NO_LIMIT,
        exact: ExactPricing | None = None,
    ) -> None:
        self._late, self._limits = deadline.passed, limits
        self._perturbations = perturbations
        self._exact = exact or ExactPricing(perturbations, limits)
        self.known = np.zeros((perturbations.centre.size, 0))

    @property
    def newest(self) -> FloatArray:
        """The perturbations found last, shape (d, N)."""
        return self.known[:, -self._limits.newest :]

    def harm(self, selection: FloatArray) -> FloatArray:
        """Return the largest margin under each of the newest perturbations, shape (N,)."""
        p = self._perturbations
        worst: FloatArray = np.max(p.margins_at(p.weight(selection), self.newest), axis=0)
        return worst

    def remember(self, deltas: FloatArray) -> None:
        """Add perturbations, shape (d,) or (d, N), to those known."""
        new = deltas.reshape(self.known.shape[0], -1)
        self.known = np.concatenate([self.known, new], axis=1)

    def remember_last(self, counterfactuals: Iterable[Verdict]) -> None:
        """Add the last ones of ``counterfactuals`` to those known."""
        points = [v.witness for v in counterfactuals if v.witness is not None]
        for point in points[-self._limits.remembered :]:
            self.remember(point.reshape(-1) - self._perturbations.centre)

    def worsened(self, chosen: BoolArray, witness: FloatArray, deadline: Deadline) -> FloatArray:
        """Improve a counterfactual ``witness`` of a set to a worse perturbation, shape (d,).

        A check ends at any counterfactual, however near to the decision boundary. The perturbations
        found on the way are remembered.
        """
        p = self._perturbations
        moved = witness.reshape(-1).astype(np.float64) - p.centre
        start = np.clip(moved, p.lower, p.upper)[:, None]
        deltas, values = p.worst(p.weight(chosen), start, 1, self._late)
        deltas = deltas[:, values > 0] if np.any(values > 0) else start
        self.remember(deltas)
        delta, value = self.worst(chosen.astype(np.float64), deadline)
        if value <= 0:
            return np.asarray(deltas[:, -1])
        self.remember(delta)
        return delta

    def attack(self, selection: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the worst perturbation found for each margin, shape (d, m), and its value."""
        zero = np.zeros((self.known.shape[0], 1))
        starts = np.concatenate([zero, self.newest], axis=1)
        p = self._perturbations
        weight = p.weight(selection)
        deltas, values = p.worst(weight, starts, self._limits.climbs, self._late)
        whole = bool(np.all((selection == 0) | (selection == 1)))
        if whole and np.max(values) <= 0 and not self._late():
            # more climbs cost far less than the check that would follow
            found = p.worst(weight, starts, self._limits.climbs_before_check, self._late)
            better = found[1] > values
            deltas = np.where(better, found[0], deltas)
            values = np.maximum(values, found[1])
        return deltas, values

    def worst(self, selection: FloatArray, deadline: Deadline) -> tuple[FloatArray, float]:
        """Return the perturbation with the largest margin found, shape (d,), and that margin.

        It is the global maximum if exact pricing ends in time, otherwise a local one.
        """
        deltas, values = self.attack(selection)
        least = max(float(np.max(values)), 0.0) + _HARMLESS
        further = self._exact.worst(selection, least, deadline)
        if further is not None:
            # fixed coordinates have no effect now: set them to their worst value for later
            p = self._perturbations
            deltas, values = p.worst(p.weight(selection), further[:, None], 1, self._late)
        margin = int(np.argmax(values))
        return deltas[:, margin], float(values[margin])
