"""The search for radii: brackets take turns to ask their questions, until all are narrow."""

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

from milp_verix.clock import Deadline
from milp_verix.problem.problem import Problem
from milp_verix.problem.request import Request
from milp_verix.radius.bracket import Bracket
from milp_verix.radius.questions import Questions
from milp_verix.records.statistics import TIME_LIMIT
from milp_verix.results.build import shared_fields, statistics_of
from milp_verix.results.radii import RobustnessRadii
from milp_verix.runner import AnytimeSearch

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


class RadiusSearch(AnytimeSearch[RadiusProgress, RobustnessRadii]):
    """The brackets of one result, of the largest ball in ``problem``.

    ``scale`` are the radii of described features at the radius 1.
    """

    def __init__(
        self,
        brackets: Sequence[Bracket],
        questions: Questions,
        request: Request,
        *,
        problem: Problem,
        scale: tuple[float, ...] | None,
        each: bool,
        progress: Callable[[RadiusProgress], None] | None,
        snapshots: Callable[[Callable[[], RobustnessRadii]], None] | None,
    ) -> None:
        super().__init__(progress, snapshots)
        self._brackets, self._questions, self._request = brackets, questions, request
        self._problem, self._scale, self._each = problem, scale, each
        self._open = len(brackets)

    def search(self) -> None:
        """Narrow the brackets in rounds, one question each, until all are narrow or time is up.

        A question may take an equal share of half of the work left. Brackets with questions that
        ran out of it ask again in the end, when fewer brackets share it.
        """
        deadline, check_limit = self._request.deadline, self._request.check_limit
        open_ = {bracket: bracket.steps() for bracket in self._brackets}
        with closing(self._questions):
            while open_ and not deadline.passed():
                for bracket in list(open_):
                    if deadline.passed():
                        break
                    step = next(open_[bracket], None)
                    if step is None:
                        del open_[bracket]
                        continue
                    self._open = len(open_)
                    self.tell()
                    share = max(deadline.left / (2 * len(open_)), _LEAST_WORK)
                    until = deadline.limited(check_limit).within(share)
                    self._questions.ask(bracket, step, until)
                if not open_ and math.isfinite(deadline.at):
                    for bracket in self._brackets:
                        if _ran_out(bracket, deadline):
                            bracket.unknown.clear()
                            open_[bracket] = bracket.checks()
        if not all(bracket.narrow for bracket in self._brackets):
            deadline.check()

    def state(self) -> RadiusProgress:
        """Return the number of open brackets, and the ends of the first bracket."""
        first = self._brackets[0]
        return RadiusProgress(self._open, len(self._brackets), max(first.lower, 0.0), first.upper)

    def snapshot(self) -> Callable[[], RobustnessRadii]:
        """Return a function that returns the brackets so far, as if the time were up."""
        found = self._result(TIME_LIMIT)
        return lambda: found

    def result(self) -> RobustnessRadii:
        """Return the brackets."""
        return self._result(self.stopped)

    def _result(self, why: str | None) -> RobustnessRadii:
        asked, elapsed = self._questions, self._request.elapsed
        return RobustnessRadii(
            **shared_fields(self._problem, asked.solver, asked.versions, asked.notes),
            brackets=tuple(bracket.record(why) for bracket in self._brackets),
            each=self._each,
            tolerance=self._brackets[0].tolerance,
            scale=self._scale,
            statistics=statistics_of(asked.effort, asked.checks, elapsed, why, asked.solvers),
        )


def _ran_out(bracket: Bracket, deadline: Deadline) -> bool:
    """Return whether a question of an open bracket ran out of a share that can grow."""
    late = TIME_LIMIT in bracket.unknown.values() and not bracket.narrow
    return late and not deadline.passed()
