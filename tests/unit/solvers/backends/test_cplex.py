"""CPLEX: balls, and programs beyond its free licence."""

from pathlib import Path

import numpy as np
import pytest

from milp_verix.solvers import SolveStatus, Targets, open_session
from tests.support.installed_solvers import needs
from verix_encodings import ProgramBuilder

pytestmark = needs("cplex")


@pytest.mark.parametrize("name", ["cplex", "cplex?parameters=shipped"])
def test_no_ball_is_called_empty_that_is_not(name: str) -> None:
    # by linear cuts CPLEX calls 15 of 400 such balls empty, and these first
    session = open_session(name)
    for k in (3, 101, 167, 168, 169, 174):
        radius = 1.5 + k / 1000 + k / 100_000
        builder = ProgramBuilder()
        x = builder.add_columns("x", np.arange(4), -5.0, 5.0)
        builder.add_columns("z", np.arange(1), 0.0, 1.0, integer=True)
        builder.add_quadratic_row(x, radius)
        session.load(builder.build())
        best = -0.42371 * radius - 0.07517
        result = session.minimise(np.array([0.0, 0.0, 0.0, -0.42371, -0.07517]), Targets())
        assert result.status is SolveStatus.OPTIMAL
        assert best - 1e-4 < result.bound <= best
    session.close()


def test_its_own_file_of_parameters_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = "CPLEX Parameter File Version 22.1.1.0\nCPXPARAM_MIP_Strategy_VariableSelect  3\n"
    (tmp_path / "mine.prm").write_text(lines)
    session = open_session("cplex?parameters=mine.prm")
    assert session.notes[0].endswith("own: CPXPARAM_MIP_Strategy_VariableSelect=3")
    builder = ProgramBuilder()
    builder.add_columns("x", np.arange(2), -1.0, 1.0)
    session.load(builder.build())
    assert session.minimise(np.ones(2), Targets()).bound == pytest.approx(-2)
    session.close()


def test_the_process_outlives_a_program_beyond_its_licence() -> None:
    session = open_session("cplex")
    for size in (1500, 3, 1500, 3):
        builder = ProgramBuilder()
        builder.add_columns("x", np.arange(size), -1.0, 1.0)
        session.load(builder.build())
        assert session.minimise(np.ones(size), Targets()).bound == pytest.approx(-size)
    if not session.notes:
        pytest.skip("a full licence of CPLEX hands nothing over")
    assert "highs solved 2 programs" in session.notes[0]
    session.close()
