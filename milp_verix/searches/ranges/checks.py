"""Decisions on boxes of a search for ranges: by bounds, known points, climbs, and an oracle."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.statistics import TIME_LIMIT, SolverStatistics
from milp_verix.oracle.verdict import Answer, Effort, Verdict
from milp_verix.problem.search import Request
from milp_verix.searches.ranges.known_points import KnownPoints, boxes_of, climbed
from milp_verix.searches.ranges.quick_bounds import QuickBounds
from milp_verix.searches.ranges.regions import Regions, State
from verix_encodings.arrays import BoolArray, FloatArray

_TRIES = 16
"""Climbs before a check."""
MOST_AXES = 40
"""Kept features beyond which climbs find little: then bounds and checks alone decide."""


@dataclass(eq=False)
class BoxChecks:
    """Decides claims of boxes; ``effort``, ``checks``, ``solvers`` and ``versions`` sum the work.

    ``known`` has the points seen so far; ``quick`` is None where bounds overflow.
    """

    request: Request
    regions: Regions
    known: KnownPoints
    quick: QuickBounds | None
    draw: np.random.Generator
    effort: Effort = field(default_factory=Effort)
    checks: int = 0
    solvers: dict[str, SolverStatistics] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def proven(self, states: list[State]) -> BoolArray:
        """Mark the boxes that one batch of bounds proves."""
        if self.quick is None:
            return np.zeros(len(states), dtype=bool)
        return self.quick.proven(states, self.request.deadline)

    def climb(self, states: Iterable[State], each: int) -> None:
        """Look for counterfactuals in boxes by ``each`` climbs; of many axes no box is made."""
        if len(self.regions.axes) <= MOST_AXES and (made := [*states]):
            self.climb_in(*boxes_of(self.regions, made, each, self.draw))

    def climb_in(self, lower: FloatArray, upper: FloatArray) -> None:
        """Look for counterfactuals by a climb in each of the boxes, (N, d)."""
        late = self.request.deadline.passed
        if late():
            return
        self.known.suspect(climbed(self.regions, lower, upper, self.draw, late))

    def decide(self, state: State, *, tried: bool = False) -> Verdict:
        """Decide the claim of a box: by bounds, by climbs unless ``tried``, else by an oracle."""
        deadline = self.request.deadline
        if self.proven([state])[0]:
            self.checks += 1
            return Verdict(Answer.HOLDS)
        if deadline.passed():
            return Verdict(Answer.UNKNOWN, reason=TIME_LIMIT)
        if not tried:
            self.climb([state], each=_TRIES)
            if (known := self.known.refuting(state)) is not None:
                return known
        posed = self.regions.posed(state)
        if posed is None:
            if self.regions.empty(state):
                return Verdict(Answer.HOLDS)
            return Verdict(Answer.UNKNOWN, reason="no input is known that satisfies the rules")
        free = np.flatnonzero(posed.ball.outer.lower < posed.ball.outer.upper)
        # what an oracle prepares and reuses is for sets that grow
        with Oracle(posed, replace(self.request.search, reuse=False)) as oracle:
            verdict = oracle.check(free, deadline.limited(self.request.check_limit))
            self._count(oracle)
        return verdict

    def _count(self, oracle: Oracle) -> None:
        self.checks += oracle.checks
        self.effort += oracle.effort
        self.versions |= oracle.versions
        self.notes = oracle.notes
        for one in oracle.solvers:
            known = self.solvers.get(one.solver, SolverStatistics(one.solver, 0, 0.0))
            self.solvers[one.solver] = SolverStatistics(
                one.solver, known.checks + one.checks, known.seconds + one.seconds
            )
