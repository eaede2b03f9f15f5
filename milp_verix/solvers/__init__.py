"""Solvers: one small file each, and one line here.

A solver is a module with ``name``, ``unavailable()`` and ``open()``, see
:class:`~milp_verix.solvers.session.Solver`.
"""

from milp_verix.errors import InputError, SolverUnavailableError
from milp_verix.solvers.fallback import LicenceFallback
from milp_verix.solvers.names import SOLVERS, solver_named
from milp_verix.solvers.session import (
    Session,
    Solver,
    SolveResult,
    SolveStatus,
    Targets,
    in_words,
)
from milp_verix.solvers.timed import SolverTime, Stopwatch, TimedSolver
from milp_verix.tolerances import Tolerances

AUTO_ORDER = ("phase", "highs", "cbc")
"""What ``auto`` tries: in process before subprocess, and open source only."""

SIZE_LIMITED = frozenset({"gurobi"})
LICENCE_FALLBACK = "highs"


def resolve_solver(name: str | Solver, needed: frozenset[str] = frozenset()) -> Solver:
    """Return the solver called ``name``; for ``"auto"`` the first of ``AUTO_ORDER`` available.

    A solver of the caller's own is returned as it is. It takes the features ``needed``, see
    ``Program.features``. Raises ``InputError`` for a name that is not known or a solver that does
    not take them, and ``SolverUnavailableError`` for a solver that is not installed.
    """
    if not isinstance(name, str):
        if not needed <= name.features:
            raise _lacking(name.name, (), needed - name.features)
        return name
    if name == "auto":
        reasons = []
        candidates = [c for c in AUTO_ORDER if needed <= SOLVERS[c].features]
        if not candidates:
            raise _lacking("what auto tries", AUTO_ORDER, needed)
        for candidate in candidates:
            reason = SOLVERS[candidate].unavailable()
            if reason is None:
                return SOLVERS[candidate]
            reasons.append(f"{candidate}: {reason}")
        raise SolverUnavailableError("no solver is available; " + "; ".join(reasons))
    solver = solver_named(name)
    if not needed <= solver.features:
        raise _lacking(name, (name,), needed)
    reason = solver.unavailable()
    if reason is not None:
        raise SolverUnavailableError(f"solver {name!r}: {reason}")
    return solver


def _lacking(what: str, names: tuple[str, ...], needed: frozenset[str]) -> InputError:
    lacking = needed.difference(*(solver_named(name).features for name in names))
    taking = [name for name, solver in SOLVERS.items() if needed <= solver.features]
    who = f"solvers that do: {', '.join(taking)}" if taking else "no solver here does"
    return InputError(f"{what} takes no {in_words(lacking)}; {who}")


def open_session(
    name: str | Solver = "auto",
    *,
    threads: int = 1,
    tolerances: Tolerances | None = None,
    needed: frozenset[str] = frozenset(),
) -> Session:
    """Open a session of the solver called ``name``; raises as :func:`resolve_solver` does.

    A solver whose licence may end at a size hands larger programs to ``LICENCE_FALLBACK``.
    """
    solver = resolve_solver(name, needed)
    tolerances = tolerances or Tolerances()
    session = solver.open(threads=threads, tolerances=tolerances)
    if solver.name not in SIZE_LIMITED or solver is name:
        return session
    other = SOLVERS[LICENCE_FALLBACK]
    return LicenceFallback(session, lambda: other.open(threads=threads, tolerances=tolerances))


def timed_solver(name: str, watch: Stopwatch, needed: frozenset[str] = frozenset()) -> Solver:
    """Return the solver called ``name``, whose sessions add what they take to ``watch``.

    Raises as :func:`resolve_solver` does.
    """
    solver = resolve_solver(name, needed)
    return TimedSolver(solver.name, solver.features, open_session, watch)


__all__ = [
    "AUTO_ORDER",
    "SOLVERS",
    "Session",
    "SolveResult",
    "SolveStatus",
    "Solver",
    "SolverTime",
    "Stopwatch",
    "Targets",
    "open_session",
    "resolve_solver",
    "timed_solver",
]
