"""Programs behind PuLP and Pyomo that end without an answer: nothing may be proven by that."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix import Answer, SolverUnavailableError, Tolerances
from milp_verix.solvers import Targets
from milp_verix.solvers.backends import cbc, pulp_solvers, pyomo_solvers
from milp_verix.solvers.backends.pulp_solvers import PulpSession, PulpSolver
from milp_verix.solvers.backends.pyomo_solvers import PyomoSession, PyomoSolver
from milp_verix.solvers.trust import DISTRUSTED, TRUSTED
from tests.support.installed_solvers import needs
from tests.support.onnx_models import saved
from tests.support.random_networks import dense_model, random_layers
from tests.support.stub_solvers import ENDINGS, Ending, install
from verix_encodings import Program, ProgramBuilder

COST = np.array([1.0, 2.0, 4.0])


def program() -> Program:
    """Return ``x₁ + x₂ + x₃ ≥ 1.5`` in binaries."""
    builder = ProgramBuilder()
    x = builder.add_columns("x", np.arange(3), 0.0, 1.0, integer=True)
    builder.add_rows("sum", np.arange(1), [(np.ones((1, 3)), x)], 1.5, np.inf)
    return builder.build()


LEAST = min(
    float(COST @ point) for point in itertools.product((0, 1), repeat=3) if sum(point) >= 1.5
)

PULP = {
    "COIN_CMD": "cbc",
    "GLPK_CMD": "glpsol",
    "CPLEX_CMD": "cplex",
    "GUROBI_CMD": "gurobi_cl",
    "SCIP_CMD": "scip",
    "FSCIP_CMD": "fscip",
    "HiGHS_CMD": "highs",
    "MIPCL_CMD": "mps_mipcl",
    "XPRESS": "optimizer",
}
"""PuLP's classes that call a program, and the program."""

PYOMO = {
    "cbc": "cbc",
    "appsi_cbc": "cbc",
    "glpk": "glpsol",
    "cplex": "cplex",
    "scip": "scip",
    "ipopt": "ipopt",
    "xpress": "optimizer",
}


def claims(session: Any) -> list[float]:
    """Return the bounds that ``session`` claims when asked to prove what is false, and what not."""
    bounds = []
    session.load(program())
    for targets in (Targets(holds_above=LEAST + 2, seconds=5.0), Targets()):
        try:
            bounds.append(session.minimise(COST, targets).bound)
        except Exception:
            continue
    return bounds


def opened(family: str, native: str) -> Any:
    if family == "pulp":
        return PulpSession(PulpSolver(f"pulp:{native}", native), 1, Tolerances())
    import pyomo.common

    # Pyomo remembers where a program was
    pyomo.common.Executable.rehash()
    return PyomoSession(PyomoSolver(f"pyomo:{native}", native), 1, Tolerances())


def each_class() -> Any:
    cases = [("pulp", *item) for item in PULP.items()]
    cases += [("pyomo", *item) for item in PYOMO.items()]
    marked = [pytest.param(*case, marks=needs(case[0]), id=":".join(case[:2])) for case in cases]
    return pytest.mark.parametrize(("family", "native", "name"), marked)


@pytest.mark.nightly
@each_class()
def test_a_program_without_an_answer_proves_nothing(
    family: str, native: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a solver may pass the control question, and end so later
    monkeypatch.setattr(pulp_solvers, "ask_control", lambda _: None)
    monkeypatch.setattr(pyomo_solvers, "ask_control", lambda _: None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for ending in ENDINGS:
        install(monkeypatch, tmp_path, name, ending)
        for bound in claims(opened(family, native)):
            assert bound <= LEAST, (ending, bound)


LIES = {
    ("pulp", "COIN_CMD"): "Infeasible - objective value 0.00000000\n",
    ("pulp", "SCIP_CMD"): "solution status: infeasible\nno solution available\n",
    ("pulp", "HiGHS_CMD"): "Model status        : Infeasible\n",
    ("pyomo", "appsi_cbc"): "Integer infeasible - objective value 0.00000000\n",
}
"""Solution files by which a program calls everything infeasible, in a solver's own words."""


@pytest.mark.parametrize(
    ("family", "native"), [pytest.param(*pair, marks=needs(pair[0])) for pair in LIES]
)
def test_a_program_that_calls_everything_infeasible_is_refused(
    family: str, native: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    name = {"pulp": PULP, "pyomo": PYOMO}[family][native]
    install(monkeypatch, tmp_path, name, Ending(text=LIES[family, native]))
    with pytest.raises(SolverUnavailableError, match=r"two binaries whose optimum is 2"):
        opened(family, native)


def test_a_cbc_that_calls_everything_infeasible_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tmp_path, "cbc", Ending(text=LIES["pulp", "COIN_CMD"]))
    monkeypatch.setattr(cbc, "binary", lambda: str(tmp_path / "cbc"))
    with pytest.raises(SolverUnavailableError, match="two binaries whose optimum is 2"):
        cbc.SOLVER.open(threads=1, tolerances=Tolerances())


@pytest.mark.slow
def test_a_cbc_without_an_answer_proves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cbc, "binary", lambda: str(tmp_path / "cbc"))
    monkeypatch.setattr(cbc, "ask_control", lambda _session: None)
    for ending in ENDINGS:
        install(monkeypatch, tmp_path, "cbc", ending)
        session = cbc.CbcSession(1, Tolerances())
        for bound in claims(session):
            assert bound <= LEAST, (ending, bound)


@pytest.mark.slow
@needs("pulp")
def test_an_explanation_by_a_program_without_a_licence_frees_nothing_wrongly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "CPLEX Error  1016: Community Edition. Problem size limits exceeded.\n"
    install(monkeypatch, tmp_path, "cplex", Ending(said))
    layers = random_layers(np.random.default_rng(5), (4, 6, 3))
    model, x = saved(dense_model(layers), tmp_path), np.full(4, 0.5)
    answers = []
    for free in ([0], [0, 1], [0, 1, 2], [0, 1, 2, 3]):
        asked = {"epsilon": 0.4, "bounds": "interval"}
        truth = milp_verix.check(model, x, free, solver="phase", **asked)
        got = milp_verix.check(model, x, free, solver="pulp:CPLEX_CMD", **asked)
        answers.append(truth.answer)
        if got.answer is not Answer.UNKNOWN:
            assert got.answer is truth.answer
    assert Answer.VIOLATED in answers
    result = milp_verix.explain(model, x, solver="pulp:CPLEX_CMD", **asked)
    free = sorted(set(range(4)) - set(result.explanation))
    assert milp_verix.check(model, x, free, epsilon=0.4, solver="phase").answer is Answer.HOLDS
    assert any("CPLEX_CMD behind pulp proves nothing" in note for note in result.notes)


def test_every_name_is_in_one_list() -> None:
    for family, names in TRUSTED.items():
        assert not set(names) & set(DISTRUSTED[family])
