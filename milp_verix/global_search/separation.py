"""Separation: a scenario or a cover that an optimum of the relaxation violates.

The optimum survives every scenario known. The adversary looks for the perturbation that hurts it
most; a whole set that it finds nothing against is decided by the check, whose counterfactual is
made worse. Where a scenario does not rule the set out, since an enclosure is wider than the
network, a cover does.
"""

from functools import partial

import numpy as np

from milp_verix.clock import Deadline
from milp_verix.global_search.heuristics.incumbent import Incumbent
from milp_verix.global_search.search_limits import SearchLimits
from verix_encodings import crown_bounds
from verix_encodings.arrays import FloatArray
from verix_encodings.models.constraints import Constraint, Cover, Scenario
from verix_encodings.models.scenario import make_scenario

_LEAST_HARM = 1e-6


class Separator:
    """Finds constraints that a selection violates; ``rounds`` counts the selections asked about."""

    def __init__(self, incumbent: Incumbent, limits: SearchLimits, deadline: float) -> None:
        self._incumbent, self._limits = incumbent, limits
        self._deadline = deadline
        self._most_harm = 0.0
        self._made = 0
        self._refuted: set[bytes] = set()
        self.rounds = 0

    def separate(self, selection: FloatArray, pricings: int) -> list[Constraint]:
        """Return a constraint that ``selection``, shape (features,), violates; none if it survives.

        ``pricings`` says how often the same node of a search came here before: selections that are
        no sets are priced the first times, and then now and then.
        """
        self.rounds += 1
        limits, adversary = self._limits, self._incumbent.adversary
        whole = bool(np.all((selection == 0) | (selection == 1)))
        if not whole and pricings >= limits.pricings and pricings % limits.pricing_period:
            return []
        delta, harm = adversary.worst(selection, self._deadline)
        self._most_harm = max(self._most_harm, harm)
        if harm > (_LEAST_HARM if whole else max(self._worth * self._most_harm, _LEAST_HARM)):
            self._made += 1
            adversary.remember(delta)
            return [self._cover(selection) or self.scenario(delta)]
        if not whole:
            return []
        decision = self._incumbent.decide(selection > 0.5, self._deadline)
        if decision.delta is None:
            return []
        return [self._cover(selection) or self.scenario(decision.delta)]

    @property
    def _worth(self) -> float:
        """The harm that makes a scenario worth its neurons, by the largest one so far.

        Worst cases come ever nearer to one another, and each brings phases to branch on. Where
        there are more scenarios than features, branching on features is cheaper.
        """
        count = self._incumbent.objective.costs.size
        return self._limits.least_harm * max(1.0, (self._made / count) ** 2)

    def _cover(self, selection: FloatArray) -> Cover | None:
        """Return a cover against a set that comes again in spite of its scenario."""
        chosen = selection > 0.5
        if np.any(selection != chosen):
            return None
        key = np.packbits(chosen).tobytes()
        if key in self._refuted:
            return Cover(np.flatnonzero(~chosen))
        self._refuted.add(key)
        return None

    def scenario(self, delta: FloatArray) -> Scenario:
        """Return the scenario of a perturbation, shape (d,)."""
        p = self._incumbent.perturbations
        return make_scenario(
            p.margins,
            p.centre,
            delta,
            p.feature_of,
            features=self._incumbent.objective.costs.size,
            method=partial(crown_bounds, late=Deadline(self._deadline).passed),
        )
