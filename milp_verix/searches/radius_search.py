"""The search for radii: brackets take turns to ask their questions, until all are narrow.

A question is about one set of features and one radius; an oracle answers it. Proofs raise the lower
end of a bracket, counterfactuals bring down its upper end.

If the claim holds at a radius it holds at all smaller ones; a counterfactual at a distance is one
at all larger radii. So one proof and one counterfactual bracket the largest radius at which the
claim holds. Three means narrow it, the cheapest first: gradient attacks, bounds, exact checks.

The distance of a point is the least radius ``t`` whose ball holds it. With one radius for all
coordinates it is ``‖x' − x‖_p``. Feature ``i`` of a described input has the radius ``t · s_i``, so

    distance(x') = max { n_i / s_i : x'_i ≠ x_i },   n_i = 1 for a category, else |x'_i − x_i|,

since any two values of a category are 1 apart. ``t ≤ t'`` makes every radius ``t · s_i`` at most
``t' · s_i``, also after rounding, so the balls of smaller radii lie in those of larger ones.
Distances are computed in exact fractions and rounded up to float64.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.clock import Deadline
from milp_verix.base.errors import InputError
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.radii import Epsilon, ends_around, radii_of
from milp_verix.oracle.ball_bounds import SmallerBalls
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import TIME_LIMIT, Verdict
from milp_verix.problem.agreement import require_agreement
from milp_verix.problem.problem import ProblemData, features_in
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.base import Counterfactual
from milp_verix.results.build import counterfactual_of
from milp_verix.results.plain_counterfactuals import Point, plain_counterfactual
from milp_verix.results.ranges import RadiusBracket, RobustnessRadii
from milp_verix.searches.change_measure import halved
from milp_verix.searches.runner import AnytimeSearch, OracleWork
from verix_encodings.arrays import BoolArray, FloatArray, IntArray


# no slots: what moves at all is computed once
@dataclass(frozen=True)
class Balls:
    """The balls around the input of ``problem``; ``scale``, if described, are the radii at 1."""

    problem: ProblemData
    scale: tuple[float, ...] | None = None

    def at(self, radius: float) -> ProblemData:
        """Return the problem with the ball of ``radius``."""
        if self.scale is None:
            return self.problem.at(radius)
        return self.problem.at(tuple(radius * one for one in self.scale))

    def distance(self, point: NDArray[Any]) -> float:
        """Return the least radius whose ball holds ``point``, rounded up to float64."""
        flat = point.reshape(-1)
        moved = np.flatnonzero(flat != self.problem.x)
        return self._distance(moved, flat[moved])

    def _distance(self, moved: IntArray, there: NDArray[Any]) -> float:
        """Return the distance of the point whose coordinates ``moved`` alone are ``there``."""
        here, norm = self.problem.x[moved], self.problem.ball.norm
        unit, word = self._units[:, moved]
        if moved.size and (self.scale is not None or norm == "linf"):
            with np.errstate(divide="ignore", over="ignore"):
                rough = np.where(word > 0, 1.0, np.abs(there.astype(float) - here)) / unit
            # fractions for those alone that may be the largest
            largest = ~(rough < (1 - 1e-9) * rough.max())
            here, there, unit, word = (part[largest] for part in (here, there, unit, word))
        parts = zip(there.tolist(), here.tolist(), word.tolist(), strict=True)
        moves = [Fraction(1) if w else abs(Fraction(to) - Fraction(at)) for to, at, w in parts]
        if self.scale is not None:
            return _most(list(zip(moves, unit.tolist(), strict=True)))
        if norm == "linf":
            return _rounded_up(max(moves, default=Fraction()))
        if norm == "l1":
            return _rounded_up(sum(moves, Fraction()))
        square = sum((move * move for move in moves), Fraction())
        # the root of a whole number of 128 bits: the square may be beyond float64
        shift = 64 + (square.denominator.bit_length() - square.numerator.bit_length()) // 2
        root = _rounded_up(math.isqrt(int(square * Fraction(4) ** shift)) / Fraction(2) ** shift)
        while root < math.inf and Fraction(root) ** 2 < square:
            root = math.nextafter(root, math.inf)
        return root

    def reach(self, free: IntArray) -> float:
        """Return the radius whose ball over ``free`` holds the whole domain, or infinity."""
        lower, upper = (end[free] for end in self._ends)
        wide = self.problem.ball.centre[free].astype(np.float64)
        corner = np.where(upper - wide > wide - lower, upper, lower)
        moved = (corner != wide) & self._movable[free]
        corner = corner[moved]
        return self._distance(free[moved], corner) if np.isfinite(corner).all() else math.inf

    @cached_property
    def _units(self) -> FloatArray:
        """The radius at 1 of each coordinate, and 1 for a word that has no order; shape (2, d)."""
        inputs = self.problem.inputs
        if inputs is None or self.scale is None:
            return np.array([[1.0], [0.0]]).repeat(self.problem.x.size, axis=1)
        unordered = [float(feature.unordered) for feature in inputs.features]
        return np.array([self.scale, unordered])[:, self.problem.features.of_coordinate]

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        """The ends of all coordinates, two arrays of shape (d,)."""
        ball, inputs = self.problem.ball, self.problem.inputs
        if inputs is None or self.scale is None:
            return ball.domain_lower, ball.domain_upper
        # no missing values
        return ends_around(inputs, ball.centre.astype(np.float64), self.scale)

    @cached_property
    def _movable(self) -> BoolArray:
        """True for each coordinate that some radius lets move, shape (d,)."""
        if self.problem.inputs is None or self.scale is None:
            return np.ones(self.problem.x.size, dtype=bool)
        pairs = zip(self.problem.inputs.features, self.scale, strict=True)
        movable = np.array([feature.kind != "fixed" and one > 0 for feature, one in pairs])
        return movable[self.problem.features.of_coordinate]


def _most(needed: list[tuple[Fraction, float]]) -> float:
    """Return the least radius that, times each second part, is no less than the first."""
    if any(one == 0 for _, one in needed):
        return math.inf
    found = _rounded_up(max((need / Fraction(one) for need, one in needed), default=Fraction()))
    # a product beyond float64 is no radius too small
    while any(found * one < math.inf and Fraction(found * one) < need for need, one in needed):
        found = math.nextafter(found, math.inf)
    return found


def scale_of(inputs: Inputs | None, scale: Epsilon) -> tuple[float, ...] | None:
    """Return the radius of each feature at the radius 1, if described; or ``InputError``."""
    if inputs is None:
        if not (isinstance(scale, int | float) and scale == 1.0):
            raise InputError("scale is for described inputs: give inputs, or leave scale out")
        return None
    found = radii_of(inputs, scale, "scale")
    if not (np.isfinite(found).all() and any(found)):
        raise InputError(
            "scale is the radius of each feature at the radius 1: finite, and above 0 for one of "
            f"them, such as 1, '100%' or {{'age': 5, '*': 1}}; got {scale!r}"
        )
    return found


def _rounded_up(value: Fraction) -> float:
    try:
        rounded = float(value)
    except OverflowError:
        return math.inf
    return rounded if Fraction(rounded) >= value else math.nextafter(rounded, math.inf)


def _between(low: float, high: float) -> float:
    return low / 2 + high / 2 if math.isinf(low + high) else (low + high) / 2


_HALVINGS = 24  # to the precision of float32


def nearest(problem: ProblemData, verdict: Verdict, free: IntArray) -> Counterfactual:
    """Return a counterfactual on the way from the input to the one of ``verdict``."""
    ends = problem.x.astype(np.float64), verdict.point
    best = counterfactual_of(halved(problem, verdict, ends, free, halvings=_HALVINGS))
    best.input.flags.writeable = False
    return best


ROUNDING = "rounding in onnxruntime exceeds the margin"
_FEW = 4
"""Coordinates of a pixel: so few need no more than one attack, and one check next to its result."""
_LEAST = 2.0**-30
"""Share of the largest radius below which nothing is asked."""


class BracketStep(NamedTuple):
    """A question that a bracket asks next: a means, ``"attack"``, ``"bounds"`` or ``"check"``."""

    means: str
    epsilon: float


class Bracket:
    """The bracket of one set of features, as it narrows.

    ``reach`` is the largest radius asked about; ``free`` are the coordinates of ``features``.
    ``lower`` is below zero until there is a proof, ``upper`` infinite until there is a
    counterfactual; ``unknown`` has the reasons why radii between were not decided.
    """

    def __init__(
        self, balls: Balls, features: tuple[int, ...], reach: float, tolerance: float
    ) -> None:
        self.features, self.reach, self.tolerance = features, reach, tolerance
        self.free: IntArray = balls.problem.features.coordinates(features)
        self.lower, self.upper = -1.0, math.inf
        self.counterfactual: Counterfactual | None = None
        self.unknown: dict[float, str] = {}
        self._balls = balls

    def record(self, why: str | None) -> RadiusBracket:
        """Return the bracket so far; ``why`` says what kept it from narrowing, if it is wide."""
        upper = None if self.counterfactual is None else self.upper
        wide = why or next(iter(self.unknown.values()), None) or TIME_LIMIT
        ends, reason = (max(self.lower, 0.0), upper, self.reach), None if self.narrow else wide
        return RadiusBracket(self.features, *ends, self.counterfactual, reason)

    @property
    def narrow(self) -> bool:
        """True if the bracket is as narrow as asked for."""
        return self.lower >= min(self.reach, (1 - self.tolerance) * self.upper)

    def holds(self, epsilon: float) -> None:
        """Take over a proof at ``epsilon``."""
        self.lower = max(self.lower, epsilon)
        self.unknown = {radius: why for radius, why in self.unknown.items() if radius > epsilon}

    def violated(self, epsilon: float, verdict: Verdict) -> None:
        """Take over a counterfactual that was found at ``epsilon``.

        One inside a ball that is proven lets onnxruntime round across a margin that is below zero
        in real arithmetic, and is no counterfactual in real arithmetic: it is dropped.
        """
        # not kept: the balls of thousands of brackets take gigabytes
        point = nearest(self._balls.at(self.reach), verdict, self.free)
        found = self._balls.distance(point.input)
        if found <= self.lower:
            point = counterfactual_of(verdict)
            found = self._balls.distance(point.input)
        if not self.lower < found < self.upper:
            self.unknown[epsilon] = ROUNDING
            return
        self.upper, self.counterfactual = found, point
        self.unknown = {radius: why for radius, why in self.unknown.items() if radius < found}

    def round(self, deadline: Deadline) -> None:
        """Move a described counterfactual to plain numbers, if the bracket stays as narrow."""
        if self.counterfactual is None or self._balls.problem.inputs is None:
            return

        def near(point: Point) -> bool:
            far = self._balls.distance(point)
            narrow = far <= self.upper or self.lower >= (1 - self.tolerance) * far
            return self.lower < far and narrow

        problem = self._balls.at(self.reach)
        self.counterfactual = plain_counterfactual(problem, self.counterfactual, deadline, near)
        self.upper = self._balls.distance(self.counterfactual.input)

    def steps(self) -> Iterator[BracketStep]:
        """Yield the questions to ask, one after the other's answer, until the bracket is narrow."""
        few = self.free.size <= _FEW
        if not self.narrow and self.reach > 0:
            yield BracketStep("attack", self.reach)
        if math.isinf(self.upper):
            yield BracketStep("bounds", self.reach)
        elif not few:
            yield from self._attacks()
        if not few or math.isinf(self.upper):  # an exact check of all may take the whole limit
            yield from self._bounds()
        yield from self.checks()

    def _attacks(self) -> Iterator[BracketStep]:
        """Halve the range between radii at which attacks are in vain and find something."""
        vain = 0.0
        while self.upper - vain > self.tolerance * self.upper:
            epsilon = _between(vain, self.upper)
            yield BracketStep("attack", epsilon)
            if self.upper > epsilon:
                vain = epsilon

    def _bounds(self) -> Iterator[BracketStep]:
        """Halve the range between radii that bounds prove and do not prove."""
        unproven = min(self.reach, self.upper)
        while not self.narrow and self._apart(unproven):
            epsilon = _between(max(self.lower, 0.0), unproven)
            yield BracketStep("bounds", epsilon)
            if self.lower < epsilon:
                unproven = epsilon

    def checks(self) -> Iterator[BracketStep]:
        """Check right below the upper end, which attacks often find; else halve the range."""
        middle = False
        while not self.narrow:
            below = min(self.unknown, default=min(self.reach, self.upper))
            if self.unknown and not self._apart(below):
                return
            epsilon = min(self.reach, (1 - self.tolerance) * self.upper)
            if middle or self.unknown:
                epsilon = _between(max(self.lower, 0.0), below)
            before = self.upper
            yield BracketStep("check", epsilon)
            middle = self.upper < before

    def again(self) -> Iterator[BracketStep]:
        """Check the least radius that was not decided once more; if it holds, those above it."""
        least = min(self.unknown)
        yield BracketStep("check", least)
        if self.lower >= least:
            yield from self.checks()

    def _apart(self, upper: float) -> bool:
        return upper - self.lower > self.tolerance * upper and upper > _LEAST * self.reach


