"""SCIP through MathOpt of OR-Tools, whose solver keeps its model and its points between solves.

MathOpt has other solvers: its HiGHS is ours, CP-SAT rounds coefficients, and the rest take no
integers or have licences of their own. It has no early end at a bound, but a cutoff: what SCIP
prunes by that costs at least as much, up to tolerances (``_SLACK``). A callback ends a solve at a
point. Models are MathOpt's messages, whose ids are numbers of columns and rows here: its classes in
Python fail at a cutoff. OR-Tools and highspy may clash, hence a process of its own.
"""

from collections import ChainMap
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from milp_verix.base.errors import SolverError, first_line, refusing
from milp_verix.solvers import session
from milp_verix.solvers.backends import scip
from milp_verix.solvers.own_solver import OwnSession, OwnSolver, proven
from milp_verix.solvers.session import NODE_LIMIT, SolveResult, SolveStatus, Targets
from verix_encodings import Program, ProgramBuilder
from verix_encodings.arrays import FloatArray, IntArray

_SLACK = 1e-7
# SCIP's default, from which parameters turn it in a solve alone: what a model gets by less is lost
_EPSILON = 1e-9
# it has no limit of iterations, only of nodes
_ITERATIONS_OF_A_NODE = 20
_MOST_SECONDS, _MOST_NODES, _INFINITY = 10**9, 2**31 - 1, 1e20

_STATUS = {
    "TERMINATION_REASON_OPTIMAL": SolveStatus.OPTIMAL,
    "TERMINATION_REASON_INFEASIBLE": SolveStatus.INFEASIBLE,
    "LIMIT_TIME": SolveStatus.TIME_LIMIT,
    "LIMIT_NODE": SolveStatus.TIME_LIMIT,
    "LIMIT_INTERRUPTED": SolveStatus.TARGET,  # by the callback alone
    "LIMIT_CUTOFF": SolveStatus.TARGET,
}


