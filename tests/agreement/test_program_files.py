"""A program is the same whoever reads it: LP and MPS files, Pyomo blocks, the solver in process."""

from itertools import product
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest
from numpy.typing import NDArray

import milp_verix
from milp_verix import InputError
from tests.support.installed_solvers import needs
from tests.support.program_readers import by_cbc, by_gurobi, by_highs
from tests.support.random_networks import cube, dense_network, drawn, network_of, random_layers
from tests.support.scipy_reference import optimum, pinned
from tests.support.small_programs import every_kind
from verix_encodings import (
    Encoding,
    NormBall,
    Program,
    encode,
    formulation_named,
    interval_bounds,
    l2_ball,
    write_mps,
)

SUFFIXES = (".lp", ".mps")


def encoding_by(name: str) -> Encoding:
    network = network_of(random_layers(np.random.default_rng(5), (4, 6, 5, 3)))
    relu = formulation_named(name).relu
    return encode(network, interval_bounds(network, cube(4)), relu=relu)


def fixed_binary() -> Program:
    network, box = drawn()
    program = encode(network, interval_bounds(network, box)).program
    return pinned(program, np.flatnonzero(program.integer)[:1], np.ones(1))


PROGRAMS = {
    "big_m": lambda: encoding_by("big_m").program,
    "partition": lambda: encoding_by("partition").program,
    "every kind": every_kind,
    "fixed binary": fixed_binary,
}
each_program = pytest.mark.parametrize("make", PROGRAMS.values(), ids=PROGRAMS.keys())


def random_costs(program: Program, count: int = 3) -> NDArray[np.float64]:
    return np.random.default_rng(7).normal(size=(count, program.columns))


READERS = [
    pytest.param(by_highs, id="highs"),
    pytest.param(by_cbc, id="cbc", marks=needs("cbc")),
    pytest.param(by_gurobi, id="gurobi", marks=needs("gurobi")),
]


@pytest.mark.slow
@each_program
@pytest.mark.parametrize("read", READERS)
def test_readers_find_the_optimum(make: Any, read: Any, tmp_path: Path) -> None:
    program = make()
    for cost in random_costs(program):
        expected = optimum(program, cost)[0]
        for suffix in SUFFIXES:
            program.write(tmp_path / f"check{suffix}", cost)
            assert read(tmp_path / f"check{suffix}") == pytest.approx(expected, abs=1e-5)


@each_program
def test_highs_reads_the_same_from_both_files(make: Any, tmp_path: Path) -> None:
    program, highs = make(), highspy.Highs()
    highs.setOptionValue("output_flag", False)
    (cost,) = random_costs(program, 1)
    program.write(tmp_path / "check.lp", cost)
    assert highs.readModel(str(tmp_path / "check.lp")) == highspy.HighsStatus.kOk
    read = highs.getLp()
    assert read.col_names_ == program.column_names
    assert list(read.col_cost_) == cost.tolist()
    assert list(read.col_lower_) == program.column_lower.tolist()
    assert list(read.col_upper_) == program.column_upper.tolist()
    integer = [kind == highspy.HighsVarType.kInteger for kind in read.integrality_]
    assert integer == (program.integer.tolist() if program.binaries else [])
    # two-sided rows are two; the others stand as they are
    two_sided = np.isfinite(program.row_lower) & np.isfinite(program.row_upper)
    two_sided &= program.row_lower < program.row_upper
    assert len(read.row_names_) == program.rows + np.count_nonzero(two_sided)
    if not two_sided.any():
        assert read.row_names_ == program.row_names
        assert list(read.row_lower_) == program.row_lower.tolist()
        assert list(read.row_upper_) == program.row_upper.tolist()
        by_column = program.matrix.tocsc()
        assert list(read.a_matrix_.value_) == by_column.data.tolist()
        assert list(read.a_matrix_.index_) == by_column.indices.tolist()


