"""A solver whose sessions are timed from outside, so that no solver has to time itself.

Processor time of this process and of all that it started, running or ended.
"""

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from milp_verix.base.tolerances import Tolerances
from milp_verix.results.comparison import SolverTime
from milp_verix.solvers import (
    Session,
    Solver,
    SolveResult,
    Targets,
    extend,
    open_session,
    resolve_solver,
)
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray

_TICK = 0.01
"""Seconds of a tick of ``/proc/PID/stat``, on every common Linux."""


def processor_time() -> float:
    """Return the seconds of processor time so far; other load on the machine blurs them least.

    Processes that still run, and processes that these started, are counted where there is a
    ``/proc``, as on Linux; elsewhere only those that have ended.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.process_time() + ended.ru_utime + ended.ru_stime
    for children in Path("/proc/self/task").glob("*/children"):
        try:
            pids = children.read_text().split()
        except OSError:  # a thread that has ended since
            continue
        seconds += sum(_of(pid) for pid in pids)
    return seconds


def _of(pid: str) -> float:
    """Return the seconds of a process and of its own children; 0.0 if it has ended since."""
    folder = Path("/proc") / pid
    try:
        # nanoseconds of each thread, and the ticks of the children that have ended
        own = sum(int(one.read_text().split()[0]) for one in folder.glob("task/*/schedstat"))
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        below = [pid for one in folder.glob("task/*/children") for pid in one.read_text().split()]
    except (OSError, IndexError):
        return 0.0
    return own / 1e9 + _TICK * (int(fields[13]) + int(fields[14])) + sum(map(_of, below))


@dataclass(frozen=True, slots=True, eq=False)
class Solve:
    """One minimisation of ``cost`` over ``program``: its result, and who else did it, if any."""

    handed_to: str | None
    result: SolveResult
    program: Program
    cost: FloatArray


@dataclass(slots=True)
class SolverClock:
    """The time that sessions have taken so far, and what they solved.

    ``last`` is the last solve; programs of earlier ones are not kept.
    """

    time: SolverTime = field(default_factory=SolverTime)
    last: Solve | None = None
    handed_over: int = 0
    handed_to: str | None = None
    nodes: int | None = None
    iterations: int | None = None

    def add(self, solve: Solve) -> None:
        """Count a solve."""
        self.last, result = solve, solve.result
        if solve.handed_to is not None:
            self.handed_over += 1
            self.handed_to = self.handed_to or solve.handed_to
        if result.nodes is not None:
            self.nodes = (self.nodes or 0) + result.nodes
        if result.iterations is not None:
            self.iterations = (self.iterations or 0) + result.iterations

    def told(self, count: int, own: int | None) -> int | None:
        """Return ``count``, the sum of the solves' ``own``; None where no solve tells it."""
        return None if self.time.solves and own is None else count


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
        self._program: Program | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def load(self, program: Program) -> None:
        self._fresh, self._program = True, program
        with self._timed(lambda seconds: SolverTime(builds=1, build_seconds=seconds)):
            self._session.load(program)

    def extend(self, program: Program) -> None:
        self._fresh, self._program = True, program
        with self._timed(lambda seconds: SolverTime(builds=1, build_seconds=seconds)):
            extend(self._session, program)

    def set_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        with self._timed(lambda seconds: SolverTime(build_seconds=seconds)):
            self._session.set_bounds(columns, lower, upper)
        if self._program is not None:
            self._program = self._program.with_bounds(columns, lower, upper)

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
        if self._program is not None:
            self._clock.add(Solve(None if by == name else by, result, self._program, cost))
        return result

    @contextmanager
    def _timed(self, taken: Callable[[float], SolverTime]) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self._clock.time += taken(time.perf_counter() - started)
