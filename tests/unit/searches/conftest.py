"""A solver that ends without an answer, for all tests of contrasts and enumerations."""

import pytest

from milp_verix.problem import search as request_module
from milp_verix.solvers import SolveResult, SolveStatus
from tests.support.fake_session import FakeSolver


@pytest.fixture(params=[SolveStatus.INFEASIBLE, SolveStatus.FAILED])
def broken_solver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> FakeSolver:
    """The solver in the place of all others."""
    solver = FakeSolver(lambda *_: SolveResult(request.param, bound=1e9))
    monkeypatch.setattr(request_module, "open_session", solver)
    return solver
