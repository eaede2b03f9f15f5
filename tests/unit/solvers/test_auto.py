"""Which solver is used, and what is said where one is missing, unknown or out of licence."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import milp_verix
from milp_verix import InputError, SolverUnavailableError
from milp_verix.base.errors import LicenceLimitError
from milp_verix.solvers import (
    SolveResult,
    SolveStatus,
    Targets,
    open_session,
    resolve_solver,
    why_auto,
)
from milp_verix.solvers.backends import cbc, highs, phase
from milp_verix.solvers.own_solver import LicenceFallback
from tests.support.installed_solvers import hide, needs, why_not
from tests.support.random_networks import as_layers, cube, dense_network, network_of, random_layers
from tests.support.scipy_reference import over
from verix_encodings import Program, ProgramBuilder


def hide_cbc(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "pulp")
    monkeypatch.setattr(shutil, "which", lambda _name: None)


def explain_with(solver: str, folder: Path) -> milp_verix.Explanation:
    network = dense_network(random_layers(np.random.default_rng(0), (3, 4, 2)), folder)
    return milp_verix.explain(network, np.full(3, 0.5), epsilon=0.1, solver=solver)


def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'baron'; choose one of auto, highs, phase, cbc"):
        explain_with("baron", tmp_path)


@pytest.mark.parametrize(
    ("solver", "module", "remedy"),
    [
        ("highs", "highspy", "pip install highspy"),
        ("gurobi", "gurobipy", "pip install gurobipy"),
        ("scip", "pyscipopt", "pip install pyscipopt"),
        ("xpress", "xpress", "pip install xpress"),
        ("copt", "coptpy", "pip install coptpy"),
        ("pulp", "pulp", "pip install pulp"),
        ("pyomo", "pyomo", "pip install pyomo"),
        ("pulp:HiGHS", "pulp", "pip install pulp"),
    ],
)
def test_a_missing_package_is_named_with_its_remedy(
    solver: str, module: str, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(monkeypatch, module, *(["pyomo.environ"] if module == "pyomo" else []))
    with pytest.raises(SolverUnavailableError, match=f"solver '{solver}'.*{module}.*{remedy}"):
        explain_with(solver, tmp_path)


def test_a_missing_binary_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_cbc(monkeypatch)
    with pytest.raises(SolverUnavailableError, match=r"pip install 'pulp<4'.*PATH"):
        explain_with("cbc", tmp_path)


def test_a_binary_on_the_path_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "pulp")
    monkeypatch.setattr(shutil, "which", lambda name: f"/somewhere/{name}")
    assert cbc.binary() == "/somewhere/cbc"
    assert cbc.SOLVER.unavailable() is None


def test_auto_is_phase_where_highs_is_installed() -> None:
    pytest.importorskip("highspy", reason="HiGHS is not installed")
    assert resolve_solver("auto").name == "phase"


@needs("cbc")
def test_auto_is_cbc_where_highs_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = explain_with("cbc", tmp_path)
    hide(monkeypatch, "highspy")
    found = explain_with("auto", tmp_path)
    assert found.solver == "cbc"
    assert found.explanation == expected.explanation
    (note,) = found.notes
    assert note.startswith("auto began with cbc (phase, highs: highspy does not import")
    assert "pip install highspy" in note


def test_auto_names_every_solver_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(monkeypatch, "highspy", "pyscipopt", "gurobipy")
    hide_cbc(monkeypatch)
    with pytest.raises(SolverUnavailableError, match="highspy") as caught:
        explain_with("auto", tmp_path)
    said = str(caught.value)
    assert "'cbc': no CBC binary" in said
    assert "'scip': pyscipopt does not import" in said
    assert "'gurobi': gurobipy does not import" in said


def test_auto_moves_on_from_a_solver_that_does_not_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_session: object) -> None:
        raise SolverUnavailableError("the binary does not run")

    for kind in (phase.PhaseSession, highs.HighsSession):
        monkeypatch.setattr(kind, "_open", refuse)
    session = open_session("auto")
    assert session.name == "cbc"
    session.close()
    assert why_auto("cbc", frozenset()) == ("auto began with cbc (phase, highs: does not open)",)


@needs("gurobi")
def test_a_licence_that_is_refused_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import gurobipy

    def refuse(**_options: object) -> None:
        raise gurobipy.GurobiError(10009, "License expired 2020-01-01")

    monkeypatch.setattr(gurobipy, "Env", refuse)
    with pytest.raises(SolverUnavailableError, match=r"License expired.*another solver"):
        open_session("gurobi")


def wide(columns: int) -> Program:
    builder = ProgramBuilder()
    builder.add_columns("x", np.arange(columns), 1.0, 2.0)
    return builder.build()


def licence_ends() -> bool:
    """Whether Gurobi's licence ends at 2000 columns, by Gurobi's own word."""
    if why_not("gurobi"):
        return False
    import gurobipy

    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
        model.addMVar(2001)
        try:
            model.optimize()
        except gurobipy.GurobiError as error:
            return bool(error.errno == gurobipy.GRB.Error.SIZE_LIMIT_EXCEEDED)
    return False


ends = pytest.mark.skipif(not licence_ends(), reason="no Gurobi licence that ends at 2000 columns")


@ends
def test_a_program_beyond_the_free_licence_goes_to_highs() -> None:
    session = open_session("gurobi")
    session.load(wide(2000))
    assert session.minimise(np.ones(2000), Targets()).bound == pytest.approx(2000)
    assert session.notes == ()
    session.load(wide(2001))
    assert session.minimise(np.ones(2001), Targets()).bound == pytest.approx(2001)
    (note,) = session.notes
    assert "highs" in note
    assert "2001 columns" in note
    assert session.name == "gurobi"
    # and back: the next program is Gurobi's again, the note stays
    session.load(wide(3))
    assert session.minimise(np.ones(3), Targets()).detail.startswith("Gurobi")
    assert session.notes == (note,)
    session.close()


@ends
def test_an_explanation_says_that_its_programs_went_elsewhere(tmp_path: Path) -> None:
    # class 0 scores |t|, class 1 scores ¼: by intervals |t| may be 2 ε, in truth ε, so that a
    # solver must prove it, with a column for each of 2000 inputs and more
    size, tiny = 2000, 2.0**-11
    weights = np.append(np.full(size, tiny), 0.5)
    shift = -weights.sum() / 2
    layers = as_layers(([weights, -weights], [shift, -shift]), ([[1, 1], [0, 0]], [0, 0.25]))
    network = dense_network(layers, tmp_path)
    options = {
        "epsilon": 0.2,
        "features": [list(range(size)), [size]],
        "order": "sequential",
        "bounds": "interval",
        "reuse": False,
    }
    explanation = milp_verix.explain(network, np.full(size + 1, 0.5), solver="gurobi", **options)
    assert explanation.statistics.solves > 0
    assert explanation.solver == "gurobi"
    (note,) = explanation.notes
    assert "highs" in note
    assert "columns" in note
    with_highs = milp_verix.explain(network, np.full(size + 1, 0.5), solver="highs", **options)
    assert with_highs.notes == ()
    assert explanation.explanation == with_highs.explanation == (1,)
    assert explanation.minimal


class Limited:
    """A session whose licence ends at three columns, at ``load`` or only at ``minimise``."""

    name, version, largest_big_m, notes = "limited", "1", 7.0, ()
    capabilities: frozenset[str] = frozenset()

    def __init__(self, late: bool) -> None:
        self.late, self.columns, self.closed = late, 0, False

    def load(self, program: Program) -> None:
        self.columns = program.columns
        if not self.late:
            self.refuse()

    def minimise(self, cost: np.ndarray, targets: Targets) -> SolveResult:
        self.refuse()
        return SolveResult(SolveStatus.OPTIMAL, detail="by limited")

    def refuse(self) -> None:
        if self.columns > 3:
            raise LicenceLimitError(f"no more than 3 columns, got {self.columns}")

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("late", [False, True])
def test_any_session_may_hand_over(late: bool) -> None:
    primary, opened = Limited(late), []

    def open_other() -> object:
        opened.append(open_session("highs"))
        return opened[-1]

    session = LicenceFallback(primary, open_other)
    session.load(wide(3))
    assert session.minimise(np.ones(3), Targets()).detail == "by limited"
    assert opened == []
    program = over(network_of(random_layers(np.random.default_rng(0), (4, 5, 2))), cube(4)).program
    for _ in range(2):
        session.load(program)
        for _ in range(2):
            assert session.minimise(np.ones(program.columns), Targets()).detail == "Optimal"
        # who proves decides how far the proof is trusted
        assert session.largest_big_m == opened[0].largest_big_m
    assert len(opened) == 1
    assert session.handed_over == 2
    assert session.notes[0].startswith("highs solved 2 programs: no more than 3 columns")
    session.load(wide(2))
    assert session.largest_big_m == primary.largest_big_m
    assert session.minimise(np.ones(2), Targets()).detail == "by limited"
    session.close()
    assert primary.closed
