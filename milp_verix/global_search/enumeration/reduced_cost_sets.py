"""The sets of features that a bound and its reduced costs do not rule out.

Moving a feature off the value that its reduced cost wants raises the bound by that reduced cost. So
few sets are left where the bound is near the cutoff, however many features are free.

Most of these sets differ in the few features with the smallest reduced costs. All ways to choose
these features are listed once, by cost and by loss: they are second halves. First halves are chosen
feature by feature, and the second halves that complete one are a few slices of that list.
"""

from collections.abc import Sequence

import numpy as np

from milp_verix.global_search.enumeration.set_products import SetProducts
from verix_encodings.arrays import FloatArray, IntArray

_ROUNDING = 1e-9
_PROVEN = 1e-6
_MOST_SECOND = 1024
_MOST_COSTS = 64
_STEPS = 100


def reduced_cost_sets(
    costs: FloatArray, reduced_costs: FloatArray, bound: float, cutoff: float, most: int
) -> SetProducts | None:
    """Return the sets ``A`` with ``bound + Σ_f p_f(A) ≤ c·A ≤ cutoff``.

    ``p_f`` is ``reduced_costs[f]`` where that is positive and ``f`` is in ``A``, its size where it
    is negative and ``f`` is not in ``A``. A set is left out where another has one feature more, for
    nothing. None where there are more than ``most``, or seem to be, or a cost is no number.
    """
    if not np.isfinite(reduced_costs).all():
        return None
    order = np.argsort(-np.abs(reduced_costs), kind="stable")
    second, paid, lost = _all_ways(costs, reduced_costs, order)
    here = order.size - second.shape[0]
    # a set dearer than the cutoff is not asked for; proofs hold up to rounding
    limit, tolerance = cutoff + _ROUNDING * max(1.0, abs(cutoff)), _PROVEN * (1.0 + abs(cutoff))
    # all costs may be far above the cutoff, and their rounding with them
    to_all = costs.sum() * (1.0 + _ROUNDING) + tolerance - bound
    start = np.array([[limit], [cutoff + tolerance - bound], [to_all]])
    # a first half has more than one second half for each of its features, as a rule
    fewer = most // max(order.size - here, 1)
    first = _first_halves(costs, reduced_costs, order[:here], start, fewer)
    if first is None:
        return None
    left = first.left
    left[2] -= costs[order[here:]].sum()
    of_first, begin, count = _slices(left, paid, lost)
    total = int(count.sum())
    if total > most:
        return None
    used, of_first = np.unique(of_first, return_inverse=True)
    # each slice goes on from its beginning
    offset = begin - (np.cumsum(count) - count)
    return SetProducts(
        order[:here],
        order[here:],
        first.members(used),
        second,
        np.repeat(of_first, count),
        np.arange(total) + np.repeat(offset, count),
    )


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

    def members(self, numbers: IntArray) -> FloatArray:
        """Return sets by their ``numbers``, as columns: 1 for each feature that is in, in order."""
        result = np.empty((len(self._steps), numbers.size))
        for row, (parents, inside) in zip(result[::-1], self._steps[::-1], strict=True):
            row[:] = numbers < inside
            numbers = parents[numbers]
        return result


def _choices(cost: float, reduced_cost: float) -> tuple[bool, ...]:
    """Return the sides to try, in first: a feature that is free of charge and wanted is in."""
    return (True,) if cost == 0 and reduced_cost <= 0 else (True, False)


def _all_ways(
    costs: FloatArray, reduced_costs: FloatArray, order: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return all sets of the last features of ``order``, their costs and their losses.

    They are sorted by cost, then by loss. There are as many features as give few sets and few
    different costs.
    """
    ways, paid, lost = np.zeros((0, 1)), np.zeros(1), np.zeros(1)
    for feature in order[::-1]:
        cost, reduced_cost = costs[feature], reduced_costs[feature]
        sides = _choices(cost, reduced_cost)
        now = np.concatenate([paid + cost * inside for inside in sides])
        if now.size > _MOST_SECOND or np.unique(now).size > _MOST_COSTS:
            break
        row = np.repeat(np.array(sides, dtype=np.float64), paid.size)
        ways = np.concatenate([row[None, :], np.tile(ways, len(sides))])
        losses = [max(reduced_cost if inside else -reduced_cost, 0.0) for inside in sides]
        lost = np.concatenate([lost + loss for loss in losses])
        paid = now
    ranked = np.lexsort((lost, paid))
    return ways[:, ranked], paid[ranked], lost[ranked]


def _first_halves(
    costs: FloatArray, reduced_costs: FloatArray, features: IntArray, start: FloatArray, most: int
) -> PartialSets | None:
    """Choose ``features`` one after the other in all ways that respect the accounts ``start``.

    These are: the cost that is left to pay; the loss that is left if the cutoff is paid; the loss
    that is left if all features to come are in. None where there are more than ``most`` sets.
    """
    sets = PartialSets(start)
    for feature in features:
        cost, reduced_cost = costs[feature], reduced_costs[feature]
        sides = []
        for inside in _choices(cost, reduced_cost):
            loss = max(reduced_cost if inside else -reduced_cost, 0.0)
            spends = [cost, loss, loss] if inside else [0.0, loss, cost + loss]
            sides.append((inside, np.array(spends)))
        sets.choose(sides)
        if sets.count > most:
            return None
    return sets


def _slices(
    left: FloatArray, paid: FloatArray, lost: FloatArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return which second halves complete which first halves.

    ``left`` has the accounts of the first halves, as for :func:`_first_halves`, if no feature of
    the second half is in; ``paid`` and ``lost`` are the costs and losses of second halves, sorted.
    Each slice is the number of a first half, its first second half, and how many follow.
    """
    room, to_cutoff, to_cost = left
    starts = np.flatnonzero(np.diff(paid, prepend=-np.inf))
    ends = np.append(starts[1:], paid.size)
    found = []
    for begin, end in zip(starts.tolist(), ends.tolist(), strict=True):
        cost = paid[begin]
        may = np.flatnonzero((room >= cost) & (to_cutoff >= lost[begin]))
        most = np.minimum(to_cutoff[may], to_cost[may] + cost)
        count = np.searchsorted(lost[begin:end], most, side="right")
        some = count > 0
        found.append((may[some], np.full(np.count_nonzero(some), begin), count[some]))
    of_first, begins, counts = map(np.concatenate, zip(*found, strict=True))
    return of_first, begins, counts
