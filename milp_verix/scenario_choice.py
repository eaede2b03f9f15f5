"""Which scenario to add: the perturbation that hurts a proposed set of features the most.

A set that survives every scenario known is attacked: first by a search, then, if it is whole, by
the check, whose counterfactual the search makes worse. Where the check finds one, but the scenario
does not rule the set out (an enclosure is wider than the network), a cover does.
"""

import time

import numpy as np

from milp_verix.incumbent import Incumbent
from milp_verix.perturbations import Perturbations
from verix_encodings import crown_bounds
from verix_encodings.arrays import FloatArray
from verix_encodings.scenario import Cover, Part, make_scenario

_WORTH = 1e-3
_MOST_ASKED = 2
_PERIOD = 4
_FIRST_IMPROVEMENT = 0.1
_SHARE_OF_IMPROVEMENT = 0.2
_LEAST_HARM = 1e-6


class ScenarioChoice:
    """Answers for a master what a set does not survive, and shows the set to the incumbent."""

    def __init__(self, perturbations: Perturbations, incumbent: Incumbent, deadline: float) -> None:
        self._perturbations = perturbations
        self._incumbent = incumbent
        self._deadline = deadline
        self._started = time.monotonic()
        self._harm = 0.0
        self._refuted: set[bytes] = set()

    def show(self, shares: FloatArray, bound: float) -> None:
        """Look for a better explanation near ``shares`` if that has had less than its time.

        ``bound`` is proven for the cost of all.
        """
        spent = time.monotonic() - self._started
        if self._incumbent.seconds <= _FIRST_IMPROVEMENT + _SHARE_OF_IMPROVEMENT * spent:
            self._incumbent.improve(shares, bound, self._deadline)

    def separate(self, shares: FloatArray, asked: int) -> list[Part]:
        """Return what the features in ``shares`` do not survive: nothing if they survive all.

        ``asked`` says how often the same node of a search came here before.
        """
        whole = bool(np.all((shares == 0) | (shares == 1)))
        if whole or asked < _MOST_ASKED or asked % _PERIOD == 0:
            deltas, values = self._incumbent.attacked(shares)
            worst = int(np.argmax(values))
            harm = float(values[worst])
            self._harm = max(self._harm, harm)
            least = _LEAST_HARM if whole else max(_WORTH * self._harm, _LEAST_HARM)
            if harm > least:
                return self._parts(shares, deltas[:, worst], whole=whole)
        return self._decided(shares) if whole else []

    def _decided(self, shares: FloatArray) -> list[Part]:
        """Check a whole set: it is an explanation, or there is a scenario against it."""
        verdict = self._incumbent.decide(shares > 0.5, self._deadline)
        if verdict.witness is None:
            return []
        deltas, values = self._incumbent.attacked(shares)
        return self._parts(shares, deltas[:, int(np.argmax(values))], whole=True)

    def _parts(self, shares: FloatArray, delta: FloatArray, *, whole: bool) -> list[Part]:
        """Return the scenario of ``delta``, and a cover against a whole set that comes again."""
        p = self._perturbations
        self._incumbent.know(delta)
        if whole:
            chosen = shares > 0.5
            key = np.packbits(chosen).tobytes()
            if key in self._refuted:
                return [Cover(np.flatnonzero(~chosen))]
            self._refuted.add(key)
        return [make_scenario(p.margins, p.centre, delta, crown_bounds)]
