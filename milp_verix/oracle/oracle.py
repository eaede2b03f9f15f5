"""The oracle: answers one check after the other, and remembers.

For each margin, in this order: points known from earlier checks, bounds, and what is left by a
mixed-integer program (:mod:`~milp_verix.oracle.margin_check`) or its linear relaxation.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from milp_verix.arguments import integer_of, resolve_formulation
from milp_verix.clock import NO_LIMIT, Deadline, deadline_in
from milp_verix.errors import InputError, SolverError
from milp_verix.oracle.bound_tightening import bounds_within, resolve_bounds
from milp_verix.oracle.gradient_ascent import climb
from milp_verix.oracle.live import retightened_encoding_of
from milp_verix.oracle.lookahead import flipped, forecast, shortest_violated
from milp_verix.oracle.margin_check import MarginCheck
from milp_verix.oracle.reuse import Memory, first_memory
from milp_verix.oracle.stage_clock import StageClock
from milp_verix.oracle.whole_ball import WholeBall, whole_ball
from milp_verix.oracle.witness import replayed
from milp_verix.problem.problem import Problem
from milp_verix.records.statistics import TIME_LIMIT
from milp_verix.records.verdict import Answer, Effort, Stage, Verdict
from milp_verix.solvers import Session, open_session, why_auto
from milp_verix.tolerances import Tolerances
from verix_encodings import (
    BoundMethod,
    Bounds,
    Formulation,
    Interval,
    Network,
    NormBall,
    crown_bounds,
)
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.blocks.smooth_enclosure import DEFAULT_SEGMENTS
from verix_encodings.models.retightened import RetightenedEncoding
from verix_encodings.network.batch import batch_values
from verix_encodings.proofs.safe_bound import evaluation_error

EXACTNESS = ("exact", "relaxation", "bounds")
"""How far a check goes: to mixed-integer programs, to their linear relaxations, to bounds."""


class Oracle:
    """Answers checks on one problem; keeps the solver's session and whatever checks share.

    The session opens at once, so a solver that is missing shows before anything is computed
    (``SolverUnavailableError``); one that fails later costs the check that it failed in, and the
    next check opens a fresh one. Bounds over the whole ball are computed by :meth:`prepare`, at the
    first check unless it was called before. ``checks`` counts those answered so far, ``effort`` is
    what they took. Use as a context manager, or call :meth:`close`.
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
        exactness: str = "exact",
    ) -> None:
        self.problem = problem
        self.tolerances = tolerances or Tolerances()
        if exactness not in EXACTNESS:
            known = ", ".join(EXACTNESS)
            raise InputError(f"unknown exactness {exactness!r}; choose one of {known}")
        self.exactness = exactness
        self._solver = solver
        self._threads = integer_of(threads, "threads")
        self.bounds, self._bound_method = resolve_bounds(bounds)
        self._segments = integer_of(segments, "segments")
        self.formulation = resolve_formulation(formulation)
        self._quadratic = True
        self._margins: Network = problem.margins
        self._settled = -np.inf
        self._retightened: RetightenedEncoding | None = None
        self._reuse = reuse
        self.checks = 0
        self.effort = Effort()
        self._prepared = not reuse
        self._whole: Bounds | None = None
        self.whole: WholeBall | None = None
        self.proven = False
        self.memory: Memory | None = None
        self._session: Session | None = self._open()
        self.solver = self._session.name
        self.solver_version = self._session.version
        self._earlier_notes: tuple[str, ...] = ()
        if solver == "auto":
            self._earlier_notes = why_auto(self.solver, self.formulation.needs)

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
        if self.exactness != "exact":
            return (
                f"exactness {self.exactness!r}: what holds is proven, and counterfactuals are "
                "real, but a check that needs a mixed-integer program is undecided",
            )
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
        session = self._session
        return self._earlier_notes + (session.notes if session else ())

    def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            self._earlier_notes = self._solver_notes
            self._session.close()
            self._session = None

    def prepare(self, deadline: Deadline = NO_LIMIT) -> WholeBall | None:
        """Bound the margins over the whole ball, once, as tightly as there is time for.

        Margins that cannot reach zero anywhere in it are dropped for good. ``proven`` says whether
        all of them are: then every check holds, however late. Returns the bounds; None where they
        overflow, and without ``reuse``.
        """
        if self._prepared:
            return self.whole
        try:
            whole = whole_ball(self.problem, deadline)
        except OverflowError:
            self._prepared = True
            self.forget(deadline)
            return None
        session = self._session = self._session or self._open()
        upper, needed = self._upper_and_needed(whole.bounds)
        open_ = ~(upper < -needed)
        proven = not open_.any()
        if proven:
            open_[np.argmax(upper)] = True  # the one that decides the rest
        left = whole.only(open_)
        retightened = None
        if not deadline.passed():
            retightened = retightened_encoding_of(
                self.problem, left.margins, self.formulation, session, left.bounds
            )
        # what was interrupted until here leaves nothing half done
        self._settled = float(np.max(upper[~open_], initial=-np.inf))
        self._margins, self._retightened, self.whole, self.proven = (
            left.margins,
            retightened,
            whole,
            proven,
        )
        if whole.finished and self._bound_method is crown_bounds:
            self._whole = left.bounds
        self._prepared, self.memory = True, None
        self.forget(deadline)
        return whole

    def forget(self, deadline: Deadline = NO_LIMIT) -> None:
        """Forget the points and bounds of earlier checks, for checks of sets that do not grow."""
        self.memory = None
        if self._reuse:
            centre = self.problem.x.astype(np.float64)
            self.memory = first_memory(self._margins, centre, deadline.passed)

    def check(self, free: IntArray, seconds: float = np.inf) -> Verdict:
        """Decide the claim for the flat coordinates ``free`` within ``seconds``."""
        return self._timed(free, seconds, bounds_only=False)

    def check_by_bounds(self, free: IntArray, seconds: float = np.inf) -> Verdict:
        """Decide the claim for ``free`` if bounds prove it; else the answer is UNKNOWN."""
        return self._timed(free, seconds, bounds_only=True)

    def flipped(
        self, irrelevant: Sequence[int], features: Sequence[int], seconds: float = np.inf
    ) -> tuple[dict[int, Verdict], Effort]:
        """Return those of ``features`` that known points keep in the explanation, and the effort.

        ``irrelevant`` is the set of features that is proven; see ``oracle.lookahead``.
        After ``seconds`` no more features are looked at.
        """
        watch = StageClock(Stage.POINTS)
        deadline = deadline_in(seconds)
        memory = self._memory_of(irrelevant, deadline)
        found: dict[int, Verdict] = {}
        if memory is not None:
            found = dict(flipped(self.problem, memory, irrelevant, features, deadline.at))
        effort = watch.read() + Effort(flips=len(found))
        self.effort += effort
        return {i: replace(verdict, stage=Stage.POINTS) for i, verdict in found.items()}, effort

    def forecast(
        self, irrelevant: Sequence[int], features: Sequence[int], deadline: Deadline = NO_LIMIT
    ) -> int | None:
        """Return how many of ``features`` may be freed together; None where nothing is known."""
        memory = self._memory_of(irrelevant, deadline)
        return None if memory is None else forecast(self.problem, memory, irrelevant, features)

    def shortest_violated(
        self,
        irrelevant: Sequence[int],
        block: Sequence[int],
        verdict: Verdict,
        deadline: Deadline = NO_LIMIT,
    ) -> tuple[int, Verdict]:
        """Return the shortest prefix of ``block`` that parts of a counterfactual violate.

        At the ``deadline`` it is the shortest that was found by then.
        """
        return shortest_violated(
            self.problem, self._margins, irrelevant, block, verdict, late=deadline.passed
        )

    def suppose(self, free: IntArray, inputs: FloatArray, deadline: Deadline = NO_LIMIT) -> None:
        """Begin with ``free``, proven elsewhere, and with ``inputs`` of its ball, shape (d, N)."""
        self.forget(deadline)
        if self.memory is not None:
            worst = np.argmax(batch_values(self._margins, inputs)[-1], axis=1)
            points = {margin: inputs[:, column] for margin, column in enumerate(worst.tolist())}
            unknown = np.full(worst.size, np.inf)
            self.memory = self.memory.proven(free, unknown, points)

    def _memory_of(self, irrelevant: Sequence[int], deadline: Deadline) -> Memory | None:
        """Return the memory, its points moved as far as ``irrelevant`` allows, if it is of it."""
        free = self.problem.features.coordinates(irrelevant)
        if self.memory is None or not np.array_equal(self.memory.free, free):
            return None
        region = self.problem.ball.region(free)
        moved = self.memory.suspects(free[:0], region, late=deadline.passed)
        points = {margin: point for margin, point, _ in moved}
        self.memory = self.memory.proven(free, self.memory.upper, points)
        return self.memory

    def _timed(self, free: IntArray, seconds: float, *, bounds_only: bool) -> Verdict:
        watch = StageClock(Stage.BOUNDS)
        deadline = deadline_in(seconds)
        try:
            self.prepare(deadline)
            watch.turn_to(Stage.POINTS)
            verdict = self._check(free, deadline, watch, bounds_only=bounds_only)
        except OverflowError as error:
            verdict = Verdict(Answer.UNKNOWN, reason=str(error))
        except SolverError as error:
            self.close()
            verdict = Verdict(Answer.UNKNOWN, reason=f"{self.solver} failed: {error}")
        effort = verdict.effort + watch.read()
        self.checks += 1
        self.effort += effort
        return replace(verdict, effort=effort)

    def _open(self) -> Session:
        return open_session(
            self._solver,
            threads=self._threads,
            tolerances=self.tolerances,
            needed=self.formulation.needs,
        )

    def _upper_and_needed(self, bounds: Bounds) -> tuple[FloatArray, FloatArray]:
        """Return the bounds on the margins, and how far below zero each must be to count."""
        needed = [self.tolerances.decisive(m) for m in bounds[-1].magnitude]
        return bounds[-1].upper.copy(), np.array(needed)

    def _check(
        self, free: IntArray, deadline: Deadline, watch: StageClock, *, bounds_only: bool
    ) -> Verdict:
        if self.proven and deadline.passed():
            assert self.whole is not None
            bound = float(self.whole.bounds[-1].upper.max())
            return Verdict(Answer.HOLDS, bound=bound, stage=Stage.BOUNDS)
        region = self.problem.ball.region(free)
        extra = None if self.memory is None else self.memory.extra(free)
        points: dict[int, FloatArray] = {}
        if self.memory is not None and extra is not None and not bounds_only:
            for margin, point, value in self.memory.suspects(extra, region, late=deadline.passed):
                points[margin] = point
                found = replayed(self.problem, point, free) if value > 0 else None
                if found is not None:
                    return replace(found, effort=Effort(flips=1), stage=Stage.POINTS)

        watch.turn_to(Stage.BOUNDS)
        bounds = self._whole if free.size == self.problem.x.size else None
        if bounds is None:
            bounds = bounds_within(self._bound_method, self._margins, region, deadline)
        upper, needed = self._upper_and_needed(bounds)
        stage = Stage.BOUNDS
        if self.memory is not None and extra is not None and np.any(upper >= -needed):
            watch.turn_to(Stage.GROWTH)
            stage = Stage.GROWTH
            # slopes that overflow are no numbers, and no bounds
            upper = np.fmin(upper, self.memory.grown(extra, bounds))
        open_ = np.flatnonzero(~(upper < -needed))
        effort = Effort(bounded=upper.size - open_.size)
        if open_.size:
            if bounds_only or self.exactness == "bounds":
                reason = "bounds alone do not decide it"
                return Verdict(Answer.UNKNOWN, reason=reason, effort=effort, stage=stage)
            watch.turn_to(Stage.SOLVES)
            stage = Stage.SOLVES
            if deadline.passed():
                return Verdict(Answer.UNKNOWN, reason=TIME_LIMIT, effort=effort, stage=stage)
            # solvers compute in float64, too: below this their bounds are noise
            needed = np.maximum(needed, evaluation_error(self._margins, bounds))
            margin_check = self._margin_check(free, region, bounds, deadline)
            order = open_[np.argsort(-upper[open_], kind="stable")]
            verdict = self._decide(margin_check, order, needed, upper, points)
            effort += verdict.effort
            if not verdict.holds:
                return replace(verdict, effort=effort)
        if self.memory is not None:
            self.memory = self.memory.proven(free, upper, points)
        worst = max(float(np.max(upper, initial=-np.inf)), self._settled)
        return Verdict(Answer.HOLDS, bound=worst, effort=effort, stage=stage)

    def _margin_check(
        self, free: IntArray, region: Interval | NormBall, bounds: Bounds, deadline: Deadline
    ) -> MarginCheck:
        if self._session is None:
            self._session = self._open()
        return MarginCheck(
            self.problem,
            self._margins,
            self._session,
            self.tolerances,
            self.formulation,
            self._segments,
            free,
            region,
            bounds,
            deadline.at,
            native=self._quadratic and "quadratic" in self._session.capabilities,
            retightened=self._retightened,
            lp_only=self.exactness == "relaxation",
        )

    def _decide(
        self,
        margin_check: MarginCheck,
        margins: IntArray,
        needed: FloatArray,
        upper: FloatArray,
        points: dict[int, FloatArray],
    ) -> Verdict:
        """Decide ``margins`` one by one, until one is violated; tighten ``upper`` on the way."""
        native, effort = margin_check.native, Effort()
        unknown: Verdict | None = None
        for index in margins:
            verdict = margin_check.decide(int(index), float(needed[index]))
            effort += verdict.effort
            # a session that did not manage the quadratic row is not asked again
            self._quadratic = self._quadratic and margin_check.native == native
            if verdict.violated:
                return replace(verdict, effort=effort)
            if verdict.bound is None:
                unknown = verdict if unknown is None else unknown
                continue
            upper[index] = min(upper[index], verdict.bound)
            if (
                self.memory is not None
                and (worst := margin_check.worst.get(int(index))) is not None
            ):
                late = Deadline(margin_check.deadline).passed
                points[int(index)] = climb(
                    self._margins, margin_check.region, worst[1], int(index), late
                )
        if unknown is not None:
            return replace(unknown, effort=effort)
        return Verdict(Answer.HOLDS, effort=effort)
