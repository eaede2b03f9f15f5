"""Separation: a scenario or a cover that an optimum of the relaxation violates.

The optimum survives every known scenario. The adversary looks for the perturbation that hurts it
most. If it finds none against a whole set, a check decides the set; a counterfactual is improved to
a worse perturbation. A scenario may fail to exclude the set, since its encoding is a relaxation. If
the set comes back, a cover excludes it.
"""

from functools import partial

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.searches.minimum.incumbent import Incumbent, is_whole
from milp_verix.searches.minimum.search_limits import SearchLimits
from verix_encodings import crown_bounds
from verix_encodings.arrays import FloatArray
from verix_encodings.encoding import Constraint, Cover, Scenario
from verix_encodings.scenario import make_scenario

_LEAST_HARM = 1e-6  # the least margin, in logits, of a scenario


class Separator:
    """Finds constraints that a selection violates; ``rounds`` counts the calls of ``separate``."""

    def __init__(self, incumbent: Incumbent, limits: SearchLimits, deadline: Deadline) -> None:
        self._incumbent, self._limits = incumbent, limits
        self._deadline = deadline
        self._most_harm = 0.0
        self._made = 0
        self._refuted: set[bytes] = set()
        self._perturbations: dict[bytes, FloatArray] = {}
        self.rounds = 0

    def separate(self, selection: FloatArray, pricings: int) -> list[Constraint]:
        """Return a constraint that ``selection`` violates; an empty list if none is found.

        ``selection`` has shape (features,). ``pricings`` counts the earlier pricing steps at the
        same node: fractional selections are priced at first, and later only now and then.
        """
        self.rounds += 1
        limits, adversary = self._limits, self._incumbent.adversary
        whole = is_whole(selection)
        if not whole and pricings >= limits.pricings and pricings % limits.pricing_period:
            return []
        delta, harm = adversary.worst(selection, self._deadline)
        self._most_harm = max(self._most_harm, harm)
        # successive worst cases differ less and less, and each brings phases to branch on; with
        # more scenarios than features, branching on features is cheaper
        count = self._incumbent.objective.costs.size
        worth = limits.least_harm * max(1.0, (self._made / count) ** 2) * self._most_harm
        if harm > (_LEAST_HARM if whole else max(worth, _LEAST_HARM)):
            self._made += 1
            adversary.remember(delta)
            return [self._cover(selection) or self.scenario(delta)]
        if not whole:
            return []
        found = self._incumbent.decide(selection > 0.5, self._deadline).delta
        return [] if found is None else [self._cover(selection) or self.scenario(found)]

    @property
    def known(self) -> tuple[FloatArray, ...]:
        """The perturbations of all scenarios made so far, shape (d,) each."""
        return tuple(self._perturbations.values())

    def _cover(self, selection: FloatArray) -> Cover | None:
        """Return a cover if ``selection`` is a set that a scenario did not exclude before."""
        if not is_whole(selection):
            return None
        chosen = selection > 0.5
        key = np.packbits(chosen).tobytes()
        if key in self._refuted:
            return Cover(np.flatnonzero(~chosen))
        self._refuted.add(key)
        return None

    def scenario(self, delta: FloatArray) -> Scenario:
        """Return the scenario of a perturbation, shape (d,)."""
        self._perturbations[delta.tobytes()] = delta
        p, objective = self._incumbent.perturbations, self._incumbent.objective
        # the incumbent is an explanation, so a minimum explanation costs no more
        limited = self._limits.uses("scenario budget")
        most = objective.most_features(self._incumbent.cost) if limited else np.inf
        method, count = partial(crown_bounds, late=self._deadline.passed), objective.costs.size
        return make_scenario(
            p.margins, p.centre, delta, p.feature_of, features=count, method=method, most=most
        )
