"""HiGHS through highspy: the session that others are modelled on.

Lean parameters (no presolve, heuristics, symmetry detection or cuts at nodes, gaps of zero) are
several times faster than the defaults on these programs. A solve stops early on either answer: the
option ``objective_target`` ends it on a violating point, an interrupt callback on a sufficient dual
bound. ``objective_bound`` is not used: it makes the dual bound that HiGHS reports wrong.
"""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from milp_verix.base.errors import SolverError
from milp_verix.solvers import session
from milp_verix.solvers.own_solver import OwnSession, OwnSolver
from milp_verix.solvers.session import NODE_LIMIT, SolveResult, SolveStatus, Targets
from milp_verix.solvers.solver_facts import Parameters, SolverFacts, floored, settable, words
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.work import spend

# of MIPs, measured by benchmarks/work_clock.py: HiGHS does not tell the iterations so far
_ITERATIONS_OF_A_ROOT, _ITERATIONS_OF_A_STEP = 500, 45

_HEURISTICS = tuple(
    f"mip_heuristic_run_{name}"
    for name in ("feasibility_jump", "rins", "rens", "root_reduced_cost")
)
# set anew for each solve
_OF_A_SOLVE = {
    "presolve": ("off", "choose"),
    # an effort of zero alone leaves most of them running
    "mip_heuristic_effort": (0.0, 0.05),
    **dict.fromkeys(_HEURISTICS, (False, True)),
    "mip_allow_cut_separation_at_nodes": (False, True),
    "mip_detect_symmetry": (False, True),
    "mip_abs_gap": (0.0, 1e-6),
}
_LEAN = {name: ours for name, (ours, _) in _OF_A_SOLVE.items()}
_GENERAL = {name: shipped for name, (_, shipped) in _OF_A_SOLVE.items()} | {"mip_abs_gap": 0.99}

OPTIONS = settable(
    "presolve off or choose or on, parallel off or choose or on, threads 1 to 1024, "
    "random_seed 0 to 2147483647, simplex_strategy 0 to 4, mip_heuristic_effort 0.0 to 1.0, "
    + "".join(f"{name} true or false, " for name in _HEURISTICS)
    + "mip_allow_cut_separation_at_nodes true or false, mip_allow_restart true or false, "
    "mip_detect_symmetry true or false, mip_max_nodes 0 to 2147483647"
)
FACTS = SolverFacts(
    "highs",
    "MIT",
    tolerances=floored(
        1e-10,
        "primal_feasibility_tolerance dual_feasibility_tolerance",
        "mip_feasibility_tolerance",
    ),
    # entries up to small_matrix_value are dropped from the matrix without a word
    ours={"mip_rel_gap": (0.0, 1e-4), "small_matrix_value": (1e-12, 1e-9), **_OF_A_SOLVE},
    always={"output_flag": (False, True)},
    words=words(
        "threads threads, seed random_seed, gap mip_rel_gap, presolve presolve, "
        "cuts mip_allow_cut_separation_at_nodes, "
        f"heuristics mip_heuristic_effort {' '.join(_HEURISTICS)}"
    ),
    options=OPTIONS | settable("mip_rel_gap 0.0 to 1.0"),
    suffix=".opt",
    dropped=1e-12,
)


