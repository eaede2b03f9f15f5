"""A solver whose sessions are timed from outside, so that no solver has to time itself."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from milp_verix.results.records.comparison import SolverTime
from milp_verix.solvers import (
    Session,
    Solver,
    SolveResult,
    Targets,
    extend,
    open_session,
    resolve_solver,
)
from milp_verix.tolerances import Tolerances
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Solve:
    """One minimisation: the counts that the solver tells, and another that did it, if any."""

    handed_to: str | None
    nodes: int | None
    iterations: int | None


@dataclass(slots=True)
class SolverClock:
    """The time that sessions have taken so far, and what they solved."""

    time: SolverTime = field(default_factory=SolverTime)
    solves: list[Solve] = field(default_factory=list)

    def told(self, count: int, of: Callable[[Solve], int | None]) -> int | None:
        """Return ``count``, the sum of what ``of`` returns; None where no solve tells it."""
        return None if self.solves and all(of(one) is None for one in self.solves) else count

    def handed_over(self) -> dict[str, Any]:
        """Return how many solves another solver did, and which."""
        others = [one.handed_to for one in self.solves if one.handed_to is not None]
        return {"handed_over": len(others), "handed_to": others[0] if others else None}


def timed_solver(name: str, clock: SolverClock, needed: frozenset[str] = frozenset()) -> Solver:
    """Return the solver called ``name``, whose sessions add their seconds to ``clock``.

    Raises as :func:`milp_verix.solvers.resolve_solver` does.
    """
    solver = resolve_solver(name, needed)
    return _TimedSolver(solver.name, solver.capabilities, clock)


class _TimedSolver:
    """The solver ``name`` whose sessions report to ``clock``."""

    licence = "that of the solver timed"

    def __init__(self, name: str, capabilities: frozenset[str], clock: SolverClock) -> None:
        self.name = name
        self.capabilities = capabilities
        self._clock = clock

    def unavailable(self) -> str | None:
        """Return None: opening a session raises where that is impossible."""
        return None

    def open(self, *, threads: int, tolerances: Tolerances) -> Session:
        """Open a session that is timed; raises what the solver's own ``open`` raises."""
        session = open_session(self.name, threads=threads, tolerances=tolerances)
        return cast("Session", _TimedSession(session, self._clock))


class _TimedSession:
    """A session with a clock; attributes that take no time are the session's own."""

    def __init__(self, session: Session, clock: SolverClock) -> None:
        self._session = session
        self._clock = clock
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
            result = self._session.minimise(cost, targets)
        name = self._session.name
        by = getattr(self._session, "solving", name)
        self._clock.solves.append(
            Solve(None if by == name else by, result.nodes, result.iterations)
        )
        return result

    @contextmanager
    def _timed(self, taken: Callable[[float], SolverTime]) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self._clock.time += taken(time.perf_counter() - started)
