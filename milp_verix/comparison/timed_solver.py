"""A solver whose sessions are timed from outside, so that no solver has to time itself.

From its clock follow the cost of each check of a run, and its programs' relaxations.
"""

import hashlib
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from milp_verix import solvers
from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.verdict import Verdict
from milp_verix.results.comparison import CheckRecord, ProgramSize, SolverTime
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
    result: solvers.SolveResult
    program: Program
    cost: FloatArray


@dataclass(slots=True)
class SolverClock:
    """The time that sessions have taken, and what they solved; of programs the ``last`` is kept."""

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

    def known(self, count: int, own: int | None) -> int | None:
        """Return ``count``, the sum of the solves' ``own``; None where no solve tells it."""
        return None if self.time.solves and own is None else count


def timed_solver(
    name: str, clock: SolverClock, needed: frozenset[str] = frozenset()
) -> solvers.Solver:
    """Return the solver called ``name``, whose sessions add their seconds to ``clock``."""
    solver = solvers.resolve_solver(name, needed)
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

    def open(self, *, threads: int, tolerances: Tolerances) -> solvers.Session:
        """Open a session that is timed; raises what the solver's own ``open`` raises."""
        session = solvers.open_session(self.name, threads=threads, tolerances=tolerances)
        return cast("solvers.Session", _TimedSession(session, self._clock))


class _TimedSession:
    """A session with a clock; attributes that take no time are the session's own."""

    def __init__(self, session: solvers.Session, clock: SolverClock) -> None:
        self._session = session
        self._clock = clock
        self._fresh = True
        self._program: Program | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def load(self, program: Program) -> None:
        self._fresh, self._program = True, program
        with self._timed("build_seconds", builds=1):
            self._session.load(program)

    def extend(self, program: Program) -> None:
        self._fresh, self._program = True, program
        with self._timed("build_seconds", builds=1):
            solvers.extend(self._session, program)

    def set_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        with self._timed("build_seconds"):
            self._session.set_bounds(columns, lower, upper)
        if self._program is not None:
            self._program = self._program.with_bounds(columns, lower, upper)

    def minimise(self, cost: FloatArray, targets: solvers.Targets) -> solvers.SolveResult:
        again: dict[str, int] = {} if self._fresh else {"resolves": 1}
        kinds = ("solve_seconds",) if self._fresh else ("solve_seconds", "resolve_seconds")
        self._fresh = False
        with self._timed(*kinds, solves=1, **again):
            result = self._session.minimise(cost, targets)
        name = self._session.name
        by = getattr(self._session, "solving", name)
        if self._program is not None:
            self._clock.add(Solve(None if by == name else by, result, self._program, cost))
        return result

    @contextmanager
    def _timed(self, *kinds: str, **counts: int) -> Iterator[None]:
        """Add to the clock what the block takes, as seconds of these kinds."""
        started = time.perf_counter()
        try:
            yield
        finally:
            seconds: Any = dict.fromkeys(kinds, time.perf_counter() - started)
            self._clock.time += SolverTime(**counts, **seconds)


class CheckWatch:
    """The effort of the check that begins now, read from the ``clock`` of the run's solver."""

    def __init__(self, clock: SolverClock) -> None:
        clock.last, clock.handed_to = None, None
        self._clock = clock
        self._began, self._before = time.perf_counter(), clock.time
        self._processor = processor_time()
        self._nodes, self._iterations = clock.nodes, clock.iterations

    def record(self, check: int, free: int, verdict: Verdict) -> CheckRecord:
        """Return the record of the check numbered ``check``, which ended with ``verdict``."""
        clock, before = self._clock, self._before
        last = clock.last
        fields: dict[str, Any] = {}
        if last is not None:
            result = last.result
            fields = {
                "nodes": _more(self._nodes, clock.nodes),
                "iterations": _more(self._iterations, clock.iterations),
                "status": result.status.name.lower().replace("_", " "),
                "bound": result.bound if np.isfinite(result.bound) else None,
                "root_bound": result.root_bound,
                "first_seconds": result.first_seconds,
            }
        return CheckRecord(
            check,
            free,
            verdict.answer,
            seconds=time.perf_counter() - self._began,
            cpu_seconds=max(processor_time() - self._processor, 0.0),
            load_seconds=clock.time.build_seconds - before.build_seconds,
            solve_seconds=clock.time.solve_seconds - before.solve_seconds,
            solves=clock.time.solves - before.solves,
            size=None if last is None else size_of(last.program),
            handed_to=None if last is None else last.handed_to,
            reason=verdict.reason,
            **fields,
        )


def size_of(program: Program) -> ProgramSize:
    """Return the size of ``program``, and the range of its numbers."""
    entries = np.abs(program.matrix.data[program.matrix.data != 0])
    return ProgramSize(
        program.columns,
        program.rows,
        program.binaries,
        program.largest_big_m,
        float(entries.min(initial=np.inf)) if entries.size else 0.0,
        float(entries.max(initial=0.0)),
    )


class Relaxations:
    """Optima of linear relaxations, each solved once, however many pairs have the program.

    HiGHS solves them; a program with a quadratic row, which it does not take, has none.
    """

    def __init__(self, tolerances: Tolerances) -> None:
        self._tolerances = tolerances
        self._known: dict[bytes, float | None] = {}

    def solve(self, whole: Program, cost: FloatArray) -> tuple[float | None, float]:
        """Return the optimum of the relaxation of ``whole``, if any, and the seconds it took."""
        began = time.perf_counter()
        program = whole.relaxed
        parts = (
            *(program.matrix.data, program.matrix.indices, program.matrix.indptr),
            *(program.row_lower, program.row_upper, program.column_lower, program.column_upper),
            cost,
        )
        key = hashlib.sha256(b"".join(part.tobytes() for part in parts)).digest()
        if key not in self._known:
            self._known[key] = None if program.needs else self._solved(program, cost)
        return self._known[key], time.perf_counter() - began

    def _solved(self, program: Program, cost: FloatArray) -> float | None:
        session = solvers.open_session("highs", tolerances=self._tolerances)
        try:
            session.load(program)
            result = session.minimise(cost, solvers.Targets())
        finally:
            session.close()
        return result.bound if result.status is solvers.SolveStatus.OPTIMAL else None


def _more(before: int | None, after: int | None) -> int | None:
    return None if after is None else after - (before or 0)
