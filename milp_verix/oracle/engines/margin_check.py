"""A check of margins: one program, maximised for one margin after the other.

A margin holds only by a proven dual bound below zero. If the ball is approximated from outside (L2
on a solver without quadratic rows), tangents cut off points outside of it until the check decides.
Smooth activations are enclosed by few segments first, and by as many as asked for if few do not
suffice.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from milp_verix.base.errors import LicenceLimitError, SolverError
from milp_verix.oracle.attacks import climb, pulled_in
from milp_verix.oracle.engines.claim import Claim, Decision
from milp_verix.oracle.verdict import TIME_LIMIT, Answer, Effort, Verdict, replayed
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import Search
from milp_verix.solvers import Session, SolveResult, SolveStatus, Targets
from milp_verix.solvers.session import NODE_LIMIT
from verix_encodings import (
    Encoding,
    Formulation,
    NormBall,
    encode,
    tangent_gaps,
)
from verix_encodings.arrays import FloatArray

if TYPE_CHECKING:
    from milp_verix.oracle.engines.warm_program import WarmProgram

_BROKEN = (SolveStatus.INFEASIBLE, SolveStatus.FAILED)
_OUTSIDE = 1e-6  # of an L2 ball, as a share: a point that a tangent cuts off
_MOST_REFINEMENTS = 200  # tangents in all; not measured
COARSE = (1, 3)  # segments of a smooth activation, before those asked for; not measured
_LATE = Verdict(Answer.UNKNOWN, reason=TIME_LIMIT)


@dataclass(frozen=True, slots=True)
class _Margin:
    """Margin ``index`` as ``row·v + constant`` in the columns of a program."""

    index: int
    row: FloatArray
    constant: float
    needed: float


@dataclass(slots=True)
class MarginCheck:
    """A check of the margins of ``claim``, and of others about the same ball with the same bounds.

    ``native`` says that the session takes the quadratic row of an L2 ball as it is. ``shared`` is a
    program that checks share, see ``warm_program``. With reuse, climbs go on from the optimum of a
    margin that holds. ``coarse`` are numbers of segments before those asked for.
    ``worst`` holds, for each margin asked about, its highest value seen and the input there;
    ``found`` is what is decided of the claim so far, with ``points`` where margins are high.
    """

    problem: ProblemData
    search: Search
    formulation: Formulation
    session: Session
    claim: Claim
    native: bool = False
    shared: "WarmProgram | None" = None
    coarse: tuple[int, ...] = COARSE
    worst: dict[int, tuple[float, FloatArray]] = field(default_factory=dict)
    points: dict[int, FloatArray] = field(init=False)
    found: Decision = field(init=False)
    _failed: bool = False
    _tangents: list[FloatArray] = field(default_factory=list)
    _current: int = 1
    _encoding: Encoding | None = None

    def __post_init__(self) -> None:
        self.begin(self.claim)

    def begin(self, claim: Claim) -> None:
        """Begin with ``claim``, of which nothing is decided."""
        self.claim, self.points = claim, {}
        # holds of no margin; each that is learnt may only take from it
        self.found = Decision(Verdict(Answer.HOLDS), claim.upper.copy(), self.points)

    def learn(self, index: int, verdict: Verdict) -> bool:
        """Add the ``verdict`` on a margin to what is found; return whether it is violated."""
        claim, kept = self.claim, self.found.verdict
        effort = kept.effort + verdict.effort
        _, worst = self.worst.get(index, (0.0, None))
        if self.shared and worst is not None and verdict.answer is not Answer.UNKNOWN:
            self.shared.points[index] = worst
        if verdict.violated or (kept.holds and not verdict.holds):
            kept = verdict
        self.found = replace(self.found, verdict=replace(kept, effort=effort))
        if verdict.bound is not None:
            self.found.upper[index] = min(self.found.upper[index], verdict.bound)
            if self.search.reuse and worst is not None:
                late = claim.deadline.passed
                worst = climb(claim.margins, claim.region, worst, index, late)
        if worst is not None and not verdict.violated and (self.search.reuse or not verdict.holds):
            self.points[index] = worst
        return verdict.violated

    def decide(self, index: int) -> Verdict:
        """Decide margin ``index``; it holds if it is proven to stay below its ``needed``.

        Solves stop early at a target; if that leaves the margin open, the next one does not.
        """
        effort, deadline, optimum = Effort(), self.claim.deadline, False
        needed = float(self.claim.needed[index])
        verdict: Verdict = _LATE
        point: FloatArray | None = None
        coarse = () if self.claim.margins.exact else self.coarse
        finer = [segments for segments in coarse if segments < self.search.segments]
        finer.append(self.search.segments)
        self._enclose(finer.pop(0))
        while True:
            if not optimum:
                verdict, point = _LATE, None
                try:
                    encoding = self._loaded()
                except TimeoutError:
                    return replace(verdict, effort=effort)
                margin = _Margin(
                    index, *encoding.output.row(index, encoding.program.columns), needed
                )
            if not deadline.passed():
                targets = Targets() if optimum else self._early(encoding, margin)
                try:
                    result = self.session.minimise(-margin.row, targets.until(deadline))
                except LicenceLimitError:
                    if not self.native:
                        raise
                    # the licence is smaller for quadratic programs
                    self.native, self._encoding, optimum = False, None, False
                    continue
                effort += Effort(1, nodes=result.nodes or 0, iterations=result.iterations or 0)
                self._failed = result.status is SolveStatus.FAILED
                point = self._input_at(encoding, result)
                verdict = self._judge(encoding, margin, result, point)
                if verdict.answer is Answer.UNKNOWN and result.status is SolveStatus.TARGET:
                    # a finer enclosure follows a coarse one, a tangent a loose approximation
                    last = self._current == self.search.segments
                    optimum = last and not optimum and not self._outside(point)
                    if optimum:
                        continue
            optimum = False
            if verdict.answer is Answer.UNKNOWN and self.native and self._failed:
                self.native, self._encoding = False, None
            elif verdict.answer is Answer.UNKNOWN and point is not None and self._refine(point):
                continue
            elif verdict.answer is not Answer.UNKNOWN or deadline.passed() or not finer:
                return replace(verdict, effort=effort)
            else:
                self._enclose(finer.pop(0))

    def _loaded(self) -> Encoding:
        """Return the encoding of the claim, loaded into the session."""
        if self._encoding is None and self.shared is not None:
            self._encoding = self.shared.load(self.session, self.claim.bounds)
        elif self._encoding is None:
            ball = self.problem.ball.encoding(
                self.claim.region, quadratic=self.native, points=self._tangents
            )
            self._encoding = encode(
                self.claim.margins,
                self.claim.bounds,
                relu=self.formulation.relu,
                ball=ball,
                segments=self._current,
                late=self.claim.deadline.passed,
            )
            program = self._encoding.program
            self.session.load(program.relaxed if self._lp_only else program)
        return self._encoding

    def _early(self, encoding: Encoding, margin: _Margin) -> Targets:
        """Return the targets at which a solve for ``margin`` may stop."""
        return Targets(
            violated_below=margin.constant - self.search.tolerances.early_violation,
            # a little more than is needed: what the solver reports is rounded
            holds_above=margin.constant + 1.5 * margin.needed,
            probe=lambda v: self._seen(encoding.input.at(v), margin.index),
            start=self.shared.start(margin.index, self.claim.region) if self.shared else None,
        )

    def _input_at(self, encoding: Encoding, result: SolveResult) -> FloatArray | None:
        """Return the input at the point of ``result``; ``SolverError`` if it is not finite."""
        point, columns = result.point, encoding.program.columns
        if point is None:
            return None
        if point.shape != (columns,):
            raise SolverError(f"a point of shape {point.shape} for a program of {columns} columns")
        found, mixed = encoding.input.at(point), self.problem.ball.mixed
        if self.claim.margins.stepped:
            from milp_verix.oracle.engines.leaves import point_of_cells

            return point_of_cells(self.problem, self.claim, encoding.program, point, found)
        # a solver's whole numbers are whole up to its tolerance
        return found if mixed is None else mixed.snapped(found)

    def _judge(
        self,
        encoding: Encoding,
        margin: _Margin,
        result: SolveResult,
        point: FloatArray | None,
    ) -> Verdict:
        """Turn the solver's result on ``margin`` into a verdict; ``point`` is its input."""
        if point is not None:
            self._seen(point, margin.index)
        # the centre is always feasible, so a bound of +∞ is as broken as no number at all
        broken = result.status in _BROKEN or not result.bound < np.inf
        proven = np.inf if broken else margin.constant - result.bound
        if proven < -margin.needed:
            limit = min(self.session.largest_big_m, self.search.tolerances.largest_big_m)
            if encoding.largest_big_m > limit and not self._lp_only:
                reason = (
                    f"a big-M of {encoding.largest_big_m:.3g} is beyond the {limit:g} up to which "
                    f"proofs by {self.session.name} are trusted"
                )
                return Verdict(Answer.UNKNOWN, reason=reason)
            if point is not None:
                reached = self.claim.margins.evaluate(point)[margin.index]
                if not reached <= proven + margin.needed:
                    reason = f"{self.session.name} claims a bound that a point of its own exceeds"
                    return Verdict(Answer.UNKNOWN, reason=reason)
            return Verdict(Answer.HOLDS, bound=proven)
        counterfactual = None if point is None else replayed(self.problem, point, self.claim.free)
        if counterfactual is None and point is not None and not self.claim.margins.exact:
            # the optimum of the enclosure is only near that of the network
            point = climb(self.claim.margins, self.claim.region, point, margin.index)
            counterfactual = replayed(self.problem, point, self.claim.free)
        if counterfactual is not None:
            return counterfactual
        if self._lp_only and result.status is SolveStatus.OPTIMAL:
            return Verdict(Answer.UNKNOWN, reason="the linear relaxation does not decide it")
        reason = _reason(result, proven, margin.needed, exact=self.claim.margins.exact)
        return Verdict(Answer.UNKNOWN, reason=reason)

    def _seen(self, point: FloatArray, index: int) -> bool:
        """Keep ``point`` if it is the worst so far; return whether it changes the prediction."""
        point = pulled_in(self.claim.region, point)
        value = float(self.claim.margins.evaluate(point)[index])
        if index not in self.worst or value > self.worst[index][0]:
            self.worst[index] = value, point
        return value > 0 and replayed(self.problem, point, self.claim.free) is not None

    @property
    def _lp_only(self) -> bool:
        """True if the linear relaxation alone must prove the claim."""
        return self.search.exactness == "relaxation"

    def _enclose(self, segments: int) -> None:
        """Encode smooth activations with another number of segments from here on."""
        if segments != self._current:
            self._current, self._encoding = segments, None

    def _outside(self, point: FloatArray | None) -> bool:
        """Return whether ``point`` is within the tangents of an L2 ball, but not in the ball."""
        ball = self._approximated
        if ball is None or point is None:
            return False
        return tangent_gaps(ball, self._tangents, point)[0] > _OUTSIDE

    def _refine(self, point: FloatArray) -> bool:
        """Add the tangents that cut ``point`` off; return whether there are any."""
        ball = self._approximated
        if ball is None or len(self._tangents) >= _MOST_REFINEMENTS:
            return False
        excess, gaps = tangent_gaps(ball, self._tangents, point)
        needed = gaps > 0.1 * excess / gaps.size
        if excess <= _OUTSIDE or not needed.any():
            return False
        self._tangents.append(np.where(needed, point, ball.centre))
        self._encoding = None
        return True

    @property
    def _approximated(self) -> NormBall | None:
        """The L2 ball that tangents approximate; None if there are no tangents."""
        region = self.claim.region
        if isinstance(region, NormBall) and region.norm == 2 and not self.native:
            return region
        return None


def _reason(result: SolveResult, proven: float, needed: float, *, exact: bool) -> str:
    if result.status is SolveStatus.TIME_LIMIT:
        return NODE_LIMIT if result.detail == NODE_LIMIT else TIME_LIMIT
    if result.status in _BROKEN:
        return f"numerical trouble: {result.detail or result.status.value}"
    if abs(proven) <= needed:
        return f"the worst margin, {proven:.2e}, is within the tolerance {needed:.2e} of zero"
    if result.point is None:
        return f"numerical trouble: a bound of {result.bound:g} and no point"
    if not exact:
        return (
            "the enclosure of the smooth activations is too wide to decide: the solver's point "
            "does not change the prediction in onnxruntime; give more segments"
        )
    return "the solver's point does not change the prediction in onnxruntime"
