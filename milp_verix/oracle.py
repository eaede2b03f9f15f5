"""The oracle: answers one check after the other, and remembers.

For each margin, in this order: points known from earlier checks, bounds, and what is left by a
mixed-integer program (:mod:`~milp_verix.claim`).
"""

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from milp_verix.arguments import integer_of, resolve_formulation
from milp_verix.claim import Claim
from milp_verix.errors import SolverError
from milp_verix.memory import Memory
from milp_verix.problem import Problem
from milp_verix.solvers import Session, open_session
from milp_verix.tightening import bounds_within, resolve_bounds
from milp_verix.tolerances import Tolerances
from milp_verix.verdict import Answer, Effort, Verdict
from milp_verix.witness import replayed
from verix_encodings import BoundMethod, Formulation, Interval, Network, NormBall, interval_bounds
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.enclosure import DEFAULT_SEGMENTS


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
        self._threads = integer_of(threads, "threads")
        self.bounds, self._bound_method = resolve_bounds(bounds)
        self._segments = integer_of(segments, "segments")
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
        points: dict[int, FloatArray] = {}
        for margin, point, value in self._flips(region, extra):
            points[margin] = point
            found = replayed(self.problem, point, free) if value > 0 else None
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
        unknown: Verdict | None = None
        if open_.size:
            if self._session is None:
                self._session = self._open()
            native = self._quadratic and "quadratic" in self._session.features
            claim = Claim(
                self.problem,
                self._margins,
                self._session,
                self.tolerances,
                self.formulation,
                self._segments,
                free,
                region,
                bounds,
                deadline,
                native,
            )
            for index in open_[np.argsort(-upper[open_], kind="stable")]:
                verdict, worst_point = claim.decide(int(index), float(needed[index]))
                effort += verdict.effort
                # a session that did not manage the quadratic row is not asked again
                self._quadratic = self._quadratic and claim.native == native
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
    ) -> Iterator[tuple[int, FloatArray, float]]:
        """Return the worst points known, moved where the new coordinates may go; L∞ only."""
        if self.memory is None or extra is None or not isinstance(region, Interval):
            return iter(())
        return self.memory.flips(extra, region)

    def _remember(self, free: IntArray, upper: FloatArray, points: dict[int, FloatArray]) -> None:
        if self.memory is None:
            return
        worst = self.memory.points.copy()
        for margin, point in points.items():
            worst[margin] = point
        reached = np.array([self._margins.evaluate(p)[k] for k, p in enumerate(worst)])
        self.memory = replace(self.memory, free=free, upper=upper, points=worst, reached=reached)
