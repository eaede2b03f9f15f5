"""Options in the names of our own solvers: used, said, or refused with the reason."""

import multiprocessing
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from milp_verix import InputError, check
from milp_verix.base.errors import LicenceLimitError, SolverUnavailableError
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers import (
    SOLVERS,
    Session,
    SolveResult,
    SolveStatus,
    Targets,
    open_session,
    resolve_solver,
    solver_named,
)
from milp_verix.solvers.own_solver import OwnSolver
from milp_verix.solvers.remote_session import RemoteSession
from milp_verix.solvers.solver_facts import SolverFacts, read_options
from tests.support.digits_example import images, network
from tests.support.installed_solvers import why_not
from tests.support.random_networks import cube, network_of, random_layers
from tests.support.scipy_reference import optimum, over
from verix_encodings import Program
from verix_encodings.arrays import FloatArray

NATIVE = ("highs", "gurobi", "scip", "cbc", "xpress", "copt", "cplex", "ortools")


def _facts(name: str) -> SolverFacts:
    solver = SOLVERS[name]
    assert isinstance(solver, OwnSolver)
    return solver.kind.facts


def _installed(name: str) -> str:
    if (reason := why_not(name.partition("?")[0])) is not None:
        pytest.skip(reason)
    return name


def _program(seed: int, sizes: tuple[int, ...] = (4, 7, 5, 2)) -> Program:
    network_ = network_of(random_layers(np.random.default_rng(seed), sizes))
    return over(network_, cube(sizes[0])).program


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", NATIVE)
def test_defaults_of_a_solver_prove_the_same_optimum(name: str, seed: int) -> None:
    program = _program(seed)
    cost = np.random.default_rng(seed).normal(size=program.columns)
    best = optimum(program, cost)[0]
    session = open_session(f"{_installed(name)}?presolve=on&cuts=on&heuristics=on&seed={seed}")
    session.load(program)
    result = session.minimise(cost, Targets())
    assert best - 3e-5 * max(1, abs(best)) <= result.bound <= best + 1e-7
    proof = session.minimise(cost, Targets(holds_above=best - 0.1))
    assert proof.status in (SolveStatus.TARGET, SolveStatus.OPTIMAL)
    assert best - 0.1 - 1e-6 <= proof.bound <= best + 1e-7
    (note,) = session.notes
    assert note.startswith(f"{name} was run with options of the user's own: ")
    session.close()


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["highs", "gurobi", "scip", "xpress", "copt", "cplex", "ortools"])
def test_a_gap_loosens_the_bound_and_proves_nothing_false(name: str) -> None:
    session = open_session(f"{_installed(name)}?gap=0.5")
    looser = 0
    for seed in range(6):
        program = _program(seed, (8, 15, 12, 2))
        cost = np.random.default_rng(seed).normal(size=program.columns)
        session.load(program)
        bound, best = session.minimise(cost, Targets()).bound, optimum(program, cost)[0]
        assert bound <= best + 1e-7
        looser += bound < best - 1e-3
    assert looser
    session.close()


@pytest.mark.nightly
@pytest.mark.parametrize("name", NATIVE)
def test_every_option_that_a_name_may_set_is_known_to_the_solver(name: str) -> None:
    _installed(name)
    program = _program(0)
    cost = np.random.default_rng(0).normal(size=program.columns)
    for option, values in _facts(name).options.items():
        for value in {str(values[0]), str(values[-1])} - {"1024", "1000000000", str(2**31 - 1)}:
            if option == "NodeLimit" or option.lower().endswith("nodes"):
                continue
            session = open_session(f"{name}?{option}={value}")
            session.load(program)
            result = session.minimise(cost, Targets())
            assert result.status is SolveStatus.OPTIMAL, (option, value)
            session.close()