@pytest.mark.parametrize(
    ("name", "read"),
    [
        pytest.param("sos1", by_cbc, marks=needs("cbc")),
        pytest.param("sos1", by_gurobi, marks=needs("gurobi")),
        pytest.param("indicator", by_gurobi, marks=needs("gurobi")),
    ],
)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_readers_find_the_optimum_with_logic(
    name: str, read: Any, suffix: str, tmp_path: Path
) -> None:
    program = encoding_by(name).program
    for cost in random_costs(program):
        program.write(tmp_path / f"check{suffix}", cost)
        found = read(tmp_path / f"check{suffix}")
        assert found == pytest.approx(optimum(program, cost)[0], abs=1e-5)


@pytest.mark.parametrize(
    ("name", "suffix"),
    [*product(("sos1", "indicator"), SUFFIXES), ("general", ".lp")],
)
def test_highs_does_not_read_logic_as_something_else(
    name: str, suffix: str, tmp_path: Path
) -> None:
    program = encoding_by(name).program
    program.write(tmp_path / f"check{suffix}", np.zeros(program.columns))
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(tmp_path / f"check{suffix}")) == highspy.HighsStatus.kError


@needs("gurobi")
def test_maxima_are_in_lp_files_only(tmp_path: Path) -> None:
    program = encoding_by("general").program
    for cost in random_costs(program):
        program.write(tmp_path / "check.lp", cost)
        found = by_gurobi(tmp_path / "check.lp")
        assert found == pytest.approx(optimum(program, cost)[0], abs=1e-5)
    with pytest.raises(ValueError, match=r"the program has maxima: write \.lp"):
        program.write(tmp_path / "check.mps", cost)


def in_a_ball(radius: float) -> Encoding:
    network = network_of(random_layers(np.random.default_rng(5), (4, 6, 3)))
    ball = NormBall(cube(4), np.full(4, 0.5), radius, 2)
    return encode(network, interval_bounds(network, cube(4)), ball=lambda b: l2_ball(b, ball))


@pytest.mark.parametrize("read", [pytest.param(by_gurobi, marks=needs("gurobi"))])
def test_quadratic_rows_are_in_lp_files_only(read: Any, tmp_path: Path) -> None:
    encoding = in_a_ball(0.3)
    cost = np.zeros(encoding.program.columns)
    cost[encoding.input.columns] = [1.0, 2.0, -2.0, 4.0]
    encoding.program.write(tmp_path / "check.lp", cost)
    assert read(tmp_path / "check.lp") == pytest.approx(-0.3 * 5.0, abs=1e-5)
    with pytest.raises(ValueError, match="quadratic"):
        encoding.program.write(tmp_path / "check.mps", cost)


def test_lp_files_are_as_people_write_them(tmp_path: Path) -> None:
    network, box = drawn()
    program = encode(network, interval_bounds(network, box)).program
    program.write(str(tmp_path / "check.lp"), np.eye(program.columns)[0])
    text = (tmp_path / "check.lp").read_text()
    assert text.startswith("Minimize\n cost:\n  + 1 x_0 + 0 x_2 + 0 z_1_0")
    assert " relu_above_z_1_2:\n  - 1 z_1_2 + 1 a_1_2\n >= 0\n" in text
    assert "\nGenerals\n d_1_2\n d_1_3\n d_3_0\nEnd\n" in text
    assert max(map(len, text.splitlines())) < 200


def test_a_program_is_written_as_something_known(tmp_path: Path) -> None:
    program = encoding_by("big_m").program
    cost = np.zeros(program.columns)
    with pytest.raises(ValueError, match=r"\.lp or \.mps, not as '\.txt'"):
        program.write(tmp_path / "check.txt", cost)
    with pytest.raises(ValueError, match="cost has shape"):
        program.write(tmp_path / "check.lp", cost[1:])
    program.write(tmp_path / "check.MPS", cost)
    write_mps(program, cost, tmp_path / "other.mps")
    assert (tmp_path / "check.MPS").read_text() == (tmp_path / "other.mps").read_text()


