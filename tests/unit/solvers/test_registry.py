"""Names with a colon and options: PuLP's and Pyomo's solvers, with clear words where they fail."""

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from milp_verix import (
    InputError,
    Search,
    SolverUnavailableError,
    compare,
)
from milp_verix.cli.app import app
from milp_verix.solvers import (
    FAMILIES,
    OWN_ENGINES,
    SOLVERS,
    SolveStatus,
    Targets,
    open_session,
    resolve_solver,
    solver_named,
)
from milp_verix.solvers.backends import cbc, gurobi, highs, scip
from milp_verix.solvers.backends.pulp_solvers import PulpSolver
from milp_verix.solvers.backends.pyomo_solvers import PyomoSolver
from milp_verix.solvers.solver_facts import UNKNOWN, read_options
from milp_verix.solvers.trust import facts_of
from tests.support.installed_solvers import needs
from tests.support.random_networks import cube, network_of, random_layers
from tests.support.scipy_reference import optimum, over


def test_names_are_read() -> None:
    assert solver_named("pulp") == PulpSolver("pulp", "PULP_CBC_CMD", {})
    assert solver_named("pulp:HiGHS") == PulpSolver("pulp:HiGHS", "HiGHS", {})
    name = "pyomo:gurobi_direct?MIPFocus=1&Heuristics=0.5"
    options = {"MIPFocus": 1, "Heuristics": 0.5}
    assert solver_named(name) == PyomoSolver(name, "gurobi_direct", options)
    name = "pulp:HiGHS?mip_detect_symmetry=true&presolve=On"
    options = {"mip_detect_symmetry": True, "presolve": "on"}
    assert solver_named(name) == PulpSolver(name, "HiGHS", options)
    assert solver_named("pyomo?presolve=on") == PyomoSolver(
        "pyomo?presolve=on", "appsi_highs", {"presolve": "on"}
    )


ASKING = [compare, Search]  # the calls name some of them


@pytest.mark.parametrize("function", ASKING)
def test_a_docstring_names_every_solver(function: Any) -> None:
    text = " ".join(inspect.getdoc(function).split())
    first = "highs" if function is compare else "auto"  # compare asks solvers one by one
    found = re.search(rf'solvers?: [a-zN,.\' ]*``"{first}"``.*?``"pyomo:NAME"``', text)
    assert found is not None
    named = re.findall(r'``"([^"]+)"``', found.group())
    families = [f"{family}:NAME" for family in FAMILIES]
    assert sorted(named) == sorted({*SOLVERS, *OWN_ENGINES, *families, first})


@pytest.mark.parametrize("command", ["explain", "minimum", "contrastive", "enumerate"])
def test_the_help_names_every_solver(command: str) -> None:
    text = CliRunner().invoke(app, [command, "--help"]).output
    for name in ["auto", *SOLVERS, *OWN_ENGINES, *(f"{family}:NAME" for family in FAMILIES)]:
        assert name in text


@pytest.mark.parametrize("wrong", ["highs:x", "baron", "pulpy:HiGHS", "", ":"])
def test_unknown_names_are_refused_with_the_known_ones(wrong: str) -> None:
    with pytest.raises(InputError, match=r"choose one of auto, highs.*pulp:NAME, pyomo:NAME"):
        resolve_solver(wrong)


def test_an_engine_takes_no_options() -> None:
    with pytest.raises(InputError, match="'split' takes no options"):
        resolve_solver("split?time=1")


@pytest.mark.parametrize("wrong", ["pulp:HiGHS?a", "pyomo?=&"])
def test_options_that_are_none_are_refused(wrong: str) -> None:
    with pytest.raises(InputError, match="OPTION=VALUE"):
        resolve_solver(wrong)


@needs("pulp")
def test_a_solver_that_pulp_lacks_is_refused_with_those_it_has() -> None:
    with pytest.raises(SolverUnavailableError, match=r"NONE.*what it finds: .*PULP_CBC_CMD"):
        resolve_solver("pulp:NONE")
    with pytest.raises(SolverUnavailableError, match=r"XPRESS.*what it finds: "):
        resolve_solver("pulp:XPRESS")


@needs("pyomo")
def test_a_solver_that_pyomo_lacks_is_refused_with_those_it_has() -> None:
    for lacking in ("none", "mosek_persistent"):
        with pytest.raises(SolverUnavailableError, match=f"'{lacking}'.*finds: .*appsi_highs"):
            resolve_solver(f"pyomo:{lacking}")


