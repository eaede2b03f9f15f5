"""A solver whose sessions are timed from outside, so that no solver has to time itself.

From its clock follow the cost of each check of a run, and its programs' relaxations.
"""

import resource
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from milp_verix import solvers
from milp_verix.base.errors import MilpVerixError, SolverError, first_line, refusing
from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.verdict import Verdict
from milp_verix.results.comparison import ProgramRecord, ProgramSize, SolverTime
from milp_verix.solvers.own_solver import LicenceFallback, OwnSolver
from milp_verix.solvers.session import FULL
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray

_INTEGRALITY = 1e-5
"""The most by which solvers let an integer column be off, by their own defaults."""
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
class TimedSolve:
    """One minimisation of ``cost`` over ``program``, as every solver gets it: its result, and how.

    The program was built if ``built``; ``changes`` of bounds and costs came before the solve.
    """

    result: solvers.SolveResult
    program: Program
    cost: FloatArray
    built: bool
    changes: int
    handed_to: str | None = None


@dataclass(slots=True)
class SolverClock:
    """The time that sessions have taken, and the solves of the program that is asked about now."""

    time: SolverTime = field(default_factory=SolverTime)
    solves: list[TimedSolve] = field(default_factory=list)
    handed_over: int = 0
    handed_to: str | None = None
    nodes: int | None = None
    iterations: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def add(self, solve: TimedSolve) -> None:
        """Count a solve."""
        self.solves.append(solve)
        result = solve.result
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


@dataclass(frozen=True, slots=True)
class Handling:
    """What happens to each program on its way to a solver.

    Entries of up to ``tiny`` are dropped from it, rows being widened for them. A ``seed`` above 0
    is handed to the solver, where its name may carry one, and permutes rows and columns. With
    ``substitutes`` a program beyond a licence goes to another solver. ``tangents`` stand for the
    quadratic row of an L2 ball, which not all solvers compared take. An ``idle`` solver takes
    programs in place of one that is missing or fails, and answers nothing.
    """

    tiny: float = 0.0
    seed: int = 0
    substitutes: bool = False
    tangents: bool = False
    idle: bool = False


def seeded(name: str, seed: int) -> str:
    """Return the name of a solver with this seed among its options, where its options have one."""
    base, mark, options = name.partition("?")
    solver = solvers.SOLVERS.get(base)
    takes = isinstance(solver, OwnSolver) and "seed" in solver.kind.facts.words
    if seed == 0 or not takes or "seed=" in options:
        return name
    return f"{name}{'&' if mark else '?'}seed={seed}"


class TimedSolver:
    """The solver ``name``, which has what is ``needed``; its sessions report to ``clock``."""

    licence = "that of the solver timed"

    def __init__(
        self,
        name: str,
        clock: SolverClock,
        needed: frozenset[str] = frozenset(),
        handling: Handling = Handling(),
    ) -> None:
        solver = solvers.resolve_solver(name, needed)
        self.name, self.capabilities = solver.name, solver.capabilities
        self._clock, self._handling = clock, handling

    def unavailable(self) -> str | None:
        """Return None: opening a session raises where that is impossible."""
        return None

    def open(self, *, threads: int, tolerances: Tolerances) -> solvers.Session:
        """Open a session that is timed; ``SolverError`` for whatever the solver raises."""
        name = seeded(self.name, self._handling.seed)
        own = solvers.resolve_solver(name)
        with refusing(f"{name} does not open", Exception, kind=SolverError):
            session = own.open(threads=threads, tolerances=tolerances)
        self._clock.parameters = getattr(session, "parameters", {})
        if self._handling.substitutes and not getattr(own, "strict", False):
            other = solvers.SOLVERS[solvers.LICENCE_FALLBACK]
            begin = partial(other.open, threads=threads, tolerances=tolerances)
            session = LicenceFallback(session, begin)
        return cast("solvers.Session", _TimedSession(session, self._clock, self._handling))


