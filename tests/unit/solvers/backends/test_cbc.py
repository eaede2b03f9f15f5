"""CBC is a process of its own: whatever it does, it ends with a result or one kind of error."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix.base.errors import SolverError, SolverUnavailableError
from milp_verix.solvers import SolveResult, SolveStatus, Targets, open_session
from milp_verix.solvers.backends import cbc
from tests.support.command_line import commands
from tests.support.installed_solvers import needs
from tests.support.known_radius_network import checked, valley
from tests.support.random_networks import cube, network_of, random_layers
from tests.support.scipy_reference import over
from verix_encodings import Program


def program() -> Program:
    return over(network_of(random_layers(np.random.default_rng(0), (3, 4, 2))), cube(3)).program


FakeBinary = Callable[[str], None]


@pytest.fixture
def fake_binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeBinary:
    """Return what puts a shell script in CBC's place; ``$solution`` is the file to write."""

    def install(script: str) -> None:
        path = tmp_path / "cbc"
        path.write_text(
            "#!/bin/sh\n"
            'if [ "$1" = "-quit" ]; then echo "Version: 0.0"; exit 0; fi\n'
            'for solution in "$@"; do :; done\n' + script
        )
        path.chmod(0o755)
        monkeypatch.setattr(cbc, "binary", lambda: str(path))
        # it passed the control question, and does this afterwards
        monkeypatch.setattr(cbc, "ask_control", lambda _session: None)

    return install


def solved(targets: Targets) -> SolveResult:
    session = open_session("cbc")
    try:
        loaded = program()
        session.load(loaded)
        return session.minimise(np.ones(loaded.columns), targets)
    finally:
        session.close()


def solve(seconds: float = np.inf) -> SolveStatus:
    return solved(Targets(seconds=seconds)).status


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 3", "exit code 3"),
        ("kill -SEGV $$", "exit code -11"),
        ("echo 'segmentation violation'", "wrote no solution: segmentation violation"),
        ("exit 0", "wrote no solution: no output"),
    ],
)
def test_a_process_that_fails_is_a_solver_error(
    script: str, message: str, fake_binary: FakeBinary
) -> None:
    fake_binary(script)
    with pytest.raises(SolverError, match=message):
        solve()


@pytest.mark.parametrize(
    ("first", "line"),
    [
        ("Optimal - objective value 1.5", ""),
        ("Optimal - objective value 1.5", "{i} name"),
        ("Optimal - objective value 1.5", "{i} name one 0"),
        ("Optimal - objective value 1.5", "{i} name nan 0"),
        ("Optimal - objective value 1.5", "9{i} name 1.5 0"),
        ("Optimal - objective value 1.5", "0 name 1.5 0"),
        ("Optimal - objective value lots", "{i} name 1.5 0"),
        ("Optimal", "{i} name 1.5 0"),
    ],
)
def test_a_solution_that_makes_no_sense_is_a_solver_error(
    first: str, line: str, fake_binary: FakeBinary, tmp_path: Path
) -> None:
    rows, columns = program().rows, program().columns
    lines = [first, *(f"{i} row 0 0" for i in range(rows))]
    lines += [line.format(i=i) for i in range(columns) if line]
    (tmp_path / "written").write_text("\n".join(lines))
    fake_binary(f"cp {tmp_path}/written $solution")
    with pytest.raises(SolverError, match="CBC's solution file"):
        solve()


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("Stopped on time - objective value 1.5", SolveStatus.TIME_LIMIT),
        ("Stopped on iterations - objective value 1.5", SolveStatus.FAILED),
        ("Infeasible - objective value 3", SolveStatus.INFEASIBLE),
        ("Integer infeasible - objective value 3", SolveStatus.INFEASIBLE),
        ("Unbounded - objective value 3", SolveStatus.FAILED),
        ("Optimistic - objective value 3", SolveStatus.FAILED),
        ("", SolveStatus.FAILED),
    ],
)
def test_every_other_status_is_told_apart(
    line: str, status: SolveStatus, fake_binary: FakeBinary
) -> None:
    fake_binary(f"echo '{line}' > $solution")
    assert solve() is status


@pytest.mark.parametrize("cutoff", [-2e3, -0.25, 0.0, 0.25, 2e3])
def test_infeasible_proves_a_cutoff_less_what_tolerances_may_hide(
    cutoff: float, fake_binary: FakeBinary
) -> None:
    fake_binary("echo 'Infeasible - objective value 3' > $solution")
    result = solved(Targets(holds_above=cutoff))
    assert result.status is SolveStatus.TARGET
    # rows are met up to 1e-9, and numbers are printed with eight digits at least
    assert 1e-8 * max(1.0, abs(cutoff) / 100) <= cutoff - result.bound <= 1e-6 * max(1, abs(cutoff))


def test_a_process_that_hangs_is_killed_at_its_limit(
    fake_binary: FakeBinary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cbc, "_GRACE_SECONDS", 0.2)
    fake_binary("sleep 600")
    assert solve(seconds=0.1) is SolveStatus.TIME_LIMIT


def test_a_binary_that_does_not_run_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_program = tmp_path / "cbc"
    no_program.write_text("neither a script nor a binary")
    no_program.chmod(0o755)
    monkeypatch.setattr(cbc, "binary", lambda: str(no_program))
    with pytest.raises(SolverUnavailableError, match="does not run"):
        open_session("cbc")


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder where all temporary files go."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def running(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """Return the names of the files that are there while CBC runs, solve by solve."""
    seen: list[set[str]] = []
    honest = cbc.CbcSession._run

    def run(*arguments: Any) -> str | None:
        seen.append({file.name for file in scratch.glob("*/*")})
        return honest(*arguments)

    monkeypatch.setattr(cbc, "ask_control", lambda _session: None)
    monkeypatch.setattr(cbc.CbcSession, "_run", run)
    return seen


@needs("cbc")
def test_no_files_are_left_behind(scratch: Path, running: list[set[str]]) -> None:
    session = open_session("cbc")
    loaded = program()
    session.load(loaded)
    session.minimise(np.ones(loaded.columns), Targets(start=np.zeros(loaded.columns)))
    assert running == [{"check.mps", "check.start"}]
    assert list(scratch.iterdir()) == []
    session.close()


def test_ctrl_c_leaves_neither_files_nor_processes(scratch: Path, fake_binary: FakeBinary) -> None:
    # it comes as soon as the process runs, wherever we are then
    sleeper = f"sleep 9{os.getpid()}"
    fake_binary(f"kill -INT $PPID; exec {sleeper}")
    for _ in range(5):
        with pytest.raises(KeyboardInterrupt):
            solve(seconds=60)
        assert list(scratch.iterdir()) == []
        assert not any(line.startswith(sleeper) for line in commands())


def test_no_files_are_left_behind_by_a_failure(
    scratch: Path, tmp_path: Path, fake_binary: FakeBinary
) -> None:
    fake_binary("exit 3")
    verdict = checked(valley(tmp_path), 0.2, solver="cbc")
    assert verdict.reason == "cbc failed: CBC ended with exit code 3"
    assert list(scratch.iterdir()) == []
