"""Measures of a change: the costs of the features that move, or their distance.

    cost(x')  =  Σ_k c_k u_k,    u_k = 1 if x' moves a coordinate of unit k, else 0     (a choice)
                                 u_k = |x'_i − x_i| / s_i for the one coordinate i of unit k

To count features, each feature is a unit that is a choice. The distance is Gower's (*A general
coefficient of similarity*, Biometrics 1971), weighted by costs: each coordinate is a unit whose
scale ``s_i`` is its radius, or the length of its domain where that is smaller; a category is a
choice, so a change of it costs as much as a change of a number by its whole scale. So does a change
from a number to a missing value, or back: no number is farther away.

A change that costs ``k`` moves the coordinates by no more than a budget: over an L∞ ball, ``‖x' −
x‖₁ ≤ b(k)``, where ``b(k)`` is the most headroom that units of cost ``k`` have. A check over the
box with that L1 ball proves that every counterfactual costs more, with no binary for a feature. It
is exact for the features of a linear network, and for distances with equal costs and scales.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from milp_verix.oracle.verdict import Verdict, replayed
from milp_verix.problem.ball import Ball
from milp_verix.problem.objective import whole_numbers
from milp_verix.problem.problem import ProblemData
from verix_encodings import Interval, NormBall
from verix_encodings.arrays import BoolArray, FloatArray, IntArray, relative_error
from verix_encodings.bounds.interval import Late, never
from verix_encodings.bounds.norm_ball import filled_up
from verix_encodings.contrast_program import Units

EQUAL = 1e-6
"""Costs that are not whole numbers count as equal within this share of them."""


@dataclass(frozen=True, slots=True, eq=False)
class ChangeMeasure(Units):
    """The cost of a change of ``centre``, as the sum over units above; numbers end at ``last``.

    A search ends where its bound is within the share ``gap`` of the best cost. ``headrooms`` are
    those of units in the ball, summed over its coordinates, and ``most`` the cost of using it up,
    both (units,). ``least`` is a lower bound on the cost of every change.
    """

    headrooms: FloatArray
    most: FloatArray
    least: float
    gap: float
    whole: bool = field(init=False)

    def __post_init__(self) -> None:
        whole = bool(self.choice.all()) and whole_numbers(self.costs)
        object.__setattr__(self, "whole", whole)

    @property
    def total(self) -> float:
        """The most that a change in the ball costs."""
        return float(np.sum(self.most))

    def cost(self, point: FloatArray) -> float:
        """Return the cost of the change to ``point``, shape (d,)."""
        moved = np.where(point > self.last, self.scales, np.abs(point - self.centre))
        shares = np.where(point == self.centre, 0.0, moved / self.scales)
        amounts = np.bincount(self.unit_of, shares, self.costs.size)
        return float(self.costs @ np.where(self.choice, amounts > 0, amounts))


def feature_count(problem: ProblemData, costs: FloatArray) -> ChangeMeasure:
    """Return the measure that sums the ``costs`` of the features that move, shape (features,)."""
    units = problem.features.of_coordinate, costs, np.ones(costs.size, dtype=bool)
    return _measure(problem, units, np.ones(problem.x.size), EQUAL)


def distance(
    problem: ProblemData, costs: FloatArray, scales: FloatArray, gap: float
) -> ChangeMeasure:
    """Return the distance with ``scales``, (d,), weighted by ``costs`` of features, (features,)."""
    unordered = np.zeros(problem.features.count, dtype=bool)
    feature_of = problem.features.of_coordinate
    if problem.inputs is not None:
        unordered[:] = [feature.unordered for feature in problem.inputs.features]
        unordered[feature_of[problem.x.reshape(-1) > _last(problem)]] = True
    # a category is one unit: that of its first coordinate
    first = np.array([group[0] for group in problem.features.groups])
    choice = unordered[feature_of]
    owners = np.where(choice, first[feature_of], np.arange(feature_of.size))
    kept, units = np.unique(owners, return_inverse=True)
    chosen = units, costs[feature_of[kept]], choice[kept]
    return _measure(problem, chosen, scales, gap)


def _last(problem: ProblemData) -> FloatArray:
    """Return the largest number of each coordinate that is no missing value, (d,)."""
    last = np.full(problem.x.size, np.inf)
    for place, end in ({} if problem.inputs is None else problem.inputs.missing).items():
        last[place] = end
    return last


def directed(problem: ProblemData) -> ProblemData:
    """Return ``problem`` with described features that move one way alone, where they say so."""
    inputs = problem.inputs
    if inputs is None or not any(feature.only for feature in inputs.features):
        return problem
    ball, x = problem.ball, problem.x.astype(np.float64)
    lower, upper = ball.domain_lower.copy(), ball.domain_upper.copy()
    for feature, group in zip(inputs.features, inputs.groups, strict=True):
        if feature.only == "up":
            lower[group] = x[group]
        elif feature.only == "down":
            upper[group] = x[group]
    return problem.within(replace(ball, domain_lower=lower, domain_upper=upper))


def scales_of(problem: ProblemData) -> FloatArray:
    """Return the radius of each coordinate, or its domain if shorter, 1 if neither; (d,)."""
    ball = problem.ball
    radii = np.full(ball.centre.size, ball.epsilon) if ball.radii is None else ball.radii
    upper = np.minimum(ball.domain_upper, _last(problem))
    scales = np.minimum(radii, upper - ball.domain_lower)
    if problem.inputs is not None:
        features = problem.inputs.features
        unordered = np.array([feature.unordered for feature in features])
        scales[unordered[problem.features.of_coordinate]] = 1.0
    return np.where(scales > 0, scales, 1.0)


def _measure(
    problem: ProblemData,
    units: tuple[IntArray, FloatArray, BoolArray],
    scales: FloatArray,
    gap: float,
) -> ChangeMeasure:
    """Return the measure with these ``unit_of``, ``costs`` and ``choice`` over a problem's ball."""
    unit_of, costs, choice = units
    ball, centre, last = problem.ball, problem.x.astype(np.float64), _last(problem)
    headroom = np.maximum(ball.outer.upper - centre, centre - ball.outer.lower)
    headrooms, shares = np.zeros(costs.size), np.zeros(costs.size)
    np.add.at(headrooms, unit_of, headroom)
    known = np.maximum(np.minimum(ball.outer.upper, last) - centre, centre - ball.outer.lower)
    np.add.at(shares, unit_of, np.maximum(known / scales, ball.outer.upper > last))
    most = np.where(choice, costs * (headrooms > 0), costs * shares)
    whole = np.zeros(centre.size, dtype=bool) if ball.mixed is None else ball.mixed.integral
    steps = np.where(choice[unit_of], 1.0, np.where(whole, 1.0 / scales, 0.0))
    least = np.min((costs[unit_of] * steps)[headroom > 0], initial=np.inf)
    cheapest = float(least) if np.isfinite(least) else 0.0
    return ChangeMeasure(centre, *units, scales, last, headrooms, most, cheapest, gap)