_LEAST_WORK = 0.1
"""Seconds of work that each question may take at least. Not measured."""


@dataclass(frozen=True, slots=True)
class RadiusProgress:
    """Brackets that are open, of how many, and the ends of the first one, infinite if not found."""

    open: int
    total: int
    lower: float
    upper: float


@dataclass(eq=False)
class RadiusSearch(AnytimeSearch[RadiusProgress, RobustnessRadii]):
    """The brackets of one result in ``problem``, the largest of ``balls``, of the radius ``reach``.

    Oracles, one for each radius, answer their questions; the last one is kept.
    """

    brackets: Sequence[Bracket]
    balls: Balls
    request: Request
    problem: ProblemData
    reach: float
    each: bool
    open: int = 0

    def __post_init__(self) -> None:
        self._bounds = SmallerBalls.of(self.balls.problem, self.request.search)
        # what an oracle prepares and reuses is for sets that grow
        self._own_search = replace(self.request.search, reuse=False)
        self._oracle, self._epsilon = self._opened(self.reach), self.reach
        self._tally = OracleWork()

    def close(self) -> None:
        """Close the last oracle, and keep its counts."""
        self._tally.add(self._oracle)
        self._oracle.close()

    def _opened(self, epsilon: float) -> Oracle:
        return Oracle(self.balls.at(epsilon), self._own_search, self._bounds)

    def _ask(self, bracket: Bracket, step: BracketStep, deadline: Deadline) -> None:
        """Answer ``step`` of ``bracket`` by the ``deadline``."""
        if self._epsilon != step.epsilon:
            opened = self._opened(step.epsilon)
            self.close()
            self._oracle, self._epsilon = opened, step.epsilon
        oracle = self._oracle
        if step.means == "attack":
            *others, last = bracket.features
            found = oracle.attacked(others, [last], deadline)
            if last in found:
                bracket.violated(step.epsilon, found[last])
            return
        ask = oracle.check_by_bounds if step.means == "bounds" else oracle.check
        verdict = ask(bracket.free, deadline)
        if verdict.holds:
            bracket.holds(step.epsilon)
        elif verdict.violated:
            bracket.violated(step.epsilon, verdict)
        elif step.means == "check":
            bracket.unknown[step.epsilon] = verdict.reason or "unknown"

    def _search(self) -> None:
        """Narrow the brackets in rounds, one question each; those out of time ask again last."""
        deadline, check_limit = self.request.deadline, self.request.check_limit
        open_ = {bracket: bracket.steps() for bracket in self.brackets}
        with closing(self):
            while open_ and not deadline.passed():
                for bracket in list(open_):
                    if deadline.passed():
                        break
                    step = next(open_[bracket], None)
                    if step is None:
                        del open_[bracket]
                        continue
                    self.open = len(open_)
                    self.tell()
                    share = max(deadline.left / (2 * len(open_)), _LEAST_WORK)
                    until = deadline.limited(check_limit).within(share)
                    self._ask(bracket, step, until)
                if not open_ and math.isfinite(deadline.at):
                    for bracket in self.brackets:
                        late = TIME_LIMIT in bracket.unknown.values() and not bracket.narrow
                        if late and not deadline.passed():
                            open_[bracket] = bracket.again()
        if not all(bracket.narrow for bracket in self.brackets):
            deadline.require_time()

    def _state(self) -> RadiusProgress:
        first = self.brackets[0]
        return RadiusProgress(self.open, len(self.brackets), max(first.lower, 0.0), first.upper)

    def _snapshot(self) -> Callable[[], RobustnessRadii]:
        found = self._result(self.stopped or TIME_LIMIT)
        return lambda: found

    def result(self) -> RobustnessRadii:
        """Return the brackets, with counterfactuals that can be stated."""
        for bracket in self.brackets:
            bracket.round(self.request.deadline)
        return self._result(self.stopped)

    def _result(self, why: str | None) -> RobustnessRadii:
        last, tally = self._oracle, self._tally
        most, elapsed = tally.most, self.request.elapsed
        solver = last.solver if most is None or not most.checks else most.solver
        return RobustnessRadii(
            **tally.fields(self.problem, solver, last.notes, elapsed, why),
            brackets=tuple(bracket.record(why) for bracket in self.brackets),
            each=self.each,
            tolerance=self.brackets[0].tolerance,
            scale=self.balls.scale,
        )