class HighsSession(OwnSession):
    """One ``Highs`` object, kept between solves."""

    facts, package = FACTS, "highspy"
    _integer = _late = False
    _per_iteration, _began, _holds_above = 0, 0.0, np.inf
    _root_bound: float | None = None
    _first_seconds: float | None = None
    capabilities = frozenset(
        {"partition", "in_place_bounds", "growth", "start", "early_stop", "duals", "work_limit"}
    )

    def _open(self) -> None:
        self._model = self._package.Highs()
        self._interrupt = session.Interrupt()
        self.version = self._model.version()
        if log := self._given.log:
            logged = {"output_flag": True, "log_to_console": False, "log_file": log}
            self.parameters = {**self.parameters, **logged}
        set_options(self._model, self.parameters)
        self._model.cbMipInterrupt += self._on_mip
        self._model.cbSimplexInterrupt += self._on_simplex

    def _on_mip(self, event: Any) -> None:
        # set both ways: the flag outlives the solve that it stopped
        spend(_ITERATIONS_OF_A_STEP * self._per_iteration)
        data = event.data_out
        if data.mip_node_count <= 1:
            self._root_bound = float(data.mip_dual_bound)
        if self._first_seconds is None and data.mip_primal_bound < np.inf:
            self._first_seconds = time.monotonic() - self._began
        event.interrupt(self._must_stop() or data.mip_dual_bound > self._holds_above)

    def _on_simplex(self, event: Any) -> None:
        spend(self._per_iteration)
        event.interrupt(self._must_stop())

    def _must_stop(self) -> bool:
        # linear programs inside a MIP look here, and nowhere at the option time_limit
        self._late = self._deadline.passed()
        return self._late or self._interrupt.pending

    def _build(self, kept: Program) -> None:
        pass_program(self._model, kept)

    def _add_rest(self, program: Program, columns: int, rows: int) -> None:
        add_rest(self._model, program, columns, rows)
        for j in np.flatnonzero(program.integer[columns:]).tolist():
            self._model.changeColIntegrality(columns + j, self._package.HighsVarType.kInteger)

    def _change(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        self._model.changeColsBounds(columns.size, columns.astype(np.int32), lower, upper)

    def _solve(self, program: Program, cost: FloatArray, targets: Targets) -> SolveResult:
        highs = self._model
        self._integer = bool(program.integer.any())
        self._per_iteration = session.units_of_iteration(program)
        usual: Parameters = _GENERAL if targets.whole else _LEAN
        usual = {} if self._given.shipped else usual
        for option, value in {**usual, **self._given.settings}.items():
            highs.setOptionValue(option, value)
        columns = np.arange(program.columns, dtype=np.int32)
        highs.changeColsCost(columns.size, columns, cost)
        if targets.start is not None and self._integer:
            solution = self._package.HighsSolution()
            solution.col_value = targets.start.tolist()
            highs.setSolution(solution)
        session.spend_solve(program, _ITERATIONS_OF_A_ROOT if self._integer else 0)
        highs.setOptionValue("time_limit", max(targets.seconds, 0.0))
        highs.setOptionValue("objective_target", targets.violated_below)
        self._holds_above = targets.holds_above
        self._late = False
        self._root_bound, self._first_seconds, self._began = None, None, time.monotonic()
        before = highs.getRunTime()
        with session.deferred_interrupt() as self._interrupt:
            again_if_failed(highs, highs.run())
            left = self._deadline.seconds
            timed_out = highs.getModelStatus() == self._package.HighsModelStatus.kTimeLimit
            if timed_out and left > 0.1 * targets.seconds:
                # a version whose limit counts from the session's first solve
                highs.setOptionValue("time_limit", highs.getRunTime() + left)
                highs.run()
        ran = highs.getRunTime()
        # the clock of some versions goes on from solve to solve
        return self._result(ran - before if ran >= before else ran)

    def _result(self, seconds: float) -> SolveResult:
        highs, status_of = self._model, self._package.HighsModelStatus
        native = highs.getModelStatus()
        status = {
            status_of.kOptimal: SolveStatus.OPTIMAL,
            status_of.kModelEmpty: SolveStatus.OPTIMAL,
            status_of.kObjectiveTarget: SolveStatus.TARGET,
            status_of.kInterrupt: SolveStatus.TIME_LIMIT if self._late else SolveStatus.TARGET,
            status_of.kTimeLimit: SolveStatus.TIME_LIMIT,
            status_of.kSolutionLimit: SolveStatus.TIME_LIMIT,  # of nodes
            status_of.kInfeasible: SolveStatus.INFEASIBLE,
        }.get(native, SolveStatus.FAILED)
        counted = native == status_of.kSolutionLimit
        detail = NODE_LIMIT if counted else highs.modelStatusToString(native)
        info = highs.getInfo()
        nodes = max(int(info.mip_node_count), 0) if self._integer else 0
        bound = -np.inf
        if self._integer and status.sound:
            bound = float(info.mip_dual_bound)
        elif status is SolveStatus.OPTIMAL:
            # a linear program has a dual bound only once it is solved
            bound = float(info.objective_function_value)
        feasible = self._package.SolutionStatus.kSolutionStatusFeasible
        point, duals = None, None
        solution = highs.getSolution()
        if info.primal_solution_status == feasible:
            point = np.array(solution.col_value, dtype=np.float64)
        if not self._integer and solution.dual_valid:
            duals = np.array(solution.row_dual, dtype=np.float64)
        iterations = max(int(info.simplex_iteration_count), 0)
        root = bound if self._integer and nodes <= 1 and bound > -np.inf else self._root_bound
        result = SolveResult(status, bound, point, nodes, iterations, detail, duals)
        return result.timed(root, self._first_seconds, seconds)

    def close(self) -> None:
        self._model.clearCallbacks()
        self._model.clear()


def again_if_failed(model: Any, status: Any) -> None:
    """Solve again where a run failed: another session had another number of threads."""
    if status.name == "kError":
        model.resetGlobalScheduler(True)
        model.run()


def set_options(model: Any, options: Mapping[str, bool | float | str]) -> None:
    """Set options of a ``Highs`` object; ``SolverError`` for one that its version refuses."""
    for option, value in options.items():
        if model.setOptionValue(option, value).name != "kOk":
            raise SolverError(f"HiGHS {model.version()} refuses the option {option}={value!r}")


def pass_program(model: Any, program: Program) -> None:
    """Replace the model in a ``Highs`` object; ``SolverError`` where it refuses."""
    import highspy

    matrix = program.matrix
    status = model.passModel(
        program.columns,
        program.rows,
        matrix.nnz,
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        np.zeros(program.columns),
        program.column_lower,
        program.column_upper,
        program.row_lower,
        program.row_upper,
        matrix.indptr.astype(np.int32),
        matrix.indices.astype(np.int32),
        matrix.data,
        program.integer.astype(np.int32),
    )
    if status.name == "kError":
        raise SolverError(
            f"HiGHS refuses the model ({program.rows} rows, {program.columns} columns)"
        )


def add_rest(model: Any, program: Program, columns: int, rows: int) -> None:
    """Add continuous columns without a cost and rows behind the first ones; the basis stays."""
    new, matrix = program.columns - columns, program.matrix[rows:, :]
    nowhere = np.zeros(new, dtype=np.int32)
    lower, upper = program.column_lower[columns:], program.column_upper[columns:]
    nothing = np.zeros(0, dtype=np.int32), np.zeros(0)
    statuses = (
        model.addCols(new, np.zeros(new), lower, upper, 0, nowhere, *nothing),
        model.addRows(
            program.rows - rows,
            program.row_lower[rows:],
            program.row_upper[rows:],
            matrix.nnz,
            matrix.indptr[:-1].astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data,
        ),
    )
    if "kError" in [status.name for status in statuses]:
        raise SolverError(f"HiGHS refuses {program.rows - rows} more rows, {new} more columns")


SOLVER = OwnSolver(HighsSession)
