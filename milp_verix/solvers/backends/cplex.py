"""CPLEX through its Python package; the licence that comes with it ends at 1000 columns or rows.

``lowerobjstop`` ends a solve at a point, a callback at a bound: both arrive as one status. CPLEX
replaces Python's handler of Ctrl-C while it solves, so it runs in a process of its own.
"""

from dataclasses import replace
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from milp_verix.base.errors import LicenceLimitError, SolverError, first_line
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers.named_options import NO_OPTIONS, NameOptions
from milp_verix.solvers.own_solver import OwnSession, own_solver, proven
from milp_verix.solvers.session import (
    FULL,
    NODE_LIMIT,
    SolveResult,
    SolveStatus,
    Targets,
    spend_solve,
    start_of,
)
from milp_verix.solvers.solver_parameters import CPLEX, CPLEX_BALLS, cplex_options
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.work import UNITS_PER_SECOND, spend

_SIZE_LIMIT_ERROR = 1016
# of bounds by the barrier method, which balls have: in 4,000 programs they were off by up to 3e-9
_BARRIER_SLACK = 1e-7
_UNITS_PER_TICK = UNITS_PER_SECOND // 1000  # of its own clock of work, about a millisecond each

_STATUS = {
    **dict.fromkeys(("optimal", "MIP_optimal", "optimal_tolerance"), SolveStatus.OPTIMAL),
    **dict.fromkeys(("infeasible", "MIP_infeasible"), SolveStatus.INFEASIBLE),
    **dict.fromkeys(("MIP_abort_feasible", "MIP_abort_infeasible"), SolveStatus.TARGET),
    **{
        f"{kind}_limit{found}": SolveStatus.TIME_LIMIT
        for kind in ("MIP_time", "MIP_dettime", "node", "abort_time", "abort_dettime")
        for found in ("_feasible", "_infeasible", "")
    },
}


