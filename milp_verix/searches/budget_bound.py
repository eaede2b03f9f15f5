"""Lower bounds on the cost of every explanation by one perturbation, or by contrasts alone.

Every explanation ``A`` survives each perturbation ``δ``: no margin of ``x + (1 − A) ∘ δ`` is above
zero. In the variables ``y_f = c_f A_f``, the sets that cost at most ``K`` lie in

    Y(K) = { y : 0 ≤ y_f ≤ c_f,  Σ_f y_f ≤ K },

a box cut by an L1 ball around zero. If backward bounds prove that some margin of
``x + (1 − y / c) ∘ δ`` is positive everywhere in ``Y(K)``, each explanation costs more than ``K``.
The largest such ``K`` follows from a few passes of bounds: their value falls as ``Y(K)`` grows. No
bound on a neuron needs more than the small set ``Y(K)``, in place of all selections, so that wide
and deep networks have a bound within a second. It is exact for linear networks, and strong where
many features add up, as pixels do. Whole numbers and rules exclude it.

Where checks leave features undecided the better of this bound and that of
:mod:`~milp_verix.searches.contrast_cover` brackets the smallest explanation with the one found.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.base.errors import SolverError
from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.perturbation_set import PerturbationSet, perturbation_set
from milp_verix.oracle.reuse import disjoint_contrasts
from milp_verix.oracle.verdict import Verdict
from milp_verix.problem.objective import Objective, make_objective
from milp_verix.problem.problem import ProblemData
from milp_verix.searches.contrast_cover import Attacker, ContrastCover
from milp_verix.solvers import Session
from verix_encodings import Interval, Network, NormBall, crown_bounds
from verix_encodings.arrays import FloatArray, relative_error
from verix_encodings.bounds.interval import Late, never
from verix_encodings.network import batch_outputs, batch_slopes
from verix_encodings.safe_bounds import evaluation_error
from verix_encodings.scenario import network_of_selection

_GUESS = 0.5
"""The share of a first estimate that is tried first; 0.34 to 1 of it was proven on six networks."""

_STEP = 0.01
"""Budgets are tried in steps of this share of the dearest, unless costs are whole numbers."""


def budget_bound(
    perturbations: PerturbationSet,
    objective: Objective,
    deltas: FloatArray,
    *,
    least: float,
    most: float,
    tolerances: Tolerances,
    late: Late,
) -> float:
    """Return a lower bound on the cost of every explanation, no less than ``least``, proven before.

    The columns of ``deltas``, shape (d, m), are perturbations that harm the margin of their number.
    Bounds beyond ``most`` are not looked for; once ``late()``, no more passes are made. Raises
    ``OverflowError`` where bounds leave the range of float64.
    """
    base = objective.cost(objective.must)
    if most <= base:
        return least
    step = 1.0 if objective.whole else _STEP * (most - base)
    highest = int(np.ceil((most - base) / step)) - 1
    least_step = max(int(np.floor((least - base) / step)), 0)
    first = proven = least_step - 1
    reached = perturbations.margins_at(perturbations.weight(objective.least), deltas, late)
    for margin in np.argsort(-np.diag(reached), kind="stable"):
        if reached[margin, margin] <= 0 or late():
            break
        budget = _Budget(perturbations, objective, deltas[:, margin], int(margin), tolerances)

        def value(steps: int, budget: _Budget = budget) -> float:
            return budget.least_margin(steps * step, late)

        if first == proven:
            first = int(_GUESS * budget.first_order() / step)
        top = float(reached[margin, margin])
        proven = _largest(value, proven, highest, top, first=first, late=late)
    if proven < least_step:
        return least
    return max(least, base + (proven + 1 if objective.whole else proven * step))


@dataclass(frozen=True, eq=False)
class _Budget:
    """One margin under one perturbation, ``delta``, with shape (d,), for sets within a budget."""

    perturbations: PerturbationSet
    objective: Objective
    delta: FloatArray
    margin: int
    tolerances: Tolerances

    def least_margin(self, cost: float, late: Late) -> float:
        """Return how far the margin provably stays above the tolerance for sets in the budget."""
        network, costs = self._network
        box = Interval(np.zeros(costs.size), costs)
        # sums of costs are rounded
        radius = cost * (1.0 + relative_error(costs.size + 1))
        bounds = crown_bounds(network, NormBall(box, np.zeros(costs.size), radius, 1), late=late)
        needed = max(
            self.tolerances.decisive(float(bounds[-1].magnitude[0])),
            float(evaluation_error(network, bounds)[0]),
        )
        return -float(bounds[-1].upper[0]) - needed

    def first_order(self) -> float:
        """Estimate the cost of features that undo the perturbation, from the gradient there."""
        p, costs = self.perturbations, self.objective.costs
        changed = p.centre + p.weight(self.objective.least) * self.delta
        reached = batch_outputs(p.margins, changed[:, None])[self.margin, 0]
        slope = batch_slopes(p.margins, changed[:, None], np.array([self.margin]))[:, 0]
        gains = np.bincount(p.feature_of, slope * (changed - p.centre), costs.size)
        gains[self.objective.must_not] = 0.0
        paid = np.maximum(costs, np.finfo(float).tiny)
        order = np.argsort(-gains / paid, kind="stable")
        short = np.cumsum(np.maximum(gains[order], 0.0)) < reached
        return float(costs[order][short].sum())

    @cached_property
    def _network(self) -> tuple[Network, FloatArray]:
        """Return minus the margin as a network of ``y``, and the costs of its features."""
        p, objective = self.perturbations, self.objective
        given = objective.must | (objective.costs == 0) & ~objective.must_not
        bought = np.flatnonzero(~given & ~objective.must_not)
        place = np.full(objective.costs.size, -1)
        place[bought] = np.arange(bought.size)
        costs = objective.costs[bought]
        minus = np.zeros((1, p.margins.output_size))
        minus[0, self.margin] = -1.0
        place_of = place[p.feature_of]
        taken = np.where(place_of >= 0, self.delta, 0.0)
        taken[place_of >= 0] /= costs[place_of[place_of >= 0]]
        start = p.centre + p.weight(given) * self.delta
        one = p.margins.then(minus, np.zeros(1))
        return network_of_selection(one, start, taken, place_of, bought.size, within=p.box), costs


def _largest(
    value: Callable[[int], float],
    low: int,
    high: int,
    top: float,
    *,
    first: int = -1,
    late: Late = never,
) -> int:
    """Return the largest number in ``[low, high]`` found with a positive ``value``, which falls.

    It is ``low`` where no larger one has one, and the largest so far once ``late()``. The numbers
    ``low + 1`` and ``first`` are tried before others, the larger one first; ``top`` is near
    ``value(-1)``. Secants find the number by the Illinois rule (Dowell and Jarratt, *BIT* 11,
    1971).
    """
    if low >= high:
        return low
    now, slope, end, failed = top, top / (high + 2), high + 1, 0.0
    for tried in sorted({min(max(first, low + 1), high), low + 1}, reverse=True):
        if late():
            return low
        found = value(tried)
        if found > 0:
            slope, low, now = (top - found) / (tried + 1), tried, found
            break
        end, failed = tried, max(found, -1e300)
    while end - low > 1 and not late():
        ahead = now / (now - failed) * (end - low) if failed < 0 else now / max(slope, 1e-12)
        tried = low + int(min(max(ahead, 1), end - 1 - low))
        found = value(tried)
        if found > 0:
            slope, low, now = (now - found) / (tried - low), tried, found
            # the Illinois rule: the other end of the next secant moves, too
            failed /= 2.0
        else:
            end, failed = tried, max(found, -1e300)
            now /= 2.0
    return low


_BUDGET = 0.7  # of the work, for the first of the bounds; not measured
_CLIMBS = 2  # of each margin, from the highest starts; not measured
_NEWEST = 8  # perturbations that a climb may begin at; not measured
_KNOWN = 4  # counterfactuals of the traversal that attacks begin at; not measured


def needed_features(
    problem: ProblemData,
    known: Iterable[Verdict],
    open_session: Callable[[], Session],
    *,
    most: int,
    tolerances: Tolerances,
    deadline: Deadline = NO_LIMIT,
) -> tuple[int, list[Verdict]]:
    """Return a proven lower bound on the number of features of each explanation of ``problem``.

    The counterfactuals found on the way come with it. ``known`` are violated claims, and ``most``
    is the size of an explanation. Contrasts are sought until the ``deadline``, or until attacks
    find none that the cover misses. ``open_session`` opens a solver for the covers. The bound is 0
    where values leave the range of float64, and if it is late.
    """
    if problem.margins.stepped:
        # nothing climbs, and there are no lines around jumps
        return disjoint_contrasts(problem, known), []
    if deadline.passed():
        return 0, []
    perturbations = perturbation_set(problem)
    attacker = Attacker(perturbations, deadline.passed, _NEWEST, _CLIMBS, _KNOWN)
    attacker.remember_last(known)
    objective = make_objective(problem.features.count, None, (), ())
    try:
        cover = ContrastCover(problem, objective, perturbations, attacker, open_session)
        budget = 0.0
        # gradients find perturbations that are no whole numbers, or break rules
        if problem.ball.mixed is None:
            budget = budget_bound(
                perturbations,
                objective,
                attacker.attack(np.zeros(problem.features.count))[0],
                least=0.0,
                most=most,
                tolerances=tolerances,
                late=deadline.share(_BUDGET).passed,
            )
    except OverflowError:
        return 0, []
    try:
        while not (deadline.passed() or cover.exhausted or cover.ended or cover.hopeless(budget)):
            cover.step(deadline, budget)
    except SolverError:
        pass  # the bound that was proven until then stays
    finally:
        cover.close()
    return int(max(cover.bound, budget)), cover.counterfactuals
