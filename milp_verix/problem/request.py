"""The request that a check or a search answers: a problem, a solver for it, and limits of time."""

import time
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from milp_verix.arguments import check_seconds_of, seconds_of
from milp_verix.clock import Deadline
from milp_verix.onnx_reader.onnx_network import NetworkLike
from milp_verix.problem.problem import Problem, make_problem
from milp_verix.solvers import Session, open_session
from milp_verix.tolerances import Tolerances


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """The arguments that all searches share, checked once.

    ``started`` is the moment of the call in terms of ``time.monotonic()``, ``deadline`` the moment
    when it must end; ``check_seconds`` is the limit of one check, infinite where there is none.
    """

    problem: Problem
    solver: str
    threads: int
    tolerances: Tolerances
    started: float
    deadline: Deadline
    check_seconds: float

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
    time_limit: float | None,
    check_time_limit: float | None = None,
    **question: Any,
) -> Request:
    """Check the arguments of a search; the time starts to run.

    ``question`` goes to :func:`~milp_verix.problem.problem.make_problem`, whose errors are raised.
    Raises ``InputError``, too, for a limit that is not positive.
    """
    started = time.monotonic()
    deadline = Deadline(started + seconds_of(time_limit, "time_limit"))
    check_seconds = check_seconds_of(check_time_limit, time_limit)
    problem = make_problem(network, x, **question)
    tolerances = tolerances or Tolerances()
    return Request(problem, solver, threads, tolerances, started, deadline, check_seconds)
