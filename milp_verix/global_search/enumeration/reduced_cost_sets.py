"""The sets of features that a bound and its reduced costs do not rule out.

Moving a feature off the value that its reduced cost wants raises the bound by that reduced cost. So
few sets are left where the bound is near the cutoff, however many features are free. They are
listed feature by feature, those with the largest reduced costs first.
"""

from collections.abc import Sequence

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray

_ROUNDING = 1e-9
_PROVEN = 1e-6
_STEPS = 100


def reduced_cost_sets(
    costs: FloatArray, reduced_costs: FloatArray, bound: float, cutoff: float, most: int
) -> FloatArray | None:
    """Return the sets ``A`` with ``bound + Σ_f p_f(A) ≤ c·A ≤ cutoff``, as columns of 0 and 1.

    ``p_f`` is ``reduced_costs[f]`` where that is positive and ``f`` is in ``A``, its size where it
    is negative and ``f`` is not in ``A``. A set is left out where another has one feature more, for
    nothing. The result has shape (features, sets); None where there are more than ``most`` sets on
    the way, or a cost is no number.
    """
    if not np.isfinite(reduced_costs).all():
        return None
    order = np.argsort(-np.abs(reduced_costs), kind="stable")
    # a set dearer than the cutoff is not asked for; proofs hold up to rounding
    limit, tolerance = cutoff + _ROUNDING * max(1.0, abs(cutoff)), _PROVEN * (1.0 + abs(cutoff))
    # all costs may be far above the cutoff, and their rounding with them
    to_all = costs.sum() * (1.0 + _ROUNDING) + tolerance - bound
    # the cost left to pay, the loss left if the cutoff is paid, and if all features to come are in
    sets = PartialSets(np.array([[limit], [cutoff + tolerance - bound], [to_all]]))
    for feature in order:
        cost, reduced_cost = costs[feature], reduced_costs[feature]
        sides = []
        # a feature that is free of charge and wanted is in
        for inside in (True,) if cost == 0 and reduced_cost <= 0 else (True, False):
            loss = max(reduced_cost if inside else -reduced_cost, 0.0)
            spends = [cost, loss, loss] if inside else [0.0, loss, cost + loss]
            sides.append((inside, np.array(spends)))
        sets.choose(sides)
        if sets.count > most:
            return None
    result = np.empty((order.size, sets.count))
    result[order] = sets.members()
    # without features no account was looked at
    return result[:, np.all(sets.left >= 0.0, axis=0)]


def estimated_count(reduced_costs: FloatArray, slack: float) -> float:
    """Return about how many sets lose ``slack`` at most, whatever they cost.

    Losses are rounded down to hundredths of ``slack``, so the estimate is high. Infinite where a
    reduced cost is no number or ``slack`` is not above zero.
    """
    if not (np.isfinite(reduced_costs).all() and slack > 0.0):
        return np.inf
    sizes = np.abs(reduced_costs)
    lost = (sizes[sizes <= slack] / slack * _STEPS).astype(np.intp)
    # the number of sets that lose each number of steps, of the features so far
    ways = np.zeros(_STEPS + 1)
    ways[0] = 1.0
    for steps in lost.tolist():
        ways[steps:] += ways[: _STEPS + 1 - steps]
    return float(ways.sum())


class PartialSets:
    """Sets of the features looked at so far, side by side as columns, that respect some accounts.

    ``left`` says how much of each account each set may still spend, shape (accounts, sets); no
    entry is negative once a feature was chosen. At first there is the empty set alone.
    """

    def __init__(self, left: FloatArray) -> None:
        self.left = left
        # for each feature: the set that each set goes on from, and how many, the first, have it
        self._steps: list[tuple[IntArray, int]] = []

    @property
    def count(self) -> int:
        """The number of sets."""
        return int(self.left.shape[1])

    def choose(self, sides: Sequence[tuple[bool, FloatArray]]) -> None:
        """Go on to a feature by each of the ``sides``: whether it is in, and what that spends.

        The side that is in comes first; what it spends has shape (accounts,).
        """
        parents, left, inside = [], [], 0
        for is_in, spends in sides:
            # one account first: where it rules out most sets, few need be copied
            may = np.flatnonzero(self.left[0] >= spends[0])
            remaining = self.left.take(may, axis=1) - spends[:, None]
            lasting = np.all(remaining >= 0.0, axis=0)
            if not lasting.all():
                may, remaining = may[lasting], remaining[:, lasting]
            parents.append(may)
            left.append(remaining)
            inside += may.size * is_in
        self.left = np.concatenate(left, axis=1)
        self._steps.append((np.concatenate(parents), inside))

    def members(self) -> FloatArray:
        """Return the sets as columns: 1 for each feature that is in, in the order of choice."""
        numbers = np.arange(self.count)
        result = np.empty((len(self._steps), numbers.size))
        for row, (parents, inside) in zip(result[::-1], self._steps[::-1], strict=True):
            row[:] = numbers < inside
            numbers = parents[numbers]
        return result
