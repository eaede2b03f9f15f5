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

Where checks leave features undecided, the better of both bounds brackets the smallest explanation
with the one found. The other one is from known counterfactuals: an explanation intersects every
contrastive set.

    candidate ← the features that must be in
    repeat   add contrastive sets, disjoint from the candidate and from each other,
                 until gradients find no further one
             candidate ← a cheapest set that intersects all: no explanation costs less

(Ignatiev, Previti, Liffiton, Marques-Silva, *Smallest MUS extraction with minimal hitting set
dualization*, CP 2015.) Forward passes and gradients alone find the contrastive sets, so that the
size of the network matters little. The bound is strong where few features change the prediction,
as in tables, and weak where hundreds of pixels must change together.

Contrastive sets are made smaller: prefixes by first-order gain, then one by one. At a perturbation
``δ`` of some features, each adds about ``Σ_{i ∈ f} g_i δ_i`` to the worst margin with gradient
``g``. The shortest prefix of the features, largest gain first, that keeps the margin above zero is
found by forward passes in batches; climbs inside that prefix raise the margin again, and allow a
shorter one. The result need not be minimal.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from milp_verix.base.clock import NO_LIMIT, Deadline, elapsed_work
from milp_verix.base.errors import SolverError
from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.attacks import PerturbationSet, perturbation_set
from milp_verix.oracle.reuse import disjoint_contrasts
from milp_verix.oracle.verdict import Stage, Verdict, replayed
from milp_verix.problem.objective import Objective, make_objective
from milp_verix.problem.problem import ProblemData
from milp_verix.searches.set_search import Candidates
from milp_verix.solvers import Session
from verix_encodings import Interval, Network, NormBall, crown_bounds, interval_bounds
from verix_encodings.arrays import BoolArray, FloatArray, IntArray, relative_error
from verix_encodings.bounds.interval import Late, never
from verix_encodings.network import batch_outputs, batch_slopes
from verix_encodings.safe_bounds import evaluation_error
from verix_encodings.scenario import Clause, network_of_selection
from verix_encodings.work import worked

_RIVALS = 3  # margins tried for a contrastive set; not measured
_ROUNDS = 6  # of prefixes and climbs; not measured
_PREFIXES = 8  # evaluated in one pass; not measured
_ONE_BY_ONE = 64  # features at most that are left out one by one; not measured
_CLEAR = 1e-6
"""The least margin, in logits, of a counterfactual: it counts in real arithmetic, too."""


