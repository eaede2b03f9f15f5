"""Refute every way to complete a set of features, one perturbation after the other.

A relaxation with row duals ``y`` and reduced costs ``d = c − yᵀ M`` proves more than its bound: a
set that has some feature where the relaxation does not want it costs more by that reduced cost. So
few sets are left where the bound is near what is asked for, however many features are free. Each
perturbation is evaluated for all that are left at once, in float64, and refutes a set where a
margin is above zero by more than the error that the evaluation can have.
"""

import time

import numpy as np

from milp_verix.perturbations import Perturbations
from verix_encodings import Interval, interval_bounds
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.batch import batch_values
from verix_encodings.safe_bound import evaluation_error
from verix_encodings.scenario import SLACK, network_of_shares
from verix_encodings.settled import Settled

_ROUNDING = 1e-9
_PROVEN = 1e-6
_CHUNK = 1_000_000


def candidates(
    costs: FloatArray, penalties: FloatArray, bound: float, budget: float, most: int
) -> BoolArray | None:
    """Return the subsets ``A`` with ``bound + Σ_f p_f(A) ≤ c·A ≤ budget``, a row for each.

    ``p_f`` is ``penalties[f]`` where that is positive and ``f`` is in ``A``, its size where it is
    negative and ``f`` is not in ``A``. A set is left out where another has one feature more, for
    nothing. None where there are more than ``most``, or a penalty is no number.
    """
    if not np.isfinite(penalties).all():
        return None
    order = np.argsort(-np.abs(penalties), kind="stable")
    reached, spent = np.full(1, bound), np.zeros(1)
    left = float(costs.sum())
    # what costs more than the budget is not asked for; what is proven is proven up to rounding
    limit, tolerance = budget + _ROUNDING * max(1.0, abs(budget)), _PROVEN * (1.0 + abs(budget))
    if limit < 0 or bound > min(budget, left) + tolerance:
        return np.zeros((0, costs.size), dtype=bool)
    steps: list[tuple[IntArray, BoolArray]] = []
    for feature in order:
        cost, penalty = costs[feature], penalties[feature]
        left -= cost
        sides = []
        # what costs nothing, and is not unwanted, may as well be in
        choices = ((cost, penalty), (0.0, -penalty))[: 1 if cost == 0 and penalty <= 0 else 2]
        for paid, lost in choices:
            now = spent + paid
            least = reached + max(lost, 0.0)
            may = (now <= limit) & (least <= np.minimum(budget, now + left) + tolerance)
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
        p, settled = self._p, self._settled
        moved = p.weight(settled.inside) * delta
        network = network_of_shares(
            p.margins,
            p.centre + moved,
            moved,
            settled.position[p.feature_of],
            settled.free.size,
        )
        size = max(_CHUNK // (settled.free.size + sum(network.sizes)), 1)
        survive = np.zeros(len(self.sets), dtype=bool)
        for first in range(0, len(self.sets), size):
            some = slice(first, first + size)
            reached = batch_values(network, self.sets[some].T.astype(np.float64))[-1]
            survive[some] = np.all(reached <= self._least, axis=0)
        self.sets = self.sets[survive]
        return not bool(np.all(survive))

    def refute_all(self, deltas: FloatArray, deadline: float) -> None:
        """Leave only the sets that survive all of ``deltas``, shape (d, N), as far as time goes."""
        for delta in deltas.T:
            if not len(self.sets) or time.monotonic() >= deadline:
                break
            self.refute(delta)
