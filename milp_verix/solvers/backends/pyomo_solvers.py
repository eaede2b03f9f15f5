"""Any solver that Pyomo finds: ``pyomo`` is HiGHS through Pyomo, ``pyomo:NAME`` another.

``NAME`` is its name in ``pyomo.environ.SolverFactory``. The model is kept: costs and cutoff are
mutable parameters, which Pyomo's persistent interfaces update in place. The bounds that interfaces
report differ in meaning, so proofs are by cutoff (:mod:`~milp_verix.solvers.trust`). Encodings
become Pyomo blocks for bigger models, too. Pyomo is imported only when it is asked for.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from milp_verix.base.arguments import checked, instance_of
from milp_verix.base.errors import InputError, meant, shown
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers.backends import gurobi, highs, scip
from milp_verix.solvers.session import SolveResult, SolveStatus, finite, in_words
from milp_verix.solvers.trust import TRUSTED, FamilySession, FamilySolver, Solve
from verix_encodings import Encoding, Expressions, Program
from verix_encodings.arrays import FloatArray, IntArray, dense


@checked(encoding=instance_of(Encoding))
def to_pyomo(encoding: Encoding) -> Any:
    """Return ``encoding`` as a concrete ``pyomo.environ.Block`` without an objective.

    Each column is a variable and each row a constraint of its readable name (``block.z_2_7``).
    ``block.input[i]`` and ``block.output[k]`` are the expressions of the encoding:

        >>> model = pyomo.environ.ConcreteModel()
        >>> model.check = milp_verix.to_pyomo(encoding)
        >>> model.worst = pyomo.environ.Objective(expr=model.check.output[0], sense=-1)

    Raises ``InputError`` without Pyomo, and for indicator and general constraints, which it lacks.
    """
    try:
        import pyomo.environ as pyo
    except ImportError as error:
        raise InputError(
            f"pyomo does not import ({error}): pip install 'milp-verix[pyomo]'"
        ) from error
    block, variables = program_block(pyo, encoding.program)
    for name, expressions in (("input", encoding.input), ("output", encoding.output)):
        sums = _sums(expressions, variables)
        block.add_component(
            name, pyo.Expression(range(len(sums)), initialize=dict(enumerate(sums)))
        )
    return block


def program_block(pyo: Any, program: Program, own: Sequence[Any] = ()) -> tuple[Any, list[Any]]:
    """Return a block of ``pyo``, ``pyomo.environ``, and its variables, ``own`` ones first."""
    if lacking := program.needs & {"indicator", "general"}:
        raise InputError(
            f"Pyomo has no {in_words(lacking)}: choose the formulation big_m, sos1 or partition"
        )
    block = pyo.Block(concrete=True)
    variables = [*own]
    for j, name in enumerate(program.column_names[len(own) :], len(own)):
        bounds = finite(program.column_lower[j]), finite(program.column_upper[j])
        domain = pyo.Reals
        if program.integer[j]:
            domain = pyo.Binary if bounds == (0.0, 1.0) else pyo.Integers
        variables.append(pyo.Var(domain=domain, bounds=bounds))
        block.add_component(name, variables[-1])
    _add_constraints(pyo, block, program, variables)
    return block, variables


def _add_constraints(pyo: Any, block: Any, program: Program, variables: list[Any]) -> None:
    matrix = program.matrix
    for i, name in enumerate(program.row_names):
        entries = slice(matrix.indptr[i], matrix.indptr[i + 1])
        body = _sum(matrix.data[entries], matrix.indices[entries], 0.0, variables)
        low, high = finite(program.row_lower[i]), finite(program.row_upper[i])
        if low is not None or high is not None:
            block.add_component(name, pyo.Constraint(expr=(low, body, high)))
    for number, row in enumerate(program.quadratic_rows):
        squares = sum(variables[j] ** 2 for j in row.columns)
        block.add_component(f"quadratic_{number}", pyo.Constraint(expr=squares <= row.radius**2))
    for chosen in program.sos1:
        members = [variables[j] for j in chosen.columns]
        weights = list(range(1, len(members) + 1))
        constraint = pyo.SOSConstraint(rule=lambda _block, m=members, w=weights: (m, w), sos=1)
        block.add_component(chosen.name, constraint)


def _sums(expressions: Expressions, variables: list[Any]) -> list[Any]:
    found = []
    for index, constant in enumerate(expressions.constant):
        row = dense(expressions.matrix[[index], :]).reshape(-1)
        used = np.flatnonzero(row)
        found.append(_sum(row[used], expressions.columns[used], constant, variables))
    return found


def _sum(coefficients: Any, columns: Any, constant: float, variables: list[Any]) -> Any:
    from pyomo.core.expr.numeric_expr import LinearExpression

    return LinearExpression(
        constant=float(constant),
        linear_coefs=[float(c) for c in coefficients],
        linear_vars=[variables[j] for j in columns],
    )


_HIGHS = "appsi_highs"


def _is_available(pyo: Any, native: str) -> bool:
    logging.getLogger("pyomo").setLevel(logging.CRITICAL)
    # the factory runs a name that it does not know as a program, and so what follows a colon
    if native.startswith("_") or native not in set(pyo.SolverFactory):
        return False
    try:
        return bool(pyo.SolverFactory(native).available(exception_flag=False))
    except Exception:  # noqa: BLE001, RUF100 - whatever the solver's package raises
        return False


def _version_of(pyo: Any, native: str) -> str:
    try:
        return ".".join(map(str, pyo.SolverFactory(native).version()[:3]))
    except Exception:  # noqa: BLE001, RUF100 - whatever the solver's package raises
        return "unknown version"


class PyomoSession(FamilySession):
    """One Pyomo model, and one solver object, both kept between solves."""

    def __init__(self, solver: FamilySolver, threads: int, tolerances: Tolerances) -> None:
        # factories know nothing before this import
        import pyomo.environ as pyo
        from pyomo.version import version

        logging.getLogger("pyomo").setLevel(logging.CRITICAL)
        self._pyo: Any = pyo
        self.parameters = {**solver.facts.usual(threads, tolerances), **solver.options}
        self._interface: Any = None
        self._model: Any = None
        text = f"{_version_of(pyo, solver.native)} (Pyomo {version})"
        # options reach the solver after the model, too late for what it then dropped
        super().__init__("pyomo", solver, text, dropped=1e-9)

    def _build(self, kept: Program) -> None:
        pyo, program = self._pyo, kept
        self._kept = kept
        model = self._model = pyo.ConcreteModel()
        block, self._variables = program_block(pyo, program)
        model.program = block
        model.cost = pyo.Param(range(program.columns), initialize=0.0, mutable=True)
        model.cap = pyo.Param(initialize=0.0, mutable=True)
        total = sum(model.cost[j] * variable for j, variable in enumerate(self._variables))
        if self._variables:
            model.objective = pyo.Objective(expr=total)
            model.cutoff = pyo.Constraint(expr=total <= model.cap)
        self._interface = pyo.SolverFactory(self._solver.native)

    def _change(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        self._kept = self._program = self._before("its bounds").with_bounds(columns, lower, upper)
        for j, low, high in zip(columns, lower, upper, strict=True):
            self._variables[j].setlb(finite(low))
            self._variables[j].setub(finite(high))

    def _solve_of(self, cost: FloatArray) -> Solve:
        for j, value in enumerate(cost.tolist()):
            self._model.cost[j] = value
        return self._attempt

    def _attempt(self, cap: float, seconds: float) -> SolveResult:
        from pyomo.solvers.plugins.solvers.persistent_solver import PersistentSolver

        model, solver = self._model, self._interface
        if np.isfinite(cap):
            model.cap = cap
            model.cutoff.activate()
        else:
            model.cutoff.deactivate()
        arguments: dict[str, Any] = {"load_solutions": False, "options": self.parameters}
        if np.isfinite(seconds):
            arguments["timelimit"] = max(seconds, 0.001)
        if isinstance(solver, PersistentSolver):
            # these do not notice what changed
            solver.set_instance(model)
            results = solver.solve(**arguments)
        else:
            results = solver.solve(model, **arguments)
        ended = self._pyo.TerminationCondition
        condition = results.solver.termination_condition
        detail = f"Pyomo: {condition}"
        status = {
            ended.infeasible: SolveStatus.INFEASIBLE,
            ended.infeasibleOrUnbounded: SolveStatus.INFEASIBLE,
            ended.optimal: SolveStatus.OPTIMAL,
            ended.maxTimeLimit: SolveStatus.TIME_LIMIT,
        }.get(condition, SolveStatus.FAILED)
        point = self._point(results) if status is SolveStatus.OPTIMAL else None
        return self._said(status, point, detail)

    def _point(self, results: Any) -> FloatArray:
        for variable in self._variables:
            variable.set_value(None, skip_validation=True)
        if hasattr(self._interface, "load_vars"):
            self._interface.load_vars()
        else:
            self._model.solutions.load_from(results)
        return self._filled([variable.value for variable in self._variables])

    def close(self) -> None:
        super().close()
        self._model, self._interface = None, None


@dataclass(frozen=True, slots=True)
class PyomoSolver(FamilySolver):
    """The solver that Pyomo calls ``native``, with the user's own ``options`` for it."""

    name: str = "pyomo"
    native: str = _HIGHS
    package = "Pyomo BSD-3-Clause"
    session = PyomoSession
    allowed = {  # noqa: RUF012
        **dict.fromkeys((_HIGHS, "highs"), highs.OPTIONS),
        **dict.fromkeys(("gurobi_direct", "gurobi_persistent", "appsi_gurobi"), gurobi.OPTIONS),
        **dict.fromkeys(("gurobi_direct_v2", "gurobi_persistent_v2"), gurobi.OPTIONS),
        **dict.fromkeys(("scip_direct", "scip_persistent"), scip.OPTIONS),
    }

    @property
    def capabilities(self) -> frozenset[str]:
        in_place = {"in_place_bounds"} if self.native.startswith("appsi_") else set()
        return super(PyomoSolver, self).capabilities | in_place

    def unavailable(self) -> str | None:
        try:
            import pyomo.environ as pyo
        except ImportError as error:
            return f"pyomo does not import ({error}): pip install pyomo"
        if _is_available(pyo, self.native):
            return None
        found = [name for name in TRUSTED["pyomo"] if _is_available(pyo, name)]
        some = f"some that it finds: {', '.join(found) or 'none'}{meant(self.native, found)}"
        return f"Pyomo does not find {shown(self.native)} here; {some}"


SOLVER = PyomoSolver()
