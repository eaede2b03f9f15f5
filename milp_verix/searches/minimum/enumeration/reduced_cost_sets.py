"""The sets of features that a bound and its reduced costs do not rule out.

Moving a feature off its LP value raises the bound by its reduced cost. So few sets are left if the
bound is near the cutoff, however many features are free. The sets are built feature by feature,
beginning with the largest reduced costs.
"""

from collections.abc import Sequence

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray

_ROUNDING = 1e-9  # of sums of costs, relative
_PROVEN = 1e-6  # the error of a loss that duals prove, relative
_STEPS = 100  # into which the slack is divided to estimate the number of sets; not measured


def reduced_cost_sets(
    costs: FloatArray, reduced_costs: FloatArray, bound: float, cutoff: float, most: int
) -> FloatArray | None:
    """Return the sets ``A`` with ``bound + Σ_f p_f(A) ≤ c·A ≤ cutoff``, as columns of 0 and 1.

    ``p_f`` is ``reduced_costs[f]`` if that is positive and ``f`` is in ``A``, its absolute value if
    it is negative and ``f`` is not in ``A``, and zero otherwise. Sets are left out that could gain
    a feature free of charge. The result has shape (features, sets); it is None if more than
    ``most`` sets are met on the way, or a reduced cost is not finite.
    """
    if not np.isfinite(reduced_costs).all():
        return None
    order = np.argsort(-np.abs(reduced_costs), kind="stable")
    # costs are compared up to rounding, proven losses up to the error of a proof
    limit, tolerance = cutoff + _ROUNDING * max(1.0, abs(cutoff)), _PROVEN * (1.0 + abs(cutoff))
    # the sum of all costs may be far above the cutoff: its rounding error is relative to it
    to_all = costs.sum() * (1.0 + _ROUNDING) + tolerance - bound
    # three budgets: the cost; the loss if a set costs the cutoff; the loss if it takes
    # all features to come
    sets = PartialSets(np.array([[limit], [cutoff + tolerance - bound], [to_all]]))
    for feature in order:
        cost, reduced_cost = costs[feature], reduced_costs[feature]
        sides = []
        # a feature free of charge that does not raise the bound is always in
        for inside in (True,) if cost == 0 and reduced_cost <= 0 else (True, False):
            loss = max(reduced_cost if inside else -reduced_cost, 0.0)
            spends = [cost, loss, loss] if inside else [0.0, loss, cost + loss]
            sides.append((inside, np.array(spends)))
        sets.choose(sides)
        if sets.count > most:
            return None
    result = np.empty((order.size, sets.count))
    result[order] = sets.members()
    # without features no budget was checked
    return result[:, np.all(sets.left >= 0.0, axis=0)]


def estimated_count(reduced_costs: FloatArray, slack: float) -> float:
    """Return an upper estimate of the number of sets that raise the bound by ``slack`` at most.

    The sets' own costs are ignored, and losses are rounded down to hundredths of ``slack``. The
    estimate is infinite if a reduced cost is not finite, or ``slack`` is not positive.
    """
    if not (np.isfinite(reduced_costs).all() and slack > 0.0):
        return np.inf
    sizes = np.abs(reduced_costs)
    lost = (sizes[sizes <= slack] / slack * _STEPS).astype(np.intp)
    # ways[k]: the number of sets, over the features so far, that lose k steps
    ways = np.zeros(_STEPS + 1)
    ways[0] = 1.0
    for steps in lost.tolist():
        ways[steps:] += ways[: _STEPS + 1 - steps]
    return float(ways.sum())


class PartialSets:
    """Partial feature sets that respect several budgets, stored as columns.

    ``left`` is the amount of each budget that each set may still spend, shape (budgets, sets). No
    entry is negative after the first :meth:`choose`. At first there is only the empty set.
    """

    def __init__(self, left: FloatArray) -> None:
        self.left = left
        # for each feature: the parent of each set, and the number of sets that have the feature,
        # which come first
        self._steps: list[tuple[IntArray, int]] = []

    @property
    def count(self) -> int:
        """The number of sets."""
        return int(self.left.shape[1])

    def choose(self, sides: Sequence[tuple[bool, FloatArray]]) -> None:
        """Extend each set by a decision on the next feature; drop sets that exceed a budget.

        Each of ``sides`` is a pair: whether the feature is in, and the amounts that this spends,
        shape (budgets,). A side with the feature in comes first.
        """
        parents, left, inside = [], [], 0
        for is_in, spends in sides:
            # one budget first: if it rules out most sets, few need be copied
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
