"""The engine of a solver of programs: a mixed-integer program, maximised for margin by margin.

A solver's session that is opened anew after a failure.

Claims with deeper bounds of neurons: fewer binaries and smaller big-Ms for programs.

On `vnncomp-mnist-256x2` (MNIST image 24, ε = 0.05) Gurobi left 5 features undecided after 19 s of
work with CROWN's bounds, and none after 7 s with slopes and trees. A program that is easy without
them does not pay for them: it has half a second of work first.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.attacks import climb
from milp_verix.oracle.engines.claim import Claim, Decision, Deeper
from milp_verix.oracle.engines.margin_check import MarginCheck
from milp_verix.oracle.engines.warm_program import WarmProgram, warm_program
from milp_verix.oracle.statistics import TIME_LIMIT
from milp_verix.oracle.verdict import Answer, Effort, Stage, Verdict
from milp_verix.problem.problem import PosedProblem
from milp_verix.solvers import Session, Solver, open_session
from verix_encodings import Bounds, Formulation, Network
from verix_encodings.arrays import FloatArray
from verix_encodings.propagation.alpha import beyond_input
from verix_encodings.propagation.deepening import Deepening


class ReopeningSession:
    """The session of a solver, opened anew if a check broke the last one.

    The first session opens at once, so a solver that is missing shows before anything is computed
    (``SolverUnavailableError``). ``name`` and ``version`` are the solver's.
    """

    def __init__(
        self,
        solver: str | Solver,
        *,
        threads: int,
        tolerances: Tolerances,
        needed: frozenset[str],
    ) -> None:
        self._open: Callable[[], Session] = lambda: open_session(
            solver, threads=threads, tolerances=tolerances, needed=needed
        )
        self._session: Session | None = self._open()
        self.name, self.version = self._session.name, self._session.version
        self._earlier_notes: tuple[str, ...] = ()

    @property
    def session(self) -> Session:
        """The session, opened anew if the last one was closed."""
        if self._session is None:
            self._session = self._open()
        return self._session

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of all sessions so far."""
        return self._earlier_notes + (self._session.notes if self._session else ())

    def close(self) -> None:
        """Close the session, if one is open."""
        if self._session is not None:
            self._earlier_notes = self.notes
            self._session.close()
            self._session = None


MANY = 12
"""Undecided neurons beyond the input; fewer leave little to gain."""

_DEEPEST = 2
_PART = 0.2
"""Of the work left: where rows are dear, as in convolutions, trees would take all of it."""


@dataclass(slots=True, eq=False)
class DeeperBounds:
    """Deepens the bounds of one claim after the other, by slopes and trees.

    ``seconds`` are those of the wall clock that stages took for the last claim.
    """

    seconds: dict[Stage, float] = field(default_factory=dict)

    def may_gain(self, claim: Claim) -> bool:
        """Return whether a stage is left that may gain something."""
        if claim.depth is None or claim.depth >= _DEEPEST:
            return False
        return beyond_input(claim.margins, claim.bounds) >= MANY

    def deepened(self, claim: Claim) -> Claim:
        """Return what deeper bounds leave open of ``claim``, after a part of the work left."""
        until, self.seconds = claim.deadline.share(_PART), {}
        deepening = Deepening(claim.margins, claim.region, claim.bounds, claim.depth or 0)
        while deepening.depth < _DEEPEST and not until.passed():
            stage, began = stage_of(deepening.depth + 1), time.monotonic()
            claim.on_stage(stage)
            deepening.go_on(until.passed)
            self.seconds[stage] = time.monotonic() - began
        claim.on_stage(Stage.SOLVES)
        upper = np.fmin(claim.upper, deepening.bounds[-1].upper)
        deeper = Deeper(deepening.bounds, deepening.depth)
        return claim.after(Decision(Verdict(Answer.UNKNOWN), upper, {}, deeper))


def stage_of(depth: int) -> Stage:
    """Return the stage whose bounds are so deep."""
    return (Stage.BOUNDS, Stage.SLOPES)[depth] if depth < 2 else Stage.TREES


def staged(verdict: Verdict, seconds: Mapping[Stage, float], stage: Stage) -> Verdict:
    """Return ``verdict`` of a ``stage``; its ``seconds`` of bounds are none of the search."""
    # whoever asked counts all seconds as those of the search
    spent = {**seconds, Stage.SOLVES: -sum(seconds.values())}
    stages = tuple(spent.get(one, 0.0) for one in Stage)
    return replace(verdict, effort=replace(verdict.effort, stages=stages), stage=stage)


_FIRST = 0.5  # seconds of work for a program with the bounds given


