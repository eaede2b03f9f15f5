"""A solver whose every word is made up by the test."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from milp_verix.solvers import SolveResult, Targets
from verix_encodings import Program

Answering = Callable[[Program, NDArray[np.float64], Targets], SolveResult]


@dataclass
class FakeSession:
    """A session that says what ``answering`` says."""

    answering: Answering
    name: str = "fake"
    version: str = "1.0"
    largest_big_m: float = 1e4
    capabilities: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    program: Program | None = None
    closed: bool = False

    def load(self, program: Program) -> None:
        assert not self.closed
        self.program = program

    def set_bounds(
        self, columns: NDArray[np.intp], lower: NDArray[np.float64], upper: NDArray[np.float64]
    ) -> None:
        assert self.program is not None
        self.program = self.program.with_bounds(columns, lower, upper)

    def minimise(self, cost: NDArray[np.float64], targets: Targets) -> SolveResult:
        assert not self.closed
        assert self.program is not None
        return self.answering(self.program, cost, targets)

    def close(self) -> None:
        self.closed = True


@dataclass
class FakeSolver:
    """What stands in for ``open_session``; ``opened`` are the sessions so far."""

    answering: Answering
    opened: list[FakeSession] = field(default_factory=list)

    def __call__(self, _name: str = "auto", **_options: object) -> FakeSession:
        self.opened.append(FakeSession(self.answering))
        return self.opened[-1]


def install(monkeypatch: pytest.MonkeyPatch, answering: Answering) -> FakeSolver:
    """Let checks open sessions that say what ``answering`` says."""
    solver = FakeSolver(answering)
    # the package's name "check" is the function
    monkeypatch.setattr(sys.modules["milp_verix.oracle.engines.programs"], "open_session", solver)
    return solver
