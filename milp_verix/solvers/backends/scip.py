"""SCIP through PySCIPOpt: open source, and takes the quadratic row of an L2 ball as it is.

It swallows Ctrl-C, so it runs in a process of its own. Both targets are limits on its primal and
dual bound; a cutoff (``setObjlimit``) together with such a limit would end a solve at once.
"""

from pathlib import Path
from typing import Any

import numpy as np

from milp_verix.solvers import session
from milp_verix.solvers.own_solver import OwnSession, OwnSolver, proven
from milp_verix.solvers.session import NODE_LIMIT, SolveResult, SolveStatus, Targets
from milp_verix.solvers.solver_facts import SolverFacts, settable, words
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray

_STATUS = {
    "optimal": SolveStatus.OPTIMAL,
    "gaplimit": SolveStatus.OPTIMAL,  # by a user's own gap; its bound is the proven one
    "primallimit": SolveStatus.TARGET,
    "duallimit": SolveStatus.TARGET,
    "timelimit": SolveStatus.TIME_LIMIT,
    "userinterrupt": SolveStatus.TIME_LIMIT,  # by _iteration_limit alone
    NODE_LIMIT: SolveStatus.TIME_LIMIT,
    "infeasible": SolveStatus.INFEASIBLE,
}


OPTIONS = settable(
    "randomization/randomseedshift 0 to 2147483647, presolving/maxrounds -1 to 2147483647, "
    "propagating/maxrounds -1 to 2147483647, separating/maxrounds -1 to 2147483647, "
    "separating/maxroundsroot -1 to 2147483647, conflict/enable true or false, "
    "misc/usesymmetry 0 to 7, limits/nodes -1 to 2147483647"
)
FACTS = SolverFacts(
    "scip",
    "Apache-2.0",
    # integrality follows feasibility; its LPs keep 1e-10 at best
    tolerances=lambda tolerances: {
        "numerics/epsilon": 1e-12,
        "numerics/sumepsilon": 1e-10,
        "numerics/feastol": max(min(tolerances.feasibility, tolerances.integrality), 1e-10),
        "numerics/dualfeastol": max(tolerances.feasibility, 1e-10),
    },
    ours={
        "limits/gap": (0.0, 0.0),
        "limits/absgap": (0.0, 0.0),
        "presolving/maxrounds": (0, -1),
        "separating/maxrounds": (0, -1),
        "separating/maxroundsroot": (0, -1),
    },
    # feasibility of a ball's row: below 1e-7 SCIP cuts off nodes with better points, and bounds
    # were up to 6e-4 of themselves above the minimum on 12 of 120 random programs
    balls={"numerics/feastol": 1e-6},
    words=words(
        "seed randomization/randomseedshift, gap limits/gap, presolve presolving/maxrounds, "
        "cuts separating/maxrounds separating/maxroundsroot, heuristics heuristics"
    ),
    # heuristics are no parameter of SCIP's, but a choice of many of them
    options=OPTIONS | settable("limits/gap 0.0 to 1.0, heuristics true or false"),
    suffix=".set",
    dropped=1e-12,
)


