"""A network in a model of gurobipy."""

from collections.abc import Hashable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError
from milp_verix.embedding.host import Ends, Host, Solution, Solved, ends_of, named, of_sum
from milp_verix.solvers.backends.gurobi import add_logic, add_rows, added_columns
from verix_encodings import Program


class GurobiHost(Host):
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
        """Return the parts of a list or array, or the entries of a matrix."""
        if isinstance(given, self._gp.MVar | self._gp.MLinExpr):
            return [given[index].item() for index in np.ndindex(given.shape)]
        return Host.parts(self, given)

    def is_variable(self, entry: Any) -> bool:
        """Return whether ``entry`` is a ``gurobipy.Var``."""
        return isinstance(entry, self._gp.Var)

    def is_expression(self, entry: Any) -> bool:
        """Return whether ``entry`` is a linear expression."""
        return isinstance(entry, self._gp.LinExpr)

    def key(self, variable: Any) -> Hashable:
        """Return the variable's number in its model."""
        index = int(variable.index)
        if not 0 <= index < len(self._known) or not self._known[index].sameAs(variable):
            raise InputError("a variable is not one of the model: give variables of the model")
        return index

    def ends(self, entry: Any) -> Ends:
        """Return the bounds of a variable or a linear expression."""
        if not self.is_variable(entry):
            places = range(entry.size())
            terms = [(entry.getCoeff(k), self.ends(entry.getVar(k))) for k in places]
            return of_sum(terms, entry.getConstant())
        return ends_of(entry.LB, entry.UB, whole=entry.VType in ("B", "I"))

    def taken(self, name: str) -> bool:
        """Return whether a variable or row has a name that begins so."""
        pairs = [(variable, "VarName") for variable in self._known]
        for one, attribute in [*pairs, *((row, "ConstrName") for row in self.model.getConstrs())]:
            with suppress(UnicodeDecodeError):  # addVars stores umlauts that Gurobi does not read
                if one.getAttr(attribute).startswith(named(name, "")):
                    return True
        return False

    def add(self, program: Program, own: Sequence[Any], name: str) -> list[Any]:
        """Add variables and rows by the names of the program, behind ``name``."""
        gp, model = self._gp, self.model
        added = added_columns(gp, model, program, len(own))
        variables = [*own, *added.tolist()]
        over = gp.MVar.fromlist(variables)
        blocks = add_rows(model, over, program, 0)
        logic = add_logic(gp, model, over, program)
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
        """Add the row."""
        self._added.append(self.model.addConstr(variable == entry, name=name))
        self.model.update()

    def remove(self) -> None:
        """Remove variables and rows."""
        self.model.remove(self._added)
        self.model.update()

    def value(self, variable: Any, solution: Solution | None) -> float:
        """Return the value of a variable."""
        if solution is not None:
            return float(solution[variable])
        try:
            return float(variable.X)
        except (AttributeError, self._gp.GurobiError):
            return np.nan

    def set_start(self, variable: Any, value: float) -> None:
        """Set the start of the variable."""
        variable.Start = value

    def solvers(self) -> list[str]:
        """Return Gurobi alone."""
        return ["gurobi"]

    def solve(self, solver: str, seconds: float) -> Solved:
        """Solve the model with the parameters that it has."""
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
