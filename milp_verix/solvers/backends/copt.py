"""COPT through coptpy, in a process of its own: it prints its licence, and holds Python's lock.

It stops early by a callback, which looks at its bound and its points. Its parameters ``WorkLimit``
and ``RandSeed`` are listed by ``getParamInfo``, and by no manual: a unit of work was measured.
"""

import time
from typing import Any

import numpy as np

from milp_verix.solvers.own_solver import OwnSession, OwnSolver, proven
from milp_verix.solvers.session import NODE_LIMIT, SolveResult, SolveStatus, Targets, spend_solve
from milp_verix.solvers.solver_facts import SolverFacts, floored, settable, words
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.work import UNITS_PER_SECOND

_INFINITY = 1e30

FACTS = SolverFacts(
    "copt",
    "proprietary",
    free="2000 columns",
    tolerances=floored(1e-9, "FeasTol DualTol", "IntTol"),
    ours={
        "Presolve": (0, -1),
        "CutLevel": (0, -1),
        "HeurLevel": (0, -1),
        "RelGap": (0.0, 1e-4),
        "AbsGap": (0.0, 1e-6),
        "MatrixTol": (1e-12, 1e-10),
    },
    balls={"Presolve": -1},  # else it may branch around a ball for ever
    words=words(
        "threads Threads, seed RandSeed, gap RelGap, presolve Presolve, cuts CutLevel, "
        "heuristics HeurLevel"
    ),
    options=settable(
        "Threads 1 to 128, RandSeed 0 to 2147483647, Presolve -1 to 4, CutLevel -1 to 3, "
        "HeurLevel -1 to 3, StrongBranching -1 to 3, ConflictAnalysis -1 to 1, MipTasks -1 to 256, "
        "NodeLimit -1 to 2147483647, RelGap 0.0 to 1.0"
    ),
    dropped=1e-12,
)


