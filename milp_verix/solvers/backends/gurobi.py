"""Gurobi, in process through gurobipy's matrix interface.

The licence that comes with the package stops at 2000 columns or 2000 rows; the sizes are counted
here before a model is built for it, and the error it raises at ``optimize()`` is translated too.
``BestObjStop`` and ``BestBdStop`` end a solve early; both arrive as one status, so the values are
compared, not the status.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from milp_verix.base.errors import LicenceLimitError, SolverError, SolverUnavailableError
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers.named_options import NO_OPTIONS, NameOptions
from milp_verix.solvers.own_solver import OwnSession, own_solver
from milp_verix.solvers.session import (
    FULL,
    NODE_LIMIT,
    SolveResult,
    SolveStatus,
    Targets,
    deferred_interrupt,
    spend_solve,
    start_of,
)
from milp_verix.solvers.solver_parameters import GUROBI, gurobi_options
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.work import UNITS_PER_SECOND, spend

_SIZE_LIMIT_ERROR = 10010


class GurobiSession(OwnSession):
    """One environment and one model in it, kept between solves."""

    name = "gurobi"
    dropped = GUROBI.dropped
    capabilities = FULL

    def __init__(
        self, threads: int, tolerances: Tolerances, given: NameOptions = NO_OPTIONS
    ) -> None:
        import gurobipy

        super().__init__(given)
        self._gp: Any = gurobipy
        self.version = ".".join(map(str, gurobipy.gurobi.version()))
        try:
            self._env: Any = gurobipy.Env(params={"OutputFlag": 0, "LogToConsole": 0})
        except gurobipy.GurobiError as error:
            raise SolverUnavailableError(
                f"Gurobi {self.version} gives no licence ({error}): "
                "renew it, or use another solver, such as highs"
            ) from error
        log = {"OutputFlag": 1, "LogFile": given.log} if given.log else {}
        usual = {"Threads": threads} if given.shipped else gurobi_options(threads, tolerances)
        self.parameters = {**usual, **given.settings, **log}
        for option, value in self.parameters.items():
            self._env.setParam(option, value)
        self._model: Any = None
        self._variables: Any = None

    def _build(self, kept: Program) -> None:
        gp, grb = self._gp, self._gp.GRB
        if self._model is not None:
            self._model.dispose()
            self._model = None
        model = gp.Model(env=self._env)
        self._variables = added_columns(gp, model, kept, 0)
        add_rows(model, self._variables, kept, 0)
        add_logic(gp, model, self._variables, kept)
        if kept.quadratic_rows and not kept.integer.any():
            # without integers it would use its barrier method, whose objective is no bound
            model.addVar(vtype=grb.BINARY)
        if kept.quadratic_rows and "Presolve" not in self._given.settings:
            # else its linear cuts around a ball may end in numerical trouble
            model.Params.Presolve = -1
        self._model = model

    def _grow(self, program: Program, old: Program) -> None:
        self._variables.LB = program.column_lower[: old.columns]
        self._variables.UB = program.column_upper[: old.columns]
        if program.columns > old.columns:
            new = added_columns(self._gp, self._model, program, old.columns)
            both = [*self._variables.tolist(), *new.tolist()]
            self._variables = self._gp.MVar.fromlist(both)
        add_rows(self._model, self._variables, program, old.rows)

    def _change(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        changed = self._variables[columns]
        changed.LB, changed.UB = lower, upper

    def minimise(self, cost: FloatArray, targets: Targets) -> SolveResult:
        grb, model = self._gp.GRB, self._model
        program = self._before("minimising")
        if program.quadratic_rows:
            model.reset()  # so does the last point, as a start, on the ball's edge
        self._variables.Obj = cost
        start = start_of(targets, cost.size)
        self._variables.Start = grb.UNDEFINED if start is None else start
        targets = targets.within(self._given.seconds)
        self._variables.BranchPriority = 0
        # where some come first, a choice among these few is worth trying each
        model.Params.VarBranch = self._given.settings.get("VarBranch", -1)
        if targets.first is not None and targets.first.size:
            self._variables[targets.first].BranchPriority = 1
            model.Params.VarBranch = 3
        model.Params.TimeLimit = min(max(targets.seconds, 0.0), grb.INFINITY)
        model.Params.WorkLimit = min(targets.work / UNITS_PER_SECOND, grb.INFINITY)
        model.Params.BestObjStop = max(targets.violated_below, -grb.INFINITY)
        model.Params.BestBdStop = min(targets.holds_above, grb.INFINITY)

        def watch(running: Any, where: int) -> None:
            if interrupt.pending:
                running.terminate()
            if where == grb.Callback.MIPSOL and "first" not in seen:
                seen["first"] = float(running.cbGet(grb.Callback.RUNTIME))
            elif where == grb.Callback.MIP and not running.cbGet(grb.Callback.MIP_NODCNT):
                seen["root"] = float(running.cbGet(grb.Callback.MIP_OBJBND))

        deadline = targets.deadline()
        seen: dict[str, float] = {}
        with self._translating(program), deferred_interrupt() as interrupt:
            model.optimize(watch)
        if model.Status == grb.INTERRUPTED:
            raise KeyboardInterrupt  # Gurobi's own handler was faster, and swallowed the signal
        status = {
            grb.OPTIMAL: SolveStatus.OPTIMAL,
            grb.USER_OBJ_LIMIT: SolveStatus.TARGET,
            grb.TIME_LIMIT: SolveStatus.TIME_LIMIT,
            grb.WORK_LIMIT: SolveStatus.TIME_LIMIT,
            grb.NODE_LIMIT: SolveStatus.TIME_LIMIT,
            grb.INFEASIBLE: SolveStatus.INFEASIBLE,
        }.get(model.Status, SolveStatus.FAILED)
        spend_solve(program, 0)
        spend(int(model.Work * UNITS_PER_SECOND))
        if model.Status == grb.WORK_LIMIT:
            deadline.use_up()
        found = model.SolCount > 0
        bound = -np.inf
        sound = status not in (SolveStatus.INFEASIBLE, SolveStatus.FAILED)
        if status is SolveStatus.OPTIMAL or (model.IsMIP and sound):
            bound = float(model.ObjBound)
        return SolveResult(
            status,
            bound if bound > -grb.INFINITY else -np.inf,
            np.array(self._variables.X, dtype=np.float64) if found else None,
            int(model.NodeCount),
            int(model.IterCount),
            NODE_LIMIT if model.Status == grb.NODE_LIMIT else f"Gurobi status {model.Status}",
            root_bound=bound if model.NodeCount <= 1 and bound > -np.inf else seen.get("root"),
            first_seconds=seen.get("first"),
            seconds=float(model.Runtime),
        )

    @contextmanager
    def _translating(self, program: Program) -> Iterator[None]:
        try:
            yield
        except self._gp.GurobiError as error:
            if error.errno != _SIZE_LIMIT_ERROR:
                raise SolverError(f"Gurobi error {error.errno}: {error}") from error
            size = f"{program.rows} rows and {program.columns} columns"
            raise LicenceLimitError(
                f"Gurobi's licence does not cover {size} (error {error.errno}; the licence "
                "that comes with gurobipy ends at 2000 of either): get a full licence, or use highs"
            ) from error

    def close(self) -> None:
        if self._model is not None:
            self._model.dispose()
            self._model = None
        self._env.dispose()


def added_columns(gp: Any, model: Any, program: Program, first: int) -> Any:
    """Add columns from ``first`` on; return them, an ``MVar`` of gurobipy, which is ``gp``."""
    return model.addMVar(
        program.columns - first,
        lb=program.column_lower[first:],
        ub=program.column_upper[first:],
        vtype=np.where(program.integer[first:], gp.GRB.BINARY, gp.GRB.CONTINUOUS),
    )


def add_rows(
    model: Any, variables: Any, program: Program, first: int
) -> list[tuple[IntArray, Any]]:
    """Add rows from ``first`` on; return the constraints' blocks with the rows' numbers."""
    blocks = []
    low, high = program.row_lower, program.row_upper
    equal = low == high
    senses = (
        ("=", np.flatnonzero(equal), low),
        (">", np.flatnonzero(~equal & np.isfinite(low)), low),
        ("<", np.flatnonzero(~equal & np.isfinite(high)), high),
    )
    for sense, rows, rhs in senses:
        new = rows[rows >= first]
        if new.size:
            block = model.addMConstr(program.matrix[new, :], variables, sense, rhs[new])
            blocks.append((new, block))
    return blocks


def add_logic(gp: Any, model: Any, variables: Any, program: Program) -> list[Any]:
    """Add the constraints besides rows over the columns ``variables``; return them."""
    added, listed = [], variables.tolist()
    for row in program.quadratic_rows:
        part = variables[row.columns]
        added.append(model.addConstr(part @ part <= row.radius**2))
    for rule in program.indicators:
        members = [listed[j] for j in rule.columns]
        body = gp.LinExpr(rule.coefficients.tolist(), members)
        added.append(
            model.addGenConstrIndicator(
                listed[rule.binary], rule.value, body, gp.GRB.LESS_EQUAL, rule.upper
            )
        )
    for one in program.maxima:
        members = [listed[j] for j in one.columns]
        added.append(model.addGenConstrMax(listed[one.result], members, one.constant))
    sets = [[listed[j] for j in chosen.columns] for chosen in program.sos1]
    return [*added, *(model.addSOS(gp.GRB.SOS_TYPE1, members) for members in sets)]


SOLVER = own_solver(GurobiSession, "proprietary, free up to 2000 columns", "gurobipy")
