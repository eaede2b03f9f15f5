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
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from typing import Any

import numpy as np

from milp_verix.base.errors import SolverError, SolverUnavailableError
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers.backends import cbc
from milp_verix.solvers.parameters import SolverParameters, notes_on, parameters_of
from milp_verix.solvers.remote.remote_session import RemoteSession
from milp_verix.solvers.session import SolveResult, Targets, refuse_beyond
from milp_verix.solvers.trust import (
    Attempt,
    Outcome,
    ask_control,
    distrust,
    filled,
    minimise_by_cutoff,
)
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray

_BUNDLED = "PULP_CBC_CMD"
_MOST_OF_IT = 0.5


@dataclass(frozen=True, slots=True)
class PulpSolver:
    """The solver that PuLP calls ``native``, with the user's own ``options`` for PuLP."""

    name: str = "pulp"
    native: str = _BUNDLED
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def licence(self) -> str:
        """The licences of PuLP and of the solver."""
        return f"PuLP MIT, {parameters_of(self.native).licence}"

    @property
    def capabilities(self) -> frozenset[str]:
        """Capabilities of the solver that PuLP can express."""
        return parameters_of(self.native).capabilities

    def unavailable(self) -> str | None:
        """Return why PuLP or the solver behind it cannot be used, or None."""
        try:
            import pulp
        except ImportError as error:
            return f"PuLP does not import ({error}): pip install pulp"
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            try:
                if pulp.getSolver(self.native, msg=False, **self.options).available():
                    return None
                problem = "PuLP does not find it here"
            except Exception as error:  # noqa: BLE001, RUF100 - whatever the solver's package raises
                problem = str(error).partition("\n")[0]
            found = ", ".join(pulp.listSolvers(onlyAvailable=True))
        return f"{self.native}: {problem}; what it finds: {found or 'no solver'}"

    def open(self, *, threads: int, tolerances: Tolerances) -> RemoteSession:
        """Open a session; raises ``SolverUnavailableError`` for a solver that PuLP lacks."""
        if reason := self.unavailable():
            raise SolverUnavailableError(reason)
        return RemoteSession(partial(PulpSession, self, threads, tolerances))


_PACKAGES = {"HiGHS": "highspy", "GUROBI": "gurobipy", "SCIP_PY": "pyscipopt"}


def _version_of(pulp: Any, solver: PulpSolver) -> str:
    """Return the version of the solver itself, where its binary or its package tells one."""
    try:
        if solver.native in _PACKAGES:
            return metadata.version(_PACKAGES[solver.native])
        if solver.native == _BUNDLED:
            return cbc.version_of(pulp.getSolver(_BUNDLED, **solver.options).path)
    except (metadata.PackageNotFoundError, OSError, subprocess.TimeoutExpired):
        pass
    return "unknown version"