class Programs:
    """Decides claims by the programs of :class:`~milp_verix.oracle.engines.margin_check`.

    ``lp_only`` asks for linear relaxations alone; ``keep_points`` climbs from each optimum to a
    worse input and returns it. ``warm`` says what checks share, see ``warm_program``. The session
    opens at once, and anew after a failure. With ``deepens``, a claim that takes long gets deeper
    bounds of neurons, and a new program.
    """

    def __init__(
        self,
        problem: PosedProblem,
        solver: str | Solver,
        *,
        formulation: Formulation,
        segments: int,
        threads: int,
        tolerances: Tolerances,
        lp_only: bool,
        keep_points: bool,
        warm: str = "auto",
        deepens: bool = False,
    ) -> None:
        self._deeper = DeeperBounds() if deepens else None
        self._problem = problem
        self._formulation = formulation
        self._segments = segments
        self._tolerances = tolerances
        self._lp_only = lp_only
        self._keep_points = keep_points
        self._quadratic = True
        self._shared: WarmProgram | None = None
        self._warm = warm
        self._last: tuple[Claim, MarginCheck] | None = None
        self._solver = ReopeningSession(
            solver,
            threads=threads,
            tolerances=tolerances,
            needed=formulation.needs,
        )
        self.name, self.version = self._solver.name, self._solver.version

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the sessions so far."""
        return self._solver.notes

    def close(self) -> None:
        """Close the session; the next claim opens another."""
        self._last = None
        self._solver.close()

    def prepare(self, margins: Network, bounds: Bounds) -> None:
        """Encode the whole ball once, if that pays."""
        self._shared = warm_program(
            self._problem,
            margins,
            self._formulation,
            self._solver.session,
            bounds,
            warm=self._warm,
            lp_only=self._lp_only,
        )

    def decide(self, claim: Claim) -> Decision:
        """Decide the margins one by one, until one is violated."""
        if self._deeper is None or not self._deeper.may_gain(claim):
            return self._decided(claim)
        first = self._decided(replace(claim, deadline=claim.deadline.within(_FIRST)))
        if first.verdict.reason != TIME_LIMIT or claim.deadline.passed():
            return first
        left = self._deeper.deepened(claim.after(first))
        by_bounds = Decision(Verdict(Answer.HOLDS), left.upper, first.points)
        found = self._decided(left) if left.open_.size else by_bounds
        verdict = replace(found.verdict, effort=first.verdict.effort + found.verdict.effort)
        stage = verdict.stage if left.open_.size else stage_of(left.depth or 0)
        return Decision(
            staged(verdict, self._deeper.seconds, stage),
            found.upper,
            {**first.points, **found.points},
            left.deeper_than(claim.bounds),
        )

    def _decided(self, claim: Claim) -> Decision:
        check = self._margin_check(claim)
        self._last = claim, check
        native, effort = check.native, Effort()
        upper, points = claim.upper.copy(), dict[int, FloatArray]()
        unknown: Verdict | None = None
        for index in claim.open_.tolist():
            verdict = check.decide(index, float(claim.needed[index]))
            effort += verdict.effort
            # a session that did not manage the quadratic row is not asked again
            self._quadratic = self._quadratic and check.native == native
            if verdict.violated:
                unknown = verdict
                if self._shared is not None and index in check.worst:
                    self._shared.points[index] = check.worst[index][1]
                break
            if verdict.bound is None:
                unknown = verdict if unknown is None else unknown
                if index in check.worst:
                    points[index] = check.worst[index][1]
                continue
            upper[index] = min(upper[index], verdict.bound)
            if self._shared is not None and index in check.worst:
                self._shared.points[index] = check.worst[index][1]
            if self._keep_points and index in check.worst:
                late = claim.deadline.passed
                worst = check.worst[index][1]
                points[index] = climb(claim.margins, claim.region, worst, index, late)
        found = Verdict(Answer.HOLDS) if unknown is None else unknown
        return Decision(replace(found, effort=effort), upper, points)

    def _margin_check(self, claim: Claim) -> MarginCheck:
        """Return the check of ``claim``; the last one if it is about the same ball."""
        if self._last is not None and self._last[0].bounds is claim.bounds:
            check = self._last[1]
            check.deadline = claim.deadline
            return check
        session = self._solver.session
        return MarginCheck(
            self._problem,
            claim.margins,
            session,
            self._tolerances,
            self._formulation,
            self._segments,
            claim.free,
            claim.region,
            claim.bounds,
            claim.deadline,
            native=self._quadratic and "quadratic" in session.capabilities,
            shared=self._shared,
            lp_only=self._lp_only,
        )
