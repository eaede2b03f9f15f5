"""The sets of features that a bound and its reduced costs leave.

A relaxation with row duals ``y`` and reduced costs ``d = c − yᵀ M`` proves more than its bound: a
set that has some feature where the relaxation does not want it costs more by that reduced cost. So
few sets are left where the bound is near what is asked for, however many features are free.

Most of them differ in the few features of the least reduced costs, which are the second half of a
set. All ways to choose these are listed once, by what they cost and lose; the first half is chosen
feature by feature, and what completes one is a few slices of that list.
"""

import numpy as np

from milp_verix.global_search.enumeration.frontier import Frontier
from milp_verix.global_search.enumeration.set_products import CandidateSets
from verix_encodings.arrays import FloatArray, IntArray

_ROUNDING = 1e-9
_PROVEN = 1e-6
_MOST_SECOND = 1024
_MOST_COSTS = 64
_STEPS = 100


def candidates(
    costs: FloatArray, reduced_costs: FloatArray, bound: float, budget: float, most: int
) -> CandidateSets | None:
    """Return the subsets ``A`` with ``bound + Σ_f p_f(A) ≤ c·A ≤ budget``.

    ``p_f`` is ``reduced_costs[f]`` where that is positive and ``f`` is in ``A``, its size where it
    is negative and ``f`` is not in ``A``. A set is left out where another has one feature more, for
    nothing. None where there are more than ``most``, or seem to be, or a reduced cost is no number.
    """
    if not np.isfinite(reduced_costs).all():
        return None
    order = np.argsort(-np.abs(reduced_costs), kind="stable")
    second, paid, lost = _all_ways(costs, reduced_costs, order)
    here = order.size - second.shape[0]
    # what costs more than the budget is not asked for; what is proven is proven up to rounding
    limit, tolerance = budget + _ROUNDING * max(1.0, abs(budget)), _PROVEN * (1.0 + abs(budget))
    # all costs may be far above the budget, and their rounding with them
    to_all = costs.sum() * (1.0 + _ROUNDING) + tolerance - bound
    start = np.array([[limit], [budget + tolerance - bound], [to_all]])
    # a first half has more than one second half for each of its features, as a rule
    fewer = most // max(order.size - here, 1)
    frontier = _few_ways(costs, reduced_costs, order[:here], start, fewer)
    if frontier is None:
        return None
    left = frontier.left
    left[2] -= costs[order[here:]].sum()
    of_first, begin, count = _slices(left, paid, lost)
    total = int(count.sum())
    if total > most:
        return None
    used, of_first = np.unique(of_first, return_inverse=True)
    # each slice goes on from its beginning
    offset = begin - (np.cumsum(count) - count)
    return CandidateSets(
        order[:here],
        order[here:],
        frontier.chosen(used),
        second,
        np.repeat(of_first, count),
        np.arange(total) + np.repeat(offset, count),
    )


def count_of_ways(reduced_costs: FloatArray, slack: float) -> float:
    """Return about how many sets lose ``slack`` at most, whatever they cost.

    What a reduced cost is rounded down by lets some more in. Infinite where a reduced cost is no
    number or ``slack`` is not above zero.
    """
    if not (np.isfinite(reduced_costs).all() and slack > 0.0):
        return np.inf
    sizes = np.abs(reduced_costs)
    lost = (sizes[sizes <= slack] / slack * _STEPS).astype(np.intp)
    # how many ways lose each number of steps, of the features so far
    ways = np.zeros(_STEPS + 1)
    ways[0] = 1.0
    for steps in lost.tolist():
        ways[steps:] += ways[: _STEPS + 1 - steps]
    return float(ways.sum())


def _choices(cost: float, reduced_cost: float) -> tuple[bool, ...]:
    """Return whether the feature is in, or not: what costs nothing and is not unwanted is in."""
    return (True,) if cost == 0 and reduced_cost <= 0 else (True, False)


def _all_ways(
    costs: FloatArray, reduced_costs: FloatArray, order: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return all ways to choose the last of ``order``, what they cost and what they lose.

    They are sorted by cost, and by loss where they cost the same. There are as many features as
    give few ways and few different costs.
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
        lost = np.concatenate(
            [lost + max(reduced_cost if i else -reduced_cost, 0.0) for i in sides]
        )
        paid = now
    ranked = np.lexsort((lost, paid))
    return ways[:, ranked], paid[ranked], lost[ranked]


def _few_ways(
    costs: FloatArray, reduced_costs: FloatArray, features: IntArray, start: FloatArray, most: int
) -> Frontier | None:
    """Choose ``features`` one after the other in all ways that leave nothing of ``start`` negative.

    What is left is, for each way, what may be paid yet, what may be lost if all of the budget is
    paid, and what may be lost if all features to come are in.
    """
    frontier = Frontier(start)
    for feature in features:
        cost, reduced_cost = costs[feature], reduced_costs[feature]
        sides = []
        for side in _choices(cost, reduced_cost):
            loss = max(reduced_cost if side else -reduced_cost, 0.0)
            sides.append((side, np.array([cost, loss, loss] if side else [0.0, loss, cost + loss])))
        frontier.choose(sides)
        if frontier.ways > most:
            return None
    return frontier


def _slices(
    left: FloatArray, paid: FloatArray, lost: FloatArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return which second halves complete which first halves.

    ``left`` is what is left of each first half, as for :func:`_few_ways`, if nothing of the second
    is in; ``paid`` and ``lost`` are what second halves cost and lose, as sorted. Each slice is the
    number of a first half, where its second halves begin, and how many they are.
    """
    room, to_budget, to_cost = left
    starts = np.flatnonzero(np.diff(paid, prepend=-np.inf))
    ends = np.append(starts[1:], paid.size)
    found = []
    for begin, end in zip(starts.tolist(), ends.tolist(), strict=True):
        cost = paid[begin]
        may = np.flatnonzero((room >= cost) & (to_budget >= lost[begin]))
        most = np.minimum(to_budget[may], to_cost[may] + cost)
        count = np.searchsorted(lost[begin:end], most, side="right")
        some = count > 0
        found.append((may[some], np.full(np.count_nonzero(some), begin), count[some]))
    of_first, begins, counts = map(np.concatenate, zip(*found, strict=True))
    return of_first, begins, counts
