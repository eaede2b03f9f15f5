"""The suite for solvers: ours pass it, and each planted fault is caught."""

import os
import signal
import subprocess
import sys
import threading
import time
import tomllib
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from milp_verix import InputError, solvers
from milp_verix.solvers import SOLVERS
from milp_verix.testing import Conformance, Failure, check_solver, conformance
from milp_verix.testing.cases import SolverCase, builder_of, cases_for, split
from milp_verix.testing.conformance import attempt
from milp_verix.testing.trial import interrupted_after
from tests.support import scipy_reference
from tests.support.broken_solvers import BROKEN, Broken, Honest
from tests.support.exact_optima import optimum
from tests.support.installed_solvers import each_solver, hide
from tests.support.repository import ROOT
from tests.support.suite_cases import FILE, WRITTEN, cost_of, covering, mixed, pairing, text

QUICKLY = (
    *("IgnoresBounds", "IgnoresCosts", "IncumbentAsBound", "StopsEarlyAndSaysOptimal"),
    *("ThrowsInTheMiddle", "WrongShape", "IgnoresIntegrality", "DropsIndicators"),
    *("InfeasibleForTimeLimit", "InfiniteBound"),
)


def caught(name: str) -> Failure | None:
    """Return the first failure of a broken solver."""
    solver = Broken(BROKEN[name])
    failures = (attempt(case, solver, 60) for case in cases_for(solver.capabilities))
    return next((failure for failure in failures if failure is not None), None)


def test_a_hundred_cases_find_no_fault_in_highs() -> None:
    found = check_solver("highs")
    assert found.passed
    assert found.failures == ()
    assert len(found.cases) == len(set(found.cases)) > 95
    assert found.sentence() == f"highs passes all {len(found.cases)} cases."
    assert found.sentence() in str(conformance.__doc__)


@pytest.mark.slow
@each_solver
def test_each_solver_passes(solver: str) -> None:
    found = check_solver(solver)
    assert found.passed, "\n".join(map(str, found.failures))
    assert len(found.cases) > 95


def test_a_session_around_another_one_passes() -> None:
    assert check_solver(Broken(Honest)).passed


@pytest.mark.parametrize("name", QUICKLY)
def test_a_planted_fault_is_caught(name: str) -> None:
    assert caught(name) is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(BROKEN.keys() - {*QUICKLY}))
def test_every_planted_fault_is_caught(name: str) -> None:
    assert caught(name) is not None


@pytest.mark.parametrize("name", ["highs", "gurobi"])
def test_cases_are_those_of_the_capabilities(name: str) -> None:
    claimed = SOLVERS[name].capabilities
    names = {case.name for case in cases_for(claimed)}
    assert ("a ball" in names) == ("quadratic" in claimed)
    assert ("quadratic rows refused" in names) != ("quadratic" in claimed)


def test_a_failure_tells_what_was_expected_and_seen() -> None:
    found = check_solver(Broken(BROKEN["NoPoint"]))
    first = found.failures[0]
    assert not found.passed
    assert (first.case, first.expected) == ("a box without rows", "a point of cost -5")
    assert first.seen == "OPTIMAL, bound -5"
    assert found.sentence() == (
        f"broken fails {len(found.failures)} of {len(found.cases)} cases, first a box without "
        "rows: expected a point of cost -5; seen: OPTIMAL, bound -5."
    )


@pytest.mark.parametrize("solver", ["hihgs", "auto", "highs?speed=9", 5, None])
def test_an_unknown_solver_is_refused(solver: object) -> None:
    with pytest.raises(InputError):
        check_solver(solver)  # type: ignore[arg-type]


def test_a_solver_that_is_not_there_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "gurobipy")
    found = check_solver("gurobi")
    assert not found.passed
    assert "pip install gurobipy" in found.failures[0].seen


class Point:
    """An entry point of an installed package."""

    def __init__(self, found: object) -> None:
        self.found = found

    def load(self) -> object:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.mark.parametrize(
    ("name", "found", "words"),
    [
        ("broken", ImportError("no libmine.so"), "of an installed package fails: no libmine.so"),
        ("broken", object(), "has no name, licence, capabilities, unavailable, open"),
        ("broken?threads=2", Broken(Honest), "of an installed package takes no options"),
    ],
)
def test_a_package_that_fails_is_no_unknown_solver(
    name: str, found: object, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solvers, "added_solvers", lambda: {"broken": Point(found)})
    monkeypatch.setattr(conformance, "added_solvers", lambda: {"broken": Point(found)})
    outcome = check_solver(name)
    assert outcome.cases == ("it opens",)
    assert words in outcome.failures[0].seen
    with pytest.raises(InputError, match="installed package"):
        solvers.solver_named(name)