class ScipSession(OwnSession):
    """One model; between solves it is in the stage in which it may be changed."""

    facts, package = FACTS, "pyscipopt"
    capabilities = OwnSession.capabilities - {"general"}

    def _open(self) -> None:
        self.parameters = {"heuristics": self._given.shipped, **self.parameters}
        self._variables: list[Any] = []
        self._limit: Any = None
        self._first = np.zeros(0, dtype=np.intp)
        empty = self._package.Model()
        parts = empty.getMajorVersion(), empty.getMinorVersion(), empty.getTechVersion()
        self.version = ".".join(map(str, parts))

    def _build(self, kept: Program) -> None:
        self._first = np.zeros(0, dtype=np.intp)
        model = self._model = self._package.Model()
        model.hideOutput()
        options = dict(self.parameters)
        if not options.pop("heuristics"):
            model.setHeuristics(self._package.SCIP_PARAMSETTING.OFF)
        for option, value in options.items():
            model.setParam(option, value)
        self._limit = _iteration_limit(self._package)
        model.includeEventhdlr(self._limit, "work", "limit of work")
        self._variables = []
        self._add_rest(kept, 0, 0)
        for row in kept.quadratic_rows:
            # of radius 1, so that the tolerance is relative
            squares = self._package.quicksum(
                (self._variables[j] / row.radius) ** 2 for j in row.columns
            )
            model.addCons(squares <= 1.0)
        for option, value in self._of_balls(kept).items():
            model.setParam(option, value)
        for rule in kept.indicators:
            body = self._sum(rule.coefficients, rule.columns)
            binary, active = self._variables[rule.binary], bool(rule.value)
            model.addConsIndicator(body <= rule.upper, binary, activeone=active)
        for chosen in kept.sos1:
            model.addConsSOS1([self._variables[j] for j in chosen.columns])

    def _add_rest(self, program: Program, columns: int, rows: int) -> None:
        ends = zip(program.column_lower, program.column_upper, program.integer, strict=True)
        for low, high, whole in list(ends)[columns:]:
            kind = "B" if whole else "C"
            self._variables.append(
                self._model.addVar(vtype=kind, lb=session.finite(low), ub=session.finite(high))
            )
        for _, row in session.constraints_of(program, rows, self._sum):
            self._model.addCons(row)

    def _sum(self, coefficients: FloatArray, columns: IntArray) -> Any:
        pairs = zip(coefficients.tolist(), columns.tolist(), strict=True)
        return self._package.quicksum(a * self._variables[j] for a, j in pairs)

    def _change(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        for j, low, high in zip(columns, lower, upper, strict=True):
            self._model.chgVarLb(self._variables[j], session.finite(low))
            self._model.chgVarUb(self._variables[j], session.finite(high))

    def _solve(self, program: Program, cost: FloatArray, targets: Targets) -> SolveResult:
        model = self._model
        self._limit.most = targets.work / session.units_of_iteration(program)
        infinity = model.infinity()
        used = np.flatnonzero(cost)
        model.setObjective(self._sum(cost[used], used) + 0.0, "minimize")
        model.setParam("limits/time", min(max(targets.seconds, 0.0), 1e20))
        model.setParam("limits/primal", max(targets.violated_below, -infinity))
        model.setParam("limits/dual", min(targets.holds_above, infinity))
        first = np.zeros(0, dtype=np.intp) if targets.first is None else targets.first
        for columns, priority in ((self._first, 0), (first, 1)):
            for j in columns.tolist():
                model.chgVarBranchPriority(self._variables[j], priority)
        self._first = first
        if targets.start is not None:
            given = model.createSol()
            for variable, value in zip(self._variables, targets.start.tolist(), strict=True):
                model.setSolVal(given, variable, value)
            model.addSol(given)
        self._limit.first_seconds = None
        self._optimise(model)
        result = self._result(cost)
        session.spend_solve(program, result.iterations or 0)
        if result.detail == "userinterrupt":
            self._deadline.use_up()
        model.freeTransform()
        return result

    def _optimise(self, model: Any) -> None:
        if self._given.log is None:
            model.optimizeNogil()
            return
        # it would begin the file anew for each model
        log, part = Path(self._given.log), Path(f"{self._given.log}.part")
        model.setLogfile(str(part))
        model.optimizeNogil()
        model.setLogfile(None)
        with log.open("a", encoding="utf-8") as file:
            file.write(part.read_text(encoding="utf-8"))
        part.unlink()

    def _result(self, cost: FloatArray) -> SolveResult:
        model = self._model
        native = model.getStatus()
        native = NODE_LIMIT if native.endswith("nodelimit") else native
        status = _STATUS.get(native, SolveStatus.FAILED)
        bound, point = -np.inf, None
        if status.sound:
            if model.getNSols():
                best = model.getBestSol()
                point = np.array([best[variable] for variable in self._variables], dtype=np.float64)
            bound = proven(float(model.getDualbound()), model.infinity(), cost, point)
        counts, root = (int(model.getNTotalNodes()), int(model.getNLPIterations())), None
        if abs(float(model.getDualboundRoot())) < model.infinity():
            root = float(model.getDualboundRoot())
        result = SolveResult(status, bound, point, *counts, native)
        return result.timed(root, self._limit.first_seconds, float(model.getSolvingTime()))


def _iteration_limit(package: Any) -> Any:
    """Return an event handler with a limit of iterations, which SCIP lacks."""

    class IterationLimit(package.Eventhdlr):  # type: ignore[misc]
        most = np.inf
        first_seconds: float | None = None

        def eventinit(self) -> None:
            for kind in (package.SCIP_EVENTTYPE.LPSOLVED, package.SCIP_EVENTTYPE.BESTSOLFOUND):
                self.model.catchEvent(kind, self)

        def eventexit(self) -> None:
            for kind in (package.SCIP_EVENTTYPE.LPSOLVED, package.SCIP_EVENTTYPE.BESTSOLFOUND):
                self.model.dropEvent(kind, self)

        def eventexec(self, event: Any) -> None:
            if event.getType() == package.SCIP_EVENTTYPE.BESTSOLFOUND:
                if self.first_seconds is None:
                    self.first_seconds = float(self.model.getSolvingTime())
                return
            if self.model.getNLPIterations() > self.most:
                self.model.interruptSolve()

    return IterationLimit()


# it holds Python's lock and swallows Ctrl-C
SOLVER = OwnSolver(ScipSession, apart=True)
