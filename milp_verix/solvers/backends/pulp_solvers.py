"""Any solver that PuLP finds: ``pulp`` is the CBC that PuLP brings, ``pulp:NAME`` another.

PuLP reports no dual bound, and calls solves optimal that stopped with a solution, so proofs are by
cutoff (:mod:`~milp_verix.solvers.trust`). It leaves the solver's process and files behind at
Ctrl-C, so it runs in a process of its own.
"""

import inspect
import subprocess
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import Any

import numpy as np

from milp_verix.base.errors import first_line, meant, shown
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers.backends import cbc, gurobi, highs
from milp_verix.solvers.session import SolveResult, SolveStatus, constraints_of, finite
from milp_verix.solvers.solver_facts import Parameters, settable
from milp_verix.solvers.trust import FamilySession, FamilySolver, Solve
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray

_BUNDLED = "PULP_CBC_CMD"
_MOST_OF_IT = 0.5


_PACKAGES = {"HiGHS": "highspy", "GUROBI": "gurobipy", "SCIP_PY": "pyscipopt"}


def _version_of(pulp: Any, solver: FamilySolver) -> str:
    """Return the version of the solver itself, where its binary or its package tells one."""
    try:
        if solver.native in _PACKAGES:
            return metadata.version(_PACKAGES[solver.native])
        if solver.native == _BUNDLED:
            return cbc.version_of(pulp.getSolver(_BUNDLED, **solver.options).path)
    except (metadata.PackageNotFoundError, OSError, subprocess.TimeoutExpired):
        pass
    return "unknown version"


class PulpSession(FamilySession):
    """A PuLP problem with a row for the cutoff; each solve hands the solver the whole problem."""

    def __init__(self, solver: FamilySolver, threads: int, tolerances: Tolerances) -> None:
        import pulp

        warnings.simplefilter("ignore")
        self._pulp: Any = pulp
        self._rows: list[Any] = []
        settings = solver.facts.usual(threads, tolerances)
        usual = _arguments(pulp, solver.native, settings, threads)
        self.parameters = {**usual, **solver.options}
        version = f"{_version_of(pulp, solver)} (PuLP {pulp.__version__})"
        super().__init__("pulp", solver, version)

    def _build(self, kept: Program) -> None:
        self._kept, names = kept, [f"x{j}" for j in range(kept.columns)]
        self._variables = added_columns(self._pulp, kept, names)
        self._rows = [row for _, row in rows_of(self._pulp, kept, self._variables)]

    def set_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        self.load(self._before("its bounds").with_bounds(columns, lower, upper))

    def _solve_of(self, cost: FloatArray) -> Solve:
        used = np.flatnonzero(cost)
        return partial(self._attempt, _sum(self._pulp, cost[used], used, self._variables))

    def _attempt(self, cost: Any, cap: float, seconds: float) -> SolveResult:
        pulp = self._pulp
        problem = pulp.LpProblem("check", pulp.LpMinimize)
        problem.setObjective(cost)
        for number, row in enumerate(self._rows):
            problem.addConstraint(row, f"r{number}")
        if np.isfinite(cap):
            problem.addConstraint(cost <= cap, "cutoff")
        for variable in self._variables:
            variable.varValue = None
        limit = seconds if np.isfinite(seconds) else None
        started = time.monotonic()
        problem.solve(pulp.getSolver(self._solver.native, timeLimit=limit, **self.parameters))
        detail = f"PuLP: {pulp.LpStatus[problem.status]}, {pulp.LpSolution[problem.sol_status]}"
        if problem.status == pulp.LpStatusInfeasible:
            # what is left in the variables is no point
            return self._said(SolveStatus.INFEASIBLE, None, detail)
        point = self._filled([variable.varValue for variable in self._variables])
        if problem.sol_status == pulp.LpSolutionOptimal:
            return self._said(SolveStatus.OPTIMAL, point, detail)
        stopped = problem.sol_status == pulp.LpSolutionIntegerFeasible
        # a missing file and a limit on nodes are "not solved" as well
        late = time.monotonic() - started > _MOST_OF_IT * seconds
        late = late and (stopped or problem.status == pulp.LpStatusNotSolved)
        status = SolveStatus.TIME_LIMIT if late else SolveStatus.FAILED
        return self._said(status, point if stopped else None, detail)


