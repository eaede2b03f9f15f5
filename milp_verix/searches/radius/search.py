"""The search for radii: brackets take turns to ask their questions, until all are narrow.

Answers to the questions of brackets, for one set of features and one radius at a time.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from milp_verix.base.clock import Deadline
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.smaller_balls import SmallerBalls
from milp_verix.oracle.statistics import TIME_LIMIT, SolverStatistics
from milp_verix.oracle.verdict import Effort
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import Request, Search
from milp_verix.results.build import shared_fields, statistics_of
from milp_verix.results.ranges import RobustnessRadii
from milp_verix.searches.radius.balls import Balls
from milp_verix.searches.radius.bracket import Bracket, Step
from milp_verix.searches.runner import AnytimeSearch


class Questions:
    """Asks oracles, one for each radius, and hands their answers to brackets.

    The first one is that of ``epsilon``. Deeper bounds at a radius serve smaller ones. ``effort``,
    ``checks``, ``solvers`` and ``versions`` sum those of all oracles.
    """

    def __init__(self, balls: Balls, epsilon: float, search: Search) -> None:
        self._balls, self._epsilon = balls, epsilon
        self._bounds = SmallerBalls.of(balls.problem, search)
        # what an oracle prepares and reuses is for sets that grow
        self._search = replace(search, reuse=False)
        self._oracle = self._opened(epsilon)
        self.effort, self.checks = Effort(), 0
        self.versions: dict[str, str] = {}
        self._solvers: dict[str, SolverStatistics] = {}

    @property
    def solver(self) -> str:
        """Name of the solver that decided the most checks."""
        most = max(self._solvers.values(), key=lambda solver: solver.checks, default=None)
        return self._oracle.solver if most is None or not most.checks else most.solver

    @property
    def solvers(self) -> tuple[SolverStatistics, ...]:
        """The checks that each solver decided, and its seconds."""
        return tuple(self._solvers.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the last oracle."""
        return self._oracle.notes

    def close(self) -> None:
        """Close the last oracle, and keep its counts."""
        self.effort += self._oracle.effort
        self.checks += self._oracle.checks
        self.versions |= self._oracle.versions
        for one in self._oracle.solvers:
            known = self._solvers.get(one.solver, SolverStatistics(one.solver, 0, 0.0))
            self._solvers[one.solver] = SolverStatistics(
                one.solver, known.checks + one.checks, known.seconds + one.seconds
            )
        self._oracle.close()

    def ask(self, bracket: Bracket, step: Step, deadline: Deadline) -> None:
        """Answer ``step`` of ``bracket`` by the ``deadline``."""
        oracle = self._at(step.epsilon)
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

    def _at(self, epsilon: float) -> Oracle:
        """Return the oracle at a radius; the last one is kept."""
        if self._epsilon != epsilon:
            opened = self._opened(epsilon)
            self.close()
            self._oracle, self._epsilon = opened, epsilon
        return self._oracle

    def _opened(self, epsilon: float) -> Oracle:
        return Oracle(self._balls.at(epsilon), self._search, self._bounds)


_LEAST_WORK = 0.1
"""Seconds of work that each question may take at least. Not measured."""


@dataclass(frozen=True, slots=True)
class RadiusProgress:
    """Progress of a search for radii: brackets that are open, of how many.

    ``lower`` and ``upper`` are the ends of the first bracket, ``upper`` infinite if it has none.
    """

    open: int
    total: int
    lower: float
    upper: float


@dataclass(eq=False)
class RadiusSearch(AnytimeSearch[RadiusProgress, RobustnessRadii]):
    """The brackets of one result, of the largest ball in ``problem``.

    ``scale`` are the radii of described features at the radius 1; ``each`` is whether there is a
    bracket for each feature.
    """

    brackets: Sequence[Bracket]
    questions: Questions
    request: Request
    problem: PosedProblem
    scale: tuple[float, ...] | None
    each: bool
    open: int = 0

    def _search(self) -> None:
        """Narrow the brackets in rounds, one question each, until all are narrow or time is up.

        A question may take an equal share of half of the work left. Brackets with questions that
        ran out of it ask again in the end, when fewer brackets share it.
        """
        deadline, check_limit = self.request.deadline, self.request.check_limit
        open_ = {bracket: bracket.steps() for bracket in self.brackets}
        with closing(self.questions):
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
                    self.questions.ask(bracket, step, until)
                if not open_ and math.isfinite(deadline.at):
                    for bracket in self.brackets:
                        if _ran_out(bracket, deadline):
                            open_[bracket] = bracket.again()
        if not all(bracket.narrow for bracket in self.brackets):
            deadline.check()

    def _state(self) -> RadiusProgress:
        first = self.brackets[0]
        return RadiusProgress(self.open, len(self.brackets), max(first.lower, 0.0), first.upper)

    def _snapshot(self) -> Callable[[], RobustnessRadii]:
        found = self._result(self.stopped or TIME_LIMIT)
        return lambda: found

    def result(self) -> RobustnessRadii:
        """Return the brackets, with counterfactuals that can be told."""
        for bracket in self.brackets:
            bracket.round(self.request.deadline)
        return self._result(self.stopped)

    def _result(self, why: str | None) -> RobustnessRadii:
        asked, elapsed = self.questions, self.request.elapsed
        return RobustnessRadii(
            **shared_fields(self.problem, asked.solver, asked.versions, asked.notes),
            brackets=tuple(bracket.record(why) for bracket in self.brackets),
            each=self.each,
            tolerance=self.brackets[0].tolerance,
            scale=self.scale,
            statistics=statistics_of(asked.effort, asked.checks, elapsed, why, asked.solvers),
        )


def _ran_out(bracket: Bracket, deadline: Deadline) -> bool:
    """Return whether a question of an open bracket ran out of a share that can grow."""
    late = TIME_LIMIT in bracket.unknown.values() and not bracket.narrow
    return late and not deadline.passed()
