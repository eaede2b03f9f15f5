"""The check: whether the prediction survives every perturbation of the free coordinates.

For each margin, bounds first, then one mixed-integer program that maximises it over the ball. A
margin holds only by a proven dual bound below zero; the claim is violated only by a point that
onnxruntime was run on; everything else is UNKNOWN, with the reason.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike

from milp_verix.ascent import climb
from milp_verix.ball import Domain
from milp_verix.errors import InputError, LicenceLimitError, SolverError
from milp_verix.features import FeaturesLike
from milp_verix.memory import Memory
from milp_verix.onnx_network import OnnxNetwork
from milp_verix.problem import Problem, make_problem
from milp_verix.solvers import Session, SolveResult, SolveStatus, Targets, open_session
from milp_verix.tightening import bounds_within, resolve_bounds
from milp_verix.tolerances import Tolerances
from milp_verix.verdict import Answer, Effort, Verdict
from verix_encodings import (
    BallEncoding,
    BoundMethod,
    Bounds,
    Encoding,
    Formulation,
    Interval,
    Network,
    NormBall,
    encode,
    formulation_named,
    interval_bounds,
    l1_ball,
    l2_ball,
    l2_tangents,
    tangent_gaps,
)
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.enclosure import DEFAULT_SEGMENTS

_BROKEN = (SolveStatus.INFEASIBLE, SolveStatus.FAILED)


@dataclass(frozen=True, slots=True)
class _Margin:
    """Margin ``index`` as ``row·v + constant`` in the columns of a program."""

    index: int
    row: FloatArray
    constant: float
    needed: float


@dataclass(slots=True)
class _Claim:
    """The work on one check: its region, its program, and the tangents that its ball has so far.

    ``native`` says that the session takes the quadratic row of an L2 ball as it is; ``failed``
    that its last solve ended in numerical trouble.
    """

    session: Session
    free: IntArray
    region: Interval | NormBall
    bounds: Bounds
    deadline: float
    native: bool = False
    failed: bool = False
    points: list[FloatArray] = field(default_factory=list)
    encoding: Encoding | None = None

    def approximate(self) -> None:
        """Go on with tangents where the session does not manage the quadratic row."""
        self.native, self.encoding = False, None

    def outside(self, point: FloatArray) -> bool:
        """Whether ``point`` is in the outer approximation of an L2 ball, but not in the ball."""
        return self._approximate and tangent_gaps(self._ball, self.points, point)[0] > _OUTSIDE

    def refine(self, point: FloatArray) -> bool:
        """Add the tangents that cut ``point`` off; return whether there are any."""
        if not self._approximate or len(self.points) >= _MOST_REFINEMENTS:
            return False
        excess, gaps = tangent_gaps(self._ball, self.points, point)
        needed = gaps > 0.1 * excess / gaps.size
        if excess <= _OUTSIDE or not needed.any():
            return False
        self.points.append(np.where(needed, point, self._ball.centre))
        self.encoding = None
        return True

    @property
    def _approximate(self) -> bool:
        return isinstance(self.region, NormBall) and self.region.norm == 2 and not self.native

    @property
    def _ball(self) -> NormBall:
        assert isinstance(self.region, NormBall)
        return self.region


_OUTSIDE = 1e-6
_MOST_REFINEMENTS = 200


class Oracle:
    """Answers checks on one problem; keeps the solver's session and whatever checks share.

    The session opens at once, so a solver that is missing shows before anything is computed
    (``SolverUnavailableError``); one that fails later costs the check that it failed in, and the
    next check opens a fresh one. Use as a context manager, or call :meth:`close`.
    """

    def __init__(
        self,
        problem: Problem,
        solver: str = "auto",
        *,
        bounds: BoundMethod | str = "crown",
        segments: int = DEFAULT_SEGMENTS,
        formulation: str | Formulation = "big_m",
        threads: int = 1,
        tolerances: Tolerances | None = None,
        reuse: bool = True,
    ) -> None:
        self.problem = problem
        self.tolerances = tolerances or Tolerances()
        self._solver = solver
        self._threads = threads
        self.bounds, self._bound_method = resolve_bounds(bounds)
        self._segments = segments_of(segments)
        self.formulation = resolve_formulation(formulation)
        self._quadratic = True
        self._margins: Network = problem.question.margins(problem.network.ir)
        self.memory = self._started() if reuse else None
        self._session: Session | None = self._open()
        self.solver = self._session.name
        self.solver_version = self._session.version
        self._earlier_notes: tuple[str, ...] = ()

    def __enter__(self) -> "Oracle":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know about how it came about."""
        return self._encoding_notes + self._solver_notes

    @property
    def _encoding_notes(self) -> tuple[str, ...]:
        if self._margins.exact:
            return ()
        names = ", ".join(sorted(self._margins.smooth_functions))
        return (
            f"the activations {names} are enclosed by {self._segments} segments each: what holds "
            "is proven, and counterfactuals are real, but a feature may be undecided for no "
            "other reason than the enclosure; more segments decide more",
        )

    @property
    def _solver_notes(self) -> tuple[str, ...]:
        return self._earlier_notes + (self._session.notes if self._session else ())

    def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            self._earlier_notes = self._solver_notes
            self._session.close()
            self._session = None

    def check(self, free: IntArray, seconds: float = np.inf) -> Verdict:
        """Decide the claim for the flat coordinates ``free`` within ``seconds``."""
        started = time.monotonic()
        try:
            verdict = self._check(free, started + seconds)
        except OverflowError as error:
            verdict = Verdict(Answer.UNKNOWN, reason=str(error))
        except SolverError as error:
            self.close()
            verdict = Verdict(Answer.UNKNOWN, reason=f"{self.solver} failed: {error}")
        return replace(verdict, effort=replace(verdict.effort, seconds=time.monotonic() - started))

    def _open(self) -> Session:
        return open_session(
            self._solver,
            threads=self._threads,
            tolerances=self.tolerances,
            needed=self.formulation.features,
        )

    def _check(self, free: IntArray, deadline: float) -> Verdict:
        region, seconds = self.problem.ball.region(free), deadline - time.monotonic()
        extra = None if self.memory is None else self.memory.extra(free)
        flips = self._flips(region, extra)
        for _, point, value in flips:
            found = self._replay(point, free) if value > 0 else None
            if found is not None:
                return replace(found, effort=Effort(flips=1))

        bounds = bounds_within(self._bound_method, self._margins, region, seconds)
        upper, magnitude = bounds[-1].upper.copy(), bounds[-1].magnitude
        if self.memory is not None and extra is not None:
            # slopes that overflow are no numbers, and no bounds
            upper = np.fmin(upper, self.memory.grown(extra, bounds))
        needed = np.array([self.tolerances.decisive(m) for m in magnitude])
        open_ = np.flatnonzero(~(upper < -needed))
        effort = Effort(bounded=upper.size - open_.size)
        points = {margin: point for margin, point, _ in flips}
        unknown: Verdict | None = None
        if open_.size:
            if self._session is None:
                self._session = self._open()
            native = self._quadratic and "quadratic" in self._session.features
            claim = _Claim(self._session, free, region, bounds, deadline, native)
            for index in open_[np.argsort(-upper[open_], kind="stable")]:
                verdict, worst_point = self._decide(claim, int(index), float(needed[index]))
                effort += verdict.effort
                if verdict.violated:
                    return replace(verdict, effort=effort)
                if verdict.bound is not None:
                    upper[index] = min(upper[index], verdict.bound)
                    if worst_point is not None:
                        points[int(index)] = worst_point
                elif unknown is None:
                    unknown = verdict
        if unknown is not None:
            return replace(unknown, effort=effort)
        self._remember(free, upper, points)
        return Verdict(Answer.HOLDS, bound=float(np.max(upper, initial=-np.inf)), effort=effort)

    def _started(self) -> Memory | None:
        """Return what is known with nothing free: the margins at the input itself."""
        centre = self.problem.x.astype(np.float64)
        try:
            at_centre = interval_bounds(self._margins, Interval(centre, centre))[-1].upper
        except OverflowError:
            return None
        size = at_centre.size
        return Memory(
            self._margins,
            centre,
            np.zeros(0, dtype=np.intp),
            at_centre,
            np.tile(centre, (size, 1)),
            self._margins.evaluate(centre),
        )

    def _flips(
        self, region: Interval | NormBall, extra: IntArray | None
    ) -> list[tuple[int, FloatArray, float]]:
        """Return the worst points known, moved where the new coordinates may go; L∞ only."""
        if self.memory is None or extra is None or not isinstance(region, Interval):
            return []
        return list(self.memory.flips(extra, region))

    def _remember(self, free: IntArray, upper: FloatArray, points: dict[int, FloatArray]) -> None:
        if self.memory is None:
            return
        worst = self.memory.points.copy()
        for margin, point in points.items():
            worst[margin] = point
        reached = np.array([self._margins.evaluate(p)[k] for k, p in enumerate(worst)])
        self.memory = replace(self.memory, free=free, upper=upper, points=worst, reached=reached)

    def _decide(
        self, claim: "_Claim", index: int, needed: float
    ) -> tuple[Verdict, FloatArray | None]:
        """Decide one margin, adding tangents to a ball's outer approximation while they help."""
        effort = Effort()
        while True:
            encoding = self._loaded(claim)
            row, constant = encoding.output.row(index, encoding.program.columns)
            margin = _Margin(index, row, constant, needed)
            try:
                verdict, point = self._maximise(claim, encoding, margin)
            except LicenceLimitError:
                if not claim.native:
                    raise
                # the licence is smaller for quadratic programs
                self._quadratic = False
                claim.approximate()
                continue
            effort += verdict.effort
            if verdict.answer is Answer.UNKNOWN and claim.native and claim.failed:
                claim.approximate()
                continue
            if verdict.answer is not Answer.UNKNOWN or point is None or not claim.refine(point):
                return replace(verdict, effort=effort), point

    def _loaded(self, claim: "_Claim") -> Encoding:
        """Return the encoding of the claim, loaded into the session."""
        if claim.encoding is None:
            encoding = encode(
                self._margins,
                claim.bounds,
                relu=self.formulation.relu,
                ball=self._ball_encoding(claim),
                segments=self._segments,
            )
            claim.session.load(encoding.program)
            claim.encoding = encoding
        return claim.encoding

    def _ball_encoding(self, claim: "_Claim") -> BallEncoding | None:
        region = claim.region
        if isinstance(region, Interval):
            return None
        if region.norm == 1:
            return partial(l1_ball, ball=region)
        if claim.native:
            return partial(l2_ball, ball=region)
        return partial(l2_tangents, ball=region, points=claim.points)

    def _maximise(
        self, claim: "_Claim", encoding: Encoding, margin: "_Margin"
    ) -> tuple[Verdict, FloatArray | None]:
        """Decide one margin: first with early stops, then, if that leaves it open, without.

        Also returns the input that the solver ended at, if any.
        """
        goal = Targets(
            violated_below=margin.constant - self.tolerances.early_violation,
            # a little more than is needed: what the solver reports is rounded
            holds_above=margin.constant + 1.5 * margin.needed,
            probe=lambda v: self._replay(encoding.input.at(v), claim.free) is not None,
        )
        effort = Effort()
        verdict = Verdict(Answer.UNKNOWN, reason="time limit")
        point: FloatArray | None = None
        for targets in (goal, Targets()):
            seconds = claim.deadline - time.monotonic()
            if seconds <= 0:
                break
            result = claim.session.minimise(-margin.row, replace(targets, seconds=seconds))
            effort += Effort(solves=1, nodes=result.nodes, iterations=result.iterations)
            claim.failed = result.status is SolveStatus.FAILED
            point = None if result.point is None else encoding.input.at(result.point)
            verdict = self._judge(claim, encoding, margin, result, point)
            if verdict.answer is not Answer.UNKNOWN or result.status is not SolveStatus.TARGET:
                break
            if point is not None and claim.outside(point):
                break  # a tangent first: the optimum of a loose approximation says little
        return replace(verdict, effort=effort), point

    def _judge(
        self,
        claim: "_Claim",
        encoding: Encoding,
        margin: "_Margin",
        result: SolveResult,
        point: FloatArray | None,
    ) -> Verdict:
        """Turn what the solver said of ``margin`` into a verdict; ``point`` is its input."""
        session = claim.session
        # the centre is always feasible, so a bound of +∞ is as broken as no number at all
        broken = result.status in _BROKEN or not result.bound < np.inf
        proven = np.inf if broken else margin.constant - result.bound
        if proven < -margin.needed:
            limit = min(session.largest_big_m, self.tolerances.largest_big_m)
            if encoding.largest_big_m > limit:
                reason = (
                    f"a big-M of {encoding.largest_big_m:.3g} is beyond the {limit:g} up to which "
                    f"proofs by {session.name} are trusted"
                )
                return Verdict(Answer.UNKNOWN, reason=reason)
            if point is not None:
                reached = self._margins.evaluate(point)[margin.index]
                if not reached <= proven + margin.needed:
                    reason = f"{session.name} claims a bound that a point of its own exceeds"
                    return Verdict(Answer.UNKNOWN, reason=reason)
            return Verdict(Answer.HOLDS, bound=proven)
        counterfactual = None if point is None else self._replay(point, claim.free)
        if counterfactual is None and point is not None and not self._margins.exact:
            # the optimum of the enclosure is only near that of the network
            point = climb(self._margins, claim.region, point, margin.index)
            counterfactual = self._replay(point, claim.free)
        if counterfactual is not None:
            return counterfactual
        reason = _reason(result, proven, margin.needed, exact=self._margins.exact)
        return Verdict(Answer.UNKNOWN, reason=reason)

    def _replay(self, point: FloatArray, free: IntArray) -> Verdict | None:
        """Run onnxruntime next to ``point``; return VIOLATED if the prediction changes."""
        network, question = self.problem.network, self.problem.question
        witness = self.problem.ball.nearest_witness(point, free)
        if not self.problem.ball.contains(witness, free):
            return None
        outputs = network.evaluate(witness)
        if not question.changed(outputs):
            return None
        witness = witness.reshape(network.input_shape)
        witness.flags.writeable = False
        return Verdict(Answer.VIOLATED, witness=witness, prediction=question.predicted(outputs))


