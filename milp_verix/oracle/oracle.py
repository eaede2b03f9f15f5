"""The oracle: answers one check after the other, and remembers points and bounds.

Points known from earlier checks come first, then bounds. What they leave open goes to a portfolio
of engines (:mod:`~milp_verix.oracle.engines.portfolio`): mixed-integer programs or relaxations of
them (:mod:`~milp_verix.oracle.engines.programs`, one margin after the other), and the searches
``split``, ``beta`` and ``leaves``. ``docs/extending.md`` has the way of a check.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partialmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.base.errors import SolverError
from milp_verix.oracle.attacks import attacked, climb
from milp_verix.oracle.ball_bounds import (
    Headroom,
    Preparation,
    SmallerBalls,
    WholeBall,
    form_rises,
    notes_on,
    prepared,
)
from milp_verix.oracle.engines.choice import MOST_OPEN, portfolio_for
from milp_verix.oracle.engines.engine import Claim, Decision, unwatched
from milp_verix.oracle.engines.programs import stage_of
from milp_verix.oracle.reuse import Memory, first_memory, flipped, forecast
from milp_verix.oracle.verdict import (
    BOUNDS_ALONE,
    MEMORY_LIMIT,
    TIME_LIMIT,
    Answer,
    Effort,
    Stage,
    StageClock,
    Verdict,
    replayed,
)
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import USUAL, Search, resolve_formulation
from verix_encodings import Bounds, NormBall
from verix_encodings.alpha import beyond_input
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.network import batch_outputs
from verix_encodings.safe_bounds import evaluation_error

_MOST_HIGH = 4  # points of larger sets at which attacks begin; not measured


class Oracle:
    """Answers checks on one problem; keeps the solvers' sessions, and the points and bounds found.

    The first session opens at once (:mod:`~milp_verix.oracle.engines.choice`). If it fails later,
    that check is UNKNOWN and the next check opens a fresh session. :meth:`prepare` computes bounds
    over the whole ball, at the first check unless it was called before. ``checks`` counts the
    checks answered so far, ``effort`` sums their cost. ``on_stage`` is called as a stage beyond the
    first bounds begins. ``balls`` are bounds that oracles of problems which differ in their balls
    alone may share; ``portfolio`` has the engines. Use as a context manager, or call :meth:`close`.
    """

    def __init__(
        self, problem: ProblemData, search: Search = USUAL, balls: SmallerBalls | None = None
    ) -> None:
        self.problem = problem
        self.tolerances, self.exactness = search.tolerances, search.exactness
        self._balls = balls or SmallerBalls.of(problem, search)
        # rules may keep a point of the larger ball from going back to the smaller one
        self._grows = problem.ball.mixed is None or not problem.ball.mixed.coupled
        self._segments = search.segments
        self.formulation = resolve_formulation(search.formulation)
        # points of trees do not move along gradients
        self._reuse = search.reuse and not problem.margins.stepped
        self.on_stage: Callable[[Stage], None] = unwatched
        self.checks = 0
        self.effort = Effort()
        # without reuse nothing is known but a program that the solver keeps
        self._prepared = not search.reuse and search.warm in ("auto", "rebuilt")
        self._known = Preparation(problem.margins)
        self.memory: Memory | None = None
        self._climbed: Memory | None = None
        # a counterfactual just beyond the set that is proven next: inside it, little is worse
        self._beyond: NDArray[Any] | None = None
        # high points of larger sets, at which attacks begin, too
        self._high: list[FloatArray] = []
        self._bounds: Bounds | None = None
        self.portfolio = portfolio_for(problem, search)

    def __enter__(self) -> "Oracle":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def bounds(self) -> str:
        """Name of the method that bounded neurons: for ``"auto"``, of the deepest stage so far."""
        names, balls = ("crown", "alpha", "branched"), self._balls
        return names[min(balls.deepest, 2)] if balls.name == "auto" else balls.name

    @property
    def proven(self) -> bool:
        """True if every margin is proven over the whole ball: then every check holds."""
        return self._known.proven

    @property
    def solver(self) -> str:
        """Name of the solver that has decided the most checks."""
        return self.portfolio.engines[0].name

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers of the result on how it came about."""
        margins = self._known.margins
        return notes_on(margins, self.exactness, self._segments) + self.portfolio.notes

    def close(self) -> None:
        """Close the solvers' sessions."""
        self.portfolio.close()

    def prepare(self, deadline: Deadline = NO_LIMIT) -> WholeBall | None:
        """Bound the margins over the whole ball, once, as tightly as there is time for.

        Margins that cannot reach zero anywhere in it are dropped for good. Returns the bounds; None
        if they overflow, and without ``reuse``.
        """
        if self._prepared:
            return self._known.whole
        with suppress(OverflowError):
            # what is interrupted here leaves nothing half done
            known = prepared(self.problem, self.tolerances, deadline, self._balls.method)
            if not self._reuse:
                if known.whole is not None:
                    self.portfolio.prepare(known.whole.margins, known.whole.bounds)
                self._prepared = True
                return self._known.whole
            self._known = known
            programs = self.exactness != "bounds" and not deadline.passed()
            if self._known.left is not None and programs:
                self.portfolio.prepare(self._known.margins, self._known.left.bounds)
        self._prepared = True
        self.forget(deadline)
        return self._known.whole

    def forget(self, deadline: Deadline = NO_LIMIT) -> None:
        """Forget the points and bounds of earlier checks.

        They serve only supersets of the coordinates checked earlier. Call this before a traversal
        that starts again from a smaller set.
        """
        self.memory, self._bounds, self._beyond = None, None, None
        if self._reuse:
            centre = self.problem.x.astype(np.float64)
            self.memory = first_memory(self._known.margins, centre, deadline.passed)

    def check(
        self, free: IntArray, deadline: Deadline = NO_LIMIT, *, bounds_only: bool = False
    ) -> Verdict:
        """Decide the claim for the flat coordinates ``free`` by the ``deadline``.

        Points of earlier checks may refute it, bounds may prove it, and the engines of the
        portfolio decide the margins that bounds leave open. With ``bounds_only`` no point is tried
        and no engine asked: UNKNOWN where bounds don't prove the claim.
        """
        watch, points = StageClock(Stage.BOUNDS), dict[int, FloatArray]()
        try:
            self.prepare(deadline)
            watch.turn_to(Stage.POINTS)
            extra = None if self.memory is None else self.memory.extra(free)
            verdict = self._at_once(free, None if bounds_only else extra, points, deadline)
            if verdict is None:
                alone = bounds_only or self.exactness == "bounds"
                claim, stage = self._bounded(free, extra, deadline, watch, alone=alone)
                decision = None
                if claim.open_.size and not alone:
                    watch.turn_to(Stage.SOLVES)
                    self.on_stage(Stage.SOLVES)
                    if not deadline.passed():
                        decision = self.portfolio.decide(claim)
                verdict = self._concluded(claim, stage, decision, points, alone=alone)
        except MemoryError:
            self.close()  # with what engines hold; the next check begins with little
            verdict = Verdict(Answer.UNKNOWN, reason=MEMORY_LIMIT)
        except OverflowError as error:
            verdict = Verdict(Answer.UNKNOWN, reason=str(error))
        except SolverError as error:
            self.close()
            verdict = Verdict(Answer.UNKNOWN, reason=f"{self.solver} failed: {error}")
        effort = verdict.effort + watch.read()
        self.checks += 1
        self.effort += effort
        return replace(verdict, effort=effort)

    def left_open(self, free: IntArray, deadline: Deadline = NO_LIMIT) -> tuple[Verdict, Claim]:
        """Return the verdict by bounds alone, and the claim that they leave open.

        Raises ``OverflowError`` where a bound leaves float64.
        """
        watch = StageClock(Stage.BOUNDS)
        self.prepare(deadline)
        claim, stage = self._bounded(free, None, deadline, watch, alone=False)
        return self._concluded(claim, stage, None, {}, alone=True), claim

    check_by_bounds = partialmethod(check, bounds_only=True)
    """Decides a claim if bounds prove it; else the answer is UNKNOWN."""

    def flipped(
        self, irrelevant: Sequence[int], features: Sequence[int], deadline: Deadline = NO_LIMIT
    ) -> dict[int, Verdict]:
        """Return the ``features`` that known points show to be needed beside ``irrelevant``."""
        watch = StageClock(Stage.POINTS)
        memory = self._memory_of(irrelevant, deadline)
        found: dict[int, Verdict] = {}
        if memory is not None:
            found = dict(flipped(self.problem, memory, irrelevant, features, deadline.passed))
        self.effort += watch.read() + Effort(flips=len(found))
        return found

    def attacked(
        self, irrelevant: Sequence[int], features: Sequence[int], deadline: Deadline = NO_LIMIT
    ) -> dict[int, Verdict]:
        """Return the ``features`` that gradient attacks show to be needed beside ``irrelevant``."""
        watch = StageClock(Stage.POINTS)
        self.prepare(deadline)
        margins, memory = self._known.margins, self._memory_of(irrelevant, deadline)
        centre = self.problem.x.astype(np.float64)
        starts = centre[None] if memory is None else memory.points
        found = dict(
            attacked(
                *(self.problem, margins, starts, irrelevant, features),
                beyond=self._high,
                late=deadline.passed,
            )
        )
        self.effort += watch.read() + Effort(flips=len(found))
        return found

    def remember(self, points: Sequence[FloatArray]) -> None:
        """Begin later attacks at inputs of the whole ball, too, the first of which matter most."""
        self._high = [*points, *self._high][:_MOST_HIGH]

    def headroom(self, irrelevant: Sequence[int]) -> Headroom | None:
        """Return what the set proven last leaves; None for another set, for L1 and L2."""
        free = self.problem.features.coordinates(irrelevant)
        memory, bounds = self.memory, self._bounds
        if memory is None or bounds is None or self.problem.ball.norm != "linf":
            return None
        if not np.array_equal(memory.free, free):
            return None
        rises = form_rises(self.problem, self._known.margins, bounds)
        return Headroom(memory.upper, self.problem.features.totals(rises))

    @property
    def upper_over_whole(self) -> FloatArray | None:
        """Proven bounds on the margins left over the whole ball, shape (m,); None without."""
        return None if self._known.left is None else self._known.left.bounds[-1].upper

    @cached_property
    def many_open(self) -> bool:
        """True if so many neurons are undecided that engines other than programs must decide."""
        left = self._known.left
        if left is None or not self._balls.deepens:
            return False
        return beyond_input(left.margins, left.bounds) > MOST_OPEN

    def forecast(
        self, irrelevant: Sequence[int], features: Sequence[int], deadline: Deadline = NO_LIMIT
    ) -> int | None:
        """Return how many of ``features`` may be freed together; None without known points."""
        memory = self._memory_of(irrelevant, deadline)
        return None if memory is None else forecast(self.problem, memory, irrelevant, features)

    def shortest_violated(
        self,
        irrelevant: Sequence[int],
        block: Sequence[int],
        verdict: Verdict,
        deadline: Deadline = NO_LIMIT,
    ) -> tuple[int, Verdict]:
        """Return the shortest prefix of ``block`` found to be violated, by halving.

        ``verdict`` is the one on the whole block: its witness is pulled into the ball of a prefix,
        and climbs there. At the ``deadline`` it is the shortest prefix so far.
        """
        problem, margins = self.problem, self._known.margins
        lengths = [0, len(block)]
        while lengths[1] - lengths[0] > 1 and not deadline.passed():
            middle = sum(lengths) // 2
            witness = verdict.point
            worst = int(np.argmax(margins.evaluate(witness)))
            free = problem.features.coordinates([*irrelevant, *block[:middle]])
            region = problem.ball.region(free)
            point = climb(margins, region, witness, worst, deadline.passed)
            shorter = replayed(problem, point, free) if margins.evaluate(point)[worst] > 0 else None
            if shorter is None:
                lengths[0] = middle
            else:
                lengths[1], verdict = middle, replace(shorter, stage=Stage.POINTS)
        self._beyond = verdict.witness
        return lengths[1], verdict

    def suppose(self, free: IntArray, inputs: FloatArray, deadline: Deadline = NO_LIMIT) -> None:
        """Begin with ``free``, proven elsewhere, and with ``inputs`` of its ball, shape (d, N)."""
        self.forget(deadline)
        if self.memory is not None:
            worst = np.argmax(batch_outputs(self._known.margins, inputs), axis=1)
            points = {margin: inputs[:, column] for margin, column in enumerate(worst.tolist())}
            unknown = np.full(worst.size, np.inf)
            self.memory = self.memory.proven(free, unknown, points, deadline.passed)

    def _memory_of(self, irrelevant: Sequence[int], deadline: Deadline) -> Memory | None:
        """Return the memory of the set ``irrelevant``, its points moved as far as that allows."""
        free = self.problem.features.coordinates(irrelevant)
        if self.memory is None or not np.array_equal(self.memory.free, free):
            return None
        region = self.problem.ball.region(free)
        if self._beyond is not None:
            self.memory = self.memory.pulled(self._beyond, region, late=deadline.passed)
            self._beyond = None
        elif self.memory is self._climbed and isinstance(region, NormBall):
            return self.memory  # it was moved just now, by a climb for each margin
        moved = self.memory.suspects(free[:0], region, late=deadline.passed)
        points = {margin: point for margin, point, _ in moved}
        self.memory = self.memory.proven(free, self.memory.upper, points, deadline.passed)
        self._climbed = self.memory
        return self.memory

    def _at_once(
        self,
        free: IntArray,
        extra: IntArray | None,
        points: dict[int, FloatArray],
        deadline: Deadline,
    ) -> Verdict | None:
        """Return the verdict that is known without bounds of this claim; collect ``points``.

        Known points are moved along the coordinates ``extra``; None tries none.
        """
        if self.proven and deadline.passed():
            assert self._known.whole is not None
            bound = float(self._known.whole.bounds[-1].upper.max())
            return Verdict(Answer.HOLDS, bound=_below_zero(bound), stage=Stage.BOUNDS)
        if self.memory is None or extra is None:
            return None
        region = self.problem.ball.region(free)
        for margin, point, value in self.memory.suspects(extra, region, late=deadline.passed):
            points[margin] = point
            found = replayed(self.problem, point, free) if value > 0 else None
            if found is not None:
                return replace(found, effort=Effort(flips=1), stage=Stage.POINTS)
        return None

    def _bounded(
        self,
        free: IntArray,
        extra: IntArray | None,
        deadline: Deadline,
        watch: StageClock,
        *,
        alone: bool,
    ) -> tuple[Claim, Stage]:
        """Return the claim that bounds leave open, and their last stage: slopes where ``alone``."""
        watch.turn_to(Stage.BOUNDS)
        region = self.problem.ball.region(free)
        margins, left = self._known.margins, self._known.left
        known = self._balls.bounds(margins, region, left, deadline)
        bounds = known.bounds
        upper, needed = bounds[-1].upper.copy(), self.tolerances.needed(bounds[-1].magnitude)
        stage = stage_of(known.depth or 0)
        grows = self._grows and np.any(upper >= -needed)
        if self.memory is not None and extra is not None and grows:
            watch.turn_to(Stage.GROWTH)
            stage = Stage.GROWTH
            # slopes that overflow are no numbers, and no bounds
            upper = np.fmin(upper, self.memory.grown(extra, bounds))
        if alone and np.any(upper >= -needed):
            watch.turn_to(Stage.SLOPES)
            again = self._balls.with_slopes(
                margins, region, bounds, upper=upper, needed=needed, deadline=deadline
            )
            if again is not bounds:
                stage, bounds = Stage.SLOPES, again
                upper = np.fmin(upper, bounds[-1].upper)
        open_ = np.flatnonzero(~(upper < -needed))
        open_ = open_[np.argsort(-upper[open_], kind="stable")]
        if open_.size and not alone:
            # solvers compute in float64, too: below this their bounds are noise
            needed = np.maximum(needed, evaluation_error(margins, bounds))
        claim = Claim(
            *(margins, free, region, bounds, open_, needed, upper, deadline),
            depth=known.depth,
            on_stage=self.on_stage,
        )
        return claim, stage

    def _concluded(
        self,
        claim: Claim,
        stage: Stage,
        decision: Decision | None,
        points: dict[int, FloatArray],
        *,
        alone: bool,
    ) -> Verdict:
        """Return the verdict by bounds, and by engines if they were asked; keep what is proven."""
        bounds, upper = claim.bounds, claim.upper
        effort = Effort(bounded=upper.size - claim.open_.size)
        if decision is not None:
            verdict, upper = decision.verdict, decision.upper
            bounds = self._balls.deepened(claim.region, decision.deeper, bounds)
            points |= decision.points
            effort += verdict.effort
            if not verdict.holds:
                self.remember([points[m] for m in claim.open_.tolist() if m in points])
                return replace(verdict, effort=effort)
            stage = verdict.stage
        elif claim.open_.size:
            reason, stage = (BOUNDS_ALONE, stage) if alone else (TIME_LIMIT, Stage.SOLVES)
            return Verdict(Answer.UNKNOWN, reason=reason, effort=effort, stage=stage)
        if self.memory is not None:
            self.memory = self.memory.proven(claim.free, upper, points, claim.deadline.passed)
            self._bounds = bounds
        worst = max(float(np.max(upper, initial=-np.inf)), self._known.highest)
        return Verdict(Answer.HOLDS, bound=_below_zero(worst), effort=effort, stage=stage)


def _below_zero(bound: float) -> float | None:
    """Return ``bound``; None where the model's own run decided that a tie of trees is none."""
    return bound if bound < 0.0 else None
