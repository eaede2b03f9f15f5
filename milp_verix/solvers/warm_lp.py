"""One linear program kept alive in HiGHS: bounds and costs change, the simplex basis stays.

The dual simplex starts from the last basis, which stays dual feasible when bounds change. Presolve
would lose it. Scaling costs more iterations here than it saves, and so do old factors of the basis.

Scenarios run one network on perturbations that are mostly equal, and so are the rows of their first
layers. With ``r`` the row referred to, an equality,

    a_i v − a_r v = b_i − b_r    instead of    a_i v = b_i,    y_r − Σ y_i    instead of    y_r

is the same program with the same optima, but a linear program with fewer entries is faster.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.base.errors import SolverError
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers.backends import highs
from milp_verix.solvers.session import Interrupt, SolveStatus, spend_solve, units_of_iteration
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray, frozen

_LONG = 200
_WORTH = 0.6
_MOST_ENTRIES = 2_000_000

NO_REFERENCES: IntArray = np.zeros(0, dtype=np.intp)


def references(program: Program, known: IntArray = NO_REFERENCES) -> IntArray:
    """Return the number of the row that each row refers to, or -1; ``known`` are the first ones.

    Short rows refer to none. No row refers to another if comparing them would take long.
    """
    found = np.full(program.rows, -1)
    found[: known.size] = known
    entries = np.diff(program.matrix.indptr)
    rows = np.flatnonzero((entries >= _LONG) & (program.row_lower == program.row_upper))
    new = int(np.searchsorted(rows, known.size))
    if new == rows.size or rows.size * program.columns > _MOST_ENTRIES:
        return found
    values = program.matrix[rows, :].toarray()
    for place in range(max(new, 1), rows.size):
        differ = np.count_nonzero(values[:place] != values[place], axis=1)
        nearest = int(np.argmin(differ))
        if differ[nearest] <= _WORTH * entries[rows[place]]:
            found[rows[place]] = rows[nearest]
    return found


def relative(program: Program, of_rows: IntArray) -> Program:
    """Return ``program`` with each row minus that of ``of_rows``, if any (:func:`references`)."""
    rows = np.flatnonzero(of_rows >= 0)
    if not rows.size:
        return program
    referred = of_rows[rows]
    taken = sp.csr_array((np.ones(rows.size), (rows, referred)), shape=(program.rows, program.rows))
    lower, upper = program.row_lower.copy(), program.row_upper.copy()
    lower[rows] -= program.row_lower[referred]
    upper[rows] -= program.row_upper[referred]
    matrix = sp.csr_array(program.matrix - taken @ program.matrix)
    return replace(program, matrix=matrix, row_lower=frozen(lower), row_upper=frozen(upper))


def absolute(multipliers: FloatArray, of_rows: IntArray) -> FloatArray:
    """Return the multipliers of the original rows, from multipliers of :func:`relative`'s rows."""
    rows = np.flatnonzero(of_rows >= 0)
    shared = np.bincount(of_rows[rows], weights=multipliers[rows], minlength=multipliers.size)
    return multipliers - shared


_SHORT = 500
_MOST_WORK = 2e7
_UNLIMITED = 2**31 - 1
_OPTIONS = {"simplex_scale_strategy": 0, "no_unnecessary_rebuild_refactor": False}


@dataclass(frozen=True, slots=True, eq=False)
class LpResult:
    """The end of one solve.

    ``multipliers``, one for each row, prove a bound if the program is feasible, and infeasibility,
    up to their sign, if it is not; None if HiGHS has none. ``point`` has one value for each column,
    or is None.
    """

    status: SolveStatus
    point: FloatArray | None
    multipliers: FloatArray | None
    iterations: int
    detail: str