def test_words_mean_the_same_to_every_solver_that_has_them() -> None:
    for name in NATIVE:
        facts = _facts(name)
        assert {"seed", "presolve", "cuts", "heuristics"} <= facts.words.keys()
        for word in facts.words:
            values = {"gap": ["0.5"], "seed": ["3"], "threads": ["3"]}.get(word, ["off", "on"])
            for value in values:
                assert read_options(name, facts, facts.options, [(word, value)])
    assert solver_named("pulp:HiGHS?seed=3").options == {"random_seed": 3}  # type: ignore[attr-defined]
    assert solver_named("pyomo:gurobi_direct?cuts=on").options == {"Cuts": -1}  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", NATIVE)
def test_a_log_is_written_here_and_goes_on(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = open_session(f"{_installed(name)}?log=mine.log")
    program = _program(0)
    sizes = []
    for seed in range(2):
        session.load(program)
        session.minimise(np.random.default_rng(seed).normal(size=program.columns), Targets())
        sizes.append(len((tmp_path / "mine.log").read_text()))
    session.close()
    assert 0 < sizes[0] < sizes[1]
    assert [path.name for path in tmp_path.iterdir()] == ["mine.log"]


@pytest.mark.parametrize("name", [*NATIVE, "phase"])
def test_a_time_ends_each_solve(name: str) -> None:
    session = open_session(f"{_installed(name)}?time=0.001")
    program = _program(0, (20, 40, 40, 2))
    session.load(program)
    cost = np.random.default_rng(0).normal(size=program.columns)
    result = session.minimise(cost, Targets())
    assert result.status is SolveStatus.TIME_LIMIT
    session.close()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gurobi?FeasibilityTol=0.01", "count as feasible: give tolerances="),
        ("highs?mip_feasibility_tolerance=0.1", "count as feasible"),
        ("scip?numerics/feastol=1e-3", "count as feasible"),
        ("cbc?integerT=0.1", "count as feasible"),
        ("gurobi?Cutoff=1", "a cutoff leaves out a part of the program"),
        ("highs?objective_bound=1", "a cutoff leaves out a part"),
        ("cbc?gap=0.1", "which a gap makes untrue"),
        ("cbc?ratio=0.1", "which a gap makes untrue"),
        ("pulp:HiGHS?gap=0.1", "which a gap makes untrue"),
        ("gurobi?LogFile=x", "names no file but a log"),
        ("highs?write_model_file=x", "names no file but a log"),
    ],
)
def test_an_option_that_would_break_a_proof_is_refused_with_the_reason(name: str, why: str) -> None:
    with pytest.raises(InputError, match=f"may not set .*{why}.*it may set "):
        resolve_solver(name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("highs?presolve=maybe", "may not set 'presolve=maybe': presolve is off or choose or on"),
        ("gurobi?presolve=maybe", "may not set 'presolve=maybe': presolve is off or on"),
        ("highs?seed=-1", "random_seed is 0 to "),
        ("highs?sed=1", "did you mean 'seed'"),
        ("gurobi?MipFocus=1", "did you mean 'MIPFocus'"),
        ("puulp:CBC", "did you mean 'pulp'"),
        ("scip?threads=2", "may not set 'threads=2'"),
        ("gurobi?time=0", "a number of seconds above 0"),
        ("gurobi?time=nan", "a number of seconds above 0"),
        ("gurobi?strict=perhaps", "on or off"),
        ("highs?log=/etc/x.log", "a file name that ends in .log, without a folder"),
        ("highs?log=..%2Fx.log", "without a folder"),
        ("highs?log=.bashrc", "ends in .log"),
        ("phase?log=x.log", "may not set 'log=x.log'"),
        ("phase?seed=1", "it may set time, strict"),
        ("highs?presolve", "OPTION=VALUE"),
    ],
)
def test_wrong_options_are_refused(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        solver_named(name)


@pytest.mark.parametrize("solver", ["highs", "gurobi", "scip", "cbc", "phase"])
def test_a_refusal_is_not_cut(solver: str) -> None:
    for name in (f"{solver}?nonsense=1", f"{solver}?{'x' * 1000}=1"):
        with pytest.raises(InputError, match="it may set ") as refused:
            solver_named(name)
        assert " … " not in str(refused.value).replace(", … (", "")


@pytest.mark.parametrize(
    ("name", "meant"), [("pulp:PULP_CBC_CDM", "PULP_CBC_CMD"), ("pyomo:apsi_highs", "appsi_highs")]
)
def test_a_name_that_nobody_has_is_told_with_the_closest(name: str, meant: str) -> None:
    if reason := solver_named(name.partition(":")[0]).unavailable():
        pytest.skip(reason)
    with pytest.raises(SolverUnavailableError, match=f"did you mean '{meant}'"):
        resolve_solver(name)


def _minimised(session: Session, program: Program, cost: FloatArray) -> SolveResult:
    session.load(program)
    return session.minimise(cost, Targets())


def test_a_strict_solver_hands_nothing_over() -> None:
    _installed("gurobi")
    program = _program(0, (2100, 3, 2))
    cost = np.ones(program.columns)
    handing = open_session("gurobi")
    handing.load(program)
    if handing.minimise(cost, Targets()).status is SolveStatus.OPTIMAL and not handing.notes:
        pytest.skip("a full licence of Gurobi hands nothing over")
    assert "highs solved 1 program: " in handing.notes[0]
    strict = open_session("gurobi?strict=on")
    with pytest.raises(LicenceLimitError):
        _minimised(strict, program, cost)
    handing.close()
    strict.close()


def test_a_strict_engine_takes_no_other_solver_for_programs() -> None:
    from milp_verix import minimum

    with pytest.raises(InputError, match="lets no other solver take a program over"):
        minimum(network(), images()[15], epsilon=0.1, solver="phase?strict=on", master="program")


def test_a_named_solver_answers_checks_and_is_named() -> None:
    free = list(range(30))
    expected = check(network(), images()[15], free, epsilon=0.1, bounds="interval").answer
    for name in ("highs?seed=5", "phase?time=10", "scip?cuts=on"):
        _installed(name)
        found = check(network(), images()[15], free, epsilon=0.1, bounds="interval", solver=name)
        assert found.answer is expected


@pytest.mark.slow
def test_solvers_with_options_are_values_and_travel() -> None:
    solver = solver_named("scip?seed=1")
    assert solver == solver_named("scip?seed=1")
    assert isinstance(solver, OwnSolver)
    assert solver.options.settings == {"randomization/randomseedshift": 1}
    _installed("scip")
    opens = solver_named("highs?seed=1").open
    session = RemoteSession(partial(opens, threads=1, tolerances=Tolerances()))
    program = _program(0)
    session.load(program)
    assert session.minimise(np.ones(program.columns), Targets()).status is SolveStatus.OPTIMAL
    assert multiprocessing.active_children() == []
    session.close()
    named = solver.open(threads=1, tolerances=Tolerances())
    assert named.name == "scip?seed=1"
    named.close()
    assert {name for name in SOLVERS if isinstance(SOLVERS[name], OwnSolver)} == {*NATIVE, "phase"}


def test_a_file_of_parameters_sets_what_a_name_may_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.prm"
    file.write_text("MIPGap 0\nMethod 1\n")
    found = solver_named("gurobi?parameters=mine.prm")
    assert isinstance(found, OwnSolver)
    assert found.options.settings == {"MIPGap": 0, "Method": 1}
    for line, said in (
        ("MIPGap 2", "may not set 'MIPGap=2': MIPGap is 0.0 to 1.0"),
        ("FeasibilityTol 1e-3", "a point that breaks a row by the tolerance"),
        ("Cutoff 3", "a cutoff leaves out a part"),
        ("LogFile x", "names no file but a log"),
    ):
        file.write_text(line + "\n")
        with pytest.raises(InputError, match=said):
            solver_named("gurobi?parameters=mine.prm")
