"""Solvers: one small file each in ``backends``, and the names by which they are chosen.

A solver has ``name``, ``licence``, ``capabilities``, ``unavailable()`` and ``open()``, see
:class:`~milp_verix.solvers.session.Solver`; one with a session class of our own is an
:class:`~milp_verix.solvers.own_solver.OwnSolver`.

Behind a colon stands the name that PuLP or Pyomo has for a solver, behind a question mark options
for it, as in the address of a web page: those of :mod:`~milp_verix.solvers.solver_facts`. An
installed package adds solvers by entry points of the group ``milp_verix.solvers``; one with options
has a method ``with_options``. ``auto`` is the first solver that takes the program, is installed,
and opens.
"""

from collections import UserDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from milp_verix.base.errors import (
    InputError,
    SolverUnavailableError,
    refusing,
    require_one_of,
    shown,
)
from milp_verix.base.tolerances import Tolerances, tolerances_of
from milp_verix.solvers.own_solver import LicenceFallback, OwnSolver
from milp_verix.solvers.session import (
    Session,
    Solver,
    SolveResult,
    SolveStatus,
    Targets,
    extend,
    in_words,
)


class _Backends(UserDict[str, Any]):
    """The ``SOLVER`` of each module in ``backends``, by its name; loaded when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        found = self.data[name]
        if isinstance(found, str):
            self[name] = found = import_module(f"{__name__}.backends.{found}").SOLVER
        return found


FAMILIES = ("pulp", "pyomo")
"""Families of solvers that have a name behind a colon."""

NAMES = ("highs", "phase", "cbc", "gurobi", "scip", "xpress", "copt", "cplex", "ortools")
SOLVERS: UserDict[str, Solver] = _Backends(
    {name: name for name in NAMES} | {name: f"{name}_solvers" for name in FAMILIES}
)
"""The solvers of programs that have a name of their own."""


@dataclass(frozen=True, slots=True)
class _Engine:
    """An engine that decides checks; HiGHS solves programs that are no checks for it."""

    name: str
    licence: str = "BSD-3-Clause, HiGHS MIT"
    capabilities: frozenset[str] = frozenset()

    def unavailable(self) -> str | None:
        return SOLVERS["highs"].unavailable()

    def open(self, *, threads: int, tolerances: Tolerances) -> Session:
        return SOLVERS["highs"].open(threads=threads, tolerances=tolerances)


OWN_ENGINES: dict[str, Solver] = {name: _Engine(name) for name in ("split", "beta", "leaves")}
"""Engines that decide checks without programs.

