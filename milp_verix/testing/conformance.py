"""The suite for a solver of one's own: about a hundred small programs with known optima.

>>> from milp_verix.testing import check_solver
>>> print(check_solver("highs").sentence())
highs passes all 100 cases.
"""

from dataclasses import dataclass

from milp_verix.base.errors import InputError, first_line, shown
from milp_verix.solvers import Solver, added_solvers, lacking_parts, solver_named
from milp_verix.testing.cases import SolverCase, cases_for
from milp_verix.testing.trial import Trial, Unmet


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that a solver fails: its name, what was ``expected``, and what was ``seen``."""

    case: str
    expected: str
    seen: str

    def __str__(self) -> str:
        return f"{self.case}: expected {self.expected}; seen: {self.seen}"


@dataclass(frozen=True, slots=True)
class Conformance:
    """What the suite found of the solver called ``solver``.

    ``cases`` are the names of the cases that it was put to, those of its capabilities among them;
    ``failures`` are those that it failed.
    """

    solver: str
    cases: tuple[str, ...]
    failures: tuple[Failure, ...]

    @property
    def passed(self) -> bool:
        """Whether it failed none."""
        return not self.failures

    def sentence(self) -> str:
        """Return the outcome in one sentence, with the first failure if there is any."""
        if self.passed:
            return f"{self.solver} passes all {len(self.cases)} cases."
        count = f"{len(self.failures)} of {len(self.cases)} cases"
        return f"{self.solver} fails {count}, first {self.failures[0]}."


def check_solver(solver: str | Solver, *, time_limit: float = 60) -> Conformance:
    """Put a solver to the suite: a name or an object, as ``solver=`` takes.

    ``time_limit`` is the limit of one small program in seconds. An end up to ten seconds behind a
    limit passes, for the sake of busy machines. What the solver raises is a failure, also that it
    is not installed. Raises ``InputError`` for a name that is not known, and an object that is no
    solver.
    """
    try:
        found = solver_of(solver)
    except InputError as error:
        # not where a package that is known fails
        if not isinstance(solver, str) or solver.partition("?")[0] not in added_solvers():
            raise
        return Conformance(solver, (_OPENS.name,), (Failure(_OPENS.name, "a solver", str(error)),))
    if failure := attempt(_OPENS, found, time_limit):
        return Conformance(found.name, (_OPENS.name,), (failure,))
    cases = cases_for(frozenset(found.capabilities))
    failures = [attempt(case, found, time_limit) for case in cases]
    failed = tuple(failure for failure in failures if failure is not None)
    return Conformance(found.name, tuple(case.name for case in cases), failed)


def solver_of(solver: str | Solver) -> Solver:
    """Return the solver that is meant; ``InputError`` for a wrong name or object."""
    if isinstance(solver, str):
        return solver_named(solver)
    if missing := lacking_parts(solver):
        raise InputError(f"a solver is a name or an object, {shown(solver)} has no {missing[0]}")
    return solver


_OPENS = SolverCase("it opens", lambda _trial: None)


def attempt(case: SolverCase, solver: Solver, seconds: float) -> Failure | None:
    """Return the failure of ``solver`` in a case, None if it passes."""
    try:
        if (reason := solver.unavailable()) is not None:
            raise Unmet("a solver that can be used", reason)
        trial = Trial(solver, seconds)
        try:
            case.run(trial)
        finally:
            trial.session.close()
    except Unmet as unmet:
        return Failure(case.name, unmet.expected, unmet.seen)
    except (Exception, SystemExit) as error:  # noqa: BLE001, RUF100 - whatever the solver raises
        return Failure(case.name, "an answer", f"{type(error).__name__}: {first_line(error)}")
    return None
