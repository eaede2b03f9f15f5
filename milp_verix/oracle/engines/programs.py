"""The engine of a solver of programs: a mixed-integer program, maximised for margin by margin."""

from dataclasses import replace

from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.engines.claim import Claim, Decision
from milp_verix.oracle.engines.deepened import DeeperBounds, stage_of, staged
from milp_verix.oracle.engines.margin_check import MarginCheck
from milp_verix.oracle.engines.reopening import ReopeningSession
from milp_verix.oracle.engines.warm_program import WarmProgram, warm_program
from milp_verix.oracle.gradient_ascent import climb
from milp_verix.oracle.statistics import TIME_LIMIT
from milp_verix.oracle.verdict import Answer, Effort, Verdict
from milp_verix.problem.problem import PosedProblem
from milp_verix.solvers import Solver
from verix_encodings import Bounds, Formulation, Network
from verix_encodings.arrays import FloatArray

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