class PulpSession:
    """A PuLP problem with a row for the cutoff; each solve hands the solver the whole problem."""

    def __init__(self, solver: PulpSolver, threads: int, tolerances: Tolerances) -> None:
        import pulp

        warnings.simplefilter("ignore")
        self._pulp: Any = pulp
        self._solver = solver
        self._parameters = parameters_of(solver.native)
        self.name = solver.name
        self.version = f"{_version_of(pulp, solver)} (PuLP {pulp.__version__})"
        self.capabilities = solver.capabilities
        self.largest_big_m = self._parameters.largest_big_m
        self._distrust = distrust("pulp", solver.native)
        self.notes = notes_on(solver.name, solver.options, self._distrust)
        self._arguments = {
            **_arguments(pulp, solver.native, self._parameters, threads, tolerances),
            **solver.options,
        }
        self._program: Program | None = None
        self._kept: Program | None = None
        self._variables: list[Any] = []
        self._rows: list[Any] = []
        if self._distrust is None:
            ask_control(self)

    def load(self, program: Program) -> None:
        """Replace the problem by ``program``."""
        refuse_beyond(self, program)
        self._program = program
        self._build()

    def _build(self) -> None:
        assert self._program is not None
        pulp, program = self._pulp, self._program.without_tiny(self._parameters.dropped)
        self._kept = program
        self._variables = added_columns(pulp, program, [f"x{j}" for j in range(program.columns)])
        self._rows = [row for _, row in rows_of(pulp, program, self._variables)]

    def set_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        """Change the bounds of some columns; the problem is built again."""
        assert self._program is not None
        self._program = self._program.with_bounds(columns, lower, upper)
        self._build()

    def minimise(self, cost: FloatArray, targets: Targets) -> SolveResult:
        """Minimise ``cost·v``; see :class:`~milp_verix.solvers.session.Session`."""
        if self._kept is None:
            raise SolverError("load a program before minimising")
        used = np.flatnonzero(cost)
        attempt = partial(self._attempt, _sum(self._pulp, cost[used], used, self._variables))
        return minimise_by_cutoff(self._kept, cost, targets, self._parameters, attempt)

    def _attempt(self, cost: Any, cap: float, seconds: float) -> Attempt:
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
        problem.solve(pulp.getSolver(self._solver.native, timeLimit=limit, **self._arguments))
        detail = f"PuLP: {pulp.LpStatus[problem.status]}, {pulp.LpSolution[problem.sol_status]}"
        if problem.status == pulp.LpStatusInfeasible:
            # what is left in the variables is no point
            if self._distrust is not None:
                return Attempt(Outcome.FAILED, detail=f"{detail}; {self._distrust}")
            return Attempt(Outcome.EMPTY, detail=detail)
        assert self._kept is not None
        point = filled(self._kept, [variable.varValue for variable in self._variables])
        if problem.sol_status == pulp.LpSolutionOptimal:
            return Attempt(Outcome.POINT, point, detail)
        stopped = problem.sol_status == pulp.LpSolutionIntegerFeasible
        # a missing file and a limit on nodes are "not solved" as well
        late = time.monotonic() - started > _MOST_OF_IT * seconds
        if late and (stopped or problem.status == pulp.LpStatusNotSolved):
            return Attempt(Outcome.LATE, point if stopped else None, detail)
        return Attempt(Outcome.FAILED, point if stopped else None, detail)

    def close(self) -> None:
        """Forget the problem."""
        self._program, self._kept, self._variables, self._rows = None, None, [], []


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
        pulp.LpVariable(name, _limit(low), _limit(high), kinds[whole])
        for name, low, high, whole in columns
    ]


def rows_of(pulp: Any, program: Program, variables: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Yield each row of ``program`` over the columns ``variables`` with its number.

    A row with two different sides is two constraints.
    """
    matrix = program.matrix
    for i in range(program.rows):
        entries = slice(matrix.indptr[i], matrix.indptr[i + 1])
        body = _sum(pulp, matrix.data[entries], matrix.indices[entries], variables)
        low, high = float(program.row_lower[i]), float(program.row_upper[i])
        if low == high:
            yield i, body == low
            continue
        if np.isfinite(low):
            yield i, body >= low
        if np.isfinite(high):
            yield i, body <= high


def _sum(pulp: Any, coefficients: FloatArray, columns: IntArray, variables: Sequence[Any]) -> Any:
    members = [variables[j] for j in columns]
    return pulp.LpAffineExpression(zip(members, coefficients.tolist(), strict=True))


def _arguments(
    pulp: Any, native: str, parameters: SolverParameters, threads: int, tolerances: Tolerances
) -> dict[str, Any]:
    """Return the settings that PuLP's class for a solver takes."""
    settings = parameters.options(threads, tolerances)
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
    known = inspect.signature(dict(_classes(pulp))[native]).parameters
    wishes = {"gapRel": 0.0, "threads": threads, "keepFiles": False}
    return arguments | {key: value for key, value in wishes.items() if key in known}


def _classes(pulp: Any) -> list[tuple[str, Any]]:
    names = pulp.listSolvers()
    return [(name, type(pulp.getSolver(name, msg=False))) for name in names]


def _limit(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