class _TimedSession:
    """A session with a clock; attributes that take no time are the session's own."""

    def __init__(self, session: solvers.Session, clock: SolverClock, handling: Handling) -> None:
        self._session, self._clock, self._handling = session, clock, handling
        self._changes, self._built = 0, False
        self._original: Program | None = None  # as the engine gave it
        self._program: Program | None = None  # without tiny entries
        self._order: IntArray | None = None  # of columns, as the solver gets them
        self._rows: IntArray | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    @property
    def capabilities(self) -> frozenset[str]:
        own = self._session.capabilities
        return own - {"quadratic"} if self._handling.tangents else own

    def load(self, program: Program) -> None:
        given = self._given(program)
        with self._timed("build_seconds", builds=1):
            self._session.load(given)

    def extend(self, program: Program) -> None:
        given = self._given(program)
        with self._timed("build_seconds", builds=1):
            solvers.extend(self._session, given)

    def _given(self, program: Program) -> Program:
        """Return ``program`` as the solver gets it; it is built for the next solve."""
        self._changes, self._built, self._original = 0, True, program
        kept = self._program = program.without_tiny(self._handling.tiny)
        if not self._handling.seed:
            return kept
        rng = np.random.default_rng(self._handling.seed)
        self._rows, self._order = rng.permutation(kept.rows), rng.permutation(kept.columns)
        return kept.permuted(self._rows, self._order)

    def set_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        original = self._original
        assert original is not None
        assert self._program is not None
        changed, before = original.with_bounds(columns, lower, upper), self._program
        kept = changed.without_tiny(self._handling.tiny)
        rows = (kept.row_lower, before.row_lower), (kept.row_upper, before.row_upper)
        if not all(np.array_equal(*ends) for ends in rows):
            self.load(changed)  # rows are wider for what was dropped, by the bounds of old
            return
        self._original, self._program = changed, kept
        self._changes += columns.size
        at = columns if self._order is None else np.argsort(self._order)[columns]
        with self._timed("build_seconds"):
            self._session.set_bounds(at, lower, upper)

    def minimise(self, cost: FloatArray, targets: solvers.Targets) -> solvers.SolveResult:
        kinds = ("solve_seconds",) if self._built else ("solve_seconds", "resolve_seconds")
        again: dict[str, int] = {} if self._built else {"resolves": 1}
        order = self._order
        given = targets if order is None else _reordered(targets, order)
        called = self._clock.time.solve_seconds
        with self._timed(*kinds, solves=1, **again):
            result = self._session.minimise(cost if order is None else cost[order], given)
            if not isinstance(result, solvers.SolveResult):
                raise TypeError(f"minimise gave {type(result).__name__}, not SolveResult")
        called = self._clock.time.solve_seconds - called
        if order is not None and result.point is not None:
            point = np.empty_like(result.point)
            point[order] = result.point
            result = replace(result, point=point, duals=None)
        own = called if result.seconds is None else result.seconds
        self._clock.time += SolverTime(solver_seconds=own)
        name = self._session.name
        by = getattr(self._session, "solving", name)
        changes = self._changes + int(np.count_nonzero(cost))
        if self._program is not None:
            other = None if by == name else by
            solve = TimedSolve(result, self._program, cost, self._built, changes, other)
            self._clock.add(solve)
        self._changes, self._built = 0, False
        return result

    @contextmanager
    def _timed(self, *kinds: str, **counts: int) -> Iterator[None]:
        """Add what the block takes to the clock; ``SolverError`` for whatever a plug-in raises."""
        started = time.perf_counter()
        try:
            yield
        except (MilpVerixError, MemoryError):
            raise
        except (Exception, SystemExit) as error:
            raise SolverError(failure(error)) from error
        finally:
            seconds: Any = dict.fromkeys(kinds, time.perf_counter() - started)
            self._clock.time += SolverTime(**counts, **seconds)


def failure(error: BaseException) -> str:
    """Return what a solver raised, in a line."""
    return f"SystemExit: {error}" if isinstance(error, SystemExit) else first_line(error)


def _reordered(targets: solvers.Targets, order: IntArray) -> solvers.Targets:
    """Return ``targets`` for columns in this ``order``."""
    place, probe = np.argsort(order), targets.probe
    return replace(
        targets,
        start=None if targets.start is None else targets.start[order],
        first=None if targets.first is None else place[targets.first],
        probe=None if probe is None else lambda point: probe(point[place]),
    )