def test_what_is_known_of_the_solvers_behind_names() -> None:
    of = {
        highs.FACTS: ("HiGHS", "appsi_highs", "highs"),
        gurobi.FACTS: ("GUROBI", "gurobi_persistent", "appsi_gurobi"),
        scip.FACTS: ("SCIP_PY", "scip_direct", "scip"),
        cbc.FACTS: ("PULP_CBC_CMD", "COIN_CMD", "cbc", "appsi_cbc"),
        UNKNOWN: ("GLPK_CMD", "cplex_direct", "FSCIP_CMD", "glpk", "HiGHS_CMD", "SCIP_CMD"),
    }
    for facts, names in of.items():
        assert {facts_of(name) for name in names} == {facts}


NATIVE = [
    *("pulp:HiGHS", "pulp:GUROBI", "pulp:SCIP_PY", "pyomo:highs", "pyomo:appsi_gurobi"),
    *("pyomo:gurobi_direct", "pyomo:gurobi_persistent", "pyomo:scip_direct"),
    *("pulp:COIN_CMD", "pulp:GLPK_CMD", "pyomo:appsi_cbc"),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", NATIVE)
def test_optima_and_proofs(name: str) -> None:
    if reason := solver_named(name).unavailable():
        pytest.skip(reason)
    session = open_session(name, threads=2)
    network = network_of(random_layers(np.random.default_rng(0), (3, 5, 3, 2)))
    program = over(network, cube(3)).program
    rng = np.random.default_rng(0)
    session.load(program)
    for number in range(3):
        cost = rng.normal(size=program.columns)
        best = optimum(program, cost)[0]
        result = session.minimise(cost, Targets())
        assert result.status is SolveStatus.OPTIMAL
        assert best - 3e-5 * max(1, abs(best)) <= result.bound <= best
        assert result.point is not None
        assert cost @ result.point == pytest.approx(best, abs=1e-6)
        proof = session.minimise(cost, Targets(holds_above=best - 0.1))
        assert proof.status is SolveStatus.TARGET
        assert proof.bound == best - 0.1
        refuted = session.minimise(cost, Targets(violated_below=best + 0.1, holds_above=best + 0.2))
        assert refuted.point is not None
        assert cost @ refuted.point < best + 0.1
        if number == 1:
            program = program.with_bounds(np.arange(3), 0.25, 0.75)
            session.set_bounds(np.arange(3), np.full(3, 0.25), np.full(3, 0.75))
    session.close()


STRANGERS = [
    *("pulp:COIN_CMD?path=/tmp/evil", "pulp?logPath=/tmp/evil", "pulp?keepFiles=true"),
    *("pulp?options=x", "pulp?warmStart=true", "pulp?threads=2 -import x", "pulp?gapRel=0.1"),
    *("pulp:CPLEX_CMD?path=/tmp/evil", "pulp:GUROBI?ResultFile=/tmp/evil.sol"),
    *("pulp:GUROBI?LogFile=/tmp/evil", "pulp:GUROBI?Cutoff=0", "pulp:GUROBI?IntFeasTol=0.1"),
    *("pulp:HiGHS?solution_file=/tmp/evil", "pulp:HiGHS?log_file=/tmp/evil"),
    *("pulp:HiGHS?write_model_file=/tmp/evil", "pulp:HiGHS?objective_bound=1"),
    *("pulp:HiGHS?mip_feasibility_tolerance=0.4", "pulp:HiGHS?mip_rel_gap=0.5"),
    *("pulp:HiGHS?presolve=/tmp/evil", "pulp:HiGHS?mip_heuristic_effort=nan"),
    *("pulp:HiGHS?threads=0", "pulp:HiGHS?random_seed=1.5", "pulp:HiGHS?mip=false"),
    *("pyomo:cbc?executable=/tmp/evil", "pyomo?keepfiles=true", "pyomo?log_file=/tmp/evil"),
    *("pyomo:gurobi_direct?NoSuchParameter=1", "pyomo:gurobi_direct?logfile=/tmp/evil"),
    *("pyomo:scip_direct?visual/vbcfilename=/tmp/evil", "pyomo:scip_direct?numerics/feastol=1e-3"),
]


@pytest.mark.parametrize("name", STRANGERS)
def test_a_name_sets_neither_files_nor_programs_nor_tolerances(name: str) -> None:
    option = name.partition("?")[2].partition("=")[0]
    said = rf"may not set '{option}=.*(in Python alone|: {option} is )"
    with pytest.raises(InputError, match=said):
        resolve_solver(name)


@pytest.mark.parametrize("family", ["pulp", "pyomo"])
@pytest.mark.parametrize("native", ["{}", "asl:{}", "path:{}", "_mock_cbc", "../evil"])
def test_a_name_starts_no_program(family: str, native: str, tmp_path: Path) -> None:
    if reason := solver_named(family).unavailable():
        pytest.skip(reason)
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho 1.0\n")
    evil.chmod(0o755)
    with pytest.raises(SolverUnavailableError, match=r"what it finds|some that it finds"):
        resolve_solver(f"{family}:{native.format(evil)}")
    assert not (tmp_path / "ran").exists()


@pytest.mark.filterwarnings("ignore:PULP_CBC_CMD:DeprecationWarning")
@pytest.mark.parametrize("native", [*PulpSolver.allowed, *PyomoSolver.allowed])
def test_solvers_know_the_options_that_names_may_set(native: str) -> None:
    allowed = (PulpSolver.allowed | PyomoSolver.allowed)[native]
    for option, end in [(option, end) for option, values in allowed.items() for end in values]:
        value = read_options(native, UNKNOWN, allowed, [(option, str(end))], "a call")[option]
        if native in ("HiGHS", "appsi_highs", "highs"):
            highspy = pytest.importorskip("highspy")
            model = highspy.Highs()
            model.setOptionValue("output_flag", False)
            assert model.setOptionValue(option, value) == highspy.HighsStatus.kOk
        elif facts_of(native) is gurobi.FACTS:
            gurobipy = pytest.importorskip("gurobipy")
            gurobipy.Model().setParam(option, value)
        elif native.startswith("scip_"):
            pytest.importorskip("pyscipopt").Model().setParam(option, value)
        else:
            pulp = pytest.importorskip("pulp")
            assert pulp.getSolver(native, msg=False, **{option: value}).optionsDict[option] == value


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["pulp:HiGHS?mip_heuristic_effort=0.5&presolve=on", "pyomo?presolve=on", "pulp?strong=3"],
)
def test_options_of_the_users_own_are_used_and_said(name: str) -> None:
    if reason := solver_named(name).unavailable():
        pytest.skip(reason)
    session = open_session(name)
    network = network_of(random_layers(np.random.default_rng(3), (4, 6, 4, 2)))
    program = over(network, cube(4)).program
    session.load(program)
    cost = np.random.default_rng(0).normal(size=program.columns)
    result = session.minimise(cost, Targets())
    assert result.bound == pytest.approx(optimum(program, cost)[0], rel=2e-5, abs=2e-5)
    (note,) = session.notes
    assert "options of the user's own" in note
    session.close()


