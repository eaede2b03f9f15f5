"""Engines at work at the same time: the first that decides stops the others."""

import threading
import time
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

from milp_verix import explain
from milp_verix.clock import deadline_in
from milp_verix.errors import SolverError
from milp_verix.oracle.engines import portfolio as module
from milp_verix.oracle.engines.claim import Claim, Decision
from milp_verix.oracle.engines.side_by_side import side_by_side
from milp_verix.results.records.verdict import Answer, Verdict
from milp_verix.solvers import RemoteSession, SolveResult, Targets, open_session
from tests.support import digits_example as digits
from verix_encodings.program.builder import ProgramBuilder


def claim(seconds: float = 60.0) -> Claim:
    anything: Any = None
    numbers = np.zeros(1)
    return Claim(
        anything,
        np.arange(1),
        anything,
        anything,
        np.arange(1),
        numbers,
        numbers,
        deadline_in(seconds),
    )


@dataclass
class Waiting:
    """An engine that decides after ``seconds``, or waits until it is interrupted."""

    seconds: float
    error: Exception | None = None
    interrupted: threading.Event = field(default_factory=threading.Event)
    late: bool = False

    def decide(self, asked: Claim) -> Decision:
        self.interrupted.wait(self.seconds)
        self.late = asked.deadline.passed()
        if self.error is not None:
            raise self.error
        answer = Answer.UNKNOWN if self.late else Answer.HOLDS
        return Decision(Verdict(answer), asked.upper, {})

    def interrupt(self) -> None:
        self.interrupted.set()


def asked(*engines: Waiting, seconds: float = 60.0) -> list[Decision | SolverError | None]:
    some: Any = engines
    return side_by_side(some, claim(seconds), lambda decision: decision.verdict.holds)


@pytest.mark.parametrize("quick", [0, 1])
def test_the_first_that_decides_stops_the_other(quick: int) -> None:
    engines = [Waiting(30.0), Waiting(30.0)]
    engines[quick].seconds = 0.05
    found = asked(*engines)
    assert isinstance(found[quick], Decision)
    assert found[1 - quick] is None
    # the deadline of the other has passed, so it does not go on after an interrupted solve
    assert engines[1 - quick].late
    assert not engines[quick].late


def test_an_engine_that_fails_leaves_the_other_alone() -> None:
    error = SolverError("it broke")
    found = asked(Waiting(0.0, error), Waiting(0.1))
    assert found[0] is error
    assert isinstance(found[1], Decision)
    assert found[1].verdict.holds


def test_both_may_end_undecided() -> None:
    engines = [Waiting(0.1), Waiting(0.1)]
    found = asked(*engines, seconds=0.01)
    assert all(isinstance(one, Decision) and not one.verdict.holds for one in found)


def test_errors_of_our_own_are_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        asked(Waiting(0.0, ZeroDivisionError()), Waiting(0.05))


def test_ctrl_c_stops_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("milp_verix.oracle.engines.side_by_side.wait", pressed)
    engines = [Waiting(30.0), Waiting(30.0)]
    with pytest.raises(KeyboardInterrupt):
        asked(*engines)
    assert all(engine.late for engine in engines)


class Sleeper:
    """A session that sleeps in each solve."""

    name, version, largest_big_m = "sleeper", "1", 1e4
    capabilities: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def load(self, _program: Any) -> None:
        pass

    def minimise(self, _cost: Any, _targets: Targets) -> SolveResult:
        time.sleep(self.seconds)
        raise AssertionError("nobody woke it")


@pytest.mark.slow
def test_a_solve_in_a_process_is_interrupted_from_another_thread() -> None:
    session = RemoteSession(partial(Sleeper, 60.0))  # type: ignore[arg-type]
    builder = ProgramBuilder()
    builder.add_columns("x", np.arange(1), 0.0, 1.0)
    session.load(builder.build())
    timer = threading.Timer(0.5, session.interrupt)
    timer.start()
    with pytest.raises(SolverError, match="its process ended"):
        session.minimise(np.ones(1), Targets(seconds=60.0))
    session.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["highs", "phase"])
def test_a_session_may_have_a_process_of_its_own(name: str) -> None:
    session = open_session(name, apart=True)
    assert isinstance(session, RemoteSession)
    assert session.name == name
    builder = ProgramBuilder()
    builder.add_columns("x", np.arange(2), 1.0, 2.0)
    session.load(builder.build())
    assert session.minimise(np.ones(2), Targets()).bound == pytest.approx(2.0)
    session.close()


def test_pairs_of_solvers_find_the_same_explanation(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"epsilon": 0.2, "order": "sequential"}
    image = digits.images()[15]
    alone = explain(digits.network(), image, **options)
    # every slice is too short, so that all of them run in pairs but the first
    monkeypatch.setattr(module, "_FIRST_SLICE", 1e-3)
    found = explain(digits.network(), image, threads=2, **options)
    assert found.explanation == alone.explanation
    assert found.minimal
    assert len(found.statistics.solvers) > 1
