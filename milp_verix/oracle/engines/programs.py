"""The engine of a solver of programs: a mixed-integer program, maximised for margin by margin.

A margin holds only by a proven dual bound below zero. If the ball is approximated from outside (L2
on a solver without quadratic rows), tangents cut off points outside of it until the check decides.
Smooth activations are enclosed by few segments first, and by as many as asked for if few do not
suffice.

A claim that takes long gets deeper bounds of neurons: fewer binaries and smaller big-Ms. On
`vnncomp-mnist-256x2` (MNIST image 24, ε = 0.05) Gurobi left 5 features undecided after 19 s of
work with CROWN's bounds, and none after 7 s with slopes and trees. A program that is easy without
them does not pay for them: it has half a second of work first.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.base.errors import LicenceLimitError, SolverError, listed
from milp_verix.oracle.attacks import climb, pulled_in
from milp_verix.oracle.engines.engine import Claim, Decision, Deeper
from milp_verix.oracle.verdict import TIME_LIMIT, Answer, Effort, Stage, Verdict, replayed
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import Search, resolve_formulation
from milp_verix.solvers import Session, Solver, SolveResult, SolveStatus, Targets, open_session
from milp_verix.solvers.session import NODE_LIMIT
from verix_encodings import Bounds, Encoding, Formulation, Network, NormBall, encode, tangent_gaps
from verix_encodings.alpha import beyond_input
from verix_encodings.arrays import FloatArray

if TYPE_CHECKING:
    from milp_verix.oracle.engines.warm_program import WarmProgram

MANY = 12
"""Undecided neurons beyond the input; fewer leave little to gain."""

_DEEPEST = 2
_PART = 0.2
"""Of the work left: where rows are dear, as in convolutions, trees would take all of it."""


def pays_to_deepen(claim: Claim) -> bool:
    """Return whether deeper bounds may leave out binaries of a program of ``claim``."""
    shallow = claim.depth is not None and claim.depth < _DEEPEST
    return shallow and beyond_input(claim.margins, claim.bounds) >= MANY


def deepened(claim: Claim, until: Deadline) -> tuple[Claim, dict[Stage, float]]:
    """Return what deeper bounds leave open of ``claim``, and the seconds of each stage."""
    from verix_encodings.deepening import Deepening

    seconds = dict[Stage, float]()
    deepening = Deepening(claim.margins, claim.region, claim.bounds, claim.depth or 0)
    while deepening.depth < _DEEPEST and not until.passed():
        stage, began = stage_of(deepening.depth + 1), time.monotonic()
        claim.on_stage(stage)
        deepening.go_on(until.passed)
        seconds[stage] = time.monotonic() - began
    claim.on_stage(Stage.SOLVES)
    upper = np.fmin(claim.upper, deepening.bounds[-1].upper)
    deeper = Deeper(deepening.bounds, deepening.depth)
    return claim.after(Decision(Verdict(Answer.UNKNOWN), upper, {}, deeper)), seconds


def stage_of(depth: int) -> Stage:
    """Return the stage whose bounds are so deep."""
    return (Stage.BOUNDS, Stage.SLOPES)[depth] if depth < 2 else Stage.TREES


def staged(verdict: Verdict, seconds: Mapping[Stage, float], stage: Stage) -> Verdict:
    """Return ``verdict`` of a ``stage``; its ``seconds`` of bounds are none of the search."""
    # whoever asked counts all seconds as those of the search
    spent = {**seconds, Stage.SOLVES: -sum(seconds.values())}
    stages = tuple(spent.get(one, 0.0) for one in Stage)
    return replace(verdict, effort=replace(verdict.effort, stages=stages), stage=stage)


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
        self, encoding: Encoding, margin: _Margin, result: SolveResult, point: FloatArray | None
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
        reason = _reason(result, proven, margin.needed, self.claim.margins)
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


def _reason(result: SolveResult, proven: float, needed: float, margins: Network) -> str:
    if result.status is SolveStatus.TIME_LIMIT:
        return NODE_LIMIT if result.detail == NODE_LIMIT else TIME_LIMIT
    if result.status in _BROKEN:
        return f"numerical trouble: {result.detail or result.status.value}"
    if abs(proven) <= needed:
        return f"the worst margin, {proven:.2e}, is within the tolerance {needed:.2e} of zero"
    if result.point is None:
        return f"numerical trouble: a bound of {result.bound:g} and no point"
    fails = "the solver's point does not change the prediction in onnxruntime"
    if margins.exact:
        return fails
    wide = f"the enclosure of {listed(sorted(margins.enclosed))} is too wide to decide: {fails}"
    return wide + "; give more segments" * any(node.segmented for node in margins.nodes)


_FIRST = 0.5  # seconds of work for a program with the bounds given


class Programs:
    """Decides claims by a :class:`MarginCheck` of each ball.

    With ``deepens``, a claim that takes long gets deeper bounds of neurons, and a new program. The
    session opens at once, so a solver that is missing shows before anything is computed
    (``SolverUnavailableError``), and anew after a failure.
    """

    def __init__(
        self, problem: ProblemData, search: Search, solver: str | Solver, *, deepens: bool = False
    ) -> None:
        self._problem, self._search, self._deepens = problem, search, deepens
        self._formulation = resolve_formulation(search.formulation)
        self._native = True
        self._shared: WarmProgram | None = None
        self._last: MarginCheck | None = None
        self._open = partial(
            open_session,
            solver,
            threads=search.threads,
            tolerances=search.tolerances,
            needed=self._formulation.needs,
        )
        self._opened: Session | None = self._open()
        self.name, self.version = self._opened.name, self._opened.version
        self._earlier_notes: tuple[str, ...] = ()
        self._coarse: tuple[int, ...] = COARSE

    @property
    def _session(self) -> Session:
        """The session, opened anew if the last one was closed."""
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of all sessions so far."""
        return self._earlier_notes + (self._opened.notes if self._opened else ())

    def close(self) -> None:
        """Close the session; the next claim opens another."""
        self._last = None
        if self._opened is not None:
            self._earlier_notes = self.notes
            self._opened.close()
            self._opened = None

    def begin_anew(self) -> None:
        """Build the next program as asked for, whatever tangents and segments came before."""
        self._last, self._coarse = None, ()

    def prepare(self, margins: Network, bounds: Bounds) -> None:
        """Encode the whole ball once, if the search asks for that.

        ``"auto"`` does not: a program for the check alone is smaller and tighter, and faster with
        every solver that was measured (``docs/warm_starts.md``).
        """
        if self._search.warm in ("auto", "rebuilt"):
            return
        from milp_verix.oracle.engines.warm_program import warm_program

        session = self._session
        self._shared = warm_program(self._problem, self._search, session, margins, bounds)

    def decide(self, claim: Claim) -> Decision:
        """Decide the margins one by one, until one is violated."""
        deepens = self._deepens and pays_to_deepen(claim)
        until = claim.deadline.within(_FIRST) if deepens else claim.deadline
        check = self._check(replace(claim, deadline=until))
        for index in claim.open_.tolist():
            if check.learn(index, check.decide(index)):
                break
        first = check.found
        if not deepens or first.verdict.reason != TIME_LIMIT or claim.deadline.passed():
            return first
        left, seconds = deepened(claim.after(first), claim.deadline.share(_PART))
        found, stage = Decision(Verdict(Answer.HOLDS), left.upper, {}), stage_of(left.depth or 0)
        if left.open_.size:
            check = self._check(left)
            for index in left.open_.tolist():
                if check.learn(index, check.decide(index)):
                    break
            found, stage = check.found, check.found.verdict.stage
        verdict = replace(found.verdict, effort=first.verdict.effort + found.verdict.effort)
        return Decision(
            staged(verdict, seconds, stage),
            found.upper,
            {**first.points, **found.points},
            left.deeper_than(claim.bounds),
        )

    def _check(self, claim: Claim) -> MarginCheck:
        """Return the check of ``claim``; the last one if it is about the same ball."""
        if self._last is not None:
            if self._last.claim.bounds is claim.bounds:
                self._last.begin(claim)
                return self._last
            # a session that did not manage the quadratic row is not asked again
            self._native = self._last.native
        session = self._session
        self._last = MarginCheck(
            self._problem,
            self._search,
            self._formulation,
            session,
            claim,
            native=self._native and "quadratic" in session.capabilities,
            shared=self._shared,
            coarse=self._coarse,
        )
        return self._last