def check(
    network: OnnxNetwork | str | PathLike[str],
    x: ArrayLike,
    free: Sequence[int],
    *,
    epsilon: float,
    norm: str = "linf",
    delta: float | None = None,
    domain: Domain = (0.0, 1.0),
    features: FeaturesLike = None,
    label: int | None = None,
    output: int | None = None,
    solver: str = "auto",
    time_limit: float | None = 300.0,
    threads: int = 1,
    bounds: BoundMethod | str = "crown",
    segments: int = DEFAULT_SEGMENTS,
    formulation: str | Formulation = "big_m",
    tolerances: Tolerances | None = None,
) -> Verdict:
    """Decide whether the prediction at ``x`` survives every perturbation of the features ``free``.

    The claim: for every ``x'`` in ``domain`` that equals ``x`` outside ``free`` and has
    ``‖x' − x‖ ≤ epsilon`` in ``norm``, the predicted class is the same, or, if ``delta`` is given,
    every output (or the one numbered ``output``) moves by at most ``delta``.

    Args:
        network: an :class:`OnnxNetwork`, or the path of an ONNX file.
        x: the input, of the network's input shape (dimensions of 1 may be left out) or flat.
        free: indices of the features that may change; see ``features``.
        epsilon: radius of the ball, in the units of the input.
        norm: ``"linf"``, ``"l1"`` or ``"l2"``, over all coordinates freed together.
        delta: for regression, the change of an output that counts, in the output's units.
        domain: lower and upper end of the input domain, scalars or arrays of the input's shape.
        features: groups of coordinates, see :func:`milp_verix.features.make_features`.
        label: the class explained; it must be the one predicted.
        output: the output that a regression is about; all of them by default.
        solver: ``"auto"``, ``"highs"``, ``"phase"``, ``"cbc"`` or ``"gurobi"``.
        time_limit: seconds for the check; None for no limit.
        threads: threads that the solver may use.
        bounds: how bounds on the neurons are found: ``"interval"``, ``"crown"``, ``"lp"`` or
            ``"milp"``, each tighter and slower than the one before, or a function.
        segments: pieces that enclose each smooth activation, such as a sigmoid: more of them decide
            more, and take longer.
        formulation: how ReLUs become rows and columns: ``"big_m"``, ``"indicator"``, ``"sos1"``,
            ``"partition"`` or ``"partition:N"``; not every solver takes every one of them.
        tolerances: what separates a proof from noise.

    Raises:
        InputError: an argument does not fit.
        ModelError: the network cannot be read or encoded.
        SolverUnavailableError: the solver is not installed.
    """
    problem = make_problem(
        network,
        x,
        epsilon=epsilon,
        norm=norm,
        delta=delta,
        domain=domain,
        features=features,
        label=label,
        output=output,
    )
    chosen = _feature_indices(free, problem.features.count)
    seconds = seconds_of(time_limit, "time_limit")
    with Oracle(
        problem,
        solver,
        bounds=bounds,
        segments=segments,
        formulation=formulation,
        threads=threads,
        tolerances=tolerances,
    ) as oracle:
        return oracle.check(problem.features.coordinates(chosen), seconds)


