"""Programs that are kept from check to check: the same answers, fewer programs, feasible starts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from milp_verix import InputError, OnnxNetwork, SearchLimits, check, explain, minimum
from milp_verix.comparison.timed_solver import SolverClock, TimedSolver
from milp_verix.solvers import SOLVERS, SolveResult, Targets
from tests.support.fake_session import FakeSession
from tests.support.installed_solvers import why_not
from tests.support.lying_solvers import Made, honest
from tests.support.random_networks import dense_network, random_layers
from verix_encodings import Program

WAYS = ("rebuilt", "in_place", "start")


def _model(seed: int, folder: Path) -> OnnxNetwork:
    return dense_network(random_layers(np.random.default_rng(seed), (6, 9, 7, 3)), folder)


def _can(solver: str, warm: str) -> bool:
    needed = {"rebuilt": set(), "in_place": {"in_place_bounds"}, "start": {"start"}}[warm]
    return needed <= SOLVERS[solver].capabilities


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("warm", WAYS)
@pytest.mark.parametrize("solver", ["highs", "phase", "gurobi", "scip", "cbc", "pyomo"])
def test_every_way_gives_the_same_answers(
    solver: str, warm: str, seed: int, tmp_path: Path
) -> None:
    if (reason := why_not(solver)) is not None:
        pytest.skip(reason)
    model, x = _model(seed, tmp_path), np.random.default_rng(seed).uniform(size=6)
    options: dict[str, Any] = {"epsilon": 0.25, "bounds": "interval", "solver": solver}
    if not _can(solver, warm):
        with pytest.raises(InputError, match=f"nothing that {solver} can do: use 'rebuilt'"):
            explain(model, x, warm=warm, **options)
        return
    kept, usual = explain(model, x, warm=warm, **options), explain(model, x, **options)
    assert kept.explanation == usual.explanation
    assert kept.unknown == usual.unknown == ()


class _Recording(FakeSession):
    """Says what HiGHS says, and records programs, changes of bounds and starts."""

    able = frozenset({"in_place_bounds", "start", "growth"})

    def __init__(self) -> None:
        super().__init__(self._say, name="recording", capabilities=self.able)
        self.loads = self.changes = 0
        self.starts: list[tuple[Program, NDArray[np.float64]]] = []
        self.now: Program | None = None

    def load(self, program: Program) -> None:
        super().load(program)
        self.loads, self.now = self.loads + 1, program

    def extend(self, program: Program) -> None:
        self.load(program)

    def set_bounds(self, columns: Any, lower: Any, upper: Any) -> None:
        assert self.now is not None
        self.changes += 1
        FakeSession.load(self, self.now.with_bounds(columns, lower, upper))
        self.now = self.now.with_bounds(columns, lower, upper)

    def _say(self, program: Program, cost: NDArray[np.float64], targets: Targets) -> SolveResult:
        if targets.start is not None:
            self.starts.append((program, targets.start))
        return honest(program, cost, targets)


class _Recorder(Made):
    def open(self, **_options: object) -> Any:
        self.session = _Recording()
        return self.session


def _recorder(monkeypatch: pytest.MonkeyPatch) -> _Recorder:
    made = _Recorder("recording", honest)
    made.capabilities = _Recording.able
    monkeypatch.setitem(SOLVERS, "recording", made)
    return made


@pytest.mark.parametrize("warm", WAYS)
def test_a_program_in_place_is_loaded_once(
    warm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _recorder(monkeypatch)
    options: dict[str, Any] = {"epsilon": 0.25, "bounds": "interval", "reuse": False}
    found = explain(
        *(_model(3, tmp_path), np.full(6, 0.5)), warm=warm, solver="recording", **options
    )
    solves, session = found.statistics.solves, made.session
    assert solves > 3
    if warm == "rebuilt":
        assert (session.changes, session.starts) == (0, [])
        assert session.loads > 1
        return
    assert session.loads == 1
    assert session.changes > 1
    assert bool(session.starts) is (warm == "start")


def _violation(program: Program, point: NDArray[np.float64]) -> float:
    rows = program.matrix @ point
    gaps = (
        program.row_lower - rows,
        rows - program.row_upper,
        program.column_lower - point,
        point - program.column_upper,
    )
    return max(float(np.max(gap, initial=0.0)) for gap in gaps)


@pytest.mark.parametrize("seed", [1, 2, 3, 5, 6, 7, 8])  # 4 is decided without a start
def test_starts_of_checks_are_feasible(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _recorder(monkeypatch)
    x = np.random.default_rng(seed).uniform(size=6)
    options: dict[str, Any] = {"epsilon": 0.25, "bounds": "interval", "reuse": False}
    explain(_model(seed, tmp_path), x, warm="start", solver="recording", **options)
    assert made.session.starts
    for program, start in made.session.starts:
        assert _violation(program, start) < 1e-9
        assert set(start[program.integer]) <= {0.0, 1.0}


@pytest.mark.parametrize("seed", range(8))
def test_the_master_starts_at_the_incumbent(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _recorder(monkeypatch)
    model, x = _model(seed, tmp_path), np.random.default_rng(seed).uniform(size=6)
    options: dict[str, Any] = {"epsilon": 0.25, "solver": "recording", "master": "program"}
    options["limits"] = SearchLimits(without=frozenset({"budget bound", "contrast cover"}))
    costs = set()
    for warm in WAYS:
        found = minimum(model, x, warm=warm, **options)
        assert found.proven
        costs.add(found.cost)
        assert found.statistics.search is not None
        solved = found.statistics.search.programs > 0
        assert bool(made.session.starts) is (warm == "start" and solved)
        for program, start in made.session.starts:
            assert _violation(program, start) < 1e-6
    assert len(costs) == 1


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["gurobi", "highs", "scip"])
@pytest.mark.parametrize("warm", WAYS)
def test_minima_are_the_same_with_every_way(solver: str, warm: str, tmp_path: Path) -> None:
    if (reason := why_not(solver)) is not None:
        pytest.skip(reason)
    model, x = _model(5, tmp_path), np.full(6, 0.5)
    expected = minimum(model, x, epsilon=0.3)
    found = minimum(model, x, epsilon=0.3, solver=solver, master="program", warm=warm)
    assert found.proven
    assert found.cost == expected.cost


def test_the_clock_of_a_comparison_sees_one_program(tmp_path: Path) -> None:
    clock = SolverClock()
    solver: Any = TimedSolver("highs", clock)
    options: dict[str, Any] = {"epsilon": 0.25, "bounds": "interval", "reuse": False}
    explain(_model(3, tmp_path), np.full(6, 0.5), solver=solver, warm="in_place", **options)
    assert clock.time.builds == 1
    assert clock.time.resolves > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"warm": "hot"}, "unknown warm 'hot'; choose one of auto, rebuilt, in_place, start"),
        ({"warm": "in_place", "norm": "l2"}, "needs an L∞ ball"),
        ({"warm": "in_place", "formulation": "partition:2"}, "the formulation big_m"),
        ({"warm": "start", "solver": "phase"}, "nothing that phase can do"),
    ],
)
def test_ways_that_there_are_not(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    given = {"epsilon": 0.25, "bounds": "interval", "solver": "highs", **options}
    with pytest.raises(InputError, match=said):
        check(_model(3, tmp_path), np.full(6, 0.5), list(range(6)), **given)
