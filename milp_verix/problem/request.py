"""The request that a check or a search answers: a problem, a search for it, and its time."""

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from milp_verix.base.arguments import LONGEST_CHECK, seconds_of
from milp_verix.base.clock import Deadline, Limit, deadline_in
from milp_verix.base.errors import InputError
from milp_verix.base.memory import bytes_of, holds_more
from milp_verix.base.tolerances import Tolerances
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import Search
from milp_verix.solvers import CHECKERS, Session, open_session


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A problem and a search for its answer, from the moment of the call on.

    ``started`` is that moment in terms of ``time.monotonic()``, ``deadline`` the moment when the
    search must end; ``check_limit`` is the limit of one check.
    """

    problem: PosedProblem
    search: Search
    started: float
    deadline: Deadline
    check_limit: Limit

    @classmethod
    def now(cls, problem: PosedProblem, search: Search) -> Self:
        """Return the request; its time starts to run.

        A search inside of another one has that one's deadline for its ``time_limit``. Raises
        ``InputError`` where the model in memory was fitted again since the problem was posed.
        """
        started, limit = time.monotonic(), search.time_limit
        if not isinstance(limit, Deadline):
            problem.network.require_unchanged()
            limit = deadline_in(seconds_of(limit, "time_limit"))
        if search.memory is not None:
            limit = replace(limit, full=partial(holds_more, bytes_of(search.memory)))
        return cls(problem, search, started, limit, _check_limit(search))

    @property
    def tolerances(self) -> Tolerances:
        """The tolerances of the search."""
        return self.search.tolerances

    @property
    def elapsed(self) -> float:
        """Seconds since the call."""
        return time.monotonic() - self.started

    def open_session(self, checker: str) -> Session:
        """Open a session for programs that are no checks, of the solver that answers the checks.

        HiGHS takes the place of ``phase``, ``split`` and ``beta``, which solve checks alone.
        """
        base, _, options = checker.partition("?")
        name = "highs" if base == "phase" or base in CHECKERS else checker
        if name != checker and "strict=on" in options.split("&"):
            raise InputError(
                f"{checker!r} solves checks alone, and lets no other solver take a program over"
            )
        own = self.search.solver
        chosen = name if isinstance(own, str) or own.name != name else own
        return open_session(chosen, threads=self.search.threads, tolerances=self.tolerances)


def _check_limit(search: Search) -> Limit:
    """Return the limit of one check.

    Without one, a ``time_limit`` for all checks limits each. Without either, each may take the work
    of five minutes: no wall clock ends what has no limit.
    """
    if search.check_time_limit is None and search.time_limit is None:
        return Limit(work=LONGEST_CHECK)
    return Limit(seconds=seconds_of(search.check_time_limit, "check_time_limit"))