def resolve_formulation(formulation: str | Formulation) -> Formulation:
    """Return the formulation of that name, or the one given; ``InputError`` for neither."""
    if isinstance(formulation, Formulation):
        return formulation
    try:
        return formulation_named(str(formulation))
    except ValueError as error:
        raise InputError(str(error)) from error


def seconds_of(limit: float | None, name: str) -> float:
    """Return a time limit in seconds, infinite for None; ``InputError`` unless it is positive."""
    if limit is None:
        return float("inf")
    try:
        seconds = float(limit)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a number of seconds or None, got {limit!r}") from error
    if not seconds > 0:
        raise InputError(f"{name} must be positive, got {limit}")
    return seconds


def segments_of(segments: int) -> int:
    """Return a number of segments; ``InputError`` unless it is an integer of at least 1."""
    if isinstance(segments, bool) or not isinstance(segments, (int, np.integer)) or segments < 1:
        raise InputError(f"segments must be an integer of at least 1, got {segments!r}")
    return int(segments)


def _feature_indices(free: Sequence[int], count: int) -> list[int]:
    try:
        given = np.asarray(free)
    except ValueError as error:  # rows of different lengths
        raise InputError("free lists features by their integer indices") from error
    if given.size == 0:
        return []
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise InputError("free lists features by their integer indices")
    outside = given[(given < 0) | (given >= count)]
    if outside.size:
        raise InputError(f"feature {outside[0]} is out of range: the features are 0..{count - 1}")
    if np.unique(given).size != given.size:
        raise InputError("free lists a feature twice")
    return [int(i) for i in given]


def _reason(result: SolveResult, proven: float, needed: float, *, exact: bool) -> str:
    if result.status is SolveStatus.TIME_LIMIT:
        return "time limit"
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
