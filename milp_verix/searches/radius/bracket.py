"""A bracket that narrows: proofs raise its lower end, counterfactuals bring down its upper end.

If the claim holds at a radius it holds at all smaller ones; a counterfactual at a distance is one
at all larger radii. So one proof and one counterfactual bracket the largest radius at which the
claim holds. Three means narrow it, the cheapest first: gradient attacks, bounds, exact checks.

Counterfactuals nearer to the input.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.oracle.statistics import TIME_LIMIT
from milp_verix.oracle.verdict import Verdict, violated_by
from milp_verix.problem.problem import PosedProblem
from milp_verix.results.base import Counterfactual
from milp_verix.results.build import counterfactual_of
from milp_verix.results.plain_counterfactuals import Point, plain_counterfactual
from milp_verix.results.ranges import RadiusBracket
from milp_verix.searches.radius.balls import Balls
from verix_encodings.arrays import IntArray

_HALVINGS = 24  # to the precision of float32


def nearest(problem: PosedProblem, verdict: Verdict, free: IntArray) -> Counterfactual:
    """Return a counterfactual on the way from the input to that of ``verdict``.

    By halving, each point run in onnxruntime: the last one that changes the prediction.
    """
    best = counterfactual_of(verdict)
    centre, ball = problem.x.astype(np.float64), problem.ball
    moved = best.input.reshape(-1).astype(np.float64) - centre
    near, far = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        point = ball.nearest_witness(centre + middle * moved, free)
        outputs = problem.network.outputs_at(point)
        if problem.question.changed(outputs) and ball.contains(point, free):
            far = middle
            shaped = point.reshape(problem.network.input_shape)
            best = counterfactual_of(violated_by(problem.question, shaped, outputs))
        else:
            near = middle
    best.input.flags.writeable = False
    return best


ROUNDING = "rounding in onnxruntime exceeds the margin"


_FEW = 4
"""Coordinates of a pixel: so few need no more than one attack, and one check next to its result."""
_LEAST = 2.0**-30
"""Share of the largest radius below which nothing is asked."""


@dataclass(frozen=True, slots=True)
class Step:
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
        found = self.counterfactual is not None
        reason = None
        if not self.narrow:
            reason = why or next(iter(self.unknown.values()), None) or TIME_LIMIT
        return RadiusBracket(
            self.features,
            max(self.lower, 0.0),
            self.upper if found else None,
            self.reach,
            self.counterfactual,
            reason,
        )

    @property
    def narrow(self) -> bool:
        """True if the bracket is as narrow as asked for."""
        return self.lower >= min(self.reach, (1 - self.tolerance) * self.upper)

    def holds(self, epsilon: float) -> None:
        """Take over a proof at ``epsilon``."""
        self.lower = max(self.lower, epsilon)
        self.unknown = {radius: why for radius, why in self.unknown.items() if radius > epsilon}

    def undecided(self, epsilon: float, why: str) -> None:
        """Note that the claim was not decided at ``epsilon``."""
        self.unknown[epsilon] = why

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
            self.undecided(epsilon, ROUNDING)
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

    def steps(self) -> Iterator[Step]:
        """Yield the questions to ask, until the bracket is narrow or nothing is left to ask.

        The answer to a question is taken over before the next is asked for.
        """
        few = self.free.size <= _FEW
        if not self.narrow and self.reach > 0:
            yield Step("attack", self.reach)
        if math.isinf(self.upper):
            yield Step("bounds", self.reach)
        elif not few:
            yield from self._attacks()
        if not few or math.isinf(self.upper):  # an exact check of all may take the whole limit
            yield from self._bounds()
        yield from self.checks()

    def _attacks(self) -> Iterator[Step]:
        """Halve the range between radii at which attacks are in vain and find something."""
        vain = 0.0
        while self.upper - vain > self.tolerance * self.upper:
            epsilon = (vain + self.upper) / 2
            yield Step("attack", epsilon)
            if self.upper > epsilon:
                vain = epsilon

    def _bounds(self) -> Iterator[Step]:
        """Halve the range between radii that bounds prove and do not prove."""
        unproven = min(self.reach, self.upper)
        while not self.narrow and self._apart(unproven):
            epsilon = self._middle(unproven)
            yield Step("bounds", epsilon)
            if self.lower < epsilon:
                unproven = epsilon

    def checks(self) -> Iterator[Step]:
        """Check right below the upper end; after a counterfactual, in the middle.

        Attacks often find the nearest counterfactual, and then one proof is all that is needed.
        Below a radius that was not decided, the range is halved.
        """
        middle = False
        while not self.narrow:
            below = min(self.unknown, default=min(self.reach, self.upper))
            if self.unknown and not self._apart(below):
                return
            epsilon = min(self.reach, (1 - self.tolerance) * self.upper)
            if middle or self.unknown:
                epsilon = self._middle(below)
            before = self.upper
            yield Step("check", epsilon)
            middle = self.upper < before

    def again(self) -> Iterator[Step]:
        """Check the least radius that was not decided once more; if it holds, those above it."""
        least = min(self.unknown)
        yield Step("check", least)
        if self.lower >= least:
            yield from self.checks()

    def _middle(self, upper: float) -> float:
        return (max(self.lower, 0.0) + upper) / 2

    def _apart(self, upper: float) -> bool:
        """Return whether ``upper`` is far enough above the lower end to ask between them."""
        return upper - self.lower > self.tolerance * upper and upper > _LEAST * self.reach
