"""A solver whose sessions are timed from outside, so that no solver has to time itself."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from milp_verix.solvers.session import Session, SolveResult, Targets
from milp_verix.tolerances import Tolerances
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray


@dataclass(slots=True)
class Stopwatch:
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


class TimedSolver:
    """The solver ``name`` whose sessions, opened by ``opening``, report to ``watch``."""

    def __init__(
        self,
        name: str,
        features: frozenset[str],
        opening: Callable[..., Session],
        watch: Stopwatch,
    ) -> None:
        self.name = name
        self.features = features
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
        with self._building():
            self._watch.builds += 1
            self._fresh = True
            self._session.load(program)

    def set_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        with self._building():
            self._session.set_bounds(columns, lower, upper)

    def minimise(self, cost: FloatArray, targets: Targets) -> SolveResult:
        watch, fresh, started = self._watch, self._fresh, time.perf_counter()
        self._fresh = False
        try:
            return self._session.minimise(cost, targets)
        finally:
            seconds = time.perf_counter() - started
            watch.solves += 1
            watch.solve_seconds += seconds
            if not fresh:
                watch.resolves += 1
                watch.resolve_seconds += seconds

    @contextmanager
    def _building(self) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self._watch.build_seconds += time.perf_counter() - started
