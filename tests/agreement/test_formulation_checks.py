"""Checks and explanations are the same by every formulation, whatever solver takes it."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import milp_verix
from milp_verix import Answer, Explanation, InputError, OnnxNetwork, solvers
from milp_verix.base.errors import LicenceLimitError, SolverError
from milp_verix.cli.app import app
from milp_verix.solvers import SOLVERS, open_session
from milp_verix.views.result_words import facts_of
from tests.support.brute_force_cases import Case, case, permutation
from tests.support.installed_solvers import SLOW, needs, why_not
from tests.support.random_networks import cube, dense_network, network_of, random_layers
from verix_encodings import (
    FORMULATIONS,
    Formulation,
    encode,
    formulation_named,
    indicator_relu,
    interval_bounds,
)

NAMES = [*FORMULATIONS, "partition:1", "partition:4"]
TAKEN = [
    pytest.param(name, solver, marks=needs(solver))
    for name in NAMES
    for solver in SOLVERS
    if formulation_named(name).needs <= SOLVERS[solver].capabilities
]
REFUSED = [
    (name, solver)
    for name in FORMULATIONS
    for solver in SOLVERS
    if not FORMULATIONS[name].needs <= SOLVERS[solver].capabilities
]
SEEDS = range(60)


@cache
def subsets_for_programs(problem: Case, network: OnnxNetwork) -> list[list[int]]:
    """Return the subsets that neither bounds nor a known point decide, whatever the solver."""
    options = {"bounds": problem.bounds, **problem.options}
    return [
        free
        for free in problem.subsets(2)
        if milp_verix.check(network, problem.x, free, **options).effort.solves
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "solver"), TAKEN)
def test_checks_agree_with_brute_force(name: str, solver: str, tmp_path: Path) -> None:
    answers = set()
    for seed in SEEDS if solver not in SLOW or solver == "cbc" else SEEDS[::6]:
        problem = case(seed)
        network = problem.network(tmp_path)
        for free in subsets_for_programs(problem, network):
            verdict = milp_verix.check(
                network,
                problem.x,
                free,
                solver=solver,
                formulation=name,
                bounds=problem.bounds,
                **problem.options,
            )
            expected = Answer.HOLDS if problem.brute.holds(free) else Answer.VIOLATED
            assert verdict.answer is expected, (seed, free, verdict)
            answers.add(expected)
            if verdict.bound is not None:
                worst = float(np.max(problem.brute.worst(free)))
                assert verdict.bound >= worst - 1e-6
    assert answers == {Answer.HOLDS, Answer.VIOLATED}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "solver"), TAKEN)
def test_explanations_agree_with_brute_force(name: str, solver: str, tmp_path: Path) -> None:
    for seed in SEEDS[::6]:
        problem = case(seed)
        order = permutation(seed, len(problem.groups))
        explanation = milp_verix.explain(
            problem.network(tmp_path),
            problem.x,
            order=order,
            solver=solver,
            formulation=name,
            bounds=problem.bounds,
            **problem.options,
        )
        assert explanation.explanation == problem.brute.explanation(order)
        assert explanation.formulation == name


def small(tmp_path: Path, **options: Any) -> Explanation:
    network = dense_network(random_layers(np.random.default_rng(0), (3, 4, 2)), tmp_path)
    return milp_verix.explain(network, np.full(3, 0.5), epsilon=0.3, **options)


def test_the_formulation_is_recorded(tmp_path: Path) -> None:
    explanation = small(tmp_path, formulation="partition:3")
    assert ("formulation", "partition:3") in facts_of(explanation)
    assert Explanation.from_json(explanation.to_json()).formulation == "partition:3"
    assert small(tmp_path).formulation == "big_m"


@pytest.mark.parametrize(("name", "solver"), REFUSED)
def test_a_solver_that_does_not_take_it_is_refused_at_once(
    name: str, solver: str, tmp_path: Path
) -> None:
    others = [s for s in SOLVERS if FORMULATIONS[name].needs <= SOLVERS[s].capabilities]
    with pytest.raises(InputError, match=f"{solver} takes no .*: {', '.join(others)}"):
        small(tmp_path, formulation=name, solver=solver)


def test_auto_looks_for_a_solver_that_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = small(tmp_path, formulation="sos1")
    assert found.solver == "cbc"
    assert found.notes == ("auto began with cbc (phase, highs: no special ordered sets)",)
    assert small(tmp_path).notes == ()
    assert small(tmp_path, solver="phase").notes == ()
    if why_not("scip") is None:
        assert small(tmp_path, formulation="indicator").solver == "scip"
    monkeypatch.setattr(solvers, "AUTO_ORDER", ("highs", "cbc"))
    with pytest.raises(InputError, match=r"auto tries takes no indicator.*: gurobi, scip"):
        small(tmp_path, formulation="indicator")


def test_unknown_formulations_are_refused(tmp_path: Path) -> None:
    for wrong in ("bigm", None, 3):
        with pytest.raises(InputError, match=r"unknown formulation.*big_m, indicator, sos1"):
            small(tmp_path, formulation=wrong)


def test_a_formulation_of_ones_own_may_be_given(tmp_path: Path) -> None:
    mine = Formulation("mine", formulation_named("partition:2").relu)
    explanation = small(tmp_path, formulation=mine)
    assert explanation.formulation == "mine"
    assert explanation.explanation == small(tmp_path).explanation


def test_what_a_session_does_not_take_is_never_dropped() -> None:
    network = network_of(random_layers(np.random.default_rng(0), (3, 4, 2)))
    bounds = interval_bounds(network, cube(3))
    for name in ("highs", "phase", "cbc"):
        session = open_session(name)
        with pytest.raises(SolverError, match=f"{name} takes no indicator constraints"):
            session.load(encode(network, bounds, relu=indicator_relu).program)
        session.close()


@pytest.mark.parametrize("solver", [pytest.param("gurobi", marks=needs("gurobi"))])
def test_a_licence_that_is_too_small_has_no_other_solver_for_indicators(solver: str) -> None:
    network = network_of(random_layers(np.random.default_rng(0), (3, 900, 2)))
    session = open_session(solver)
    program = encode(network, interval_bounds(network, cube(3)), relu=indicator_relu).program
    session.load(program)
    with pytest.raises(LicenceLimitError, match="highs takes no indicator constraints"):
        session.minimise(np.ones(program.columns), milp_verix.solvers.Targets(seconds=0.0))
    session.close()


def test_the_command_line_takes_it(tmp_path: Path) -> None:
    network = dense_network(random_layers(np.random.default_rng(0), (3, 4, 2)), tmp_path)
    np.save(tmp_path / "x.npy", np.full(3, 0.5))
    given = ["explain", str(network.path), str(tmp_path / "x.npy"), "--epsilon", "0.3"]
    found = CliRunner().invoke(app, [*given, "--formulation", "partition"])
    assert found.exit_code == 0
    assert "partition" in found.output
    refused = CliRunner().invoke(app, [*given, "--formulation", "indicator", "--solver", "highs"])
    assert refused.exit_code == 2
    assert "highs takes no indicator constraints; solvers that do: gurobi, scip" in refused.output
