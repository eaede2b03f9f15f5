"""A solver whose sessions are timed from outside, so that no solver has to time itself."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from milp_verix.solvers.session import Session, SolveResult, Targets, extend
from milp_verix.tolerances import Tolerances
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class SolverTime:
    """Seconds spent inside a solver's sessions, and on what.

    ``builds`` programs were loaded in ``build_seconds``, changes of bounds included, and
    ``solves`` minimisations took ``solve_seconds``. ``resolves`` of these were not the first on
    their program and took ``resolve_seconds``. A solver that reads a file at each minimisation
    builds while it solves.
    """

    builds: int = 0
    build_seconds: float = 0.0
    solves: int = 0
    solve_seconds: float = 0.0
    resolves: int = 0
    resolve_seconds: float = 0.0

    def __add__(self, other: "SolverTime") -> "SolverTime":
        return SolverTime(
            self.builds + other.builds,
            self.build_seconds + other.build_seconds,
            self.solves + other.solves,
            self.solve_seconds + other.solve_seconds,
            self.resolves + other.resolves,
            self.resolve_seconds + other.resolve_seconds,
        )


@dataclass(slots=True)
class Stopwatch:
    """The time that sessions have taken so far."""

    time: SolverTime = field(default_factory=SolverTime)


class TimedSolver:
    """The solver ``name`` whose sessions, opened by ``opening``, report to ``watch``."""

    licence = "that of the solver timed"

    def __init__(
        self,
        name: str,
        capabilities: frozenset[str],
        opening: Callable[..., Session],
        watch: Stopwatch,
    ) -> None:
        self.name = name
        self.capabilities = capabilities
        self._opening = opening
        self._watch = watch

    def unavailable(self) -> str | None:
        """Return None: opening a session raises where that is impossible."""
        return None

    def open(self, *, threads: int, tolerances: Tolerances) -> Session:
        """Open a session that is timed; raises what the solver's own ``open`` raises."""
        session = self._opening(self.name, threads=threads, tolerances=tolerances)
        return cast("Session", _TimedSession(session, self._watch))


class _TimedSession:
    """A session with a stopwatch; whatever takes no time is the session's own."""

    def __init__(self, session: Session, watch: Stopwatch) -> None:
        self._session = session
        self._watch = watch
        self._fresh = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def load(self, program: Program) -> None:
        self._fresh = True
        with self._timed(lambda seconds: SolverTime(builds=1, build_seconds=seconds)):
            self._session.load(program)

    def extend(self, program: Program) -> None:
        self._fresh = True
        with self._timed(lambda seconds: SolverTime(builds=1, build_seconds=seconds)):
            extend(self._session, program)

    def set_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        with self._timed(lambda seconds: SolverTime(build_seconds=seconds)):
            self._session.set_bounds(columns, lower, upper)

    def minimise(self, cost: FloatArray, targets: Targets) -> SolveResult:
        fresh, self._fresh = self._fresh, False

        def taken(seconds: float) -> SolverTime:
            first = SolverTime(solves=1, solve_seconds=seconds)
            again = SolverTime(resolves=1, resolve_seconds=seconds)
            return first if fresh else first + again

        with self._timed(taken):
            return self._session.minimise(cost, targets)

    @contextmanager
    def _timed(self, taken: Callable[[float], SolverTime]) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self._watch.time += taken(time.perf_counter() - started)
