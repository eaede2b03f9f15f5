"""Solvers under names of their own whose every word is made up, and a ball that makes points up."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from milp_verix import Problem
from milp_verix.base.errors import SolverUnavailableError
from milp_verix.problem.ball import Ball
from milp_verix.solvers import SOLVERS, Session, SolveResult, SolveStatus, Targets, open_session
from tests.support.fake_session import Answering, FakeSession
from verix_encodings import Program


@dataclass
class Made:
    """A solver that says what ``answering`` says, or is not there for ``reason``."""

    name: str
    answering: Answering
    capabilities: frozenset[str] = frozenset()
    reason: str | None = None
    opened: list[FakeSession] = field(default_factory=list)

    def unavailable(self) -> str | None:
        return self.reason

    def open(self, **_options: object) -> Session:
        if self.reason is not None:
            raise SolverUnavailableError(self.reason)
        self.opened.append(FakeSession(self.answering, name=self.name))
        return self.opened[-1]


def register(
    monkeypatch: pytest.MonkeyPatch, name: str, answering: Answering, reason: str | None = None
) -> Made:
    """Let there be a solver called ``name``."""
    made = Made(name, answering, reason=reason)
    monkeypatch.setitem(SOLVERS, name, made)
    return made


def all_holds(_program: Program, _cost: NDArray[np.float64], targets: Targets) -> SolveResult:
    """Claim a bound that proves whatever is asked."""
    above = targets.holds_above if np.isfinite(targets.holds_above) else 0.0
    return SolveResult(SolveStatus.TARGET, bound=above + 1.0, nodes=1, iterations=2)


def honest(program: Program, cost: NDArray[np.float64], targets: Targets) -> SolveResult:
    """Say what HiGHS says."""
    session = open_session("highs")
    session.load(program)
    result = session.minimise(cost, targets)
    session.close()
    return result


def at_call(number: int, act: Callable[[], SolveResult]) -> Answering:
    """Say what HiGHS says, but at call ``number``, from 0, do ``act``."""
    calls = iter(range(10**9))

    def answering(program: Program, cost: NDArray[np.float64], targets: Targets) -> SolveResult:
        return act() if next(calls) == number else honest(program, cost, targets)

    return answering


def no_idea() -> SolveResult:
    """End at the time limit with nothing."""
    return SolveResult(SolveStatus.TIME_LIMIT)


def ctrl_c() -> SolveResult:
    """Do what a session does after Ctrl-C."""
    raise KeyboardInterrupt


@dataclass(frozen=True, slots=True, eq=False)
class LyingBall(Ball):
    """A ball that calls ``lie`` the nearest witness, whatever it was asked."""

    lie: NDArray[Any]

    def nearest_witness(self, point: NDArray[np.float64], free: NDArray[np.intp]) -> NDArray[Any]:
        return self.lie


def with_lying_ball(problem: Problem, lie: NDArray[Any]) -> Problem:
    """Return ``problem`` over a :class:`LyingBall`."""
    ball = problem.ball
    ends = ball.domain_lower, ball.domain_upper
    return problem.within(LyingBall(ball.centre, ball.epsilon, ball.norm, *ends, lie))
