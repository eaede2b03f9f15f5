"""Networks in models of gurobipy, PuLP and Pyomo; each library's class tells what it adds."""

import warnings
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError
from milp_verix.embedding.host import Ends, Host, Pairs, Solution, Solved, ends_of, named, of_sum
from milp_verix.solvers.backends import gurobi, pulp_solvers
from milp_verix.solvers.backends.cbc import binary as cbc_binary
from milp_verix.solvers.backends.pyomo_solvers import program_block
from milp_verix.solvers.session import in_words
from verix_encodings import Program
from verix_encodings.arrays import relative_error


class _GurobiHost(Host):
    """A ``gurobipy.Model``."""

    to_bound = "variable.LB = ... and variable.UB = ..."

    def __init__(self, model: Any) -> None:
        import gurobipy

        self._gp, self.model = gurobipy, model
        # what was added since the last update has neither names nor bounds
        model.update()
        self._known = model.getVars()
        self._added: list[Any] = []

    def parts(self, given: Any) -> list[Any] | None:
        if isinstance(given, self._gp.MVar | self._gp.MLinExpr):
            return [given[index].item() for index in np.ndindex(given.shape)]
        return Host.parts(self, given)

    def is_variable(self, entry: Any) -> bool:
        return isinstance(entry, self._gp.Var)

    def is_expression(self, entry: Any) -> bool:
        return isinstance(entry, self._gp.LinExpr)

    def key(self, variable: Any) -> Hashable:
        index = int(variable.index)
        if not 0 <= index < len(self._known) or not self._known[index].sameAs(variable):
            raise InputError("a variable is not one of the model: give variables of the model")
        return index

    def ends(self, entry: Any) -> Ends:
        if not self.is_variable(entry):
            places = range(entry.size())
            terms = [(entry.getCoeff(k), self.ends(entry.getVar(k))) for k in places]
            return of_sum(terms, entry.getConstant())
        return ends_of(entry.LB, entry.UB, whole=entry.VType in ("B", "I"))

    def taken(self, name: str) -> bool:
        pairs = [(variable, "VarName") for variable in self._known]
        for one, attribute in [*pairs, *((row, "ConstrName") for row in self.model.getConstrs())]:
            with suppress(UnicodeDecodeError):  # addVars stores umlauts that Gurobi does not read
                if one.getAttr(attribute).startswith(named(name, "")):
                    return True
        return False

    def add(self, program: Program, own: Sequence[Any], name: str) -> list[Any]:
        gp, model = self._gp, self.model
        added = gurobi.added_columns(gp, model, program, len(own))
        variables = [*own, *added.tolist()]
        over = gp.MVar.fromlist(variables)
        blocks = gurobi.add_rows(model, over, program, 0)
        logic = gurobi.add_logic(gp, model, over, program)
        for variable, label in zip(
            variables[len(own) :], program.column_names[len(own) :], strict=True
        ):
            variable.VarName = named(name, label)
        labels = program.row_names
        pairs = [zip(numbers.tolist(), block.tolist(), strict=True) for numbers, block in blocks]
        rows = [*chain.from_iterable(pairs)]
        for i, row in rows:
            row.ConstrName = named(name, labels[i])
        self._added = [*variables[len(own) :], *(row for _, row in rows), *logic]
        model.update()
        return variables

    def equate(self, variable: Any, entry: Any, name: str) -> None:
        self._added.append(self.model.addConstr(variable == entry, name=name))
        self.model.update()

    def remove(self) -> None:
        self.model.remove(self._added)
        self.model.update()

    def value(self, variable: Any, solution: Solution | None) -> float:
        if solution is not None:
            return float(solution[variable])
        try:
            return float(variable.X)
        except (AttributeError, self._gp.GurobiError):
            return np.nan

    def set_start(self, variable: Any, value: float) -> None:
        variable.Start = value

    def solvers(self) -> list[str]:
        return ["gurobi"]

    def solve(self, solver: str, seconds: float) -> Solved:
        if solver != "gurobi":
            raise InputError(f"a gurobipy.Model is solved by gurobi alone, not by {solver!r}")
        model = self.model
        limit = model.Params.TimeLimit
        model.Params.TimeLimit = min(seconds, limit)
        try:
            model.optimize()
        finally:
            model.Params.TimeLimit = limit
        optimal = model.Status == self._gp.GRB.OPTIMAL
        objective = float(model.ObjVal) if model.SolCount else np.nan
        return Solved(optimal, objective, f"Gurobi status {model.Status}")


