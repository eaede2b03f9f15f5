"""The request that a check or a search answers: a problem, a solver for it, and limits of time."""

import time
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from milp_verix.arguments import LONGEST_CHECK, seconds_of
from milp_verix.clock import Deadline, Limit, deadline_in
from milp_verix.onnx_reader.onnx_network import NetworkLike
from milp_verix.problem.problem import Problem, make_problem
from milp_verix.solvers import Session, open_session
from milp_verix.tolerances import Tolerances, tolerances_of


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """The arguments that all searches share, checked once.

    ``started`` is the moment of the call in terms of ``time.monotonic()``, ``deadline`` the moment
    when it must end; ``check_limit`` is the limit of one check.
    """

    problem: Problem
    solver: str
    threads: int
    tolerances: Tolerances
    started: float
    deadline: Deadline
    check_limit: Limit

    @property
    def elapsed(self) -> float:
        """Seconds since the call."""
        return time.monotonic() - self.started

    def open_session(self, checker: str) -> Session:
        """Open a session for programs that are no checks, of the solver that answers the checks.

        HiGHS takes the place of ``phase`` and ``split``, which solve checks alone.
        """
        name = "highs" if checker in ("phase", "split") else checker
        return open_session(name, threads=self.threads, tolerances=self.tolerances)


def make_request(
    network: NetworkLike,
    x: ArrayLike,
    *,
    solver: str,
    threads: int,
    tolerances: Tolerances | None,
    time_limit: float | Deadline | None,
    check_time_limit: float | None = None,
    **question: Any,
) -> Request:
    """Check the arguments of a search; the time starts to run.

    ``question`` goes to :func:`~milp_verix.problem.problem.make_problem`, whose errors are raised.
    A search inside of another one has that one's deadline for its ``time_limit``. Raises
    ``InputError``, too, for a limit that is not positive.
    """
    started = time.monotonic()
    if isinstance(time_limit, Deadline):
        deadline = time_limit
    else:
        deadline = deadline_in(seconds_of(time_limit, "time_limit"))
    check_limit = check_limit_of(check_time_limit, time_limit)
    problem = make_problem(network, x, **question)
    tolerances = tolerances_of(tolerances)
    return Request(problem, solver, threads, tolerances, started, deadline, check_limit)


def check_limit_of(check_time_limit: float | None, time_limit: object) -> Limit:
    """Return the limit of one check; ``InputError`` unless it is positive.

    Without one, a ``time_limit`` for all checks limits each. Without either, each may take the work
    of five minutes: no wall clock ends what has no limit.
    """
    if check_time_limit is None and time_limit is None:
        return Limit(work=LONGEST_CHECK)
    return Limit(seconds=seconds_of(check_time_limit, "check_time_limit"))
