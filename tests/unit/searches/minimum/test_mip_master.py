"""The relaxation by scenarios on a solver's session: rounds extend, and trouble costs no proof."""

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from milp_verix import minimum
from milp_verix.base.errors import LicenceLimitError, SolverError
from milp_verix.solvers import SOLVERS, Session, SolveResult, SolveStatus, Targets, open_session
from milp_verix.solvers.own_solver import LicenceFallback
from tests.support.brute_force_cases import case
from tests.support.counterfactual_checks import assert_sound
from tests.support.digits_example import images, network
from tests.support.exhaustive_explanations import fewest
from tests.support.installed_solvers import needs
from tests.support.searches import without
from verix_encodings import Program

# bounds before the program leave it less to prove
WITHOUT = without("budget bound", "contrast cover")
DIGIT: dict[str, Any] = {"epsilon": 0.1, "master": "program", "limits": WITHOUT}


class Recording:
    """A live session that records what the master asks of it; ``answering`` may change answers."""

    def __init__(
        self, session: Session, answering: Callable[[int, SolveResult], SolveResult] | None = None
    ) -> None:
        self._session = session
        self._answering = answering
        self.loads: list[Program] = []
        self.extensions: list[Program] = []
        self.targets: list[Targets] = []
        self.closed = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._session, name)

    def load(self, program: Program) -> None:
        self.loads.append(program)
        self._session.load(program)

    def extend(self, program: Program) -> None:
        self.extensions.append(program)
        self._session.extend(program)  # type: ignore[attr-defined]

    def minimise(self, cost: NDArray[np.float64], targets: Targets) -> SolveResult:
        self.targets.append(targets)
        result = self._session.minimise(cost, targets)
        return self._answering(len(self.targets), result) if self._answering else result

    def close(self) -> None:
        self.closed = True
        self._session.close()


Install = Callable[[Callable[[Session], object]], None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return what wraps the master's session, and no other."""
    module = sys.modules["milp_verix.problem.search"]

    def installed(wrap: Callable[[Session], object]) -> None:
        monkeypatch.setattr(module, "open_session", lambda *a, **k: wrap(open_session(*a, **k)))

    return installed


@pytest.mark.slow
@pytest.mark.parametrize(
    "solver", [pytest.param(name, marks=needs(name)) for name in ("highs", "gurobi", "scip", "cbc")]
)
def test_rounds_extend_one_program(solver: str, install: Install) -> None:
    opened: list[Recording] = []

    def wrap(session: Session) -> Recording:
        opened.append(Recording(session))
        return opened[-1]

    install(wrap)
    found = minimum(network(), images()[13], solver=solver, time_limit=60, **DIGIT)
    (session,) = opened
    assert session.closed
    programs = session.loads + session.extensions
    grows = "growth" in SOLVERS[solver].capabilities
    assert len(programs) > (0 if solver == "cbc" else 2)
    assert (session.loads if grows else session.extensions) == []
    for before, after in pairwise(programs):
        assert after.extends(before)
        assert after.rows > before.rows
    # phases first: all integer columns but the features
    for program, targets in zip(programs, session.targets, strict=True):
        assert targets.first is not None
        features = [n for prefix, numbers in program.column_labels[:1] for n in numbers]
        assert len(features) == 64
        assert np.array_equal(targets.first, np.flatnonzero(program.integer)[64:])
    assert found.lower_bound is not None
    assert found.lower_bound <= 24 <= found.size


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["highs", pytest.param("gurobi", marks=needs("gurobi"))])
@pytest.mark.parametrize("seed", range(200, 240))
def test_the_minimum_is_that_of_brute_force(seed: int, solver: str, tmp_path: Path) -> None:
    problem = case(seed)
    net = problem.network(tmp_path)
    found = minimum(net, problem.x, solver=solver, master="program", **problem.options)
    assert found.proven
    assert found.size == found.lower_bound == fewest(problem)
    assert found.notes == ()
    assert_sound(found, net, problem.x)


def bounds_until(install: Install, rounds: int) -> float:
    """Return the highest bound of the first rounds, undisturbed."""
    bounds: list[float] = []

    def answering(_number: int, result: SolveResult) -> SolveResult:
        bounds.append(result.bound)
        return result

    install(lambda session: Recording(session, answering))
    minimum(network(), images()[13], solver="highs", **DIGIT)
    assert len(bounds) > rounds
    return max(bounds[:rounds])


@pytest.mark.slow
@pytest.mark.parametrize("error", [LicenceLimitError, SolverError])
def test_a_solver_that_gives_out_leaves_what_is_proven(
    error: type[Exception], install: Install
) -> None:
    least = bounds_until(install, 1)

    def answering(number: int, result: SolveResult) -> SolveResult:
        if number > 1:
            raise error("no more than 42 columns")
        return result

    install(lambda session: Recording(session, answering))
    found = minimum(network(), images()[13], solver="highs", **DIGIT)
    assert found.lower_bound is not None
    assert 0 < least - 1e-6 <= found.lower_bound <= found.size
    assert not found.proven
    (note,) = found.notes
    assert note == "the search for a higher lower bound was given up: no more than 42 columns"
    assert found.replay(network()) == ()


@pytest.mark.parametrize("status", [SolveStatus.FAILED, SolveStatus.INFEASIBLE])
def test_a_solver_without_an_answer_proves_nothing_further(
    status: SolveStatus, install: Install
) -> None:
    def answering(number: int, result: SolveResult) -> SolveResult:
        # what it claims in trouble is not believed
        return replace(result, status=status, bound=1e6, point=None, detail="gone astray")

    install(lambda session: Recording(session, answering))
    found = minimum(network(), images()[13], solver="highs", **DIGIT)
    assert found.lower_bound == 0
    assert found.size > 0
    assert found.notes == ("the search for a higher lower bound was given up: gone astray",)


def test_a_bound_that_is_not_trusted_is_not_taken_and_said(install: Install) -> None:
    def wrap(session: Session) -> Recording:
        recording = Recording(session)
        recording.largest_big_m = 1e-3  # type: ignore[attr-defined]
        return recording

    install(wrap)
    found = minimum(network(), images()[13], solver="highs", **DIGIT)
    assert found.lower_bound == 0
    (note,) = found.notes
    assert note.startswith("no lower bound rests on big-Ms beyond 0.001, which is as far as highs")


@pytest.mark.slow
def test_what_a_licence_does_not_cover_is_solved_by_another_and_said(install: Install) -> None:
    undisturbed = minimum(network(), images()[13], solver="highs", **DIGIT)

    def answering(number: int, result: SolveResult) -> SolveResult:
        if number > 1:
            raise LicenceLimitError("the licence ends at 42 columns")
        return result

    def wrap(session: Session) -> LicenceFallback:
        limited = Recording(session, answering)
        return LicenceFallback(limited, lambda: open_session("highs"))  # type: ignore[arg-type]

    install(wrap)
    found = minimum(network(), images()[13], solver="highs", **DIGIT)
    assert found.proven
    assert found.size == undisturbed.size
    (note,) = found.notes
    assert note.startswith("highs solved ")
    assert note.endswith(": the licence ends at 42 columns")