@needs("pulp")
def test_python_sets_any_option(tmp_path: Path) -> None:
    log = tmp_path / "log"
    solver = PulpSolver("pulp", options={"logPath": str(log), "gapRel": 0.5})
    session = open_session(solver)
    program = over(network_of(random_layers(np.random.default_rng(3), (4, 6, 2))), cube(4)).program
    session.load(program)
    # a gap that is wide makes more solves, and no weaker proof
    result = session.minimise(np.ones(program.columns), Targets())
    best = optimum(program, np.ones(program.columns))[0]
    assert result.bound == pytest.approx(best, rel=2e-5, abs=2e-5)
    assert "Cbc" in log.read_text()
    session.close()


@pytest.mark.slow
@needs("pyomo")
def test_an_option_that_the_solver_refuses_is_an_error() -> None:
    solver = PyomoSolver("pyomo:gurobi_direct", "gurobi_direct", {"NoSuchParameter": 1})
    if reason := solver.unavailable():
        pytest.skip(reason)
    with pytest.raises(SolverUnavailableError, match="NoSuchParameter"):
        open_session(solver)


@pytest.mark.slow
@needs("pyomo")
def test_an_option_that_makes_everything_infeasible_is_an_error() -> None:
    with pytest.raises(SolverUnavailableError, match="two binaries whose optimum is 2"):
        open_session(PyomoSolver("pyomo", options={"objective_bound": 1}))
