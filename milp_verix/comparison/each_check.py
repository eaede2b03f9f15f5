"""The cost of each check of a run, by the solver's clock, and its programs' relaxations."""

import hashlib
import time
from typing import Any

import numpy as np

from milp_verix.base.tolerances import Tolerances
from milp_verix.comparison.timed_solver import Solve, SolverClock, processor_time
from milp_verix.oracle.verdict import Verdict
from milp_verix.results.comparison import CheckRecord, ProgramSize
from milp_verix.solvers import SolveStatus, Targets, open_session
from verix_encodings import Program
from verix_encodings.arrays import FloatArray


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
        told: dict[str, Any] = {}
        if last is not None:
            result = last.result
            told = {
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
            **told,
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

    def of(self, solve: Solve) -> tuple[float | None, float]:
        """Return the optimum of the relaxation of ``solve``, if any, and the seconds it took."""
        return self.solve(solve.program, solve.cost)

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
        session = open_session("highs", tolerances=self._tolerances)
        try:
            session.load(program)
            result = session.minimise(cost, Targets())
        finally:
            session.close()
        return result.bound if result.status is SolveStatus.OPTIMAL else None


def _more(before: int | None, after: int | None) -> int | None:
    return None if after is None else after - (before or 0)
