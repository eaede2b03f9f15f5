"""Names with a colon and options: PuLP's and Pyomo's solvers, with clear words where they fail."""

import inspect
import re
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from milp_verix import (
    InputError,
    SolverError,
    SolverUnavailableError,
    check,
    compare,
    contrastive,
    enumerate_explanations,
    explain,
    minimum,
)
from milp_verix.cli.app import app
from milp_verix.solvers import SolveStatus, Targets, open_session, resolve_solver, solver_named
from milp_verix.solvers.backends.pulp_solvers import PulpSolver
from milp_verix.solvers.backends.pyomo_solvers import PyomoSolver
from milp_verix.solvers.parameters import CBC, GUROBI, HIGHS, SCIP, UNKNOWN, parameters_of
from milp_verix.solvers.registry import CHECKERS, FAMILIES, SOLVERS
from tests.support.installed_solvers import needs
from tests.support.random_networks import cube, network_of, random_layers
from tests.support.scipy_reference import optimum, over


def test_names_are_read() -> None:
    assert solver_named("pulp") == PulpSolver("pulp", "PULP_CBC_CMD", {})
    assert solver_named("pulp:HiGHS") == PulpSolver("pulp:HiGHS", "HiGHS", {})
    name = "pyomo:gurobi_direct?MIPFocus=1&Heuristics=0.5&LogFile=a.b&NoRel=false"
    options = {"MIPFocus": 1, "Heuristics": 0.5, "LogFile": "a.b", "NoRel": False}
    assert solver_named(name) == PyomoSolver(name, "gurobi_direct", options)
    assert solver_named("pyomo?presolve=on") == PyomoSolver(
        "pyomo?presolve=on", "appsi_highs", {"presolve": "on"}
    )


ASKING = [check, compare, contrastive, enumerate_explanations, explain, minimum]


@pytest.mark.parametrize("function", ASKING)
def test_a_docstring_names_every_solver(function: Any) -> None:
    text = " ".join(inspect.getdoc(function).split())
    first = "highs" if function is compare else "auto"  # compare asks solvers one by one
    found = re.search(rf'solvers?`*(?: is|:).*?``"{first}"``.*?``"pyomo:NAME"``', text)
    assert found is not None
    named = re.findall(r'``"([^"]+)"``', found.group())
    families = [f"{family}:NAME" for family in FAMILIES]
    assert sorted(named) == sorted({*SOLVERS, *CHECKERS, *families, first})


@pytest.mark.parametrize("command", ["explain", "minimum", "contrastive", "enumerate"])
def test_the_help_names_every_solver(command: str) -> None:
    text = CliRunner().invoke(app, [command, "--help"]).output
    for name in ["auto", *SOLVERS, *CHECKERS, *(f"{family}:NAME" for family in FAMILIES)]:
        assert name in text


@pytest.mark.parametrize("wrong", ["highs:x", "cplex", "pulpy:HiGHS", "", ":", "highs?a=1"])
def test_unknown_names_are_refused_with_the_known_ones(wrong: str) -> None:
    with pytest.raises(InputError, match=r"choose one of auto, highs.*pulp:NAME, pyomo:NAME"):
        resolve_solver(wrong)


@pytest.mark.parametrize("wrong", ["pulp:HiGHS?a", "pyomo?=&"])
def test_options_that_are_none_are_refused(wrong: str) -> None:
    with pytest.raises(InputError, match="OPTION=VALUE"):
        resolve_solver(wrong)


@needs("pulp")
def test_a_solver_that_pulp_lacks_is_refused_with_those_it_has() -> None:
    with pytest.raises(SolverUnavailableError, match=r"NONE: .*what it finds: .*PULP_CBC_CMD"):
        resolve_solver("pulp:NONE")
    with pytest.raises(SolverUnavailableError, match=r"XPRESS: .*what it finds: "):
        resolve_solver("pulp:XPRESS")


@needs("pyomo")
def test_a_solver_that_pyomo_lacks_is_refused_with_those_it_has() -> None:
    for lacking in ("none", "cplex_persistent"):
        with pytest.raises(SolverUnavailableError, match=f"'{lacking}'.*finds: appsi_highs"):
            resolve_solver(f"pyomo:{lacking}")


def test_what_is_known_of_the_solvers_behind_names() -> None:
    of = {
        HIGHS: ("HiGHS", "HiGHS_CMD", "appsi_highs", "highs"),
        GUROBI: ("GUROBI", "gurobi_persistent", "appsi_gurobi"),
        SCIP: ("SCIP_PY", "scip_direct", "scip"),
        CBC: ("PULP_CBC_CMD", "COIN_CMD", "cbc", "appsi_cbc"),
        UNKNOWN: ("GLPK_CMD", "cplex_direct", "FSCIP_CMD", "glpk"),
    }
    for parameters, names in of.items():
        assert {parameters_of(name) for name in names} == {parameters}


NATIVE = [
    *("pulp:HiGHS", "pulp:GUROBI", "pulp:SCIP_PY", "pyomo:highs", "pyomo:appsi_gurobi"),
    *("pyomo:gurobi_direct", "pyomo:gurobi_persistent", "pyomo:scip_direct"),
    *("pulp:COIN_CMD", "pulp:GLPK_CMD", "pyomo:appsi_cbc", "pyomo:glpk"),
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


@pytest.mark.parametrize(
    "name", ["pulp:HiGHS?mip_rel_gap=0.5&presolve=on", "pyomo?mip_rel_gap=0.5", "pulp?cuts=true"]
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
    # a gap that is wide makes more solves, and no weaker proof
    assert result.bound == pytest.approx(optimum(program, cost)[0], rel=2e-5, abs=2e-5)
    (note,) = session.notes
    assert "options of the user's own" in note
    session.close()


@pytest.mark.slow
@needs("pyomo")
def test_an_option_that_the_solver_refuses_is_an_error() -> None:
    name = "pyomo:gurobi_direct?NoSuchParameter=1"
    if reason := solver_named(name).unavailable():
        pytest.skip(reason)
    session = open_session(name)
    program = over(network_of(random_layers(np.random.default_rng(3), (3, 4, 2))), cube(3)).program
    session.load(program)
    with pytest.raises(SolverError, match="NoSuchParameter"):
        session.minimise(np.ones(program.columns), Targets())
    session.close()