def radius_of(
    problem: ProblemData,
    *,
    free: Sequence[int | str] | None = None,
    each: bool = False,
    largest: float | None = None,
    tolerance: float = 0.01,
    scale: Epsilon = 1.0,
    search: Search = USUAL,
    progress: Callable[[RadiusProgress], None] | None = None,
    snapshots: Callable[[Callable[[], RobustnessRadii]], None] | None = None,
) -> RobustnessRadii:
    """Answer :func:`milp_verix.robustness_radius`, which describes the arguments."""
    search.require_only("radius", "the search for radii")
    if not 0 < tolerance < 1:
        raise InputError(
            f"tolerance is the width of a bracket as a share of its upper end, above 0 and below "
            f"1, such as 0.01; got {tolerance}"
        )
    most = math.inf if largest is None else float(largest)
    if largest is not None and not 0 <= most < math.inf:
        raise InputError(f"largest must be finite and not negative, got {largest}")
    request = Request.now(problem, search)
    balls = Balls(problem, scale_of(problem.inputs, scale))
    sets = _sets(problem, free, each=each)
    reaches = [_reach(balls, chosen, most) for chosen in sets]
    problem = balls.at(max(reaches))
    require_agreement(problem.network, problem.ball)

    pairs = zip(sets, reaches, strict=True)
    brackets = [Bracket(balls, chosen, reach, float(tolerance)) for chosen, reach in pairs]
    run = RadiusSearch(brackets, balls, request, problem, max(reaches), each)
    return run.run(progress, snapshots)


def _sets(
    problem: ProblemData, free: Sequence[int | str] | None, *, each: bool
) -> list[tuple[int, ...]]:
    count = problem.features.count
    if each:
        if free is not None:
            raise InputError("each asks about every feature alone: leave it or free out")
        return [(feature,) for feature in range(count)]
    chosen = range(count) if free is None else features_in(free, problem, "free")
    if not len(chosen):
        raise InputError("free lists no feature: there is no radius to ask about")
    return [tuple(chosen)]


def _reach(balls: Balls, features: tuple[int, ...], most: float) -> float:
    """Return the radius from which on the ball over ``features`` is the domain, or ``most``."""
    widest = min(balls.reach(balls.problem.features.coordinates(features)), most)
    if not np.isfinite(widest):
        raise InputError(
            "the domain of the features is unlimited, or as wide as no float64 number: give the "
            "largest radius to ask about (largest, --largest), or a smaller domain"
        )
    return widest