They are in :mod:`milp_verix.oracle.engines`.
"""

ENTRY_POINTS = "milp_verix.solvers"
"""The group of entry points by which an installed package adds solvers."""


@cache
def added_solvers() -> dict[str, Any]:
    """Return the entry points of solvers that installed packages add, by their names."""
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def solver_named(name: str) -> Solver:
    """Return the solver called ``name``, installed or not; ``InputError`` for an unknown name."""
    if name in SOLVERS:
        return SOLVERS[name]
    if name in OWN_ENGINES:
        return OWN_ENGINES[name]
    path, _, query = name.partition("?")
    base = path.partition(":")[0]
    if path in added_solvers():
        return _added(name, path, query)
    if path == "auto":
        raise InputError("'auto' is a choice among solvers: name one of them")
    if path in OWN_ENGINES:
        raise InputError(f"the solver {path!r} takes no options")
    if base not in FAMILIES:
        known = ["auto", *SOLVERS, *OWN_ENGINES, *added_solvers()]
        known += [f"{family}:NAME" for family in FAMILIES]
        require_one_of(known, path if base in known else base, "solver")
    family: Any = SOLVERS[base]
    named: Solver = family.named(name, _pairs(name, query))
    return named


def _pairs(name: str, query: str) -> list[tuple[str, str]]:
    """Return the options behind the question mark of ``name``, and their values."""
    try:
        return parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        raise InputError(
            f"the options of solver {name!r} are not OPTION=VALUE, joined by '&'"
        ) from error


def _added(name: str, path: str, query: str) -> Solver:
    """Return the solver that an installed package adds.

    For a name with options it is what its ``with_options(name, options)`` returns, with texts by
    their words. Raises ``InputError`` if it does not load, takes no options, or refuses them.
    """
    # whatever the package raises
    with refusing(f"the solver {path!r} of an installed package fails", Exception):
        found: Solver = added_solvers()[path].load()
    if query:
        if not hasattr(found, "with_options"):
            raise InputError(f"the solver {path!r} of an installed package takes no options")
        options = dict(_pairs(name, query))
        with refusing(f"the solver {path!r} refuses the options of {name!r}", Exception):
            found = found.with_options(name, options)
    lacking = lacking_parts(found)
    if lacking or found.name != name:
        why = f"has no {', '.join(lacking)}" if lacking else f"calls itself {found.name!r}"
        raise InputError(f"the solver {name!r} of an installed package {why}")
    return found


def lacking_parts(found: object) -> list[str]:
    """Return the attributes of a :class:`Solver` that an object lacks."""
    parts = ("name", "licence", "capabilities", "unavailable", "open")
    return [part for part in parts if not hasattr(found, part)]


AUTO_ORDER = ("phase", "highs", "cbc", "scip", "gurobi")
"""Solvers that ``auto`` tries: in process before subprocess, open source before licences."""

Opened = TypeVar("Opened")


def first_of_auto(needed: frozenset[str], attempt: Callable[[Solver], Opened]) -> Opened:
    """Return ``attempt`` of the first solver that has the capabilities ``needed`` and is installed.

    A solver that raises ``SolverUnavailableError`` is passed over. If all do, the error lists the
    reasons.
    """
    reasons = []
    for name in AUTO_ORDER:
        solver = SOLVERS[name]
        if not needed <= solver.capabilities:
            continue
        try:
            return attempt(available(solver, name))
        except SolverUnavailableError as error:
            reasons.append(str(error).removeprefix("solver "))
    if not reasons:
        raise lacking("what auto tries", AUTO_ORDER, needed)
    raise SolverUnavailableError("\n".join(["no solver is available:", *reasons]))


def why_auto(chosen: str, needed: frozenset[str]) -> tuple[str, ...]:
    """Return the note on the solvers that ``auto`` passed over before ``chosen``, if any."""
    if chosen not in AUTO_ORDER:
        return ()
    passed: dict[str, list[str]] = {}
    for name in AUTO_ORDER[: AUTO_ORDER.index(chosen)]:
        beyond = needed - SOLVERS[name].capabilities
        reason = f"no {in_words(beyond)}" if beyond else SOLVERS[name].unavailable()
        passed.setdefault(reason or "does not open", []).append(name)
    if not passed:
        return ()
    said = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in passed.items())
    return (f"auto began with {chosen} ({said})",)


def available(solver: Solver, name: str) -> Solver:
    """Return ``solver``, or raise ``SolverUnavailableError`` with its reason."""
    reason = solver.unavailable()
    if reason is not None:
        raise SolverUnavailableError(f"solver {shown(name)}: {reason}")
    return solver


def lacking(what: str, names: tuple[str, ...], needed: frozenset[str]) -> InputError:
    """Return the error that none of ``names`` has the capabilities ``needed``."""
    beyond = needed.difference(*(solver_named(name).capabilities for name in names))
    taking = [name for name, solver in SOLVERS.items() if needed <= solver.capabilities]
    who = f"solvers that do: {', '.join(taking)}" if taking else "no solver here does"
    return InputError(f"{what} takes no {in_words(beyond)}; {who}")


LICENCE_FALLBACK = "highs"


def resolve_solver(name: str | Solver, needed: frozenset[str] = frozenset()) -> Solver:
    """Return the solver called ``name``; for ``"auto"`` the first of ``AUTO_ORDER`` available.

    A solver object is returned as it is. The solver has the capabilities ``needed``, see
    ``Program.needs``. Raises ``InputError`` for an unknown name or a solver that lacks a needed
    capability, and ``SolverUnavailableError`` for a solver that is not installed.
    """
    if not isinstance(name, str):
        if not needed <= name.capabilities:
            raise lacking(name.name, (), needed - name.capabilities)
        return name
    if name == "auto":
        return first_of_auto(needed, lambda solver: solver)
    solver = solver_named(name)
    if not needed <= solver.capabilities:
        raise lacking(name, (name,), needed)
    return available(solver, name)


def open_session(
    name: str | Solver = "auto",
    *,
    threads: int = 1,
    tolerances: Tolerances | None = None,
    needed: frozenset[str] = frozenset(),
) -> Session:
    """Open a session of the solver called ``name``; raises as :func:`resolve_solver` does.

    A solver whose licence is limited in size hands larger programs to ``LICENCE_FALLBACK``, unless
    its name says ``?strict=on``.
    """
    tolerances = tolerances_of(tolerances)

    def opened(solver: Solver) -> Session:
        session = solver.open(threads=threads, tolerances=tolerances)
        limited = isinstance(solver, OwnSolver) and solver.kind.facts.free and not solver.strict
        if not limited or solver is name:
            return session
        other = SOLVERS[LICENCE_FALLBACK]
        return LicenceFallback(session, lambda: other.open(threads=threads, tolerances=tolerances))

    if name == "auto":
        return first_of_auto(needed, opened)
    return opened(resolve_solver(name, needed))


__all__ = [
    "AUTO_ORDER",
    "OWN_ENGINES",
    "SOLVERS",
    "Session",
    "SolveResult",
    "SolveStatus",
    "Solver",
    "Targets",
    "extend",
    "first_of_auto",
    "open_session",
    "resolve_solver",
    "solver_named",
    "why_auto",
]
