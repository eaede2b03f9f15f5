"""The choice of ``auto``: the first solver that takes the program, is installed, and opens."""

from collections.abc import Callable
from typing import TypeVar

from milp_verix.base.errors import InputError, SolverUnavailableError
from milp_verix.solvers.registry import SOLVERS, solver_named
from milp_verix.solvers.session import Solver, in_words

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
    """Return the note on why ``auto`` began with ``chosen``: the solvers that it passed over.

    None where it passed over none: results name their solver.
    """
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
        raise SolverUnavailableError(f"solver {name!r}: {reason}")
    return solver


def lacking(what: str, names: tuple[str, ...], needed: frozenset[str]) -> InputError:
    """Return the error that none of ``names`` has the capabilities ``needed``."""
    beyond = needed.difference(*(solver_named(name).capabilities for name in names))
    taking = [name for name, solver in SOLVERS.items() if needed <= solver.capabilities]
    who = f"solvers that do: {', '.join(taking)}" if taking else "no solver here does"
    return InputError(f"{what} takes no {in_words(beyond)}; {who}")