class WarmLp:
    """One ``Highs`` object with a linear program in it.

    If it has many ``similar_rows``, HiGHS gets differences of these. ``programs`` and
    ``iterations`` count what it solved so far.
    """

    def __init__(self, threads: int, tolerances: Tolerances, *, similar_rows: bool = False) -> None:
        import highspy

        self.programs = self.iterations = 0
        self._similar_rows = similar_rows
        self._references = NO_REFERENCES
        self._highspy: Any = highspy
        self._highs: Any = self._highspy.Highs()
        self._columns = np.zeros(0, dtype=np.int32)
        self._program: Program | None = None
        self._lower, self._upper = np.zeros(0), np.zeros(0)
        self._deadline: Deadline = NO_LIMIT
        self._interrupt = Interrupt()
        self.version: str = self._highs.version()
        highs.set_options(self._highs, {**highs.FACTS.usual(threads, tolerances), **_OPTIONS})

    def _on_simplex(self, event: Any) -> None:
        event.interrupt(self._interrupt.pending or self._deadline.passed())

    def load(self, program: Program) -> None:
        """Replace the linear program by the relaxation of ``program``."""
        self._program = self._stated(program, NO_REFERENCES)
        highs.pass_program(self._highs, self._program)
        self._columns = np.arange(program.columns, dtype=np.int32)
        self._lower, self._upper = self._program.column_lower, self._program.column_upper

    def _stated(self, program: Program, known: IntArray) -> Program:
        """Return the relaxation of ``program`` in the form that HiGHS gets."""
        if self._similar_rows:
            self._references = references(program, known)
            program = relative(program, self._references)
        return program.relaxed.without_tiny(highs.FACTS.dropped)

    def extend(self, program: Program) -> None:
        """Add columns without costs, and rows, behind those of the program; the basis stays."""
        program = self._stated(program, self._references)
        columns, self._program = self._columns.size, None
        highs.add_rest(self._highs, program, columns, self._highs.getNumRow())
        self._program, self._columns = program, np.arange(program.columns, dtype=np.int32)
        self._lower = np.concatenate([self._lower, program.column_lower[columns:]])
        self._upper = np.concatenate([self._upper, program.column_upper[columns:]])

    def set_cost(self, cost: FloatArray) -> None:
        """Change the cost of every column."""
        self._highs.changeColsCost(self._columns.size, self._columns, cost)

    def set_bounds(self, lower: FloatArray, upper: FloatArray) -> None:
        """Change the bounds of the columns, shape (columns,), within the loaded bounds."""
        changed = np.flatnonzero((lower != self._lower) | (upper != self._upper))
        if changed.size:
            columns = changed.astype(np.int32)
            self._highs.changeColsBounds(columns.size, columns, lower[changed], upper[changed])
        self._lower, self._upper = lower, upper

    def solve(self, cutoff: float, deadline: Deadline, interrupt: Interrupt) -> LpResult:
        """Minimise until ``deadline``; ``TARGET`` says that the cost is above ``cutoff``."""
        model, program = self._highs, self._program
        if program is None:
            raise SolverError("load a program before solving")
        model.setOptionValue("objective_bound", cutoff)
        self._deadline, self._interrupt = deadline, interrupt
        # to ask after each iteration whether to stop costs a twentieth of a short solve, so only
        # solves longer than a fraction of a second ask; a limit of work is one of iterations
        most = max(deadline.units / units_of_iteration(program), 1)
        unasked = int(max(min(_SHORT, _MOST_WORK / max(program.matrix.nnz, 1), most), 1))
        model.setOptionValue("simplex_iteration_limit", unasked)
        highs.again_if_failed(model, model.run())
        iterations = self._continued(most)
        spend_solve(program, iterations)
        if model.getModelStatus() == self._highspy.HighsModelStatus.kIterationLimit:
            deadline.use_up()
        self.programs += 1
        self.iterations += iterations
        native, status_of = model.getModelStatus(), self._highspy.HighsModelStatus
        status = {
            status_of.kOptimal: SolveStatus.OPTIMAL,
            status_of.kModelEmpty: SolveStatus.OPTIMAL,
            status_of.kInterrupt: SolveStatus.TIME_LIMIT,
            status_of.kIterationLimit: SolveStatus.TIME_LIMIT,
            status_of.kObjectiveBound: SolveStatus.TARGET,
            status_of.kInfeasible: SolveStatus.INFEASIBLE,
        }.get(native, SolveStatus.FAILED)
        info, solution = model.getInfo(), model.getSolution()
        point, multipliers = None, None
        feasible = self._highspy.SolutionStatus.kSolutionStatusFeasible
        if status is SolveStatus.INFEASIBLE:
            _, found, ray = model.getDualRay()
            multipliers = np.array(ray, dtype=np.float64) if found else None
        elif native == status_of.kModelEmpty:
            point, multipliers = np.zeros(self._columns.size), np.zeros(model.getNumRow())
        elif solution.dual_valid:
            multipliers = np.array(solution.row_dual, dtype=np.float64)
        if info.primal_solution_status == feasible:
            point = np.array(solution.col_value, dtype=np.float64)
        if multipliers is not None and self._references.size:
            multipliers = absolute(multipliers, self._references)
        return LpResult(status, point, multipliers, iterations, model.modelStatusToString(native))

    def _continued(self, most: float) -> int:
        """Go on to ``most`` iterations, asking after each one; return the number of all."""
        model, ended = self._highs, self._highspy.HighsModelStatus.kIterationLimit
        iterations = self._iterations()
        if model.getModelStatus() == ended and most - iterations >= 1:
            further = int(min(most - iterations, _UNLIMITED))
            model.setOptionValue("simplex_iteration_limit", further)
            model.cbSimplexInterrupt += self._on_simplex
            model.run()
            model.cbSimplexInterrupt -= self._on_simplex
            iterations += self._iterations()
        return iterations

    def _iterations(self) -> int:
        """Return the number of iterations of the last run."""
        return max(int(self._highs.getInfo().simplex_iteration_count), 0)

    def close(self) -> None:
        """Free the model."""
        self._highs.clearCallbacks()
        self._highs.clear()
