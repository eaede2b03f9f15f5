"""A network in a problem of PuLP."""

import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError
from milp_verix.embedding.host import Ends, Host, Pairs, Solution, Solved, ends_of, named, of_sum
from milp_verix.solvers.backends.pulp_solvers import added_columns, rows_of
from milp_verix.solvers.session import in_words
from verix_encodings import Program


class PulpHost(Host):
    """A ``pulp.LpProblem``."""

    to_bound = "variable.bounds(low, high)"

    def __init__(self, model: Any) -> None:
        import pulp

        self._pulp, self.model = pulp, model
        self._variables: list[Any] = []
        self._rows: list[str] = []

    def keyed(self, given: Any) -> Pairs | None:
        """Return keys and parts of a container; an expression is a mapping, but not such."""
        expression = isinstance(given, self._pulp.LpAffineExpression)
        return None if expression else Host.keyed(self, given)

    def is_variable(self, entry: Any) -> bool:
        """Return whether ``entry`` is a ``pulp.LpVariable``."""
        return isinstance(entry, self._pulp.LpVariable)

    def is_expression(self, entry: Any) -> bool:
        """Return whether ``entry`` is an affine expression."""
        affine, row = self._pulp.LpAffineExpression, self._pulp.LpConstraint
        return isinstance(entry, affine) and not isinstance(entry, row)

    def key(self, variable: Any) -> Hashable:
        """Return the identity of the variable."""
        return id(variable)

    def ends(self, entry: Any) -> Ends:
        """Return the bounds of a variable or an affine expression."""
        if not self.is_variable(entry):
            terms = [(factor, self.ends(variable)) for variable, factor in entry.items()]
            return of_sum(terms, entry.constant)
        return ends_of(entry.lowBound, entry.upBound, whole=entry.cat != self._pulp.LpContinuous)

    def taken(self, name: str) -> bool:
        """Return whether a variable or row has a name that begins so."""
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
            self._variables = added_columns(self._pulp, program, names, len(own))
            variables = [*own, *self._variables]
            labels = program.row_names
            for i, row in rows_of(self._pulp, program, variables):
                self._add_row(row, named(name, labels[i]))
        return variables

    def equate(self, variable: Any, entry: Any, name: str) -> None:
        """Add the row."""
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            self._add_row(variable == entry, name)

    def remove(self) -> None:
        """Remove rows and variables."""
        rows = self._all_rows()
        for name in self._rows:
            del rows[name]
        ours = {id(variable) for variable in self._variables}
        model = self.model
        model._variables = [v for v in model._variables if id(v) not in ours]
        for variable in self._variables:
            model._variable_ids.pop(variable.hash, None)

    def value(self, variable: Any, solution: Solution | None) -> float:
        """Return the value of a variable."""
        found = variable.varValue if solution is None else solution[variable]
        return np.nan if found is None else float(found)

    def set_start(self, variable: Any, value: float) -> None:
        """Set the value, which solvers take if they are made with ``warmStart=True``."""
        variable.setInitialValue(value, check=False)

    def solvers(self) -> list[str]:
        """Return the names that PuLP finds here, one for each solver."""
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            found = self._pulp.listSolvers(onlyAvailable=True)
        return [name for name, native in _NATIVE.items() if native in found]

    def solve(self, solver: str, seconds: float) -> Solved:
        """Solve the problem; ``solver`` is one of ours or of PuLP's names."""
        pulp, model = self._pulp, self.model
        limit = seconds if np.isfinite(seconds) else None
        native = _NATIVE.get(solver, solver)
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


_NATIVE = {"highs": "HiGHS", "cbc": "PULP_CBC_CMD", "scip": "SCIP_PY", "gurobi": "GUROBI"}