class _PulpHost(Host):
    """A ``pulp.LpProblem``."""

    to_bound = "variable.bounds(low, high)"

    def __init__(self, model: Any) -> None:
        import pulp

        self._pulp, self.model = pulp, model
        self._variables: list[Any] = []
        self._rows: list[str] = []

    def keyed(self, given: Any) -> Pairs | None:
        # it is a mapping, but no container
        expression = isinstance(given, self._pulp.LpAffineExpression)
        return None if expression else Host.keyed(self, given)

    def is_variable(self, entry: Any) -> bool:
        return isinstance(entry, self._pulp.LpVariable)

    def is_expression(self, entry: Any) -> bool:
        affine, row = self._pulp.LpAffineExpression, self._pulp.LpConstraint
        return isinstance(entry, affine) and not isinstance(entry, row)

    def ends(self, entry: Any) -> Ends:
        if not self.is_variable(entry):
            terms = [(factor, self.ends(variable)) for variable, factor in entry.items()]
            return of_sum(terms, entry.constant)
        return ends_of(entry.lowBound, entry.upBound, whole=entry.cat != self._pulp.LpContinuous)

    def taken(self, name: str) -> bool:
        names = [*self._all_rows(), *(variable.name for variable in self.model.variables())]
        return any(other.startswith(named(name, "")) for other in names)

    def add(self, program: Program, own: Sequence[Any], name: str) -> list[Any]:
        """Add variables and rows by the names of the program, behind ``name``.

        Raises ``InputError`` for sets and indicators: PuLP passes sets on to few solvers, and the
        others solve the problem without them.
        """
        if program.needs:
            raise InputError(
                f"PuLP takes no {in_words(program.needs)}: choose the formulation big_m or "
                "partition"
            )
        names = [named(name, label) for label in program.column_names[len(own) :]]
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            self._variables = pulp_solvers.added_columns(self._pulp, program, names, len(own))
            variables = [*own, *self._variables]
            labels = program.row_names
            for i, row in pulp_solvers.rows_of(self._pulp, program, variables):
                self._add_row(row, named(name, labels[i]))
        return variables

    def equate(self, variable: Any, entry: Any, name: str) -> None:
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            self._add_row(variable == entry, name)

    def remove(self) -> None:
        rows = self._all_rows()
        for name in self._rows:
            del rows[name]
        ours = {id(variable) for variable in self._variables}
        model = self.model
        model._variables = [v for v in model._variables if id(v) not in ours]
        for variable in self._variables:
            model._variable_ids.pop(variable.hash, None)

    def value(self, variable: Any, solution: Solution | None) -> float:
        found = variable.varValue if solution is None else solution[variable]
        return np.nan if found is None else float(found)

    def set_start(self, variable: Any, value: float) -> None:
        variable.setInitialValue(value, check=False)

    def solvers(self) -> list[str]:
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            found = self._pulp.listSolvers(onlyAvailable=True)
        return [name for name, native in _PULP.items() if native in found]

    def solve(self, solver: str, seconds: float) -> Solved:
        pulp, model = self._pulp, self.model
        limit = seconds if np.isfinite(seconds) else None
        native = _PULP.get(solver, solver)
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            model.solve(pulp.getSolver(native, msg=False, timeLimit=limit))
        status = pulp.LpSolution[model.sol_status]
        found = model.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
        objective = float(pulp.value(model.objective)) if found else np.nan
        return Solved(model.sol_status == pulp.LpSolutionOptimal, objective, status)

    def _add_row(self, row: Any, name: str) -> None:
        # a row with two sides is two
        name = name if name not in self._all_rows() else f"{name}_"
        self.model.addConstraint(row, name)
        self._rows.append(name)

    def _all_rows(self) -> Any:
        rows = getattr(self.model, "_constraints", None)
        return self.model.constraints if rows is None else rows


_PULP = {"highs": "HiGHS", "cbc": "PULP_CBC_CMD", "scip": "SCIP_PY", "gurobi": "GUROBI"}


