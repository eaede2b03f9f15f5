"""A check of margins: one program, maximised for one margin after the other.

A margin holds only by a proven dual bound below zero. If the ball is approximated from outside (L2
on a solver without quadratic rows), tangents cut off points outside of it until the check decides.
Smooth activations are enclosed by few segments first, and by as many as asked for if few do not
suffice.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.base.errors import LicenceLimitError, SolverError
from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.attacks import climb, pulled_in
from milp_verix.oracle.engines.cell_points import point_of_cells
from milp_verix.oracle.engines.leaves import trees_of
from milp_verix.oracle.engines.warm_program import WarmProgram
from milp_verix.oracle.statistics import TIME_LIMIT
from milp_verix.oracle.verdict import Answer, Effort, Verdict, replayed
from milp_verix.problem.problem import PosedProblem
from milp_verix.solvers import Session, SolveResult, SolveStatus, Targets
from milp_verix.solvers.session import NODE_LIMIT
from verix_encodings import (
    Bounds,
    Encoding,
    Formulation,
    Interval,
    Network,
    NormBall,
    encode,
    tangent_gaps,
)
from verix_encodings.arrays import FloatArray, IntArray

_BROKEN = (SolveStatus.INFEASIBLE, SolveStatus.FAILED)
_OUTSIDE = 1e-6  # of an L2 ball, as a share: a point that a tangent cuts off
_MOST_REFINEMENTS = 200  # tangents in all; not measured
_COARSE = (1, 3)  # segments of a smooth activation, before those asked for; not measured


@dataclass(frozen=True, slots=True)
class _Margin:
    """Margin ``index`` as ``row·v + constant`` in the columns of a program."""

    index: int
    row: FloatArray
    constant: float
    needed: float


@dataclass(slots=True)
class MarginCheck:
    """A check that ``margins`` stay below zero over ``region``, where coordinates ``free`` move.

    ``bounds`` hold there. ``native`` says that the
    session takes the quadratic row of an L2 ball as it is, ``lp_only`` that the linear relaxation
    alone must prove the claim. ``segments`` is the final number of pieces around each smooth
    activation. ``shared`` is a program that checks share, see ``warm_program``. ``worst`` holds,
    for each margin asked about, its highest value seen and the input there.
    """

    problem: PosedProblem
    margins: Network
    session: Session
    tolerances: Tolerances
    formulation: Formulation
    segments: int
    free: IntArray
    region: Interval | NormBall
    bounds: Bounds
    deadline: Deadline
    native: bool = False
    shared: WarmProgram | None = None
    lp_only: bool = False
    worst: dict[int, tuple[float, FloatArray]] = field(default_factory=dict)
    _failed: bool = False
    _points: list[FloatArray] = field(default_factory=list)
    _current: int = 1
    _encoding: Encoding | None = None

    def decide(self, index: int, needed: float) -> Verdict:
        """Decide margin ``index``; it holds if it is proven to stay below ``-needed``."""
        effort = Effort()
        finer = [k for k in _COARSE if k < self.segments and not self.margins.exact]
        finer.append(self.segments)
        self._enclose(finer.pop(0))
        while True:
            try:
                encoding = self._loaded()
            except TimeoutError:
                return Verdict(Answer.UNKNOWN, reason=TIME_LIMIT, effort=effort)
            row, constant = encoding.output.row(index, encoding.program.columns)
            margin = _Margin(index, row, constant, needed)
            try:
                verdict, point = self._maximise(encoding, margin)
            except LicenceLimitError:
                if not self.native:
                    raise
                # the licence is smaller for quadratic programs
                self._approximate()
                continue
            effort += verdict.effort
            if verdict.answer is Answer.UNKNOWN and self.native and self._failed:
                self._approximate()
                continue
            if verdict.answer is Answer.UNKNOWN and point is not None and self._refine(point):
                continue
            if verdict.answer is not Answer.UNKNOWN or self.deadline.passed() or not finer:
                return replace(verdict, effort=effort)
            self._enclose(finer.pop(0))

    def _loaded(self) -> Encoding:
        """Return the encoding of the claim, loaded into the session."""
        if self._encoding is None and self.shared is not None:
            self._encoding = self.shared.load(self.session, self.bounds)
        elif self._encoding is None:
            self._encoding = self._encoded()
            program = self._encoding.program
            self.session.load(program.relaxed if self.lp_only else program)
        return self._encoding

    def _encoded(self) -> Encoding:
        return encode(
            self.margins,
            self.bounds,
            relu=self.formulation.relu,
            ball=self.problem.ball.encoding(
                self.region, quadratic=self.native, points=self._points
            ),
            segments=self._current,
            late=self.deadline.passed,
        )

    def _maximise(self, encoding: Encoding, margin: _Margin) -> tuple[Verdict, FloatArray | None]:
        """Decide one margin with early stops; if these leave it open, without.

        Also returns the input that the solver ended at, if any.
        """
        goal = Targets(
            violated_below=margin.constant - self.tolerances.early_violation,
            # a little more than is needed: what the solver reports is rounded
            holds_above=margin.constant + 1.5 * margin.needed,
            probe=lambda v: self._seen(encoding.input.at(v), margin.index),
            start=None if self.shared is None else self.shared.start(margin.index, self.region),
        )
        effort = Effort()
        verdict = Verdict(Answer.UNKNOWN, reason=TIME_LIMIT)
        point: FloatArray | None = None
        # a coarse enclosure need not be solved to its optimum: a finer one follows
        last = self._current == self.segments
        for targets in (goal, Targets()) if last else (goal,):
            if self.deadline.passed():
                break
            result = self.session.minimise(-margin.row, targets.by(self.deadline))
            effort += Effort(solves=1, nodes=result.nodes or 0, iterations=result.iterations or 0)
            self._failed = result.status is SolveStatus.FAILED
            point = self._input_at(encoding, result)
            if point is not None:
                self._seen(point, margin.index)
            verdict = self._judge(encoding, margin, result, point)
            if verdict.answer is not Answer.UNKNOWN or result.status is not SolveStatus.TARGET:
                break
            if point is not None and self._outside(point):
                break  # a tangent first: the optimum of a loose approximation says little
        return replace(verdict, effort=effort), point

    def _input_at(self, encoding: Encoding, result: SolveResult) -> FloatArray | None:
        """Return the input at the point of ``result``; ``SolverError`` if it is not finite."""
        point, columns = result.point, encoding.program.columns
        if point is None:
            return None
        if point.shape != (columns,):
            raise SolverError(f"a point of shape {point.shape} for a program of {columns} columns")
        found, mixed = encoding.input.at(point), self.problem.ball.mixed
        trees = trees_of(self.margins)
        if trees is not None:
            return point_of_cells(
                self.problem,
                self.free,
                point,
                program=encoding.program,
                trees=trees,
                box=self.bounds[0],
                found=found,
            )
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
        # the centre is always feasible, so a bound of +∞ is as broken as no number at all
        broken = result.status in _BROKEN or not result.bound < np.inf
        proven = np.inf if broken else margin.constant - result.bound
        if proven < -margin.needed:
            limit = min(self.session.largest_big_m, self.tolerances.largest_big_m)
            if encoding.largest_big_m > limit and not self.lp_only:
                reason = (
                    f"a big-M of {encoding.largest_big_m:.3g} is beyond the {limit:g} up to which "
                    f"proofs by {self.session.name} are trusted"
                )
                return Verdict(Answer.UNKNOWN, reason=reason)
            if point is not None:
                reached = self.margins.evaluate(point)[margin.index]
                if not reached <= proven + margin.needed:
                    reason = f"{self.session.name} claims a bound that a point of its own exceeds"
                    return Verdict(Answer.UNKNOWN, reason=reason)
            return Verdict(Answer.HOLDS, bound=proven)
        counterfactual = None if point is None else self._replayed(point)
        if counterfactual is None and point is not None and not self.margins.exact:
            # the optimum of the enclosure is only near that of the network
            point = climb(self.margins, self.region, point, margin.index)
            counterfactual = self._replayed(point)
        if counterfactual is not None:
            return counterfactual
        if self.lp_only and result.status is SolveStatus.OPTIMAL:
            return Verdict(Answer.UNKNOWN, reason="the linear relaxation does not decide it")
        reason = _reason(result, proven, margin.needed, exact=self.margins.exact)
        return Verdict(Answer.UNKNOWN, reason=reason)

    def _seen(self, point: FloatArray, index: int) -> bool:
        """Keep ``point`` if it is the worst so far; return whether it changes the prediction."""
        point = pulled_in(self.region, point)
        value = float(self.margins.evaluate(point)[index])
        if index not in self.worst or value > self.worst[index][0]:
            self.worst[index] = value, point
        return value > 0 and self._replayed(point) is not None

    def _replayed(self, point: FloatArray) -> Verdict | None:
        return replayed(self.problem, point, self.free)

    def _enclose(self, segments: int) -> None:
        """Encode smooth activations with another number of segments from here on."""
        if segments != self._current:
            self._current, self._encoding = segments, None

    def _approximate(self) -> None:
        """Use tangents from here on if the session does not manage the quadratic row."""
        self.native, self._encoding = False, None

    def _outside(self, point: FloatArray) -> bool:
        """Return whether ``point`` is within the tangents of an L2 ball, but not in the ball."""
        ball = self._approximated
        return ball is not None and tangent_gaps(ball, self._points, point)[0] > _OUTSIDE

    def _refine(self, point: FloatArray) -> bool:
        """Add the tangents that cut ``point`` off; return whether there are any."""
        ball = self._approximated
        if ball is None or len(self._points) >= _MOST_REFINEMENTS:
            return False
        excess, gaps = tangent_gaps(ball, self._points, point)
        needed = gaps > 0.1 * excess / gaps.size
        if excess <= _OUTSIDE or not needed.any():
            return False
        self._points.append(np.where(needed, point, ball.centre))
        self._encoding = None
        return True

    @property
    def _approximated(self) -> NormBall | None:
        """The L2 ball that tangents approximate; None if there are no tangents."""
        if isinstance(self.region, NormBall) and self.region.norm == 2 and not self.native:
            return self.region
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
