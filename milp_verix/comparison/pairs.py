"""Pairs of a solver and a formulation: the pairs that fit, and why any other does not."""

from collections.abc import Sequence

from milp_verix.base.errors import InputError, SolverUnavailableError
from milp_verix.problem.search import resolve_formulation
from milp_verix.results.records.comparison import Pair, Skipped
from milp_verix.solvers import CHECKERS, SOLVERS, open_session, resolve_solver
from verix_encodings import Formulation


def fitting_pairs(
    solvers: Sequence[str] | None, formulations: Sequence[str]
) -> tuple[list[Pair], list[Skipped]]:
    """Return the pairs that fit and the pairs that do not; ``solvers`` None means all installed.

    Raises ``InputError`` for a name that is not known or stands twice, and for an empty list.
    """
    if solvers is None:
        known = {**SOLVERS, **CHECKERS}
        solvers = [name for name, solver in known.items() if solver.unavailable() is None]
    _check_names("solvers", solvers)
    _check_names("formulations", formulations)
    if "auto" in solvers:
        raise InputError("a comparison takes solvers by name; auto is a choice between them")
    chosen = [resolve_formulation(name) for name in formulations]
    fitting, skipped = [], []
    for solver in solvers:
        missing = _missing(solver)
        for formulation in chosen:
            pair = Pair(solver, formulation.name)
            reason = missing or _unfit(solver, formulation)
            if reason is None:
                fitting.append(pair)
            else:
                skipped.append(Skipped(pair, reason))
    return fitting, skipped


def _check_names(what: str, names: Sequence[str]) -> None:
    if isinstance(names, str) or not len(names) or not all(names):
        raise InputError(f"{what} must be one name or more, and none empty, got {names!r}")
    if len(set(names)) < len(names):
        raise InputError(f"{what} lists a name twice: {', '.join(names)}")


def why_unfit(solver: str, formulation: str) -> str | None:
    """Return why a solver is not here or does not take a formulation; None if they fit.

    Raises ``InputError`` for a name that is not known.
    """
    return _missing(solver) or _unfit(solver, resolve_formulation(formulation))


def _missing(solver: str) -> str | None:
    """Return why a solver cannot be used, or None; ``InputError`` for an unknown name.

    A session is opened: that imports the solver, before any time is taken, and looks for a licence.
    """
    try:
        open_session(solver).close()
    except SolverUnavailableError as error:
        return str(error)
    return None


def _unfit(solver: str, formulation: Formulation) -> str | None:
    """Return why a solver does not take a formulation."""
    try:
        resolve_solver(solver, formulation.needs)
    except InputError as error:
        return str(error)
    return None