class OrtoolsSession(OwnSession):
    """One solver, with its model."""

    facts = replace(
        scip.FACTS, name="ortools", suffix="", dropped=_EPSILON, proofs="its dual bound, or cutoff"
    )
    package = "ortools"
    capabilities = OwnSession.capabilities - {"general"}

    def _open(self) -> None:
        self._of: Any = _names()
        self._kept = ProgramBuilder().build()
        self.version = version("ortools")
        self.parameters = {"heuristics": self._given.shipped, **self.parameters}

    def _build(self, kept: Program) -> None:
        of, (columns, rows, entries) = self._of, _parts(kept, 0, 0)
        parts = {"linear_constraints": rows, "linear_constraint_matrix": entries}
        model = of.ModelProto(variables=columns, **parts)
        for k, row in enumerate(kept.quadratic_rows):
            at = np.sort(row.columns)
            # of radius 1, so that the tolerance is relative
            factors = np.full(at.size, row.radius**-2)
            squares = {"row_ids": at, "column_ids": at, "coefficients": factors}
            model.quadratic_constraints[k].quadratic_terms.MergeFrom(of.Matrix(**squares))
            model.quadratic_constraints[k].lower_bound = -np.inf
            model.quadratic_constraints[k].upper_bound = 1.0
        for k, rule in enumerate(kept.indicators):
            added = model.indicator_constraints[k]
            added.indicator_id, added.activate_on_zero = rule.binary, rule.value == 0
            added.expression.MergeFrom(self._vector(rule.columns, rule.coefficients))
            added.lower_bound, added.upper_bound = -np.inf, rule.upper
        for k, chosen in enumerate(kept.sos1):
            for j in chosen.columns:
                model.sos1_constraints[k].expressions.add(ids=[j], coefficients=[1.0])
        with refusing("OR-Tools refuses a model", Exception, kind=SolverError):
            self._model = of.new(of.SOLVER_TYPE_GSCIP, model, of.SolverInitializerProto())
        self._kept, self._cost = kept, np.zeros(kept.columns)

    def _add_rest(self, program: Program, columns: int, rows: int) -> None:
        self._kept, (added, below, entries) = program, _parts(program, columns, rows)
        parts = {"new_linear_constraints": below, "linear_constraint_matrix_updates": entries}
        self._update(new_variables=added, **parts)
        self._cost = np.append(self._cost, np.zeros(program.columns - self._cost.size))

    def _change(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        before, self._kept = self._kept, self._kept.with_bounds(columns, lower, upper)
        ends = (before.column_lower[columns], lower), (before.column_upper[columns], upper)
        moved = np.max([np.where(old == new, 0.0, np.abs(new - old)) for old, new in ends], axis=0)
        if np.any((moved > 0) & (moved <= 2 * _EPSILON)):
            self._build(self._kept)
            return
        low, high = (self._vector(columns[moved > 0], new[moved > 0]) for _, new in ends)
        self._update(variable_updates={"lower_bounds": low, "upper_bounds": high})

    def _update(self, **changes: Any) -> None:
        """Change the model, or make another of the program kept: SCIP takes no ends of binaries."""
        with refusing("OR-Tools refuses a model", Exception, kind=SolverError):
            changed = self._model.update(self._of.ModelUpdateProto(**changes))
        if not changed:
            self._build(self._kept)

    def _vector(self, columns: IntArray, values: FloatArray) -> Any:
        order = np.argsort(columns)
        return self._of.Vector(ids=columns[order], values=values[order])

    def _solve(self, program: Program, cost: FloatArray, targets: Targets) -> SolveResult:
        of = self._of
        moved = np.abs(cost - self._cost) > 2 * _EPSILON
        changes = self._vector(np.flatnonzero(moved), cost[moved])
        self._update(objective_updates={"linear_coefficients": changes})
        self._cost = np.where(moved, cost, self._cost)
        given = of.ModelSolveParametersProto()
        if targets.start is not None:
            start = self._vector(np.arange(cost.size), targets.start)
            given.solution_hints.add(variable_values=start)
        if targets.first is not None:
            given.branching_priorities.ids.extend(np.sort(targets.first))
            given.branching_priorities.values.extend([1] * targets.first.size)
        seen: list[float] = []

        def found(event: Any) -> Any:
            seen.append(event.runtime.ToTimedelta().total_seconds())
            value = float(cost @ np.array(event.primal_solution_vector.values))
            return of.CallbackResultProto(terminate=value < targets.violated_below)

        limits = self._limits(program, targets)
        events = of.CallbackRegistrationProto(request_registration=[of.CALLBACK_EVENT_MIP_SOLUTION])
        log = self._append if self._given.log else None
        try:
            answer = self._model.solve(limits, given, log, events, found, None)
        except Exception as error:  # noqa: BLE001, RUF100 - its own kinds have no common name
            # also where costs have no lower bound; its model may be in any state
            self._build(self._kept)
            session.spend_solve(program, 0)
            return SolveResult(SolveStatus.FAILED, detail=first_line(error))
        result = self._result(cost, targets, answer, seen)
        session.spend_solve(program, result.iterations or 0)
        if result.detail == NODE_LIMIT and targets.work < np.inf:
            self._deadline.use_up()
        return result

    def _limits(self, program: Program, targets: Targets) -> Any:
        """Return the session's parameters, and the limits of a solve."""
        limits, given = self._of.SolveParametersProto(), dict(self.parameters)
        if not given.pop("heuristics"):  # no parameter of SCIP's, but a choice of many of them
            limits.heuristics = self._of.EMPHASIS_OFF
        for option, value in {**given, **self._of_balls(program)}.items():
            kind = "long" if option.endswith("nodes") else _KINDS[type(value)]
            getattr(limits.gscip, f"{kind}_params")[option] = value
        nodes = targets.work / (_ITERATIONS_OF_A_NODE * session.units_of_iteration(program))
        if nodes < _MOST_NODES:
            limits.node_limit = int(nodes) + 1
        if targets.seconds < _MOST_SECONDS:
            limits.time_limit.FromNanoseconds(int(max(targets.seconds, 0.0) * 1e9))
        if np.isfinite(targets.holds_above):
            limits.cutoff_limit = targets.holds_above
        return limits

    def _result(
        self, cost: FloatArray, targets: Targets, answer: Any, seen: list[float]
    ) -> SolveResult:
        ended, counted = answer.termination, answer.solve_stats
        native = self._of.TerminationReasonProto.Name(ended.reason)
        if ended.limit:
            native = self._of.LimitProto.Name(ended.limit)
        status = _STATUS.get(native, SolveStatus.FAILED)
        bound, point, cutoff = -np.inf, None, targets.holds_above
        if status.sound:
            if answer.solutions:
                best = answer.solutions[0].primal_solution.variable_values
                point = np.array(best.values, dtype=np.float64)
            bound = proven(float(ended.objective_bounds.dual_bound), _INFINITY, cost, point)
        # nothing that costs more than the cutoff is looked at
        cut = cutoff - _SLACK - _SLACK / 100 * abs(cutoff) if cutoff < np.inf else np.inf
        bound = cut if native == "LIMIT_CUTOFF" else min(bound, cut)
        ends = np.abs([self._kept.column_lower, self._kept.column_upper]).max(axis=0)
        off = np.abs(cost - self._cost)
        bound -= float(off[off > 0] @ ends[off > 0])
        nodes = int(counted.node_count)
        detail = NODE_LIMIT if native == "LIMIT_NODE" else native
        result = SolveResult(status, bound, point, nodes, int(counted.simplex_iterations), detail)
        seconds = counted.solve_time.ToTimedelta().total_seconds()
        return result.timed(bound if nodes <= 1 else None, seen[0] if seen else None, seconds)

    def _append(self, lines: list[str]) -> None:
        with Path(str(self._given.log)).open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)


_KINDS = {bool: "bool", int: "int", float: "real"}


def _names() -> Any:
    """Return what MathOpt has: its messages, their words, and ``new``, which makes a solver."""
    from ortools.math_opt import sparse_containers_pb2 as sparse
    from ortools.math_opt.core.python.solver import new

    names = ("callback", "model_parameters", "model", "model_update", "parameters", "result")
    files = [vars(import_module(f"ortools.math_opt.{name}_pb2")) for name in names]
    vector, matrix = sparse.SparseDoubleVectorProto, sparse.SparseDoubleMatrixProto
    return SimpleNamespace(**ChainMap(*files[::-1]), new=new, Vector=vector, Matrix=matrix)


def _parts(program: Program, columns: int, rows: int) -> tuple[dict[str, Any], ...]:
    """Return the columns and rows from these numbers on, and the entries of the rows."""
    entries = program.matrix[rows:, :].tocoo()
    return (
        {
            "ids": range(columns, program.columns),
            "lower_bounds": program.column_lower[columns:],
            "upper_bounds": program.column_upper[columns:],
            "integers": program.integer[columns:],
        },
        {
            "ids": range(rows, program.rows),
            "lower_bounds": program.row_lower[rows:],
            "upper_bounds": program.row_upper[rows:],
        },
        {
            "row_ids": entries.row + rows,
            "column_ids": entries.col,
            "coefficients": entries.data,
        },
    )


SOLVER = OwnSolver(OrtoolsSession, apart=True)
