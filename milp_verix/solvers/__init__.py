"""Solvers: one small file each, and one line here.

A solver is a module with ``name``, ``unavailable()`` and ``open()``, see
:class:`~milp_verix.solvers.session.Solver`.
"""

from typing import cast

from milp_verix.errors import InputError, SolverUnavailableError
from milp_verix.solvers import cbc, gurobi, highs, phase
from milp_verix.solvers.fallback import LicenceFallback
from milp_verix.solvers.session import Session, Solver, SolveResult, SolveStatus, Targets
from milp_verix.tolerances import Tolerances

SOLVERS: dict[str, Solver] = {
    solver.name: cast("Solver", solver) for solver in (highs, phase, cbc, gurobi)
}

AUTO_ORDER = ("highs", "cbc")
"""What ``auto`` tries: in process before subprocess, and open source only."""

SIZE_LIMITED = frozenset({"gurobi"})
LICENCE_FALLBACK = "highs"


def resolve_solver(name: str) -> Solver:
    """Return the solver called ``name``; for ``"auto"`` the first of ``AUTO_ORDER`` available.

    Raises ``InputError`` for a name that is not known and ``SolverUnavailableError`` for a solver
    that is not installed.
    """
    if name == "auto":
        reasons = []
        for candidate in AUTO_ORDER:
            reason = SOLVERS[candidate].unavailable()
            if reason is None:
                return SOLVERS[candidate]
            reasons.append(f"{candidate}: {reason}")
        raise SolverUnavailableError("no solver is available; " + "; ".join(reasons))
    if name not in SOLVERS:
        known = ", ".join(["auto", *SOLVERS])
        raise InputError(f"unknown solver {name!r}; choose one of {known}")
    reason = SOLVERS[name].unavailable()
    if reason is not None:
        raise SolverUnavailableError(f"solver {name!r}: {reason}")
    return SOLVERS[name]


def open_session(
    name: str = "auto", *, threads: int = 1, tolerances: Tolerances | None = None
) -> Session:
    """Open a session of the solver called ``name``; raises as :func:`resolve_solver` does.

    A solver whose licence may end at a size hands larger programs to ``LICENCE_FALLBACK``.
    """
    solver = resolve_solver(name)
    tolerances = tolerances or Tolerances()
    session = solver.open(threads=threads, tolerances=tolerances)
    if solver.name not in SIZE_LIMITED:
        return session
    other = SOLVERS[LICENCE_FALLBACK]
    return LicenceFallback(session, lambda: other.open(threads=threads, tolerances=tolerances))


__all__ = [
    "AUTO_ORDER",
    "SOLVERS",
    "Session",
    "SolveResult",
    "SolveStatus",
    "Solver",
    "Targets",
    "open_session",
    "resolve_solver",
]