class CoptSession(OwnSession):
    """One environment and one model in it, kept between solves."""

    facts, package = FACTS, "coptpy"
    capabilities = OwnSession.capabilities - {"priorities"}

    def _open(self) -> None:
        self._errors, kind = (self._package.CoptError,), self._package.COPT
        self.version = f"{kind.VERSION_MAJOR}.{kind.VERSION_MINOR}.{kind.VERSION_TECHNICAL}"
        self._env: Any = self._package.Envr()
        self._watch = _watch(self._package)
        self._variables: list[Any] = []

    def _build(self, kept: Program) -> None:
        package = self._package
        self._model = model = self._env.createModel("")
        model.setParam("Logging", 0)
        if self._given.log:
            model.setParam("LogToConsole", 0)
            model.setParam("Logging", 1)
            model.setLogFile(self._given.log)
        for option, value in self.parameters.items():
            model.setParam(option, value)
        self._variables = []
        self._add_rest(kept, 0, 0)
        if kept.quadratic_rows and not kept.integer.any():
            # without integers it would use its barrier method, whose objective is no bound
            model.addVar(ub=1.0, vtype="B")
        for option, value in self._of_balls(kept).items():
            model.setParam(option, value)
        for row in kept.quadratic_rows:
            squares = package.QuadExpr()
            for j in row.columns:
                squares.addTerm(1.0, self._variables[j], self._variables[j])
            model.addQConstr(squares, "L", row.radius**2)
        for rule in kept.indicators:
            body, binary = self._sum(rule.coefficients, rule.columns), rule.binary
            at = self._variables[binary], rule.value
            model.addGenConstrIndicator(*at, body, "L", rule.upper)
        for one in kept.maxima:
            members = [self._variables[j] for j in one.columns]
            model.addGenConstrMax(self._variables[one.result], members, one.constant)
        for chosen in kept.sos1:
            model.addSOS(package.COPT.SOS_TYPE1, [self._variables[j] for j in chosen.columns])
        model.setCallback(self._watch, self._watch.contexts)

    def _add_rest(self, program: Program, columns: int, rows: int) -> None:
        model, matrix = self._model, program.matrix
        ends = zip(program.column_lower, program.column_upper, program.integer, strict=True)
        for low, high, whole in list(ends)[columns:]:
            self._variables.append(model.addVar(low, high, vtype="B" if whole else "C"))
        for i in range(rows, program.rows):
            entries = slice(matrix.indptr[i], matrix.indptr[i + 1])
            body = self._sum(matrix.data[entries], matrix.indices[entries])
            model.addBoundConstr(body, program.row_lower[i], program.row_upper[i])

    def _sum(self, coefficients: FloatArray, columns: IntArray) -> Any:
        members = [self._variables[j] for j in columns]
        return self._package.LinExpr(members, coefficients.tolist())

    def _change(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        changed = [self._variables[j] for j in columns]
        self._set(changed, LB=lower, UB=upper)

    def _set(self, variables: list[Any], **changes: FloatArray) -> None:
        for name, values in changes.items():
            if variables:
                self._model.setInfo(name, variables, values.tolist())

    def _solve(self, program: Program, cost: FloatArray, targets: Targets) -> SolveResult:
        model = self._model
        if targets.start is not None and cost.size:
            model.setMipStart(self._variables, targets.start.tolist())
            model.loadMipStart()
        self._set(self._variables, Obj=cost)
        model.setParam("TimeLimit", min(max(targets.seconds, 0.0), 1e20))
        seconds_of_work = targets.work / UNITS_PER_SECOND
        model.setParam("WorkLimit", min(seconds_of_work / _SECONDS_OF_A_UNIT, 1e20))
        self._watch.begin(targets)
        model.solve()
        result = self._result(cost)
        if model.status == self._package.COPT.UNFINISHED:
            self._deadline.use_up()
        spend_solve(program, result.iterations or 0)
        return result

    def _result(self, cost: FloatArray) -> SolveResult:
        model, kind, seen = self._model, self._package.COPT, self._watch
        status = {
            kind.OPTIMAL: SolveStatus.OPTIMAL,
            kind.INFEASIBLE: SolveStatus.INFEASIBLE,
            # the last one is of work
            **dict.fromkeys(
                (kind.TIMEOUT, kind.NODELIMIT, kind.UNFINISHED), SolveStatus.TIME_LIMIT
            ),
            kind.INTERRUPTED: SolveStatus.TARGET,
        }.get(model.status, SolveStatus.FAILED)
        bound, point = -np.inf, None
        if status.sound:
            if model.hasmipsol if model.ismip else status is SolveStatus.OPTIMAL:
                point = np.array(model.getValues(), dtype=np.float64)[: cost.size]
            if model.ismip or status is SolveStatus.OPTIMAL:
                ended = float(model.bestbnd if model.ismip else model.objval)
                bound = proven(ended, _INFINITY, cost, point, _OF_CUTS if model.qconstrs else 0.0)
        nodes = int(model.nodecnt)
        detail = NODE_LIMIT if model.status == kind.NODELIMIT else f"COPT status {model.status}"
        root = bound if nodes <= 1 and bound > -np.inf else seen.root
        result = SolveResult(status, bound, point, nodes, int(model.simplexiter), detail)
        return result.timed(root, seen.first, float(model.solvingtime))

    def _beyond_licence(self, error: Any) -> bool:
        return bool(error.retcode == _LICENCE_ERROR)

    def close(self) -> None:
        super().close()
        self._env.close()


_LICENCE_ERROR = 4
_SECONDS_OF_A_UNIT = 3.0
_OF_CUTS = 1e-7  # what a bound around a ball may be wrong by, relatively: 1e-8 was seen


def _watch(package: Any) -> Any:
    """Return a callback that stops at targets, and notes the first point and the root's bound."""
    kind = package.COPT

    class Watch(package.CallbackBase):  # type: ignore[misc]
        contexts = kind.CBCONTEXT_MIPNODE | kind.CBCONTEXT_INCUMBENT

        def begin(self, targets: Targets) -> None:
            self.targets, self.began = targets, time.monotonic()
            self.first: float | None = None
            self.root: float | None = None

        def callback(self) -> None:
            bound = float(self.getInfo("BestBnd"))
            if self.where() == kind.CBCONTEXT_MIPNODE:
                if self.root is None and abs(bound) < _INFINITY:
                    self.root = bound
            elif self.first is None:
                self.first = time.monotonic() - self.began
            best = float(self.getInfo("BestObj"))
            if bound > self.targets.holds_above or best < self.targets.violated_below:
                self.interrupt()

    return Watch()


SOLVER = OwnSolver(CoptSession, apart=True)
