"""``milp-verix solvers``: a self-test that can fail, exit codes, JSON."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import milp_verix.testing
from milp_verix.base.errors import SolverError
from milp_verix.cli.app import app
from milp_verix.comparison.self_test import report_on, self_test
from milp_verix.solvers import SOLVERS, SolveResult, SolveStatus, Targets
from milp_verix.solvers.backends import highs
from milp_verix.testing import Conformance, Failure, conformance
from tests.support.installed_solvers import each_solver, hide, why_not

RUN = CliRunner()


@each_solver
def test_every_solver_here_passes(solver: str) -> None:
    report = report_on(solver)
    assert report.problem is None
    assert report.installed
    assert report.version is not None
    assert report.version[0].isdigit()


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        (lambda r: replace(r, bound=-np.inf), "an optimum of -9, bound -inf, where it is -9"),
        (lambda r: replace(r, bound=r.bound + 1e-4), "a bound of -8.9999 above the optimum -9"),
        (lambda r: replace(r, point=None), "no optimum of a tiny program"),
        (lambda r: replace(r, point=r.point * 0.5), "an optimum of -4.5"),
        (lambda r: replace(r, status=SolveStatus.TIME_LIMIT, detail="late"), "program: late"),
    ],
)
def test_a_solver_that_lies_fails(lie: object, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = highs.HighsSession.minimise

    def lying(self: highs.HighsSession, *arguments: object) -> SolveResult:
        return lie(honest(self, *arguments))  # type: ignore[operator, arg-type]

    monkeypatch.setattr(highs.HighsSession, "minimise", lying)
    assert words in str(self_test("highs"))


def test_a_solver_that_gets_checks_wrong_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = highs.HighsSession.minimise

    def lying(self: highs.HighsSession, cost: np.ndarray, targets: Targets) -> SolveResult:
        result = honest(self, cost, targets)
        # of the tiny program of three columns it says the truth
        return result if cost.size == 3 else replace(result, bound=-np.inf)

    monkeypatch.setattr(highs.HighsSession, "minimise", lying)
    assert "a check that is HOLDS came out as UNKNOWN" in str(self_test("highs"))


def test_set_bounds_that_do_nothing_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs.HighsSession, "set_bounds", lambda *_: None)
    assert "where it is -8" in str(self_test("highs"))


def test_the_table_and_its_exit_code() -> None:
    found = RUN.invoke(app, ["solvers"], env={"COLUMNS": "200"})
    assert found.exit_code == 0, found.output
    for name in SOLVERS:
        (line,) = [line for line in found.output.splitlines() if line.startswith(f"{name} ")]
        assert ("passed" in line) == (why_not(name) is None)
    assert "bounds in place" in found.output


def test_one_that_fails_is_exit_code_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise SolverError("it broke")

    monkeypatch.setattr(highs.HighsSession, "minimise", crash)
    out = tmp_path / "solvers.json"
    found = RUN.invoke(app, ["solvers", "highs", "cbc", "--json", str(out)], env={"COLUMNS": "200"})
    assert found.exit_code == 2
    assert "FAILED: it broke" in found.output
    rows = {row["name"]: row for row in json.loads(out.read_text())}
    assert rows["highs"]["problem"] == "it broke"
    assert rows["highs"]["installed"]
    assert rows["highs"]["features"] == sorted(SOLVERS["highs"].capabilities)
    assert rows["cbc"]["problem"] is None or not rows["cbc"]["installed"]


def test_one_that_is_missing_is_said_and_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "pyscipopt")
    found = RUN.invoke(app, ["solvers", "scip", "highs"], env={"COLUMNS": "200"})
    assert found.exit_code == 0
    assert "not here: pyscipopt does not import" in found.output
    assert "pip install pyscipopt" in found.output


@pytest.mark.parametrize("name", ["nosuch", "highs:x"])
def test_a_name_that_is_unknown_is_one_line(name: str) -> None:
    found = RUN.invoke(app, ["solvers", name])
    assert found.exit_code == 2
    assert "unknown solver" in found.output
    assert "Traceback" not in found.output


def test_auto_is_no_solver_to_test() -> None:
    found = RUN.invoke(app, ["solvers", "auto"], catch_exceptions=False)
    assert found.exit_code == 2
    assert "'auto' is a choice among solvers" in found.output


def test_check_puts_a_solver_to_the_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def checked(name: str) -> Conformance:
        asked.append(name)
        failures = (Failure("a", "x", "y"), Failure("b", "v", "w")) if name == "phase" else ()
        return Conformance(name, ("a", "b", "c"), failures)

    monkeypatch.setattr(conformance, "check_solver", checked)
    monkeypatch.setitem(vars(milp_verix.testing), "check_solver", checked)
    assert "suite" not in RUN.invoke(app, ["solvers", "highs"]).output
    assert asked == []
    passed = RUN.invoke(app, ["solvers", "highs", "--check"])
    assert (passed.exit_code, passed.output.splitlines()[-1]) == (0, "highs passes all 3 cases.")
    failed = RUN.invoke(app, ["solvers", "highs", "phase", "--check"])
    assert failed.exit_code == 2
    assert failed.output.splitlines()[-2:] == [
        "phase fails 2 of 3 cases, first a: expected x; seen: y.",
        "  b: expected v; seen: w",
    ]
