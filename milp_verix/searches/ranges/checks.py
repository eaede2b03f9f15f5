"""Decisions on boxes of a search for ranges: by bounds, known points, climbs, and an oracle.

Bounds on the margins over many boxes at once: they prove most steps of a search for ranges.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import TIME_LIMIT, Answer, Effort, SolverStatistics, Verdict
from milp_verix.problem.search import Request
from milp_verix.searches.ranges.known_points import KnownPoints, boxes_of, climbed
from milp_verix.searches.ranges.regions import Regions, State, stacked
from verix_encodings import Interval, crown_bounds
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.bounds.boxes import Boxes, one_hot_box, root_boxes
from verix_encodings.propagation.batch_crown import BatchCrown


@dataclass(frozen=True, slots=True, eq=False)
class QuickBounds:
    """Backward bounds on boxes inside the widest one, ``root``, computed in batches.

    A margin is proven below ``-needed``, shape (m,).
    """

    regions: Regions
    crown: BatchCrown
    root: Boxes
    needed: FloatArray

    @classmethod
    def over(cls, regions: Regions, tolerances: Tolerances, deadline: Deadline) -> Self | None:
        """Return the bounds over the widest box; None if they leave the range of float64."""
        lower, upper = regions.ends(regions.widest)
        mixed = regions.problem.ball.mixed
        region = one_hot_box(Interval(lower, upper), mixed.blocks if mixed else ())
        margins = regions.problem.margins
        try:
            bounds = crown_bounds(margins, region, late=deadline.passed)
        except OverflowError:
            return None
        needed = tolerances.needed(bounds[-1].magnitude)
        return cls(regions, BatchCrown(margins, bounds), root_boxes(region), needed)

    def proven(self, states: Sequence[State], deadline: Deadline) -> BoolArray:
        """Mark the boxes in which the prediction is proven to stay, or that hold no input."""
        if not states:
            return np.zeros(0, dtype=bool)
        lower, upper = stacked([self.regions.ends(state) for state in states])
        left = np.ones(len(states), dtype=bool)
        if (mixed := self.regions.problem.ball.mixed) is not None:
            lower, upper, left = mixed.cut(lower, upper)
        boxes, found = self.root.at(lower[left], upper[left]), ~left
        if left.any():
            # the cost of a pass that stops: wider bounds, and nothing proven wrongly
            ranges = self.crown.bounds(boxes, {}, deadline.passed)
            size = self.needed.size
            owner = np.repeat(np.arange(len(boxes)), size)
            which, late = np.tile(np.arange(size), len(boxes)), deadline.passed
            forms = self.crown.margins(boxes, ranges, owner, which, late)
            # a NaN is no bound
            highest = np.fmin(forms.upper.reshape(-1, size), self.crown.root[-1].upper)
            found[left] = np.all(highest < -self.needed, axis=1)
        return found


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