class _PyomoHost(Host):
    """A concrete model or block of Pyomo."""

    to_bound = "variable.setlb(...) and variable.setub(...)"
    bytes_each = 220

    def __init__(self, model: Any) -> None:
        import pyomo.environ as pyo

        self._pyo: Any = pyo
        self.model = model
        if not model.is_constructed():
            raise InputError("the Pyomo model is abstract: embed into model.create_instance()")
        self._block: Any = None

    def keyed(self, given: Any) -> Pairs | None:
        if type(given).__name__ == "IndexedComponent_slice":  # it has any attribute
            given = self._pyo.Reference(given)
        if hasattr(given, "is_indexed") and given.is_indexed():
            return [(index, given[index]) for index in given.index_set()]
        return Host.keyed(self, given)

    def is_variable(self, entry: Any) -> bool:
        return hasattr(entry, "is_variable_type") and bool(entry.is_variable_type())

    def is_expression(self, entry: Any) -> bool:
        return hasattr(entry, "is_numeric_type") and bool(entry.is_numeric_type())

    def ends(self, entry: Any) -> Ends:
        if self.is_variable(entry):
            whole = bool(entry.is_integer() or entry.is_binary())
            return ends_of(entry.lb, entry.ub, whole=whole)
        from pyomo.contrib.fbbt.fbbt import compute_bounds_on_expr
        from pyomo.core.expr.visitor import identify_variables

        low, high = ends_of(*compute_bounds_on_expr(entry), whole=False)
        # computed to the nearest number, not outward
        reach = sum(abs(end) for end in (low, high) if np.isfinite(end))
        size = len(list(identify_variables(entry)))
        error = relative_error(size + 8) * reach
        return Ends(low - error, high + error)

    def taken(self, name: str) -> bool:
        return self.model.component(name) is not None

    def add(self, program: Program, own: Sequence[Any], name: str) -> list[Any]:
        block, variables = program_block(self._pyo, program, own)
        self.model.add_component(name, block)
        self._block = block
        return variables

    def equate(self, variable: Any, entry: Any, name: str) -> None:
        self._block.add_component(name, self._pyo.Constraint(expr=variable == entry))

    def remove(self) -> None:
        self.model.del_component(self._block)

    def value(self, variable: Any, solution: Solution | None) -> float:
        if solution is not None:
            if not isinstance(solution, self._pyo.ComponentMap):
                raise InputError("a solution of a Pyomo model is a pyomo.environ.ComponentMap")
            return float(solution[variable])
        return np.nan if variable.value is None else float(variable.value)

    def set_start(self, variable: Any, value: float) -> None:
        variable.set_value(value, skip_validation=True)

    def solvers(self) -> list[str]:
        return [name for name in _PYOMO if self._factory(name).available(exception_flag=False)]

    def solve(self, solver: str, seconds: float) -> Solved:
        pyo, whole, factory = self._pyo, self.model.model(), self._factory(solver)
        limit = {"timelimit": seconds} if np.isfinite(seconds) else {}
        results = factory.solve(whole, load_solutions=False, **limit)
        ended = results.solver.termination_condition
        optimal = ended == pyo.TerminationCondition.optimal
        if not optimal and ended != pyo.TerminationCondition.maxTimeLimit:
            return Solved(False, np.nan, str(ended))
        try:
            if hasattr(factory, "load_vars"):
                factory.load_vars()
            else:
                whole.solutions.load_from(results)
        except (RuntimeError, ValueError):
            return Solved(False, np.nan, f"{ended}, no solution")
        goals = list(whole.component_data_objects(pyo.Objective, active=True))
        objective = float(pyo.value(goals[0])) if goals else 0.0
        return Solved(optimal, objective, str(ended))

    def _factory(self, solver: str) -> Any:
        factory = self._pyo.SolverFactory
        if solver != "cbc" or factory("cbc").available(exception_flag=False):
            return factory(_PYOMO.get(solver, solver))
        return factory("cbc", executable=cbc_binary())


_PYOMO = {"highs": "appsi_highs", "cbc": "cbc", "scip": "scip_direct", "gurobi": "gurobi_direct"}


_HOSTS: dict[str, Callable[[Any], Host]] = {
    "gurobipy": _GurobiHost,
    "pulp": _PulpHost,
    "pyomo": _PyomoHost,
}
_MODELS = {"gurobipy": ("Model",), "pulp": ("LpProblem",), "pyomo": ("BlockData", "_BlockData")}


def host_of(model: Any) -> Host:
    """Return the host for a model, by its class; ``InputError`` for any other object."""
    for cls in type(model).__mro__:
        package = cls.__module__.partition(".")[0]
        if package in _HOSTS and cls.__name__ in _MODELS[package]:
            return _HOSTS[package](model)
    raise InputError(
        "model must be a concrete model or block of Pyomo, a gurobipy.Model or a "
        f"pulp.LpProblem, got {type(model).__module__}.{type(model).__name__}"
    )