class CplexSession(OwnSession):
    """One model, kept between solves."""

    name = "cplex"
    dropped = CPLEX.dropped
    capabilities = FULL - {"general"}

    def __init__(
        self, threads: int, tolerances: Tolerances, given: NameOptions = NO_OPTIONS
    ) -> None:
        import cplex

        super().__init__(given)
        self._cplex: Any = cplex
        self._errors = (cplex.exceptions.CplexError,)
        self.version = cplex.__version__
        usual = {"threads": threads} if given.shipped else cplex_options(threads, tolerances)
        self.parameters = {**usual, **given.settings, **CPLEX_BALLS}
        self._log = Path(given.log).open("a", encoding="utf-8") if given.log else None  # noqa: SIM115
        self._model: Any = None

    def _build(self, kept: Program) -> None:
        self._end()
        model = self._model = self._cplex.Cplex()
        for stream in ("log", "results", "warning", "error"):
            getattr(model, f"set_{stream}_stream")(self._log if stream != "log" else None)
        for option, value in self.parameters.items():
            _parameter(model, option).set(value)
        self._add_rest(kept, 0, 0)
        if kept.quadratic_rows and not kept.integer.any():
            # without integers it tells no bound
            model.variables.add(types="B")
        for row in kept.quadratic_rows:
            columns = row.columns.tolist()
            squares = [columns, columns, [1.0] * len(columns)]
            model.quadratic_constraints.add(
                quad_expr=squares, sense="L", rhs=row.radius**2, lin_expr=[[], []]
            )
        for rule in kept.indicators:
            model.indicator_constraints.add(
                indvar=rule.binary,
                complemented=1 - rule.value,
                lin_expr=[rule.columns.tolist(), rule.coefficients.tolist()],
                sense="L",
                rhs=rule.upper,
            )
        for chosen in kept.sos1:
            size = chosen.columns.size
            model.SOS.add(type="1", SOS=[chosen.columns.tolist(), [*range(1, size + 1)]])

    def _add_rest(self, program: Program, columns: int, rows: int) -> None:
        """Add columns and rows from these numbers on."""
        model, matrix = self._model, program.matrix[rows:, :]
        lower, upper, whole = program.column_lower, program.column_upper, program.integer
        kinds = "".join("B" if one else "C" for one in whole[columns:]) if whole.any() else ""
        model.variables.add(lb=_ends(lower[columns:]), ub=_ends(upper[columns:]), types=kinds)
        low, high = program.row_lower[rows:], program.row_upper[rows:]
        ranged = np.isfinite(low) & np.isfinite(high) & (low < high)
        senses = np.select([low == high, ranged, np.isinf(low)], ["E", "R", "L"], "G")
        entries = [
            [matrix.indices[a:b].tolist(), matrix.data[a:b].tolist()]
            for a, b in pairwise(matrix.indptr)
        ]
        model.linear_constraints.add(
            lin_expr=entries,
            senses="".join(senses),
            rhs=_ends(np.where(senses == "L", high, low)),
            range_values=np.where(ranged, high - low, 0.0).tolist(),
        )

    def _change(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        at, variables = columns.tolist(), self._model.variables
        variables.set_lower_bounds(list(zip(at, _ends(lower), strict=True)))
        variables.set_upper_bounds(list(zip(at, _ends(upper), strict=True)))

    def minimise(self, cost: FloatArray, targets: Targets) -> SolveResult:
        program, model = self._before("minimising"), self._model
        targets = targets.within(self._given.seconds)
        first = [] if targets.first is None else targets.first.tolist()
        if first:
            model.order.set([(j, 1, model.order.branch_direction.default) for j in first])
        limits = {
            "timelimit": min(max(targets.seconds, 0.0), 1e75),
            "dettimelimit": min(targets.work / _UNITS_PER_TICK, 1e75),
            "mip.limits.lowerobjstop": max(targets.violated_below, -1e75),
            # an order cannot be emptied
            "mip.strategy.order": int(bool(first)),
        }
        for option, value in limits.items():
            _parameter(model, option).set(value)
        model.objective.set_linear(list(enumerate(cost.tolist())))
        model.MIP_starts.delete()
        start = start_of(targets, cost.size)
        # next to a ball's edge a start ends in its numerical trouble
        if start is not None and program.integer.any() and not program.quadratic_rows:
            values = [list(range(cost.size)), start.tolist()]
            model.MIP_starts.add(values, model.MIP_starts.effort_level.solve_fixed)
        deadline, began, ticks = targets.deadline(), model.get_time(), model.get_dettime()
        slack = _BARRIER_SLACK if program.quadratic_rows else 0.0
        watch = _Watch(self._cplex, targets.holds_above, began, slack)
        # 0 is a linear program, which takes none
        model.set_callback(watch, watch.context.id.global_progress * (model.get_problem_type() > 0))
        spend_solve(program, 0)
        try:
            with self._translating(program):
                model.solve()
        except LicenceLimitError:
            raise
        except SolverError as error:
            return SolveResult(SolveStatus.FAILED, detail=first_line(error))
        result = self._result(cost, watch)
        spend(int((model.get_dettime() - ticks) * _UNITS_PER_TICK))
        if "dettime" in result.detail:
            deadline.use_up()
        return replace(result, seconds=model.get_time() - began)

    def _result(self, cost: FloatArray, watch: "_Watch") -> SolveResult:
        solution = self._model.solution
        native = solution.status[solution.get_status()]
        status = _STATUS.get(native, SolveStatus.FAILED)
        sound = status not in (SolveStatus.INFEASIBLE, SolveStatus.FAILED)
        bound, point, whole = -np.inf, None, self._model.get_problem_type() != 0
        if sound and solution.is_primal_feasible():
            point = np.array(solution.get_values(), dtype=np.float64)[: cost.size]
        if sound and whole:
            bound = float(solution.MIP.get_best_objective())
        elif status is SolveStatus.OPTIMAL:
            bound = float(solution.get_objective_value())
        bound = proven(bound, self._cplex.infinity, cost, point, watch.slack)
        nodes = int(solution.progress.get_num_nodes_processed())
        return SolveResult(
            status,
            bound,
            point,
            nodes,
            int(solution.progress.get_num_iterations()),
            NODE_LIMIT if native.startswith("node") else native,
            root_bound=bound if nodes == 0 and bound > -np.inf else watch.root,
            first_seconds=watch.first,
        )

    def _beyond_licence(self, error: Exception) -> bool:
        return _SIZE_LIMIT_ERROR in error.args

    def _end(self) -> None:
        if self._model is not None:
            self._model.end()
            self._model = None

    def close(self) -> None:
        self._end()
        if self._log is not None:
            self._log.close()


class _Watch:
    """A callback that ends a solve at a bound, and notes what CPLEX does not keep."""

    root: float | None = None
    first: float | None = None

    def __init__(self, package: Any, holds_above: float, began: float, slack: float) -> None:
        self.context, self._infinity = package.callbacks.Context, package.infinity
        self._holds_above, self._began, self.slack = holds_above, began, slack

    def invoke(self, running: Any) -> None:
        info = self.context.info
        bound = running.get_double_info(info.best_bound)
        if running.get_long_info(info.node_count) == 0 and abs(bound) < self._infinity:
            self.root = bound
        if self.first is None and running.get_int_info(info.feasible):
            self.first = running.get_double_info(info.time) - self._began
        # infinite where there is no point
        if self._holds_above < bound - self.slack * max(1.0, abs(bound)) < self._infinity:
            running.abort()


def _parameter(model: Any, option: str) -> Any:
    """Return a parameter by its name in Python or, as in its files, in C."""
    path = option.lower().removeprefix("cpxparam_").replace("_", ".")
    try:
        return attrgetter(path)(model.parameters)
    except AttributeError as error:
        raise SolverError(f"CPLEX has no parameter {option}") from error


def _ends(values: FloatArray) -> list[float]:
    """Return bounds within what CPLEX calls infinite."""
    return [float(value) for value in np.clip(values, -1e20, 1e20)]


SOLVER = own_solver(CplexSession, "proprietary, free up to 1000 columns", "cplex", apart=True)
