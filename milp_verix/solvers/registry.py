"""Names of solvers: ``highs``, ``pulp:HiGHS``, ``pyomo:gurobi_direct?MIPFocus=1&Presolve=2``.

Behind a colon stands the name that PuLP or Pyomo has for a solver, behind a question mark options
for it, as in the address of a web page: those of :mod:`~milp_verix.solvers.named_options`.
"""

from typing import cast
from urllib.parse import parse_qsl

from milp_verix.errors import InputError
from milp_verix.solvers.backends import cbc, gurobi, highs, scip
from milp_verix.solvers.backends.checkers import Checker
from milp_verix.solvers.backends.pulp_solvers import PulpSolver
from milp_verix.solvers.backends.pyomo_solvers import PyomoSolver
from milp_verix.solvers.named_options import read_option
from milp_verix.solvers.phase import branch_and_bound as phase
from milp_verix.solvers.session import Solver

SOLVERS: dict[str, Solver] = {
    solver.name: cast("Solver", solver)
    for solver in (highs, phase, cbc, gurobi, scip, PulpSolver(), PyomoSolver())
}
"""The solvers of programs that have a name of their own."""

CHECKERS: dict[str, Solver] = {name: Checker(name) for name in ("split", "beta", "leaves")}
"""Names of engines that decide checks without programs; another solver solves programs for them."""

FAMILIES: dict[str, type[PulpSolver] | type[PyomoSolver]] = {
    "pulp": PulpSolver,
    "pyomo": PyomoSolver,
}
"""Families of solvers that have a name behind a colon."""


def solver_named(name: str) -> Solver:
    """Return the solver called ``name``, installed or not; ``InputError`` for an unknown name."""
    if name in SOLVERS or name in CHECKERS:
        return {**SOLVERS, **CHECKERS}[name]
    path, _, query = name.partition("?")
    base, _, native = path.partition(":")
    if base not in FAMILIES:
        known = ", ".join(["auto", *SOLVERS, *CHECKERS, *(f"{family}:NAME" for family in FAMILIES)])
        raise InputError(f"unknown solver {name!r}; choose one of {known}")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        raise InputError(
            f"the options of solver {name!r} are not OPTION=VALUE, joined by '&'"
        ) from error
    default = FAMILIES[base]()
    native = native or default.native
    options = {option: read_option(name, base, native, option, value) for option, value in pairs}
    return FAMILIES[base](name, native, options)