class Attacker:
    """Finds perturbations that selections do not survive; ``known``, (d, N), are those found.

    So many ``climbs`` of each margin begin at the highest of the input and the ``most`` newest. Of
    counterfactuals the last ones, ``remembered``, are taken.
    """

    def __init__(
        self, perturbations: PerturbationSet, late: Late, most: int, climbs: int, remembered: int
    ) -> None:
        self._perturbations, self._late = perturbations, late
        self._most, self._climbs, self._remembered = most, climbs, remembered
        self.known = np.zeros((perturbations.centre.size, 0))

    @property
    def newest(self) -> FloatArray:
        """The perturbations found last, shape (d, N)."""
        return self.known[:, -self._most :]

    def remember(self, deltas: FloatArray) -> None:
        """Begin later climbs at these perturbations, shape (d,) or (d, N), too."""
        new = deltas.reshape(self.known.shape[0], -1)
        self.known = np.concatenate([self.known, new], axis=1)

    def remember_last(self, counterfactuals: Iterable[Verdict]) -> None:
        """Remember the perturbations of the last ones of ``counterfactuals``."""
        points = [v.witness for v in counterfactuals if v.witness is not None]
        for point in points[-self._remembered :]:
            self.remember(point.reshape(-1) - self._perturbations.centre)

    def attack(
        self, selection: FloatArray, climbs: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the worst perturbation found for each margin, shape (d, m), and its value."""
        starts = np.concatenate([np.zeros((self.known.shape[0], 1)), self.newest], axis=1)
        p = self._perturbations
        return p.worst(p.weight(selection), starts, climbs or self._climbs, self._late)


class ContrastCover:
    """The contrastive ``sets`` found so far, and a proven lower ``bound`` on explanations' costs.

    Each of ``sets``, of shape (features,), has one of ``counterfactuals``. ``candidate`` is
    a cheapest set that intersects all. ``exhausted`` says that gradients find no set that it
    misses, ``ended`` that no step can raise the bound. ``work`` is in seconds of the clock of work.
    ``open_session`` opens a solver for the covering programs. Raises ``OverflowError`` where values
    leave the range of float64.
    """

    def __init__(
        self,
        problem: ProblemData,
        objective: Objective,
        p: PerturbationSet,
        attacker: Attacker,
        open_session: Callable[[], Session],
    ) -> None:
        self._problem, self._objective, self._p = problem, objective, p
        self._attacker = attacker
        self._candidates = Candidates(objective, open_session, listed=False)
        self.candidate: BoolArray = objective.must.copy()
        self.bound = objective.cost(objective.must)
        self.sets: list[BoolArray] = []
        self.counterfactuals: list[Verdict] = []
        self.exhausted = self.ended = False
        self.work = 0.0
        everywhere = interval_bounds(p.margins, p.region.box)
        self._clear = np.maximum(_CLEAR, evaluation_error(p.margins, everywhere))

    def hopeless(self, bound: float) -> bool:
        """Return whether disjoint sets as small as the smallest known prove less than ``bound``."""
        smallest = min((int(one.sum()) for one in self.sets), default=1)
        return self._objective.equal and self.candidate.size / smallest < bound

    def step(self, deadline: Deadline, least: float = 0.0) -> float:
        """Add contrastive sets that the candidate misses, and find the next candidate.

        No further set is added at the ``deadline``, or once these are hopeless to prove more than
        ``least``. Returns the higher one of that and the bound.
        """
        started, before, free = worked(), len(self.sets), ~self.candidate
        while (found := self._contrast(free, deadline)) is not None:
            free &= ~found
            if deadline.passed() or self.hopeless(least):
                break
        if len(self.sets) > before:
            self._cover(deadline)
        else:
            self.exhausted = not deadline.passed()
        self.work += elapsed_work(started)
        return max(least, self.bound)

    def refute(self, delta: FloatArray, deadline: Deadline) -> None:
        """Learn from a perturbation, shape (d,), that the candidate does not survive."""
        self.exhausted = False
        if self._learnt(~self.candidate, delta, deadline) is None:
            self.ended = True
        else:
            self._cover(deadline)

    def close(self) -> None:
        """Close the solver's session."""
        self._candidates.close()

    def _cover(self, deadline: Deadline) -> None:
        """Find a cheapest set that intersects all sets known, and raise the bound to its cost."""
        found = self._candidates.propose(deadline)
        if not found.exhausted:
            self.bound = max(self.bound, found.bound)
        if found.chosen is None:
            self.ended = not found.late
        else:
            self.candidate = np.isin(np.arange(self.candidate.size), list(found.chosen))

    def _contrast(self, free: BoolArray, deadline: Deadline) -> BoolArray | None:
        """Return a new contrastive set among the features ``free``; None if none is found."""
        deltas, values = self._attacker.attack((~free).astype(np.float64))
        for margin in np.argsort(-values, kind="stable")[:_RIVALS]:
            if values[margin] <= self._clear[margin]:
                break
            if (found := self._learnt(free, deltas[:, margin], deadline)) is not None:
                return found
        return None

    def _learnt(self, free: BoolArray, delta: FloatArray, deadline: Deadline) -> BoolArray | None:
        """Keep a small contrastive set of ``delta`` if onnxruntime confirms it; return the set."""
        p, problem = self._p, self._problem
        free, delta = self._smaller(free, delta, deadline.passed)
        weight = p.weight(~free)
        verdict = replayed(problem, p.centre + weight * delta, np.flatnonzero(weight))
        if verdict is None or verdict.witness is None:
            return None
        witness = verdict.witness.reshape(-1)
        if np.all(p.margins.evaluate(witness.astype(np.float64)) <= self._clear):
            return None
        changed = np.zeros(free.size, dtype=bool)
        changed[p.feature_of[witness != problem.x]] = True
        changed &= ~self._objective.must_not
        if not changed.any():
            return None
        self.sets.append(changed)
        features = frozenset(np.flatnonzero(changed).tolist())
        self._candidates.clauses.append(Clause(any_of=features))
        self.counterfactuals.append(replace(verdict, stage=Stage.POINTS))
        self._attacker.remember(delta)
        return changed

    def _smaller(
        self, free: BoolArray, delta: FloatArray, late: Late
    ) -> tuple[BoolArray, FloatArray]:
        """Return fewer of the features ``free``, and a change of them that changes the prediction.

        ``delta`` changes it by all of them. Once ``late()``, the features so far are returned.
        """
        order = np.flatnonzero(free)
        for _ in range(_ROUNDS):
            order = self._shortest(self._ranked(free, delta), delta)
            fewer = np.isin(np.arange(free.size), order)
            shorter = fewer.sum() < free.sum()
            free = fewer
            if not shorter or late():
                break
            delta = self._climbed(free, delta, late)[1]
        for feature in order[::-1] if order.size <= _ONE_BY_ONE else ():
            if late():
                break
            without = free.copy()
            without[feature] = False
            harmful, climbed = self._climbed(without, delta, late)
            if harmful:
                free, delta = without, climbed
        return free, delta

    def _climbed(self, free: BoolArray, delta: FloatArray, late: Late) -> tuple[bool, FloatArray]:
        """Climb the margins from ``delta``; return whether one is clear above zero, and where."""
        p, needed = self._p, self._clear
        deltas, values = p.worst(p.weight(~free), delta[:, None], 1, late)
        margin = int(np.argmax(values - needed))
        return bool(values[margin] > needed[margin]), deltas[:, margin]

    def _ranked(self, free: BoolArray, delta: FloatArray) -> IntArray:
        """Return the features ``free``, those with the largest first-order gain first."""
        p = self._p
        weight = p.weight(~free)
        there = (p.centre + weight * delta)[:, None]
        worst = np.argmax(batch_outputs(p.margins, there)[:, 0] - self._clear)
        slope = batch_slopes(p.margins, there, np.array([worst]))[:, 0]
        gains = np.bincount(p.feature_of, weight * slope * delta, free.size)
        features = np.flatnonzero(free)
        return np.asarray(features[np.argsort(-gains[features], kind="stable")])

    def _shortest(self, order: IntArray, delta: FloatArray) -> IntArray:
        """Return the shortest prefix of ``order`` found whose change by ``delta`` is harmful."""
        p, low, high = self._p, 0, order.size
        while high - low > 1:
            lengths = np.unique(np.linspace(low, high, _PREFIXES + 2).astype(int)[1:-1])
            lengths = lengths[(lengths > low) & (lengths < high)]
            moved = np.zeros((int(p.feature_of.max()) + 1, lengths.size))
            for column, length in enumerate(lengths):
                moved[order[:length], column] = 1.0
            inputs = p.centre[:, None] + moved[p.feature_of] * delta[:, None]
            reached = batch_outputs(p.margins, inputs) - self._clear[:, None]
            harmful = np.flatnonzero(reached.max(axis=0) > 0)
            first = int(harmful[0]) if harmful.size else lengths.size
            low = int(lengths[first - 1]) if first else low
            high = int(lengths[first]) if harmful.size else high
        return order[:high]


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
        box = p.region.box
        return network_of_selection(one, start, taken, place_of, bought.size, within=box), costs


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
