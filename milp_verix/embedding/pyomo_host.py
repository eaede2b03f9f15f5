"""A network as a block of a Pyomo model."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError
from milp_verix.embedding.host import Ends, Host, Pairs, Solution, Solved, ends_of
from milp_verix.solvers.backends.cbc import binary as cbc_binary
from milp_verix.solvers.backends.pyomo_solvers import program_block
from verix_encodings import Program
from verix_encodings.arrays import relative_error


class PyomoHost(Host):
    """A concrete model or block of Pyomo."""

    to_bound = "variable.setlb(...) and variable.setub(...)"

    def __init__(self, model: Any) -> None:
        import pyomo.environ as pyo

        self._pyo: Any = pyo
        self.model = model
        if not isinstance(model, pyo.Block) and not hasattr(model, "add_component"):
            raise InputError(f"model is a {type(model).__name__}, expected a Pyomo model or block")
        if not model.is_constructed():
            raise InputError("the Pyomo model is abstract: embed into model.create_instance()")
        self._block: Any = None

    def keyed(self, given: Any) -> Pairs | None:
        """Return keys and parts of a container; of an indexed component or slice, its indices."""
        if type(given).__name__ == "IndexedComponent_slice":  # it has any attribute
            given = self._pyo.Reference(given)
        if hasattr(given, "is_indexed") and given.is_indexed():
            return [(index, given[index]) for index in given.index_set()]
        return Host.keyed(self, given)

    def is_variable(self, entry: Any) -> bool:
        """Return whether ``entry`` is a variable."""
        return hasattr(entry, "is_variable_type") and bool(entry.is_variable_type())

    def is_expression(self, entry: Any) -> bool:
        """Return whether ``entry`` is an expression, a parameter included."""
        return hasattr(entry, "is_numeric_type") and bool(entry.is_numeric_type())

    def key(self, variable: Any) -> Hashable:
        """Return the identity of the variable."""
        return id(variable)

    def ends(self, entry: Any) -> Ends:
        """Return the bounds of a variable, or of any expression that Pyomo bounds."""
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
        """Return whether the model has a component of this name."""
        return self.model.component(name) is not None

    def add(self, program: Program, own: Sequence[Any], name: str) -> list[Any]:
        """Add the program as the block ``name``."""
        block, variables = program_block(self._pyo, program, own)
        self.model.add_component(name, block)
        self._block = block
        return variables

    def equate(self, variable: Any, entry: Any, name: str) -> None:
        """Add the row to the block."""
        self._block.add_component(name, self._pyo.Constraint(expr=variable == entry))

    def remove(self) -> None:
        """Delete the block."""
        self.model.del_component(self._block)

    def value(self, variable: Any, solution: Solution | None) -> float:
        """Return the value of a variable; solutions are ``ComponentMap``s."""
        if solution is not None:
            if not isinstance(solution, self._pyo.ComponentMap):
                raise InputError("a solution of a Pyomo model is a pyomo.environ.ComponentMap")
            return float(solution[variable])
        return np.nan if variable.value is None else float(variable.value)

    def set_start(self, variable: Any, value: float) -> None:
        """Set the value, which solvers take if they are called with ``warmstart=True``."""
        variable.set_value(value, skip_validation=True)

    def solvers(self) -> list[str]:
        """Return the names that have an interface of Pyomo here."""
        return [name for name in _NATIVE if self._factory(name).available(exception_flag=False)]

    def solve(self, solver: str, seconds: float) -> Solved:
        """Solve the whole model; ``solver`` is one of ours or of ``SolverFactory``."""
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
            return factory(_NATIVE.get(solver, solver))
        return factory("cbc", executable=cbc_binary())


_NATIVE = {
    "highs": "appsi_highs",
    "cbc": "cbc",
    "scip": "scip_direct",
    "gurobi": "gurobi_direct",
}
