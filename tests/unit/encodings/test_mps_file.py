"""A program written to a file is the same program to whoever reads it."""

import subprocess
from pathlib import Path

import highspy
import numpy as np
import pytest
from numpy.typing import NDArray

from milp_verix.solvers.backends import cbc
from tests.support.random_networks import cube, drawn, network_of, random_layers
from tests.support.scipy_reference import optimum, over
from tests.support.small_programs import every_kind
from verix_encodings import Interval, Program, write_mps


@pytest.fixture(params=["drawn", "dense", "no integers", "no rows", "every kind"])
def program(request: pytest.FixtureRequest) -> Program:
    if request.param == "every kind":
        return every_kind()
    shapes = {"dense": (4, 6, 5, 3), "no rows": (3, 2)}
    if request.param in shapes:
        network = network_of(random_layers(np.random.default_rng(5), shapes[request.param]))
        return over(network, cube(network.input_size)).program
    network, box = drawn()
    if request.param == "no integers":
        box = Interval(np.array([0.5, 0.5, 0.0]), np.array([0.6, 0.5, 0.0]))
    program = over(network, box).program
    assert program.binaries == (0 if request.param == "no integers" else 3)
    return program


def random_costs(program: Program) -> NDArray[np.float64]:
    return np.random.default_rng(7).normal(size=(3, program.columns))


def test_highs_reads_back_exactly_the_program(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "program.mps"
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    # third parties must not be able to tell the file from the program in memory
    for cost in random_costs(program):
        write_mps(program, cost, path)
        assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
        read = highs.getLp()
        assert read.col_names_ == program.column_names
        assert read.row_names_ == program.row_names
        assert list(read.col_cost_) == cost.tolist()
        assert list(read.col_lower_) == program.column_lower.tolist()
        assert list(read.col_upper_) == program.column_upper.tolist()
        assert list(read.row_lower_) == program.row_lower.tolist()
        assert list(read.row_upper_) == program.row_upper.tolist()
        integer = [kind == highspy.HighsVarType.kInteger for kind in read.integrality_]
        assert integer == (program.integer.tolist() if program.binaries else [])
        by_column = program.matrix.tocsc()
        assert list(read.a_matrix_.start_) == by_column.indptr.tolist()
        assert list(read.a_matrix_.index_) == by_column.indices.tolist()
        assert list(read.a_matrix_.value_) == by_column.data.tolist()
        highs.run()
        assert highs.getInfo().objective_function_value == pytest.approx(
            optimum(program, cost)[0], abs=1e-6
        )


@pytest.mark.skipif(cbc.SOLVER.unavailable() is not None, reason="no CBC binary is installed")
def test_cbc_reads_the_same_optimum(program: Program, tmp_path: Path) -> None:
    model, solution = tmp_path / "program.mps", tmp_path / "program.sol"
    for cost in random_costs(program):
        write_mps(program, cost, model)
        command = [str(cbc.binary()), str(model), "-solve", "-solu", str(solution)]
        subprocess.run(command, check=True, capture_output=True)
        status, objective = solution.read_text().splitlines()[0].split(" - objective value ")
        assert status == "Optimal"
        assert float(objective) == pytest.approx(optimum(program, cost)[0], abs=1e-6)
