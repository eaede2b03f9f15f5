"""Solvers: one small file each in ``backends``, and one line in ``registry.py``.

A solver has ``name``, ``licence``, ``capabilities``, ``unavailable()`` and ``open()``, see
:class:`~milp_verix.solvers.session.Solver`; one with a session class of our own is an
:class:`~milp_verix.solvers.own_solver.OwnSolver`.
"""

from milp_verix.base.tolerances import Tolerances, tolerances_of
from milp_verix.solvers.licence_fallback import LicenceFallback
from milp_verix.solvers.registry import (
    AUTO_ORDER,
    CHECKERS,
    SOLVERS,
    available,
    first_of_auto,
    lacking,
    solver_named,
    why_auto,
)
from milp_verix.solvers.session import Session, Solver, SolveResult, SolveStatus, Targets, extend

SIZE_LIMITED = frozenset({"gurobi"})
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
        limited = solver.name.partition("?")[0] in SIZE_LIMITED
        if not limited or solver is name or getattr(solver, "strict", False):
            return session
        other = SOLVERS[LICENCE_FALLBACK]
        return LicenceFallback(session, lambda: other.open(threads=threads, tolerances=tolerances))

    if name == "auto":
        return first_of_auto(needed, opened)
    return opened(resolve_solver(name, needed))


__all__ = [
    "AUTO_ORDER",
    "CHECKERS",
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