def idle_solver(clock: SolverClock, handling: Handling) -> solvers.Solver:
    """Return a solver that answers nothing; its ``clock`` gets the programs all the same."""
    told: Any = {"name": "", "version": "", "licence": "", "notes": (), "largest_big_m": 0.0}
    idle: Any = SimpleNamespace(**told, capabilities=FULL)
    idle.open = lambda **_: _TimedSession(idle, clock, handling)
    idle.load = idle.set_bounds = idle.unavailable = idle.close = lambda *_: None
    idle.minimise = lambda *_: solvers.SolveResult(solvers.SolveStatus.TIME_LIMIT)
    return cast("solvers.Solver", idle)


class ProgramWatch:
    """The effort for the program that is asked about now, read from the ``clock`` of its solver."""

    def __init__(self, clock: SolverClock) -> None:
        clock.solves.clear()
        self._clock = clock
        self._began, self._before = time.perf_counter(), clock.time
        self._processor = processor_time()
        self._nodes, self._iterations = clock.nodes, clock.iterations

    def record(self, verdict: Verdict, verified: str | None, **about: Any) -> ProgramRecord:
        """Return the record of a program that ended with ``verdict``; ``about`` says which."""
        clock, before = self._clock, self._before
        # the seconds first: what follows is none of the solver's
        record = ProgramRecord(
            **about,
            answer=verdict.answer,
            seconds=time.perf_counter() - self._began,
            cpu_seconds=max(processor_time() - self._processor, 0.0),
            load_seconds=clock.time.build_seconds - before.build_seconds,
            solve_seconds=clock.time.solve_seconds - before.solve_seconds,
            solver_seconds=clock.time.solver_seconds - before.solver_seconds,
            solves=clock.time.solves - before.solves,
            reason=verdict.reason,
            verified=verified,
        )
        if not clock.solves:
            # an engine without sessions has no other clock
            own = record.seconds if clock.time == self._before else record.solver_seconds
            return replace(record, solver_seconds=own, nodes=verdict.effort.nodes or None)
        first, last = clock.solves[0], clock.solves[-1]
        result = last.result
        if result.point is not None and not _whole(result.point, last.program):
            result = replace(result, point=None, first_seconds=None)
        bound = result.bound if np.isfinite(result.bound) else None
        incumbent = None if result.point is None else float(last.cost @ result.point)
        return replace(
            record,
            digest=first.program.digest(first.cost),
            builds=sum(solve.built for solve in clock.solves),
            changes=sum(solve.changes for solve in clock.solves),
            nodes=_more(self._nodes, clock.nodes),
            iterations=_more(self._iterations, clock.iterations),
            status=result.status.name.lower().replace("_", " "),
            bound=bound,
            incumbent=incumbent,
            gap=None if bound is None or incumbent is None else gap_of(bound, incumbent),
            root_bound=result.root_bound,
            first_seconds=result.first_seconds,
            size=size_of(last.program),
            handed_to=last.handed_to,
        )


def _whole(point: FloatArray, program: Program) -> bool:
    """Return whether integer columns are whole; a relaxation's may have given a counterfactual."""
    values = point[program.integer]
    return bool(np.all(np.abs(values - np.round(values)) <= _INTEGRALITY))


def gap_of(bound: float, incumbent: float) -> float:
    """Return the relative gap ``|incumbent − bound| / max(1, |incumbent|)``, at least zero."""
    return max(incumbent - bound, 0.0) / max(1.0, abs(incumbent))


def size_of(program: Program) -> ProgramSize:
    """Return the size of ``program``, and the range of its numbers."""
    entries = np.abs(program.matrix.data[program.matrix.data != 0])
    return ProgramSize(
        program.columns,
        program.rows,
        program.binaries,
        int(program.matrix.nnz),
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
        self._known: dict[str, float | None] = {}

    def solve(self, whole: Program, cost: FloatArray) -> float | None:
        """Return the optimum of the relaxation of ``whole``, if any."""
        program = whole.relaxed
        key = program.digest(cost)
        if key not in self._known:
            self._known[key] = None if program.needs else self._solved(program, cost)
        return self._known[key]

    def _solved(self, program: Program, cost: FloatArray) -> float | None:
        with closing(solvers.open_session("highs", tolerances=self._tolerances)) as session:
            session.load(program)
            result = session.minimise(cost, solvers.Targets())
        return result.bound if result.status is solvers.SolveStatus.OPTIMAL else None


def _more(before: int | None, after: int | None) -> int | None:
    return None if after is None else after - (before or 0)