@dataclass(frozen=True, slots=True, eq=False)
class KnapsackBall(Ball):
    """An L∞ ball, its claims about moves of at most ``budget`` in L1; witnesses may go beyond."""

    budget: float

    def region(self, free: IntArray) -> Interval | NormBall:
        """Return the inputs that a claim is about, with the coordinates ``free`` free."""
        return NormBall(self.box(free), self.centre.astype(np.float64), self.budget, 1)


def budgeted(problem: ProblemData, measure: ChangeMeasure, cost: float) -> ProblemData:
    """Return ``problem`` over a ball that holds every change of total ``cost``; for L∞ alone."""
    ball = problem.ball
    moving = measure.most > 0
    headrooms, most = measure.headrooms[moving], measure.most[moving]
    # the knapsack with fractions of units
    fractions = filled_up(headrooms / most, most, cost) / most
    budget = float(np.sum(fractions * headrooms)) * (1 + relative_error(ball.centre.size + 4))
    fixed = ball.centre, ball.epsilon, ball.norm, ball.domain_lower, ball.domain_upper
    return problem.within(KnapsackBall(*fixed, budget, radii=ball.radii, mixed=ball.mixed))


def halved(
    problem: ProblemData,
    found: Verdict,
    ends: tuple[FloatArray, FloatArray],
    free: IntArray,
    *,
    halvings: int,
    late: Late = never,
) -> Verdict:
    """Halve the way from the first of ``ends`` to ``found`` at the other; return the last change.

    Each point is run in onnxruntime.
    """
    (start, end), low, high = ends, 0.0, 1.0
    for _ in range(halvings):
        if late():
            break
        middle = (low + high) / 2
        nearer = replayed(problem, start + middle * (end - start), free)
        if nearer is None:
            low = middle
        else:
            high, found = middle, nearer
    return found