def added_columns(pulp: Any, program: Program, names: Sequence[str], first: int = 0) -> list[Any]:
    """Return variables with ``names`` for the columns of ``program`` from ``first`` on."""
    columns = zip(
        names,
        program.column_lower[first:].tolist(),
        program.column_upper[first:].tolist(),
        program.integer[first:].tolist(),
        strict=True,
    )
    kinds = {True: pulp.LpInteger, False: pulp.LpContinuous}
    return [
        pulp.LpVariable(name, finite(low), finite(high), kinds[whole])
        for name, low, high, whole in columns
    ]


def rows_of(pulp: Any, program: Program, variables: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Yield constraints, two for a row with two sides, with the number of the row."""
    return constraints_of(program, 0, lambda factors, at: _sum(pulp, factors, at, variables))


def _sum(pulp: Any, coefficients: FloatArray, columns: IntArray, variables: Sequence[Any]) -> Any:
    members = [variables[j] for j in columns]
    return pulp.LpAffineExpression(zip(members, coefficients.tolist(), strict=True))


def _arguments(pulp: Any, native: str, settings: Parameters, threads: int) -> dict[str, Any]:
    """Return the ``settings`` of a solver as PuLP's class for it takes them."""
    arguments: dict[str, Any] = {"msg": False}
    if native in (_BUNDLED, "COIN_CMD"):
        listed = [f"{option} {value}" for option, value in settings.items() if option != "threads"]
        # one thread is what CBC does untold; told of one, it runs its parallel search
        arguments |= {"options": listed, "threads": threads if threads > 1 else None}
        return arguments
    if native == "SCIP_PY":
        # a list of names and values in turns
        arguments["options"] = [part for pair in settings.items() for part in pair]
        return arguments
    if native in ("HiGHS", "GUROBI"):
        settings.pop("output_flag", None)
        return arguments | settings
    known = inspect.signature(type(pulp.getSolver(native, msg=False))).parameters
    wishes = {"gapRel": 0.0, "threads": threads, "keepFiles": False}
    return arguments | {key: value for key, value in wishes.items() if key in known}


@dataclass(frozen=True, slots=True)
class PulpSolver(FamilySolver):
    """The solver that PuLP calls ``native``, with the user's own ``options`` for PuLP."""

    name: str = "pulp"
    native: str = _BUNDLED
    package = "PuLP MIT"
    session = PulpSession
    allowed = {  # noqa: RUF012
        _BUNDLED: cbc.OPTIONS,
        "COIN_CMD": cbc.OPTIONS,
        "GUROBI": gurobi.OPTIONS,
        "HiGHS": highs.OPTIONS,
        "HiGHS_CMD": settable("threads 1 to 1024"),
        "SCIP_CMD": settable("maxNodes 0 to 2147483647"),
        "SCIP_PY": settable("maxNodes 0 to 2147483647"),
    }

    def unavailable(self) -> str | None:
        try:
            import pulp
        except ImportError as error:
            return f"PuLP does not import ({error}): pip install pulp"
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            try:
                if pulp.getSolver(self.native, msg=False, **self.options).available():
                    return None
                problem = f"PuLP does not find {shown(self.native)} here"
            except Exception as error:  # noqa: BLE001, RUF100 - whatever the solver's package raises
                problem = first_line(error)
            found = pulp.listSolvers(onlyAvailable=True)
        close = meant(self.native, found)
        return f"{problem}; what it finds: {', '.join(found) or 'no solver'}{close}"


SOLVER = PulpSolver()
