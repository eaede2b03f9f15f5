"""The search for radii: brackets take turns to ask their questions, until all are narrow.

A question is about one set of features and one radius; an oracle answers it.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.base.errors import InputError
from milp_verix.inputs.radii import Epsilon
from milp_verix.oracle.ball_bounds import SmallerBalls
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import TIME_LIMIT
from milp_verix.problem.agreement import require_agreement
from milp_verix.problem.masks import features_in
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.ranges import RobustnessRadii
from milp_verix.searches.brackets import Balls, Bracket, BracketStep, scale_of
from milp_verix.searches.runner import AnytimeSearch, OracleWork

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
            bracket.undecided(step.epsilon, verdict.reason or "unknown")

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
