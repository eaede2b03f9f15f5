"""COPT through coptpy, in a process of its own: it prints its licence, and holds Python's lock.

It stops early by a callback, which looks at its bound and its points. Its parameters ``WorkLimit``
and ``RandSeed`` are listed by ``getParamInfo``, and by no manual: a unit of work was measured.
"""

import time
from typing import Any

import numpy as np

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
from milp_verix.solvers.solver_parameters import COPT, copt_options
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.work import UNITS_PER_SECOND

_INFINITY = 1e30


class CoptSession(OwnSession):
    """One environment and one model in it, kept between solves."""

    name = "copt"
    dropped = COPT.dropped
    capabilities = FULL - {"priorities"}

    def __init__(
        self, threads: int, tolerances: Tolerances, given: NameOptions = NO_OPTIONS
    ) -> None:
        import coptpy

        super().__init__(given)
        self._copt: Any = coptpy
        self._errors = (coptpy.CoptError,)
        kind = coptpy.COPT
        self.version = f"{kind.VERSION_MAJOR}.{kind.VERSION_MINOR}.{kind.VERSION_TECHNICAL}"
        try:
            self._env: Any = coptpy.Envr()
        except self._errors as error:
            raise self._no_licence(error) from error
        usual = {"Threads": threads} if given.shipped else copt_options(threads, tolerances)
        self.parameters = {**usual, **given.settings}
        self._watch = _watch(coptpy)
        self._model: Any = None
        self._variables: list[Any] = []

    def _build(self, kept: Program) -> None:
        package = self._copt
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
        if kept.quadratic_rows and "Presolve" not in self._given.settings:
            model.setParam("Presolve", -1)  # else it may branch around a ball for ever
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
        return self._copt.LinExpr(members, coefficients.tolist())

    def _change(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        changed = [self._variables[j] for j in columns]
        self._set(changed, LB=lower, UB=upper)

    def _set(self, variables: list[Any], **told: FloatArray) -> None:
        for name, values in told.items():
            if variables:
                self._model.setInfo(name, variables, values.tolist())

    def minimise(self, cost: FloatArray, targets: Targets) -> SolveResult:
        program, model = self._before("minimising"), self._model
        targets = targets.within(self._given.seconds)
        with self._translating(program):
            if (start := start_of(targets, cost.size)) is not None and cost.size:
                model.setMipStart(self._variables, start.tolist())
                model.loadMipStart()
            self._set(self._variables, Obj=cost)
            model.setParam("TimeLimit", min(max(targets.seconds, 0.0), 1e20))
            seconds_of_work = targets.work / UNITS_PER_SECOND
            model.setParam("WorkLimit", min(seconds_of_work / _SECONDS_OF_A_UNIT, 1e20))
            deadline = targets.deadline()
            self._watch.begin(targets)
            model.solve()
            result = self._result(cost)
        if model.status == self._copt.COPT.UNFINISHED:
            deadline.use_up()
        spend_solve(program, result.iterations or 0)
        return result

    def _result(self, cost: FloatArray) -> SolveResult:
        model, kind, seen = self._model, self._copt.COPT, self._watch
        status = {
            kind.OPTIMAL: SolveStatus.OPTIMAL,
            kind.INFEASIBLE: SolveStatus.INFEASIBLE,
            kind.TIMEOUT: SolveStatus.TIME_LIMIT,
            kind.NODELIMIT: SolveStatus.TIME_LIMIT,
            kind.UNFINISHED: SolveStatus.TIME_LIMIT,  # of work
            kind.INTERRUPTED: SolveStatus.TARGET,
        }.get(model.status, SolveStatus.FAILED)
        bound, point = -np.inf, None
        if status not in (SolveStatus.INFEASIBLE, SolveStatus.FAILED):
            if model.hasmipsol if model.ismip else status is SolveStatus.OPTIMAL:
                point = np.array(model.getValues(), dtype=np.float64)[: cost.size]
            if model.ismip or status is SolveStatus.OPTIMAL:
                told = float(model.bestbnd if model.ismip else model.objval)
                bound = proven(told, _INFINITY, cost, point, _OF_CUTS if model.qconstrs else 0.0)
        nodes = int(model.nodecnt)
        return SolveResult(
            status,
            bound,
            point,
            nodes,
            int(model.simplexiter),
            NODE_LIMIT if model.status == kind.NODELIMIT else f"COPT status {model.status}",
            root_bound=bound if nodes <= 1 and bound > -np.inf else seen.root,
            first_seconds=seen.first,
            seconds=float(model.solvingtime),
        )

    def _beyond_licence(self, error: Any) -> bool:
        return bool(error.retcode == _LICENCE_ERROR)

    def close(self) -> None:
        self._model = self._program = None
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


SOLVER = own_solver(CoptSession, "proprietary, free up to 2000 columns", "coptpy", apart=True)
