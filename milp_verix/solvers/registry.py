"""Names of solvers: ``highs``, ``gurobi?MIPFocus=1``, ``pulp:HiGHS``, ``pyomo:gurobi?Presolve=2``.

Behind a colon stands the name that PuLP or Pyomo has for a solver, behind a question mark options
for it, as in the address of a web page: those of :mod:`~milp_verix.solvers.named_options`. An
installed package adds solvers by entry points of the group ``milp_verix.solvers``: each names a
:class:`~milp_verix.solvers.session.Solver`.
"""

from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from typing import Any, cast
from urllib.parse import parse_qsl

from milp_verix.base.errors import InputError, refusing
from milp_verix.base.names import require_one_of
from milp_verix.solvers.backends import cbc, gurobi, highs, scip
from milp_verix.solvers.backends.checkers import checker
from milp_verix.solvers.backends.pulp_solvers import PulpSolver
from milp_verix.solvers.backends.pyomo_solvers import PyomoSolver
from milp_verix.solvers.named_options import (
    SHARED,
    read_name_options,
    read_options,
)
from milp_verix.solvers.own_solver import OwnSolver
from milp_verix.solvers.phase import branch_and_bound
from milp_verix.solvers.session import Solver

_OWN: dict[str, OwnSolver] = {
    one.SOLVER.base: one.SOLVER for one in (highs, branch_and_bound, cbc, gurobi, scip)
}

SOLVERS: dict[str, Solver] = {**_OWN, "pulp": PulpSolver(), "pyomo": PyomoSolver()}
"""The solvers of programs that have a name of their own."""

CHECKERS: dict[str, Solver] = {name: checker(name) for name in ("split", "beta", "leaves")}
"""Names of engines that decide checks without programs; another solver solves programs for them."""

FAMILIES: dict[str, type[PulpSolver] | type[PyomoSolver]] = {
    "pulp": PulpSolver,
    "pyomo": PyomoSolver,
}
"""Families of solvers that have a name behind a colon."""


ENTRY_POINTS = "milp_verix.solvers"
"""The group of entry points by which an installed package adds solvers."""


@cache
def added_solvers() -> dict[str, Any]:
    """Return the entry points of solvers that installed packages add, by their names."""
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def solver_named(name: str) -> Solver:
    """Return the solver called ``name``, installed or not; ``InputError`` for an unknown name."""
    if name in SOLVERS or name in CHECKERS:
        return {**SOLVERS, **CHECKERS}[name]
    path, _, query = name.partition("?")
    base, colon, native = path.partition(":")
    if path in added_solvers() and not query:
        return _added(path)
    own = not colon and SHARED.keys() & {base}
    if base not in FAMILIES and not own:
        families = [f"{family}:NAME" for family in FAMILIES]
        require_one_of(["auto", *SOLVERS, *CHECKERS, *added_solvers(), *families], name, "solver")
        raise InputError("'auto' is a choice among solvers: name one of them")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        raise InputError(
            f"the options of solver {name!r} are not OPTION=VALUE, joined by '&'"
        ) from error
    if own:
        return replace(_OWN[base], options=read_name_options(name, base, pairs))
    default = FAMILIES[base]()
    native = native or default.native
    return FAMILIES[base](name, native, read_options(name, base, native, pairs))


def _added(name: str) -> Solver:
    """Return the solver that an installed package adds; ``InputError`` if it does not load."""
    # whatever the package raises
    with refusing(f"the solver {name!r} of an installed package fails", Exception):
        found = added_solvers()[name].load()
    lacking = [part for part in _PARTS_OF_A_SOLVER if not hasattr(found, part)]
    if lacking or found.name != name:
        why = f"has no {', '.join(lacking)}" if lacking else f"calls itself {found.name!r}"
        raise InputError(f"the solver {name!r} of an installed package {why}")
    return cast("Solver", found)


_PARTS_OF_A_SOLVER = ("name", "licence", "capabilities", "unavailable", "open")