def test_options_of_a_name_are_kept() -> None:
    assert check_solver("highs?presolve=on&seed=3").passed


def _in_reference(data: dict[str, Any]) -> bool:
    """Return whether the reference of tests takes a program: no ball, sets of two from zero on."""
    program = builder_of(data).build()
    sets = all(len(one.columns) == 2 for one in program.sos1)
    zero = not program.sos1 or not program.column_lower.any()
    return bool(data["cost"]) and "ball" not in data and sets and zero


@pytest.mark.parametrize("name", [name for name, data in WRITTEN.items() if _in_reference(data)])
def test_exact_optima_are_those_of_scipy(name: str) -> None:
    program, cost = builder_of(WRITTEN[name]).build(), np.array(WRITTEN[name]["cost"], float)
    best = optimum(program, cost)
    if best is not None and np.isfinite(float(best)):
        assert scipy_reference.optimum(program, cost)[0] == pytest.approx(float(best), abs=1e-6)
    else:
        with pytest.raises(AssertionError):
            scipy_reference.optimum(program, cost)


@pytest.mark.parametrize("seed", range(20))
def test_drawn_programs_have_the_optima_of_scipy(seed: int) -> None:
    for program in (builder_of(draw(seed)).build() for draw in (mixed, covering)):
        cost = cost_of(program.columns, seed)
        least = scipy_reference.optimum(program, cost)[0]
        assert float(optimum(program, cost) or 0) == pytest.approx(least, abs=1e-7)


def test_known_optima_are_those_of_scipy() -> None:
    program, cost, best = pairing(8)
    program = {**program, "whole": range(64)}
    least = scipy_reference.optimum(builder_of(program).build(), np.array(cost, float))[0]
    assert least == pytest.approx(best)
    assert scipy_reference.optimum(*split(22))[0] == pytest.approx(0)


def test_the_file_of_cases_is_what_the_exact_arithmetic_writes() -> None:
    assert FILE.read_text(encoding="utf-8") == text()


def test_ctrl_c_of_the_user_ends_the_suite() -> None:
    def interrupted(_trial: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    with pytest.raises(KeyboardInterrupt):
        attempt(SolverCase("pressed", interrupted), SOLVERS["highs"], 60)


def test_a_timer_that_fires_late_interrupts_nobody() -> None:
    before = signal.getsignal(signal.SIGINT)
    for _ in range(30):
        try:
            with interrupted_after(0.001) as pressed:
                time.sleep(0.001)
        except KeyboardInterrupt:
            assert pressed.is_set()
        time.sleep(0.002)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
def test_the_suite_runs_outside_the_main_thread() -> None:
    found: list[Conformance] = []
    thread = threading.Thread(target=lambda: found.append(check_solver("highs")))
    thread.start()
    thread.join()
    assert found[0].passed


PLUGIN = "milp_verix.testing.pytest_plugin"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:xdist", *arguments]
    path = os.pathsep.join([str(ROOT), str(ROOT / "encodings")])
    return subprocess.run(
        command,
        cwd=ROOT / "examples",
        env={**os.environ, "PYTHONPATH": path, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )


ALONE = ("-q", "-c", os.devnull, "-p", "no:cacheprovider", "--rootdir", str(ROOT / "examples"))


@pytest.mark.slow
def test_pytest_takes_each_case_as_a_test() -> None:
    done = run(*ALONE, "--milp-verix-solver", "highs", "--milp-verix-solver", "phase?time=9")
    count = sum(len(cases_for(SOLVERS[name].capabilities)) for name in ("highs", "phase"))
    assert f"{count} passed" in done.stdout, done.stdout
    chosen = run(*ALONE, "-vv", "--milp-verix-solver", "highs", "-k", "early and 3")
    assert "--milp-verix-solver=highs::early ends 3 PASSED" in chosen.stdout
    assert f"1 passed, {len(cases_for(SOLVERS['highs'].capabilities)) - 1} deselected" in (
        chosen.stdout
    )


@pytest.mark.slow
def test_pytest_refuses_an_unknown_solver_and_adds_nothing_unasked() -> None:
    assert "did you mean 'highs'?" in run(*ALONE, "--milp-verix-solver", "hihgs").stderr
    assert run(*ALONE).returncode == pytest.ExitCode.NO_TESTS_COLLECTED


def test_the_plugin_is_found_by_pytest_and_loads_nothing() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}
    assert hasattr(import_module(PLUGIN), "pytest_addoption")
    code = f"import sys, {PLUGIN}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.startswith("milp_verix")}
    assert loaded == {"milp_verix", "milp_verix.testing", PLUGIN}
    assert "numpy" not in done.stdout.split()
