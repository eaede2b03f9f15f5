"""Refute every way to complete a set of features, one perturbation after the other.

Where a search has settled most features, few sets are left: those that hold the features ``inside``
and some of the ``free`` ones. What a set does not survive, a smaller one does not survive either,
so that only sets to which no free feature can be added for the budget matter. Each perturbation is
evaluated for all that are left at once, in float64, and refutes a set where a margin is above zero
by more than the error that the evaluation can have.
"""

import numpy as np

from milp_verix.perturbations import Perturbations
from verix_encodings import Interval, Network, interval_bounds
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.batch import batch_values
from verix_encodings.safe_bound import evaluation_error
from verix_encodings.scenario import SLACK, network_of_shares
from verix_encodings.settled import Settled

_ROUNDING = 1e-6
_CHUNK = 1_000_000
_FIRST = 8


def candidates(
    costs: FloatArray, penalties: FloatArray, bound: float, budget: float, most: int
) -> BoolArray | None:
    """Return the subsets ``A`` with ``bound + Σ_f p_f(A) ≤ c·A ≤ budget``, a row for each.

    ``p_f`` is ``penalties[f]`` where that is positive and ``f`` is in ``A``, its size where it is
    negative and ``f`` is not in ``A``. None where there are more than ``most``.
    """
    order = np.argsort(-np.abs(penalties), kind="stable")
    reached, spent = np.full(1, bound), np.zeros(1)
    left = float(costs.sum())
    tolerance = _ROUNDING * (1.0 + abs(budget))
    if max(bound, 0.0) > budget + tolerance or bound > left + tolerance:
        return np.zeros((0, costs.size), dtype=bool)
    steps: list[tuple[IntArray, BoolArray]] = []
    for feature in order:
        cost, penalty = costs[feature], penalties[feature]
        left -= cost
        sides = []
        for paid, lost in ((cost, penalty), (0.0, -penalty)):
            now = spent + paid
            least = reached + max(lost, 0.0)
            may = (np.maximum(now, least) <= budget + tolerance) & (least <= now + left + tolerance)
            sides.append((np.flatnonzero(may), now[may], least[may]))
        parents = np.concatenate([places for places, _, _ in sides])
        if parents.size > most:
            return None
        inside = np.arange(parents.size) < sides[0][0].size
        steps.append((parents, inside))
        spent = np.concatenate([now for _, now, _ in sides])
        reached = np.concatenate([least for _, _, least in sides])
    sets = np.zeros((spent.size, costs.size), dtype=bool)
    places = np.arange(spent.size)
    for feature, (parents, inside) in zip(order[::-1], steps[::-1], strict=True):
        sets[:, feature] = inside[places]
        places = parents[places]
    return sets


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
        before = len(self.sets)
        self.refute_all(delta[:, None])
        return len(self.sets) < before

    def refute_all(self, deltas: FloatArray) -> None:
        """Leave only the sets that survive all of ``deltas``, shape (d, N)."""
        p, settled = self._p, self._settled
        position = settled.position[p.feature_of]
        weight = p.weight(settled.inside)
        size = max(_CHUNK // max(settled.free.size, 1), 1)
        for few in (deltas[:, :_FIRST], deltas[:, _FIRST:]):
            networks: list[Network] = []
            survive: list[IntArray] = []
            for first in range(0, len(self.sets), size):
                left = self.sets[first : first + size].T.astype(np.float64)
                places = np.arange(first, first + left.shape[1])
                for number in range(few.shape[1]):
                    if not places.size:
                        break
                    if number == len(networks):
                        moved = weight * few[:, number]
                        start, count = p.centre + moved, settled.free.size
                        networks.append(network_of_shares(p.margins, start, moved, position, count))
                    reached = batch_values(networks[number], left)[-1]
                    good = np.flatnonzero(np.all(reached <= self._least, axis=0))
                    left, places = left[:, good], places[good]
                survive.append(places)
            if survive:
                self.sets = self.sets[np.concatenate(survive)]
