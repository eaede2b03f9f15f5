"""Gurobi through gurobipy, by its matrix interface.

The licence that comes with the package stops at 2000 columns or 2000 rows. ``BestObjStop`` and
``BestBdStop`` end a solve early.
"""

from typing import Any

import numpy as np

from milp_verix.solvers import session
from milp_verix.solvers.own_solver import OwnSession, OwnSolver
from milp_verix.solvers.session import NODE_LIMIT, SolveResult, SolveStatus, Targets
from milp_verix.solvers.solver_facts import SolverFacts, floored, settable, words
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.work import UNITS_PER_SECOND, spend

_SIZE_LIMIT_ERROR = 10010

OPTIONS = settable(
    "Threads 1 to 1024, Seed 0 to 2000000000, Presolve -1 to 2, Method -1 to 5, "
    "NodeMethod -1 to 2, MIPFocus 0 to 3, NumericFocus 0 to 3, IntegralityFocus 0 to 1, "
    "Cuts -1 to 3, Heuristics 0.0 to 1.0, RINS -1 to 2000000000, Symmetry -1 to 2, "
    "VarBranch -1 to 3, NodeLimit 0 to 2147483647"
)
FACTS = SolverFacts(
    "gurobi",
    "proprietary",
    free="2000 columns",
    tolerances=floored(1e-9, "FeasibilityTol OptimalityTol", "IntFeasTol"),
    ours={
        "Presolve": (0, -1),
        "Cuts": (0, -1),
        "Heuristics": (0.0, 0.05),
        "MIPGap": (0.0, 1e-4),
        "MIPGapAbs": (0.0, 1e-10),
        # by linear cuts: its bounds are those of linear programs
        "MIQCPMethod": (1, -1),
        # at the default of 1e-6 its bound was up to 2e-6 of itself above the minimum
        "BarQCPConvTol": (1e-10, 1e-6),
        # sets are branched on as they are: as binaries they would bring big-Ms
        "PreSOS1BigM": (0.0, -1),
    },
    # else its linear cuts around a ball may end in numerical trouble
    balls={"Presolve": -1},
    words=words(
        "threads Threads, seed Seed, gap MIPGap, presolve Presolve, cuts Cuts, "
        "heuristics Heuristics"
    ),
    options=OPTIONS | settable("MIPGap 0.0 to 1.0"),
    suffix=".prm",
    dropped=1e-13,
)


class GurobiSession(OwnSession):
    """One environment and one model in it, kept between solves."""

    facts, package = FACTS, "gurobipy"

    def _open(self) -> None:
        gp = self._package
        self._errors = (gp.GurobiError,)
        self.version = ".".join(map(str, gp.gurobi.version()))
        self._env: Any = gp.Env(params={"OutputFlag": 0, "LogToConsole": 0})
        log = {"OutputFlag": 1, "LogFile": self._given.log} if self._given.log else {}
        self.parameters = {**self.parameters, **log}
        self._variables: Any = None

    def _build(self, kept: Program) -> None:
        gp = self._package
        if self._model is None:
            for option, value in self.parameters.items():
                self._env.setParam(option, value)
        else:
            self._model.dispose()
            self._model = None
        model = gp.Model(env=self._env)
        self._variables = added_columns(gp, model, kept, 0)
        add_rows(model, self._variables, kept, 0)
        add_logic(gp, model, self._variables, kept)
        if kept.quadratic_rows and not kept.integer.any():
            # without integers it would use its barrier method, whose objective is no bound
            model.addVar(vtype=gp.GRB.BINARY)
        for option, value in self._of_balls(kept).items():
            model.setParam(option, value)
        self._model = model

    def _add_rest(self, program: Program, columns: int, rows: int) -> None:
        if program.columns > columns:
            new = added_columns(self._package, self._model, program, columns)
            both = [*self._variables.tolist(), *new.tolist()]
            self._variables = self._package.MVar.fromlist(both)
        add_rows(self._model, self._variables, program, rows)

    def _change(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        changed = self._variables[columns]
        changed.LB, changed.UB = lower, upper

    def _solve(self, program: Program, cost: FloatArray, targets: Targets) -> SolveResult:
        grb, model = self._package.GRB, self._model
        if program.quadratic_rows:
            model.reset()  # so does the last point, as a start, on the ball's edge
        self._variables.Obj = cost
        self._variables.Start = grb.UNDEFINED if targets.start is None else targets.start
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

        seen: dict[str, float] = {}
        with session.deferred_interrupt() as interrupt:
            model.optimize(watch)
        if model.Status == grb.INTERRUPTED:
            raise KeyboardInterrupt  # Gurobi's own handler was faster, and swallowed the signal
        status = {
            grb.OPTIMAL: SolveStatus.OPTIMAL,
            grb.USER_OBJ_LIMIT: SolveStatus.TARGET,
            **dict.fromkeys(
                (grb.TIME_LIMIT, grb.WORK_LIMIT, grb.NODE_LIMIT), SolveStatus.TIME_LIMIT
            ),
            grb.INFEASIBLE: SolveStatus.INFEASIBLE,
        }.get(model.Status, SolveStatus.FAILED)
        session.spend_solve(program, 0)
        spend(int(model.Work * UNITS_PER_SECOND))
        if model.Status == grb.WORK_LIMIT:
            self._deadline.use_up()
        found = model.SolCount > 0
        point = np.array(self._variables.X, dtype=np.float64) if found else None
        known = status is SolveStatus.OPTIMAL or (model.IsMIP and status.sound)
        bound = float(model.ObjBound) if known and model.ObjBound > -grb.INFINITY else -np.inf
        counts = int(model.NodeCount), int(model.IterCount)
        limited = model.Status == grb.NODE_LIMIT
        detail = NODE_LIMIT if limited else f"Gurobi status {model.Status}"
        root = bound if model.NodeCount <= 1 and bound > -np.inf else seen.get("root")
        result = SolveResult(status, bound, point, *counts, detail)
        return result.timed(root, seen.get("first"), float(model.Runtime))

    def _beyond_licence(self, error: Any) -> bool:
        return bool(error.errno == _SIZE_LIMIT_ERROR)

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


SOLVER = OwnSolver(GurobiSession)