def pyomo_optimum(block: Any, expression: Any, sense: int) -> float:
    pyo = pytest.importorskip("pyomo.environ")
    model = pyo.ConcreteModel()
    model.check = block
    model.goal = pyo.Objective(expr=expression, sense=sense)
    pyo.SolverFactory("appsi_highs").solve(model)
    return float(pyo.value(model.goal))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["big_m", "partition"])
def test_a_pyomo_block_is_the_program(name: str) -> None:
    pytest.importorskip("pyomo.environ")
    encoding = encoding_by(name)
    program = encoding.program
    for index in range(3):
        row, constant = encoding.output.row(index, program.columns)
        block = milp_verix.to_pyomo(encoding)
        least = constant + optimum(program, row)[0]
        assert pyomo_optimum(block, block.output[index], 1) == pytest.approx(least, abs=1e-5)
        most = constant - optimum(program, -row)[0]
        block = milp_verix.to_pyomo(encoding)
        assert pyomo_optimum(block, block.output[index], -1) == pytest.approx(most, abs=1e-5)


def test_a_pyomo_block_inside_a_bigger_model(tmp_path: Path) -> None:
    pyo = pytest.importorskip("pyomo.environ")
    layers = random_layers(np.random.default_rng(3), (3, 5, 2))
    network = dense_network(layers, tmp_path)
    encoding = milp_verix.encode_check(network, np.full(3, 0.5), epsilon=0.4)
    model = pyo.ConcreteModel()
    model.check = milp_verix.to_pyomo(encoding)
    assert model.check.x_0.bounds == pytest.approx((0.1, 0.9), abs=1e-7)
    # what a user adds: the first two inputs are the same
    model.same = pyo.Constraint(expr=model.check.input[0] == model.check.input[1])
    model.worst = pyo.Objective(expr=model.check.output[0], sense=pyo.maximize)
    pyo.SolverFactory("appsi_highs").solve(model)
    x = np.array([pyo.value(model.check.input[i]) for i in range(3)])
    outputs = network.ir.evaluate(x)
    label = int(np.argmax(network.ir.evaluate(np.full(3, 0.5))))
    assert x[0] == pytest.approx(x[1], abs=1e-6)
    assert pyo.value(model.worst) == pytest.approx(outputs[1 - label] - outputs[label], abs=1e-5)


def test_sets_and_quadratic_rows_in_pyomo() -> None:
    pyo = pytest.importorskip("pyomo.environ")
    block = milp_verix.to_pyomo(encoding_by("sos1"))
    sets = list(block.component_data_objects(pyo.SOSConstraint))
    assert len(sets) == len(encoding_by("sos1").program.sos1)
    assert [v.local_name for v in sets[0].variables] == [
        encoding_by("sos1").program.column_names[j]
        for j in encoding_by("sos1").program.sos1[0].columns
    ]
    block = milp_verix.to_pyomo(in_a_ball(0.5))
    assert pyo.value(block.quadratic_0.upper) == pytest.approx(0.25)
    with pytest.raises(InputError, match="Pyomo has no indicator constraints"):
        milp_verix.to_pyomo(encoding_by("indicator"))


@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
def test_encode_check_is_what_check_decides(norm: str, tmp_path: Path) -> None:
    layers = random_layers(np.random.default_rng(4), (4, 6, 3))
    network, x = dense_network(layers, tmp_path), np.full(4, 0.5)
    for epsilon in (0.02, 0.3):
        options: dict[str, Any] = {"epsilon": epsilon, "norm": norm}
        encoding = milp_verix.encode_check(network, x, [0, 2, 3], **options)
        program, worst = encoding.program, -np.inf
        for index in range(2):
            row, constant = encoding.output.row(index, program.columns)
            worst = max(worst, constant - optimum(program, -row)[0])
        verdict = milp_verix.check(network, x, [0, 2, 3], **options)
        assert verdict.holds == (worst < 0)
        fixed = encoding.input.at(np.zeros(program.columns))[1]
        assert fixed == 0.5
