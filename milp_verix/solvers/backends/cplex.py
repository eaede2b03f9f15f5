"""CPLEX through its Python package; the licence that comes with it ends at 1000 columns or rows.

``lowerobjstop`` ends a solve at a point, a callback at a bound: both arrive as one status. CPLEX
replaces Python's handler of Ctrl-C while it solves, so it runs in a process of its own.
"""

from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from milp_verix.base.errors import SolverError, first_line
from milp_verix.solvers.own_solver import OwnSession, OwnSolver, proven
from milp_verix.solvers.session import NODE_LIMIT, SolveResult, SolveStatus, Targets, spend_solve
from milp_verix.solvers.solver_facts import SolverFacts, settable, words
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


FACTS = SolverFacts(
    "cplex",
    "proprietary",
    free="1000 columns",
    tolerances=lambda tolerances: {
        "mip.tolerances.integrality": min(tolerances.integrality, 0.5),
        "simplex.tolerances.feasibility": max(tolerances.feasibility, 1e-9),
        "simplex.tolerances.optimality": max(tolerances.feasibility, 1e-9),
    },
    ours={
        "preprocessing.presolve": (0, 1),
        # it drops entries after scaling: without it is known which
        "read.scale": (-1, 0),
        # sets are branched on as they are
        "preprocessing.sos1reform": (-1, 0),
        "mip.limits.cutsfactor": (0.0, -1.0),
        "mip.strategy.heuristiceffort": (0.0, 1.0),
        "mip.tolerances.mipgap": (0.0, 1e-4),
        "mip.tolerances.absmipgap": (0.0, 1e-6),
    },
    # of balls, by its barrier method: by linear cuts it calls some empty that are not
    always={"mip.strategy.miqcpstrat": (1, 0), "barrier.qcpconvergetol": (1e-9, 1e-7)},
    words=words(
        "threads threads, seed randomseed, gap mip.tolerances.mipgap, "
        "presolve preprocessing.presolve, cuts mip.limits.cutsfactor, "
        "heuristics mip.strategy.heuristiceffort"
    ),
    options=settable(
        "threads 1 to 1024, randomseed 0 to 2100000000, lpmethod 0 to 6, emphasis.mip 0 to 5, "
        "emphasis.numerical 0 to 1, preprocessing.presolve 0 to 1, preprocessing.symmetry -1 to 5, "
        "mip.limits.cutsfactor -1.0 to 1000.0, mip.limits.nodes 0 to 2147483647, "
        "mip.strategy.heuristiceffort 0.0 to 1.0, mip.strategy.nodeselect 0 to 3, "
        "mip.strategy.probe -1 to 3, mip.strategy.search 0 to 2, "
        "mip.strategy.startalgorithm 0 to 6, mip.strategy.subalgorithm 0 to 5, "
        "mip.strategy.variableselect -1 to 4, mip.tolerances.mipgap 0.0 to 1.0"
    ),
    suffix=".prm",
    dropped=1e-10,
    proofs="its dual bound; that of L2 balls, by the barrier method, less 1e-7 of its size",
)


class CplexSession(OwnSession):
    """One model, kept between solves."""

    facts, package = FACTS, "cplex"
    capabilities = OwnSession.capabilities - {"general"}

    def _open(self) -> None:
        self._errors = (self._package.exceptions.CplexError,)
        self.version = self._package.__version__
        # above what a file of parameters sets
        self.parameters = {
            **self.parameters,
            **{name: one for name, (one, _) in FACTS.always.items()},
        }
        log = self._given.log
        self._log = Path(log).open("a", encoding="utf-8") if log else None  # noqa: SIM115

    def _build(self, kept: Program) -> None:
        self._end()
        model = self._model = self._package.Cplex()
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

    def _solve(self, program: Program, cost: FloatArray, targets: Targets) -> SolveResult:
        model = self._model
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
        # next to a ball's edge a start ends in its numerical trouble
        if targets.start is not None and program.integer.any() and not program.quadratic_rows:
            values = [list(range(cost.size)), targets.start.tolist()]
            model.MIP_starts.add(values, model.MIP_starts.effort_level.solve_fixed)
        ticks = model.get_dettime()
        slack = _BARRIER_SLACK if program.quadratic_rows else 0.0
        watch = _Watch(self._package, targets.holds_above, model.get_time(), slack)
        # 0 is a linear program, which takes none
        model.set_callback(watch, watch.context.id.global_progress * (model.get_problem_type() > 0))
        spend_solve(program, 0)
        try:
            model.solve()
        except self._errors as error:
            if self._beyond_licence(error):
                raise
            return SolveResult(SolveStatus.FAILED, detail=f"{self.name}: {first_line(error)}")
        result = self._result(cost, watch)
        spend(int((model.get_dettime() - ticks) * _UNITS_PER_TICK))
        if "dettime" in result.detail:
            self._deadline.use_up()
        return result

    def _result(self, cost: FloatArray, watch: "_Watch") -> SolveResult:
        solution = self._model.solution
        native = solution.status[solution.get_status()]
        status = _STATUS.get(native, SolveStatus.FAILED)
        bound, point, whole = -np.inf, None, self._model.get_problem_type() != 0
        if status.sound and solution.is_primal_feasible():
            point = np.array(solution.get_values(), dtype=np.float64)[: cost.size]
        if status.sound and whole:
            bound = float(solution.MIP.get_best_objective())
        elif status is SolveStatus.OPTIMAL:
            bound = float(solution.get_objective_value())
        bound = proven(bound, self._package.infinity, cost, point, watch.slack)
        nodes = int(solution.progress.get_num_nodes_processed())
        iterations = int(solution.progress.get_num_iterations())
        detail = NODE_LIMIT if native.startswith("node") else native
        root = bound if nodes == 0 and bound > -np.inf else watch.root
        result = SolveResult(status, bound, point, nodes, iterations, detail)
        return result.timed(root, watch.first, self._model.get_time() - watch.began)

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
        self._holds_above, self.began, self.slack = holds_above, began, slack

    def invoke(self, running: Any) -> None:
        info = self.context.info
        bound = running.get_double_info(info.best_bound)
        if running.get_long_info(info.node_count) == 0 and abs(bound) < self._infinity:
            self.root = bound
        if self.first is None and running.get_int_info(info.feasible):
            self.first = running.get_double_info(info.time) - self.began
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


SOLVER = OwnSolver(CplexSession, apart=True)
